/** Contents on the disk, as zlib files named by their hash. */

import { createHash } from "node:crypto";
import { constants, fstatSync, lstatSync, renameSync, type Stats, writeFileSync, writeSync } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  unlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { deflate, deflateSync, inflate } from "node:zlib";
import { limits } from "../../protocol/limits.ts";
import { checksum, isIntact } from "../journal/batch.ts";

// The index of the store: lines of a checksum and JSON, appended, read at a start, written anew when most are dead.

const newline = 0x0a;
const noFollow = constants.O_NOFOLLOW;

/**
 * Invariants: one write at a time; a line is whole or no line. Somebody may remove or cut the file while it is open: then it is
 * `isLost`, and nothing is appended before it is written anew. At most one sync runs, and no append waits for it.
 */
export class IndexFile {
  readonly path: string;
  readonly #onUnsynced: (error: unknown) => void;
  #handle: FileHandle | null = null;
  #lines = 0;
  #bytes = 0;
  #isUnsynced = false;
  #isSyncing = false;
  /** The last write may have left a part of a line. */
  #isTorn = false;

  /** `onUnsynced`: what was appended may not outlast a power cut. */
  constructor(path: string, onUnsynced: (error: unknown) => void) {
    this.path = path;
    this.#onUnsynced = onUnsynced;
  }

  /** Lines in the file, dead ones included. */
  get lines(): number {
    return this.#lines;
  }

  /**
   * Reads all lines, piece by piece, and opens the file for appending. Returns the number of lines that are not as they were
   * written, a torn one at the end included. It leaves those out, and whoever appends rewrites the file before. Throws the
   * system's error.
   */
  async open(take: (record: unknown) => void): Promise<number> {
    const handle = await open(
      this.path,
      constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | noFollow,
      0o600,
    );
    await this.close();
    this.#handle = handle;
    this.#lines = 0;
    let damaged = 0;
    let rest: Buffer = Buffer.alloc(0);
    let read = 0;
    const piece = Buffer.alloc(limits.rescueIndexBytesPerTurn);
    for (;;) {
      const { bytesRead } = await handle.read(piece, 0, piece.length, read);
      if (bytesRead === 0) break;
      read += bytesRead;
      const bytes = Buffer.concat([rest, piece.subarray(0, bytesRead)]);
      let start = 0;
      for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
        if (isIntact(bytes, start, end)) {
          take(JSON.parse(bytes.toString("utf8", start + 9, end)));
          this.#lines += 1;
        } else if (end > start) damaged += 1;
        start = end + 1;
      }
      rest = bytes.subarray(start);
      // No line is so long: what follows up to its end is damaged, too.
      if (rest.length > limits.rescueLineBytes) rest = rest.subarray(-1);
      await turn();
    }
    this.#bytes = read;
    return damaged + (rest.length > 0 ? 1 : 0);
  }

  /** Whether the file is no longer the one that is open, or is shorter. Looks in this thread: the file is beside the journal. */
  get isLost(): boolean {
    if (this.#handle === null) return true;
    const own = fstatSync(this.#handle.fd);
    const there = lstatSync(this.path, { throwIfNoEntry: false });
    return there === undefined || own.ino !== there.ino || own.dev !== there.dev || own.size < this.#bytes;
  }

  /** Appends records. Throws the system's error: then none of them counts. */
  async append(records: readonly unknown[]): Promise<void> {
    const handle = this.#handle;
    if (handle === null) throw new Error("the index of the rescue store is not open");
    const text = records.map(lineOf).join("");
    const { size } = fstatSync(handle.fd);
    try {
      // An empty line is no line: it ends what an earlier write left.
      appendNow(handle.fd, this.#isTorn ? `\n${text}` : text);
      this.#isTorn = false;
      this.#lines += records.length;
      this.#bytes = fstatSync(handle.fd).size;
      void this.#sync();
    } catch (error) {
      this.#isTorn = true;
      await handle.truncate(size).then(
        () => {
          this.#isTorn = false;
        },
        () => {
          // The next write begins on a new line; a start leaves the damaged one out.
        },
      );
      throw error;
    }
  }

  /** Brings to the disk what was appended, and what follows once in `limits.rescueSyncMs`: each sync holds up the disk's writes. */
  async #sync(): Promise<void> {
    this.#isUnsynced = true;
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    try {
      while (this.#isUnsynced && this.#handle !== null) {
        this.#isUnsynced = false;
        await this.#handle.datasync();
        await pause(limits.rescueSyncMs, undefined, { ref: false });
      }
    } catch (error) {
      this.#onUnsynced(error);
    } finally {
      this.#isSyncing = false;
    }
  }

  /** Writes the file anew, piece by piece: a temporary file takes its place. Throws the system's error; then the old one stays. */
  async rewrite(records: Iterable<unknown>): Promise<void> {
    const temporary = `${this.path}.new`;
    await rm(temporary, { force: true });
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND | noFollow;
    const handle = await open(temporary, flags, 0o600);
    let lines = 0;
    try {
      let text = "";
      for (const record of records) {
        text += lineOf(record);
        lines += 1;
        if (text.length < limits.rescueIndexBytesPerTurn) continue;
        await handle.appendFile(text);
        text = "";
      }
      await handle.appendFile(text);
      await handle.datasync();
      await rename(temporary, this.path);
      const folder = await open(dirname(this.path));
      await folder.sync().finally(() => folder.close());
    } catch (error) {
      await handle.close();
      await rm(temporary, { force: true });
      throw error;
    }
    const before = this.#handle;
    this.#handle = handle;
    this.#lines = lines;
    this.#bytes = fstatSync(handle.fd).size;
    this.#isTorn = false;
    await before?.close();
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    if (this.#isUnsynced) await handle?.datasync().catch(this.#onUnsynced);
    await handle?.close();
  }
}

/** Appends a few lines in this thread, as the journal beside them is written. A full disk takes a part, and throws with the rest. */
function appendNow(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Returns the line of a record. */
export function lineOf(record: unknown): string {
  const text = JSON.stringify(record);
  return `${checksum(text)} ${text}\n`;
}

const inflated = promisify(inflate);
const deflated = promisify(deflate);

/** The fastest level: it makes text a third as long, and costs half of the default one. In one piece, since each costs a turn. */
const fast = (content: Buffer) => ({ level: 1, chunkSize: Math.max(minChunkBytes, content.length) });
const minChunkBytes = 1024;
/** Bytes that are hashed before other work's turn. */
const pieceBytes = 512 * 1024;
/**
 * This thread packs and writes a content up to this size, as the journal writes its entries. That takes a millisecond at
 * most. The pool would take as much of the processor's time again.
 */
const inThreadBytes = 128 * 1024;

const tag =
  "Signature: 8a477f597d28d172789f06886806bc55\n# Kite keeps versions of files here; see kite help rescue.\n";

/** Returns the hash by which a content is named. */
export async function hashOf(content: Buffer): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < content.length; at += pieceBytes) {
    if (at > 0) await turn();
    hash.update(content.subarray(at, at + pieceBytes));
  }
  return hash.digest("hex");
}

/** A file of a content: the zlib stream, and the label after it. */
interface ContentFile {
  readonly content: Buffer;
  readonly packed: Buffer;
  /** Null: there is none that is intact. */
  readonly label: unknown;
  readonly storedBytes: number;
}

/**
 * Keeps contents. A content is written to a temporary file and renamed. So a file with a hash's name is whole, unless the
 * power failed, and then its hash tells. Nothing is synced. After the zlib stream, at whose end `inflate` stops, the file
 * has a line of the index: the label. So a content names its own version.
 */
export class ContentStore {
  readonly dir: string;
  readonly #objects: string;
  #written = 0;
  /** The folder of the contents as it was opened. */
  #own: Stats | null = null;

  constructor(dir: string) {
    this.dir = dir;
    this.#objects = join(dir, "objects");
  }

  /** Makes the folders; throws the system's error. */
  async open(): Promise<void> {
    await mkdir(this.#objects, { recursive: true, mode: 0o700 });
    this.#own = lstatSync(this.#objects);
    await writeFile(join(this.dir, "CACHEDIR.TAG"), tag, { flag: "wx", mode: 0o600 }).catch(ifThere);
  }

  /** Whether the folder of the contents is no longer the one that was opened, or lacks this one. Throws the system's error. */
  isLost(hash: string | null): boolean {
    const [own, there] = [this.#own, lstatSync(this.#objects, { throwIfNoEntry: false })];
    if (there?.ino !== own?.ino || there?.dev !== own?.dev) return true;
    return hash !== null && lstatSync(this.pathOf(hash), { throwIfNoEntry: false }) === undefined;
  }

  pathOf(hash: string): string {
    return join(this.#objects, hash.slice(0, 2), hash.slice(2));
  }

  /**
   * Stores a content, unless it is there with `knownBytes`, or whole; returns its bytes on the disk. `knownBytes` null: what is
   * there has no version, and is replaced. Throws the system's error, and leaves nothing.
   */
  async put(hash: string, content: Buffer, label: object, knownBytes: number | null): Promise<number> {
    const known = lstatSync(this.pathOf(hash), { throwIfNoEntry: false });
    if (known?.isFile() && knownBytes !== null)
      if (known.size === knownBytes || (await this.read(hash)) !== null) return known.size;
    const isShort = content.length <= inThreadBytes;
    const packed = isShort ? deflateSync(content, fast(content)) : await deflated(content, fast(content));
    return this.place(hash, packed, label, isShort);
  }

  /** Writes the file of a content, whatever was there; returns its bytes. Throws the system's error, and leaves nothing. */
  async place(hash: string, packed: Buffer, label: object, isShort = false): Promise<number> {
    this.#written += 1;
    const temporary = join(this.#objects, `${ownStart}${this.#written}`);
    const file = Buffer.concat([packed, Buffer.from(lineOf(label))]);
    try {
      await this.#write(temporary, file, isShort);
      await this.#moveTo(temporary, this.pathOf(hash));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return file.length;
  }

  /** What the system says of the file of a content; null: there is none. */
  async statOf(hash: string): Promise<Stats | null> {
    const there = await lstat(this.pathOf(hash)).catch(ifMissing);
    return there?.isFile() ? there : null;
  }

  /** Returns a content, or null if it is gone or is no longer what its name says. */
  async get(hash: string): Promise<Buffer | null> {
    try {
      return (await this.read(hash))?.content ?? null;
    } catch {
      // Replaced by something else, or the disk fails: whatever the reason, its version cannot be restored.
      return null;
    }
  }

  /** Returns the file of a content; null: it is missing, cut off, or replaced. Throws the system's other errors. */
  async read(hash: string): Promise<ContentFile | null> {
    if ((await this.statOf(hash)) === null) return null;
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW;
    const handle = await open(this.pathOf(hash), flags).catch(ifMissing);
    if (handle === null) return null;
    const file = await handle.readFile().finally(() => handle.close());
    const found = await inflatedWithInfo(file).catch(ifDamaged);
    if (found === null || (await hashOf(found.buffer)) !== hash) return null;
    const start = found.engine.bytesWritten;
    const isLabelled = isIntact(file, start, file.length - 1);
    const label: unknown = isLabelled ? JSON.parse(file.toString("utf8", start + 9, file.length - 1)) : null;
    return { content: found.buffer, packed: file.subarray(0, start), label, storedBytes: file.length };
  }

  /** Whether a content can be had; reads one that has other bytes than it should, as a cut one has. */
  async isSound(hash: string, storedBytes: number | null): Promise<boolean> {
    return (await this.statOf(hash))?.size === storedBytes || (await this.read(hash)) !== null;
  }

  async remove(hash: string): Promise<void> {
    await unlink(this.pathOf(hash)).catch(ifMissing);
  }

  /** Whether nothing was ever stored, as far as the folder shows. */
  async isEmpty(): Promise<boolean> {
    return ((await readdir(this.#objects).catch(ifMissing)) ?? []).length === 0;
  }

  /** The hashes of all contents; removes temporary files of a daemon that was killed. */
  async *hashes(): AsyncGenerator<readonly string[], void> {
    const folders = (await readdir(this.#objects).catch(ifMissing)) ?? [];
    for (const folder of folders) {
      if (folder.startsWith(temporaryStart) && !folder.startsWith(ownStart))
        await rm(join(this.#objects, folder), { force: true });
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      const names = (await readdir(join(this.#objects, folder)).catch(ifMissing)) ?? [];
      yield names.filter(name => /^[0-9a-f]{62}$/.test(name)).map(name => folder + name);
    }
  }

  async #write(path: string, packed: Buffer, isShort: boolean): Promise<void> {
    const options = { flag: "wx", mode: 0o600 };
    try {
      if (isShort) writeFileSync(path, packed, options);
      else await writeFile(path, packed, options);
    } catch (error) {
      if (!isMissing(error)) throw error;
      // Somebody removed the store while the daemon runs.
      await this.open();
      await writeFile(path, packed, options);
    }
  }

  async #moveTo(temporary: string, path: string): Promise<void> {
    try {
      renameSync(temporary, path);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      renameSync(temporary, path);
    }
  }
}

/** Inflates up to the end of the stream, and tells where that is: the types of Node do not say that it does. */
function inflatedWithInfo(file: Buffer) {
  return inflated(file, { maxOutputLength: limits.rescueFileBytes, info: true }) as unknown as Promise<{
    readonly buffer: Buffer;
    readonly engine: { readonly bytesWritten: number };
  }>;
}

const temporaryStart = "new-";
/** An earlier process may have had this number. */
const ownStart = `${temporaryStart}${process.pid}-${Date.now()}-`;

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

/** Returns null if the error says that the file does not exist; throws any other one. */
function ifMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/** Returns null for what zlib says of bytes that are no whole stream; throws any other error. */
function ifDamaged(error: unknown): null {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/^(Z_DATA_ERROR|Z_BUF_ERROR|Z_NEED_DICT|ERR_BUFFER_TOO_LARGE)$/.test(code)) return null;
  throw error;
}

function ifThere(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
}
