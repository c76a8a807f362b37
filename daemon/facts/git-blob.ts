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
