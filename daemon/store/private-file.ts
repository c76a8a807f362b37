/** Reads and writes the small files of a shared store that are for this user's eyes alone. */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { shellArgument } from "../../protocol/text.ts";

/** What stands at a path. `unfit`: no file that may be used, and `error` says why and what to do. */
export type FileText =
  | { readonly is: "read"; readonly text: string }
  | { readonly is: "absent" }
  | { readonly is: "unfit"; readonly error: string };

/** Returns why a file may not be used, or null. */
type Objection = (path: string, stat: Stats) => string | null;

const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Reads a file of this user that nobody else may open, and no link. It never waits for the other end of a FIFO. */
export function readPrivateFile(path: string, bytesMax: number): FileText {
  return readBounded(path, bytesMax, flags | constants.O_NOFOLLOW, (at, stat) => {
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid)
      return `${at} belongs to user ${stat.uid}, not to you (${uid}); remove it, and make one of your own`;
    return openToOthers(at, stat);
  });
}

/** Reads a file, or what a link leads to. `isPrivate`: it may not be open to others. */
export function readLinkedFile(path: string, bytesMax: number, isPrivate: boolean): FileText {
  return readBounded(path, bytesMax, flags, isPrivate ? openToOthers : () => null);
}

const openToOthers: Objection = (path, { mode }) => {
  if ((mode & 0o077) === 0) return null;
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return `${path} is open to other users (mode ${shown}); run: chmod 600 ${shellArgument(path)}`;
};

function readBounded(path: string, bytesMax: number, how: number, objection: Objection): FileText {
  let fd: number;
  try {
    fd = openSync(path, how);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error.code === "ENOENT" ? { is: "absent" } : { is: "unfit", error: errorText(error) };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { is: "unfit", error: `${path} is no file; move it away` };
    const unfit = objection(path, stat);
    if (unfit !== null) return { is: "unfit", error: unfit };
    const buffer = Buffer.alloc(bytesMax + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size < buffer.length; size += read)
      read = readSync(fd, buffer, size, buffer.length - size, size);
    if (size > bytesMax)
      return {
        is: "unfit",
        error: `${path} has more than ${bytesMax} bytes; see what is in it, and shorten it`,
      };
    return { is: "read", text: new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, size)) };
  } catch (error) {
    if (error instanceof TypeError)
      return { is: "unfit", error: `${path} is no text in UTF-8; write it anew` };
    if (!isSystemError(error)) throw error;
    return { is: "unfit", error: errorText(error) };
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces a file as a whole (mode 0600). After a crash at any point it is the old one or the new one. The new one is on the
 * disk when this returns. One process at a time may write it. Throws the system's error, and leaves the old file then.
 */
export function writePrivateFile(path: string, text: string): void {
  replace(path, text, { flush: true });
  const folder = openSync(dirname(path), constants.O_RDONLY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** The same, but it does not wait for the disk: after a power cut the file may be the old one, or damaged. */
export function writePrivateFileUnsynced(path: string, text: string): void {
  replace(path, text, { flush: false });
}

function replace(path: string, text: string, { flush }: { readonly flush: boolean }): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx", flush });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
