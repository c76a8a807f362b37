/** Reads the trail's latest lines. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { decode, fileName, isAbsence, newline, type TrailLine, trailFiles } from "./line.ts";

interface TrailQuery {
  /** At most `limits.trailReadMax`. */
  readonly limit: number;
  readonly filter?: (line: TrailLine) => boolean;
  /** Reads no further back than to the first line before this wall time, in milliseconds. */
  readonly since?: number | undefined;
}

/**
 * Returns the latest lines that pass the filter, newest last. Reads backwards, and no more than needed. Skips torn and
 * invalid lines. A missing directory has no lines.
 */
export async function readTrail(dir: string, query: TrailQuery): Promise<TrailLine[]> {
  const limit = Math.min(query.limit, limits.trailReadMax);
  const found: TrailLine[] = [];
  for (const n of await trailFiles(dir)) {
    for await (const text of linesBackwards(join(dir, fileName(n)))) {
      if (found.length >= limit) return found.reverse();
      const line = decode(text);
      if (line !== null && query.since !== undefined && line.at < query.since) return found.reverse();
      if (line !== null && (query.filter?.(line) ?? true)) found.push(line);
    }
  }
  return found.reverse();
}

/** Yields a file's lines from last to first; skips lines longer than `limits.trailLineBytes`. */
async function* linesBackwards(path: string): AsyncGenerator<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      // The file was rotated away since its name was read.
      if (isAbsence(error)) return null;
      throw error;
    },
  );
  if (handle === null) return;
  try {
    const chunk = Buffer.alloc(limits.trailLineBytes);
    let rest = Buffer.alloc(0);
    let overlong = false;
    for (let end = (await handle.stat()).size; end > 0; ) {
      const size = Math.min(chunk.length, end);
      const { bytesRead } = await handle.read(chunk, 0, size, end - size);
      if (bytesRead < size) return;
      end -= size;
      const block = Buffer.concat([chunk.subarray(0, size), rest]);
      let unread = block;
      for (let at = unread.lastIndexOf(newline); at !== -1; at = unread.lastIndexOf(newline)) {
        if (!overlong && at + 1 < unread.length) yield unread.toString("utf8", at + 1);
        overlong = false;
        unread = unread.subarray(0, at);
      }
      rest = unread;
      if (rest.length > limits.trailLineBytes) {
        overlong = true;
        rest = Buffer.alloc(0);
      }
      if (end === 0 && !overlong && rest.length > 0) yield rest.toString("utf8");
    }
  } finally {
    await handle.close();
  }
}

// Reads the trail from older to newer lines, a chunk of a file at a time.

/** Position in the trail: file number, and offset in bytes of the first unread line. */
export interface Place {
  readonly n: number;
  readonly offset: number;
}

/** Some lines in a row, and the position after them. */
interface TrailChunk {
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
