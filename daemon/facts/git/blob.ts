/** The content of a file as git stores and names it. */
import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { open, readlink } from "node:fs/promises";

/** Returns the bytes that git would store of the file; null if git does not store such a file. */
export async function contentOf(path: string, stat: BigIntStats): Promise<Buffer | null> {
  if (stat.isSymbolicLink()) return Buffer.from(await readlink(path));
  if (!stat.isFile()) return null;
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const buffer = Buffer.alloc(Number(stat.size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return bytesRead === buffer.length ? buffer : null;
  } finally {
    await handle.close();
  }
}

export function oidOf(content: Buffer, length: number): string {
  const hash = createHash(length === 64 ? "sha256" : "sha1");
  return hash.update(`blob ${content.length}\0`).update(content).digest("hex");
}

/** Git's id of the empty tree, in SHA-1 or SHA-256. */
export function emptyTree(like: string | null): string {
  return like?.length === 64
    ? "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}
