/** Closes the file descriptors that a process inherited beyond its own. */

import { closeSync, readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;

/**
 * Closes the descriptors above `highest` that this process inherited from its parent. Node marks every descriptor
 * that it opens as close-on-exec, so a descriptor without the mark was inherited. Only Linux shows the mark; on other
 * systems this function does nothing.
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
    return true; // Gone: this descriptor listed the folder.
  }
}
