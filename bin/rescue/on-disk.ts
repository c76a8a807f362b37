/** Files as they are on the disk: read and written without following a link. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";

/** What stands at a path. `odd`: no regular file, or one that lies behind a link, as `what` says. */
export type OnDisk =
  | { readonly is: "file"; readonly content: Buffer; readonly mode: number }
  | { readonly is: "absent" }
  | { readonly is: "odd"; readonly what: string };

/** A file could not be written as it should be. */
class NotWritten extends LocalError {
  override readonly name = "NotWritten";
}

const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Returns what stands at an absolute path. Throws what the system says, such as a missing permission. */
export function onDisk(path: string): OnDisk {
  const folder = realFolder(dirname(path));
  if (folder === null) return { is: "absent" };
  if (folder !== dirname(path)) return { is: "odd", what: "behind a link" };
  let fd: number;
  try {
    fd = openSync(path, flags);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ENOTDIR") return { is: "absent" };
    if (code === "ELOOP" || code === "EMLINK") return { is: "odd", what: "a link" };
    if (code === "ENXIO" || code === "ENODEV") return { is: "odd", what: "no regular file" };
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    if (stat.isDirectory()) return { is: "odd", what: "a directory" };
    if (!stat.isFile()) return { is: "odd", what: "no regular file" };
    if (stat.size > limits.rescueFileBytes)
      return { is: "odd", what: `longer than ${limits.rescueFileBytes / 1024 / 1024} MiB` };
    return { is: "file", content: readFileSync(fd), mode: stat.mode & 0o777 };
  } finally {
    closeSync(fd);
  }
}

/** Whether both are the same: the one is what the other was. */
function isSame(a: OnDisk, b: OnDisk): boolean {
  if (a.is === "file" && b.is === "file") return a.content.equals(b.content);
  return a.is === b.is && a.is === "absent";
}

/**
 * Writes a file whole, by a temporary one beside it: nobody sees a part of it. Makes the folders on its way. Throws `NotWritten`
 * if the file is no longer what it was (`was`), or lies behind a link.
 */
export function replaceFile(path: string, was: OnDisk, content: Buffer, mode: number): void {
  const folder = dirname(path);
  let there = folder;
  while (realFolder(there) === null) there = dirname(there);
  if (realFolder(there) !== there) throw new NotWritten(`${plain(path)} lies behind a link now`);
  mkdirSync(folder, { recursive: true });
  const temporary = join(folder, `.kite-${randomBytes(6).toString("hex")}`);
  try {
    const fd = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(fd, content);
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
    if (!isSame(onDisk(path), was))
      throw new NotWritten(
        `${plain(path)} changed meanwhile; nothing was written to it: run the command again`,
      );
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The real path of a folder, as far as it exists; null: it does not. */
function realFolder(folder: string): string | null {
  try {
    return realpathSync(folder);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}
