/** Contents on the disk, as zlib files named by their hash. */
import { createHash } from "node:crypto";
import { constants, lstatSync, renameSync, writeFileSync } from "node:fs";
import { lstat, mkdir, open, readdir, rm, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { deflate, deflateSync, inflate } from "node:zlib";
import { limits } from "../../protocol/limits.ts";

const inflated = promisify(inflate);
const deflated = promisify(deflate);

/** The fastest level: it makes text a third as long, and costs half of the default one. In one piece, since each costs a turn. */
const fast = (content: Buffer) => ({ level: 1, chunkSize: Math.max(minChunkBytes, content.length) });
const minChunkBytes = 1024;
/** Bytes that are hashed before other work's turn. */
const pieceBytes = 512 * 1024;
/**
 * A content up to this size is packed and written in this thread, as the journal beside it is: that takes a millisecond at
 * most, and the pool would take as much of the processor's time again.
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

/**
 * Keeps contents. A content is written to a temporary file and renamed: a file with a hash's name is whole, unless the power
 * failed, and then its hash tells. Never synced.
 */
export class ContentStore {
  readonly dir: string;
  readonly #objects: string;
  #written = 0;

  constructor(dir: string) {
    this.dir = dir;
    this.#objects = join(dir, "objects");
  }

  /** Makes the folders; throws the system's error. */
  async open(): Promise<void> {
    await mkdir(this.#objects, { recursive: true, mode: 0o700 });
    await writeFile(join(this.dir, "CACHEDIR.TAG"), tag, { flag: "wx", mode: 0o600 }).catch(ifThere);
  }

  pathOf(hash: string): string {
    return join(this.#objects, hash.slice(0, 2), hash.slice(2));
  }

  /** Stores a content, unless it is there; returns its bytes on the disk. Throws the system's error, and leaves nothing. */
  async put(hash: string, content: Buffer): Promise<number> {
    const path = this.pathOf(hash);
    const known = lstatSync(path, { throwIfNoEntry: false });
    if (known?.isFile()) return known.size;
    const isShort = content.length <= inThreadBytes;
    const packed = isShort ? deflateSync(content, fast(content)) : await deflated(content, fast(content));
    this.#written += 1;
    const temporary = join(this.#objects, `${ownStart}${this.#written}`);
    try {
      await this.#write(temporary, packed, isShort);
      await this.#moveTo(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return packed.length;
  }

  /** Whether a file with this name is there. */
  async has(hash: string): Promise<boolean> {
    return (await lstat(this.pathOf(hash)).catch(ifMissing))?.isFile() === true;
  }

  /** Returns a content, or null if it is gone or is no longer what its name says. */
  async get(hash: string): Promise<Buffer | null> {
    try {
      const handle = await open(this.pathOf(hash), constants.O_RDONLY | constants.O_NOFOLLOW);
      const packed = await handle.readFile().finally(() => handle.close());
      const content = await inflated(packed, { maxOutputLength: limits.rescueFileBytes });
      return (await hashOf(content)) === hash ? content : null;
    } catch {
      // Missing, cut off, or replaced: whatever the reason, its version cannot be restored.
      return null;
    }
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

function ifThere(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
}
