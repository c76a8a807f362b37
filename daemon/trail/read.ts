/** Reads the trail's latest lines. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { decode, fileName, isAbsence, newline, type TrailLine, trailFiles } from "./line.ts";

export interface TrailQuery {
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
