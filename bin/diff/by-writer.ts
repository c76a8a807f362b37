/** Splits what is not committed of a file by who wrote it. */
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import { contentOf as bytesOf, type Hunk, linesOf } from "../rescue/texts.ts";

/** A state of the file, and who made it; null: nobody that Kite knows. */
export interface Written {
  readonly by: Pick<ActorRow, "id" | "agent" | "name"> | null;
  readonly content: Buffer;
}

/** A part of the changes: what these writers changed, and nobody else in the same lines. */
export interface Part {
  readonly writers: readonly Written["by"][];
  /** What the commit has, with this part's changes alone. */
  readonly content: Buffer;
}

interface Line {
  readonly text: string;
  /** Which line of the commit it is, or who wrote it. */
  readonly from: number | string;
}

/** A place where the file differs from the commit. */
interface Place {
  readonly start: number;
  readonly removed: number;
  readonly lines: readonly string[];
  readonly writers: ReadonlySet<string>;
}

/**
 * Returns the parts, in the order in which they begin. `states` are the file's contents since the commit, the first one first, the
 * last one as it is now.
 */
export async function partsOf(
  hunks: (before: Buffer, after: Buffer) => Promise<readonly Hunk[]>,
  committed: Buffer,
  states: readonly Written[],
): Promise<readonly Part[]> {
  const base = linesOf(committed);
  const writers = new Map<string, Written["by"]>();
  /** Who removed each line of the commit. */
  const removers = new Map<number, string>();
  let lines: readonly Line[] = base.map((text, from) => ({ text, from }));
  let before = committed;
  const known: { readonly content: Buffer; readonly lines: readonly Line[] }[] = [{ content: before, lines }];
  for (const { by, content } of states) {
    const key = by === null ? "" : `${by.id}\n${by.agent ?? ""}`;
    writers.set(key, by);
    const same = known.find(one => one.content.equals(content));
    if (same !== undefined) {
      // Who brings a content back did not write its lines.
      lines = same.lines;
      before = content;
      continue;
    }
    const after = linesOf(content);
    const next: Line[] = [];
    let at = 0;
    for (const hunk of await hunks(before, content)) {
      next.push(...lines.slice(at, hunk.before.start));
      at = hunk.before.start + hunk.before.lines;
      for (const { from } of lines.slice(hunk.before.start, at))
        if (typeof from === "number") removers.set(from, key);
      const { start, lines: count } = hunk.after;
      for (const text of after.slice(start, start + count)) next.push({ text, from: key });
    }
    lines = [...next, ...lines.slice(at)];
    before = content;
    known.push({ content, lines });
  }
  const places = placesOf(base, lines, removers);
  const groups = new Map<string, Place[]>();
  for (const place of places) {
    const key = [...place.writers].sort().join("\0");
    groups.set(key, [...(groups.get(key) ?? []), place]);
  }
  return [...groups.values()].map(own => ({
    writers: [...(own[0]?.writers ?? [])].map(key => writers.get(key) ?? null),
    content: withPlaces(base, own),
  }));
}

function placesOf(
  base: readonly string[],
  lines: readonly Line[],
  removers: ReadonlyMap<number, string>,
): Place[] {
  const places: Place[] = [];
  let at = 0;
  let fresh: { readonly text: string; readonly by: string }[] = [];
  const end = (next: number) => {
    const start = at;
    const removed = next - start;
    const isUnchanged = removed === fresh.length && fresh.every(({ text }, i) => text === base[start + i]);
    if (!isUnchanged) {
      const gone = Array.from({ length: removed }, (_, i) => removers.get(start + i) ?? "");
      const all = new Set([...gone, ...fresh.map(({ by }) => by)]);
      // Lines that were only added lie beside each other, whoever added them.
      const groups = removed === 0 ? [...all].map(by => new Set([by])) : [all];
      for (const writers of groups)
        places.push({
          ...{ start, removed, writers },
          lines: fresh.flatMap(({ text, by }) => (writers.has(by) ? [text] : [])),
        });
    }
    fresh = [];
  };
  for (const { text, from } of lines) {
    if (typeof from === "string") {
      fresh.push({ text, by: from });
      continue;
    }
    if (from > at || fresh.length > 0) end(from);
    at = from + 1;
  }
  if (at < base.length || fresh.length > 0) end(base.length);
  return places;
}

function withPlaces(base: readonly string[], places: readonly Place[]): Buffer {
  const lines: string[] = [];
  let at = 0;
  for (const { start, removed, lines: own } of places) {
    lines.push(...base.slice(at, start), ...own);
    at = start + removed;
  }
  return bytesOf([...lines, ...base.slice(at)]);
}
