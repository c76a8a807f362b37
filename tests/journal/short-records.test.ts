/** What the journal writes of an entry in its short form is what JSON would have kept of it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import { BatchEncoder, type Encoder } from "../../daemon/journal/batch.ts";
import { scanSegment } from "../../daemon/journal/segments.ts";
import { shorten } from "../../daemon/journal/short-records.ts";
import { entries } from "./any-entries.ts";
import { wants } from "./commands.ts";
import { LineEncoder } from "./line-encoder.ts";

function bytesOf(encoder: Encoder, list: readonly Entry[]): Buffer {
  encoder.begin();
  for (const entry of list) expect(encoder.add(entry, Number.POSITIVE_INFINITY)).toBe(true);
  return Buffer.from(encoder.end());
}

function read(bytes: Buffer): Entry[] {
  const found: Entry[] = [];
  expect(scanSegment([bytes], 5, 0, entry => void found.push(entry)).fault).toBeNull();
  return found;
}

/** As JSON keeps it, and as text: the order of names shows in a snapshot. */
const kept = (list: readonly Entry[]) => list.map(entry => JSON.stringify(JSON.parse(JSON.stringify(entry))));
const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, inner]) => [name, sorted(inner)]),
      )
    : Array.isArray(value)
      ? value.map(sorted)
      : value;

describe("a batch in the journal", () => {
  const encoder = new BatchEncoder();

  it("reads back as what was proposed, and as lines of earlier versions do", () => {
    fc.assert(
      fc.property(entries, list => {
        const found = read(bytesOf(encoder, list));
        expect(found).toEqual(JSON.parse(JSON.stringify(list)));
        expect(found.map(sorted)).toEqual(read(bytesOf(new LineEncoder(), list)).map(sorted));
      }),
      { numRuns: 2000 },
    );
  });

  it("is one line, unless its entries differ in origin", () => {
    const one = (n: number, epoch: number): Entry => {
      return { seq: 4 + n, at: n, origin: { node: "n", epoch, n }, command: wants(String(n)) };
    };
    const linesOf = (list: readonly Entry[]) => bytesOf(encoder, list).toString().split("\n").length - 1;
    expect(linesOf([one(1, 1), one(2, 1), one(3, 1)])).toBe(1);
    expect(linesOf([one(1, 1), one(2, 2), one(3, 2)])).toBe(2);
  });

  it("stays within its bound: what does not fit leaves it as it was", () => {
    const bound = fc.nat({ max: 1500 });
    fc.assert(
      fc.property(entries, bound, (list, bytesMax) => {
        encoder.begin();
        const taken: Entry[] = [];
        for (const entry of list) {
          if (!encoder.add({ ...entry, seq: 5 + taken.length }, bytesMax)) continue;
          taken.push({ ...entry, seq: 5 + taken.length });
        }
        const bytes = Buffer.from(encoder.end());
        expect(bytes.length).toBeLessThanOrEqual(bytesMax);
        expect(kept(read(bytes).map(sorted) as Entry[])).toEqual(kept(taken.map(sorted) as Entry[]));
      }),
    );
  });

  it("has the short form of the lock and the unlock that are most frequent", () => {
    const session = { session: "s1", agent: null, incarnation: 0 };
    const files = [{ file: "a.ts", lexical: "/p/a.ts", key: "local:/p/a.ts", dir: false }];
    const plain = { single: true, kind: "explicit", waitMs: 0, depth: 3, placeMs: 0, detach: false } as const;
    const rest = { progress: false, prompt: null, flight: null, yieldMs: 15_000, ancestors: [], bound: null };
    const place = { project: "p", cwd: "/p", wallMs: 7 };
    const lock: Command = { type: "lock_request", actor: session, files, ...plain, ...rest, ...place };
    expect(shorten(lock)).toBe('1,"s1","a.ts","/p/","local:","p","/p",7');
    expect(shorten({ ...lock, kind: "turn", prompt: "p1" })).toBe(
      '1,"s1","a.ts","/p/","local:","p","/p",7,{"kind":"turn","prompt":"p1"}',
    );
    expect(shorten({ type: "lock_release", actor: session, files })).toBe('2,"s1","a.ts","/p/","local:"');
    expect(shorten(wants("x"))).toBeNull();
  });
});
