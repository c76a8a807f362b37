/** Follows the trail's files for `kite log --follow`. */
import { type FSWatcher, watch } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { decode, fileName, isAbsence, type TrailLine, trailFiles } from "../daemon/trail/line.ts";

const chunkBytes = 64 * 1024;

/** How often `readAtEnd` reads again if the daemon writes meanwhile. */
const quietTries = 20;

/**
 * Runs `read`, and returns its result with the position in the trail at which it ended. If the daemon writes lines all
 * the time, a few lines of the result may lie after the position too.
 */
export async function readAtEnd<T>(dir: string, read: () => Promise<T>): Promise<{ found: T; place: Place }> {
  let place = await trailEnd(dir);
  for (let tries = 1; ; tries += 1) {
    const found = await read();
    const end = await trailEnd(dir);
    const isQuiet = end.n === place.n && end.offset === place.offset;
    if (isQuiet || tries === quietTries) return { found, place };
    place = end;
  }
}

/**
 * Hands new lines of the trail after `from` to `show`, in order, until `until` is aborted. When the daemon begins the
 * next file, this function reads on there.
 */
export async function followTrail(
  dir: string,
  from: Place,
  show: (lines: readonly TrailLine[]) => void,
  until: AbortSignal,
): Promise<void> {
  // There may be no trail yet; the daemon creates its folder with the same mode.
  await mkdir(dir, { recursive: true, mode: 0o700 });
  let changed: () => void = () => {};
  const watcher: FSWatcher = watch(dir, () => changed());
  const abort = () => changed();
  until.addEventListener("abort", abort, { once: true });
  try {
    let place = from;
    while (!until.aborted) {
      const change = new Promise<void>(resolve => {
        changed = resolve;
      });
      place = await readOn(dir, place, show);
      if (!until.aborted) await change;
    }
  } finally {
    until.removeEventListener("abort", abort);
    watcher.close();
  }
}

/** Position in the trail: file number, and offset in bytes of the first line not shown yet. */
export interface Place {
  readonly n: number;
  readonly offset: number;
}

async function trailEnd(dir: string): Promise<Place> {
  const [newest] = await trailFiles(dir);
  if (newest === undefined) return { n: 0, offset: 0 };
  const handle = await open(join(dir, fileName(newest)), "r");
  try {
    return { n: newest, offset: (await handle.stat()).size };
  } finally {
    await handle.close();
  }
}

async function readOn(dir: string, from: Place, show: (lines: readonly TrailLine[]) => void): Promise<Place> {
  let place = from;
  for (const n of (await trailFiles(dir)).reverse()) {
    if (n < from.n) continue;
    const offset = n === from.n ? from.offset : 0;
    place = { n, offset: await readFile(join(dir, fileName(n)), offset, show) };
  }
  return place;
}

/** Shows the whole lines after `offset` and returns where they end. */
async function readFile(
  path: string,
  offset: number,
  show: (lines: readonly TrailLine[]) => void,
): Promise<number> {
  const handle = await open(path, "r").catch((error: unknown) => {
    // The daemon rotated the file away since its name was read.
    if (isAbsence(error)) return null;
    throw error;
  });
  if (handle === null) return offset;
  try {
    let end = offset;
    let rest = Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.alloc(chunkBytes);
      const { bytesRead } = await handle.read(chunk, 0, chunkBytes, end + rest.length);
      if (bytesRead === 0) return end;
      const block = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      const whole = block.lastIndexOf("\n") + 1;
      const texts = block.toString("utf8", 0, whole).split("\n");
      show(texts.flatMap(text => decode(text) ?? []));
      end += whole;
      rest = block.subarray(whole);
    }
  } finally {
    await handle.close();
  }
}
