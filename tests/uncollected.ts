import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";

/**
 * Starts a process whose parent will never collect it, so that it becomes a zombie once it ends. Resolves when the parent
 * is that program: before that it is a shell, and a shell may collect its child. The caller ends the parent.
 */
export async function uncollected(): Promise<{ readonly parent: ChildProcess; readonly pid: number }> {
  const env = { PATH: process.env["PATH"] };
  const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec sleep 1000"], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(parent.stdout, "data");
  const program = () => execFileSync("ps", ["-o", "comm=", "-p", String(parent.pid)], { encoding: "utf8" });
  await expect.poll(program).toMatch(/\bsleep\n$/);
  return { parent, pid: Number(String(line)) };
}
