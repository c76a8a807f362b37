/** Ends a check whose command was killed: nothing else would. */
import { spawn } from "node:child_process";
import { limits } from "../../../protocol/limits.ts";

/**
 * Waits for a line. If its input ends before, the process that has the other end was killed: it ends the group `$1`, with
 * `$2` seconds between the signals.
 */
const script = 'read -r over && exit; kill -s TERM -- "-$1" && sleep "$2" && kill -s KILL -- "-$1"';

/**
 * Starts a shell that ends the process group `group` as soon as this process has ended without calling what this returns:
 * the check is over. The shell has a session of its own, because what ends a terminal's processes must not end it.
 */
export function keepFor(group: number): () => void {
  const seconds = String(limits.checkGraceMs / 1000);
  const keeper = spawn("/bin/sh", ["-c", script, "kite-check", String(group), seconds], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Without a keeper the check runs as well: it is missed only if this process is killed.
  keeper.on("error", () => {});
  keeper.stdin.on("error", () => {});
  keeper.unref();
  return () => keeper.stdin.end("over\n");
}
