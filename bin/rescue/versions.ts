/** Kept versions of files: found through the daemon, read from the disk by whoever asks. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { inflate } from "node:zlib";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { fileTyped } from "../lockable.ts";
import { namesBefore } from "../real-path.ts";
import { Refused, rowsOf } from "../with-daemon.ts";
import { type Asker, readerOf } from "./asker.ts";
import type { Commits, CommittedFile } from "./committed.ts";

const inflated = promisify(inflate);

/** Returns the versions of a file, or of all files below a directory; the latest first. */
export function versionsOf(asker: Asker, path: string): Promise<VersionRow[]> {
  return rowsOf(asker.client, "versions", { file: path, ...readerOf(asker) });
}

/**
 * Returns the path under which Kite keeps a file that somebody typed, and its versions. Something may have become a link since:
 * then a name from before has them.
 */
export async function keptFile(
  asker: Asker,
  typed: string,
): Promise<{ readonly path: string; readonly rows: readonly VersionRow[] }> {
  const names = await namesBefore(asker.cwd, fileTyped(typed));
  const all = await versionsOf(asker, names.at(-1) ?? typed);
  const below = (name: string) => all.filter(({ path }) => path === name || path.startsWith(`${name}/`));
  const [real = typed] = names;
  const path = names.find(name => below(name).length > 0) ?? real;
  return { path, rows: below(path) };
}

/** Returns the versions of a file of a worktree, also if a link is in its place now, which the daemon would follow. */
export async function versionsAt(asker: Asker, path: string, worktree: string): Promise<VersionRow[]> {
  const rows = await versionsOf(asker, path);
  if (rows.some(row => row.path === path)) return rows;
  return (await versionsOf(asker, worktree)).filter(row => row.path === path);
}

/** Returns the version of this name that the asker may see. Throws `Refused`. */
export async function versionNamed(asker: Asker, name: string): Promise<VersionRow> {
  const rows = await rowsOf(asker.client, "versions", readerOf(asker), limits.rescueVersionsMax);
  const found = rows.find(({ version }) => version === name);
  if (found !== undefined) return found;
  const error = `Kite keeps no version ${name} that you may see; kite history FILE lists those of a file`;
  throw new Refused({ ok: false, code: "unknown_version", error });
}

/** Returns the content of a version; null: it is gone, or no longer what it was. */
export async function contentOf({
  object,
  hash,
}: Pick<VersionRow, "object" | "hash">): Promise<Buffer | null> {
  if (object === null) return null;
  try {
    const content = await inflated(await readFile(object), { maxOutputLength: limits.rescueFileBytes });
    return createHash("sha256").update(content).digest("hex") === hash ? content : null;
  } catch (error) {
    // Cut off, or removed meanwhile: whatever it is, the version cannot be had.
    if (isSystemError(error) || (error instanceof Error && "code" in error)) return null;
    throw error;
  }
}

/** Returns the content of a version. Throws `Refused` if it is gone. */
export async function neededContent(row: VersionRow): Promise<Buffer> {
  const content = await contentOf(row);
  if (content !== null) return content;
  throw new Refused({
    ok: false,
    code: "version_gone",
    error: `the content of ${row.version} of ${row.file} is no longer on the disk, so it cannot be had again`,
  });
}

/** What is not committed of a file, and what it follows. */
export interface Uncommitted {
  /** The checked-out commit; null: none, or nobody can tell. */
  readonly head: string | null;
  /** What the commit has of the file; null: nothing. */
  readonly committed: Buffer | null;
  /** The versions since, the latest first. */
  readonly versions: readonly VersionRow[];
}

/**
 * Returns which versions of a file (the latest first) no commit contains. A version counts until the file's content in the
 * checked-out commit is its own, or is another than in the commit that the version was based on.
 */
export async function uncommittedOf(
  commits: Commits,
  file: CommittedFile,
  rows: readonly VersionRow[],
): Promise<Uncommitted> {
  const head = await commits.head(file.worktree);
  const committed = await commits.content(head, file);
  const hash = committed === null ? null : createHash("sha256").update(committed).digest("hex");
  const versions: VersionRow[] = [];
  for (const row of rows) {
    if (row.hash === hash) break;
    const before = row.base === head ? committed : await commits.content(row.base, file);
    const isSameBase =
      before === null || committed === null ? before === committed : before.equals(committed);
    if (!isSameBase) break;
    versions.push(row);
  }
  return { head, committed, versions };
}
