/** The files that the trail knows, for a name that it does not know. */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readTrail } from "../../daemon/trail/read.ts";
import { isResource } from "../../protocol/names.ts";
import { nearest, nearPath } from "../../protocol/text.ts";
import { isAbout, pathIn } from "./filter.ts";

/** Names that are kept. */
const keptMax = 1_000;

interface NamedFile {
  /** All absolute names of the file; the last one is its real path. */
  readonly paths: readonly string[];
  readonly cwd: string;
}

/** Returns null if the file is there, the trail knows it or it is a resource, else what to say: which name was perhaps meant, or null. */
export async function missingFile(
  dir: string,
  { paths, cwd }: NamedFile,
): Promise<{ readonly meant: string | null } | null> {
  const path = paths.at(-1) ?? "/";
  if (isResource(path) || existsSync(path)) return null;
  const files = new Set<string>();
  const [line] = await readTrail(dir, {
    limit: 1,
    filter: one => {
      const file = pathIn(one);
      if (file !== null && files.size < keptMax) files.add(file);
      return paths.some(of => isAbout(one, of));
    },
  });
  if (line !== undefined) return null;
  return { meant: nearestFile(path, [...files, ...besides(path)], cwd) };
}

/** The one that is typed nearly so, or else the one of this name in another folder. */
function nearestFile(path: string, files: readonly string[], cwd: string): string | null {
  const near = files.map(file => nearPath(file, cwd));
  const typed = nearest(nearPath(path, cwd), near);
  if (typed !== null) return typed;
  return near[files.findIndex(file => basename(file) === basename(path))] ?? null;
}

/** The files of the folder that it would be in. */
function besides(path: string): string[] {
  const folder = dirname(path);
  try {
    return readdirSync(folder)
      .slice(0, keptMax)
      .map(name => join(folder, name));
  } catch {
    // There is no such folder, or it is not to be read: the trail's files are left.
    return [];
  }
}
