import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Programs } from "./world.ts";

/** Fills `bin` of a home with the client and `kite`. Kite runs no program of a node_modules folder, where the tests keep the client. */
export function installPrograms(home: string, { claude, kite }: Programs): void {
  const bin = join(home, "bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(claude, join(bin, "claude"));
  writeFileSync(join(bin, "kite"), `#!/bin/sh\nexec '${process.execPath}' '${kite}' "$@"\n`, { mode: 0o755 });
}

/** Processes whose home is this folder, by what the system says of them. */
export function processesAt(home: string): number[] {
  return readdirSync("/proc").flatMap(name => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environ = readFileSync(`/proc/${name}/environ`, "latin1").split("\0");
      return environ.includes(`HOME=${home}`) ? [Number(name)] : [];
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
