import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/** Processes whose home is this folder or one in it, by what the system says of them; none where it does not say. */
export function processesAt(home: string): number[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc").flatMap(name => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environ = readFileSync(`/proc/${name}/environ`, "latin1").split("\0");
      return environ.some(entry => `${entry}/`.startsWith(`HOME=${home}/`)) ? [Number(name)] : [];
    } catch {
      return []; // It has ended, or is another user's.
    }
  });
}

/** Resolves when no process of this home is left: the client's service leaves 5 s after its last session, as recorded. */
export async function allGone(home: string): Promise<void> {
  for (const pid of processesAt(home)) await gone(pid);
}

/** Resolves when the process is gone; its parent has seen its end by then. */
export async function gone(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}`))
    await promisify(execFile)("tail", ["--pid", String(pid), "-f", "/dev/null"]);
}

/** Ends what a test that failed left behind in this home. */
export function endAll(home: string): void {
  for (const pid of processesAt(home)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}
