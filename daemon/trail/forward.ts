/** Reads the trail from older to newer lines, a chunk of a file at a time. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { decode, fileName, isAbsence, newline, type TrailLine, trailFiles } from "./line.ts";

/** Position in the trail: file number, and offset in bytes of the first unread line. */
export interface Place {
  readonly n: number;
  readonly offset: number;
}

/** Some lines in a row, and the position after them. */
export interface TrailChunk {
  readonly lines: readonly TrailLine[];
  readonly end: Place;
}

/**
 * Yields the lines after `from`, in the order of writing. Skips torn, invalid and overlong lines. A line without its end
 * stays unread: the daemon may be writing it.
 */
export async function* readForward(dir: string, from: Place): AsyncGenerator<TrailChunk> {
  for (const n of (await trailFiles(dir)).reverse()) {
    if (n >= from.n) yield* chunksOf(dir, n, n === from.n ? from.offset : 0);
  }
}

/** Returns the start of the last file that begins before wall time `at`: the files before it have only older lines. */
export async function startBefore(dir: string, at: number): Promise<Place> {
  for (const n of await trailFiles(dir)) {
    const first = await firstLine(dir, n);
    if (first !== null && first.at < at) return { n, offset: 0 };
  }
  return { n: 0, offset: 0 };
}

async function firstLine(dir: string, n: number): Promise<TrailLine | null> {
  for await (const { lines } of chunksOf(dir, n, 0)) {
    const [first] = lines;
    if (first !== undefined) return first;
  }
  return null;
}

async function* chunksOf(dir: string, n: number, from: number): AsyncGenerator<TrailChunk> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(join(dir, fileName(n)), flags).catch((error: unknown) => {
    // The daemon rotated the file away since its name was read.
    if (isAbsence(error)) return null;
    throw error;
  });
  if (handle === null) return;
  try {
    const chunk = Buffer.alloc(limits.trailLineBytes);
    let offset = from;
    let rest = Buffer.alloc(0);
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, offset + rest.length);
      if (bytesRead === 0) return;
      const block = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      const whole = block.lastIndexOf(newline) + 1;
      // The remains of an overlong line are no line, and are skipped like any other.
      const read = whole === 0 && block.length > limits.trailLineBytes ? block.length : whole;
      offset += read;
      rest = block.subarray(read);
      const texts = block.toString("utf8", 0, whole).split("\n");
      const lines = texts.flatMap(text => (text === "" ? [] : (decode(text) ?? [])));
      if (read > 0) yield { lines, end: { n, offset } };
    }
  } finally {
    await handle.close();
  }
}
