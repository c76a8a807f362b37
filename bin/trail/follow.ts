/** Follows the trail's files for `kite log --follow`. */
import { type FSWatcher, watch } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { fileName, type TrailLine, trailFiles } from "../../daemon/trail/line.ts";
import { type Place, readForward } from "../../daemon/trail/read.ts";

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
  show: (lines: readonly TrailLine[]) => Promise<void>,
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
      for await (const { lines, end } of readForward(dir, place)) {
        await show(lines);
        place = end;
      }
      if (!until.aborted) await change;
    }
  } finally {
    until.removeEventListener("abort", abort);
    watcher.close();
  }
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
