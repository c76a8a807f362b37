import { closeSync, readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;

/**
 * Closes the descriptors above `highest` that this process was given by whoever started it. Node marks all it
 * opens itself as closed on exec, so those without the mark came from outside: Node lets some through that its own
 * parent left open. Linux alone shows the mark; elsewhere this does nothing.
 */
export function closeInherited(highest: number): void {
  if (process.platform !== "linux") return;
  for (const fd of readdirSync("/proc/self/fd").map(Number)) {
    if (fd <= highest || isOurs(fd)) continue;
    closeSync(fd);
  }
}

function isOurs(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    return true; // Gone: it was the one that listed the folder.
  }
}
