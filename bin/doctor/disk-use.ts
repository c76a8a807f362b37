/** What Kite's directory takes on disk, by part. */
import { lstatSync, opendirSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { bytes } from "../view/text.ts";
import { ok } from "./advice.ts";

/** What the directory takes. Sizes are those of the blocks on disk, in bytes. */
export interface DiskUse {
  readonly total: number;
  /** By part, the largest first: `journal`, `trail`, `log`, each other folder, and `other files`. */
  readonly parts: readonly (readonly [string, number])[];
  /** Whether everything was counted: a look ends at `filesMax` files and folders. */
  readonly isWhole: boolean;
}

export function checkDiskUse({ paths }: ProcessContext): Check {
  const { total, parts, isWhole } = diskUse(paths.home);
  const each = parts
    .map(([name, size]) => `${name === "trail" ? "decisions" : name} ${bytes(size)}`)
    .join(", ");
  const more = isWhole ? "" : "more than ";
  return ok("size", `${paths.home} takes ${more}${bytes(total)}${each === "" ? "" : `: ${each}`}`);
}

/** Measures a directory without following links. Counts the files right in it before those of its folders. */
export function diskUse(home: string, filesMax: number = limits.measuredFilesMax): DiskUse {
  const parts = new Map<string, number>();
  const folders: (readonly [path: string, part: string | null])[] = [[home, null]];
  let left = filesMax;
  // Breadth first: a folder with many files hides none of the parts.
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const [path, part] = folder;
    for (const name of namesIn(path, left)) {
      if (left === 0) return used(parts, false);
      left -= 1;
      const stat = lstatSync(join(path, name), { throwIfNoEntry: false });
      // Removed since its name was read.
      if (stat === undefined) continue;
      const its = part ?? (stat.isDirectory() ? name : partOf(name));
      // Blocks have 512 bytes whatever the filesystem.
      parts.set(its, (parts.get(its) ?? 0) + stat.blocks * 512);
      if (stat.isDirectory()) folders.push([join(path, name), its]);
    }
  }
  return used(parts, true);
}

function partOf(name: string): string {
  return name.startsWith("daemon.log") ? "log" : "other files";
}

function used(sizes: ReadonlyMap<string, number>, isWhole: boolean): DiskUse {
  const parts = [...sizes].filter(([, size]) => size > 0).sort(([, a], [, b]) => b - a);
  return { total: parts.reduce((sum, [, size]) => sum + size, 0), parts, isWhole };
}

/** Yields up to one name more than `max`, so that the caller sees that there are more. */
function namesIn(folder: string, max: number): string[] {
  try {
    const dir = opendirSync(folder);
    try {
      const names: string[] = [];
      for (let entry = dir.readSync(); entry !== null && names.length <= max; entry = dir.readSync())
        names.push(entry.name);
      return names;
    } finally {
      dir.closeSync();
    }
  } catch (error) {
    // Removed meanwhile, or another check says that this user may not read it.
    if (isSystemError(error)) return [];
    throw error;
  }
}
