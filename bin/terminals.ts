/** The terminals of processes: a person finds a session by it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { searchPath } from "../protocol/paths.ts";

/** Returns the terminal of each of these processes that has one: `tmux %5` for a pane of tmux, else `pts/3`. */
export function terminalsOf(pids: readonly number[]): ReadonlyMap<number, string> {
  const ttys = ttysOf(pids);
  const found = [...ttys].map(([pid, tty]): [number, string] => {
    const pane = paneOf(pid);
    return [pid, pane === null ? tty : `tmux ${pane}, ${tty}`];
  });
  return new Map(found);
}

/** Asks `ps`, which every system has; without it no terminal is known. */
function ttysOf(pids: readonly number[]): Map<number, string> {
  if (pids.length === 0) return new Map();
  const { stdout } = spawnSync("ps", ["-o", "pid=,tty=", "-p", pids.join(",")], {
    encoding: "utf8",
    env: { PATH: searchPath(process.env["PATH"]) },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: psMaxMs,
  });
  const rows = (stdout ?? "").split("\n").map(line => /^\s*(\d+)\s+(\S+)\s*$/.exec(line));
  return new Map(
    rows.flatMap(row => {
      const [, pid = "", tty = ""] = row ?? [];
      return tty === "" || tty.startsWith("?") ? [] : [[Number(pid), tty] as const];
    }),
  );
}

const psMaxMs = 2_000;

/** Returns the pane in the process's environment; null on systems where nobody can read that, or outside of tmux. */
function paneOf(pid: number): string | null {
  try {
    return /(?:^|\0)TMUX_PANE=(%\d+)(?:\0|$)/.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1] ?? null;
  } catch {
    return null; // No /proc, or the process has ended.
  }
}
