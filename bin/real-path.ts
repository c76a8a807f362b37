import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { absolute } from "./actor.ts";

/** Returns a file typed in directory `cwd` as the daemon names it; for a deleted file, resolves its directory. */
export async function realPath(cwd: string, file: string): Promise<string> {
  const path = resolve(absolute(cwd, file));
  try {
    return await realpath(path);
  } catch {
    // A deleted file has locks and uncommitted work, too.
    const folder = await realpath(dirname(path)).catch(() => dirname(path));
    return join(folder, basename(path));
  }
}

/** Returns the absolute names of a file typed in `cwd`: as it is typed, and without symbolic links. */
export async function namesOf(cwd: string, file: string): Promise<readonly string[]> {
  return [...new Set([resolve(cwd, file), await realPath(cwd, file)])];
}

/** Returns the same, the real one first, and between them the file itself, also if it is a link now. */
export async function namesBefore(cwd: string, file: string): Promise<readonly string[]> {
  const path = resolve(absolute(cwd, file));
  const beside = join(await realPath(cwd, dirname(path)), basename(path));
  return [...new Set([await realPath(cwd, file), beside, path])];
}
