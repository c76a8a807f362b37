/** What is read of a batch's bytes is what JSON makes of them, whatever they are. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { BatchEncoder, entriesIn } from "../../daemon/journal/batch.ts";
import { ByteNames, LeanBatches } from "../../daemon/journal/lean-batch.ts";
import { KnownNames } from "../../daemon/journal/short-records.ts";
import { limits } from "../../protocol/limits.ts";
import { lockTerms } from "../lock-terms.ts";
import { entries } from "./any-entries.ts";
import { wants } from "./commands.ts";

/** The JSON of each line that a journal has of the entries. */
function linesOf(list: readonly Entry[]): Buffer[] {
  const encoder = new BatchEncoder();
  encoder.begin();
  for (const entry of list) encoder.add(entry, Number.POSITIVE_INFINITY);
  const lines = encoder.end().toString("latin1").trimEnd().split("\n");
  return lines.map(line => Buffer.from(line.slice(9), "latin1"));
}

function plain(bytes: Buffer): readonly Entry[] | null {
  try {
    return entriesIn(JSON.parse(bytes.toString()), new KnownNames());
  } catch {
    return null;
  }
}

/** Reads the line as it stands in a window: others before and behind it. */
function read(lean: LeanBatches, line: Buffer): readonly Entry[] | null {
  const window = Buffer.concat([Buffer.from("]} "), line, Buffer.from('\n]}"')]);
  return lean.entries(window, 3, 3 + line.length);
}

/** Reads them all with one reader, which knows the names of the earlier ones; returns how many it did read. */
function compare(lines: readonly Buffer[]): number {
  const lean = new LeanBatches(new KnownNames());
  let count = 0;
  for (const line of lines) {
    const found = read(lean, line);
    if (found === null) continue;
    count += 1;
    // As text, because the order of names shows in a snapshot.
    expect(JSON.stringify(found)).toBe(JSON.stringify(plain(line)));
  }
  return count;
}

/** A change of some bytes: others in the place of `length` of them, at a part of the line's length. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat({ max: 3 }),
  by: fc.oneof(
    fc.uint8Array({ maxLength: 3 }).map(bytes => Buffer.from(bytes)),
    fc
      .constantFrom(
        ...[
          '"',
          "\\",
          '\\"',
          ",",
          "[",
          "]",
          "{",
          "}",
          "0",
          "-",
          ".",
          "1e9",
          " ",
          "\n",
          "null",
          "[]",
          '""',
          "01",
        ],
        ...['"a"', '["x"]', ',"b"', "\u0000", "ü", "\ufeff", "9007199254740993", "2,", "3,"],
      )
      .map(text => Buffer.from(text)),
  ),
});

function changed(line: Buffer, changes: readonly { at: number; length: number; by: Buffer }[]): Buffer {
  let bytes = line;
  for (const { at, length, by } of changes) {
    const from = Math.floor(at * bytes.length);
    bytes = Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(from + length)]);
  }
  return bytes;
}

const actor = { session: "s1-0", agent: null, incarnation: 0 };
const file = { file: "a.ts", lexical: "/p/a.ts", key: "local:/p/a.ts", dir: false };
const place = { project: "p", cwd: "/p", wallMs: 17 };

const usual: readonly Entry[] = [
  { type: "lock_request", actor, files: [file], ...lockTerms, ...place } as const,
  wants("x"),
  { type: "lock_release", actor, files: [file] } as const,
].map((command, i) => ({
  seq: 11 + i,
  at: 1001 + i,
  origin: { node: "local", epoch: 12, n: 13 + i },
  command,
}));

describe("a batch read in the lean way", () => {
  it("has the entries that JSON makes of it, with every command", () => {
    let [lines, count] = [0, 0];
    const same = fc.property(fc.array(entries, { minLength: 1, maxLength: 3 }), lists => {
      const all = lists.flatMap(linesOf);
      lines += all.filter(line => /^\{"seq":\d+,"at":\d{1,15},/.test(line.toString())).length;
      count += compare([...all, ...all]) / 2;
    });
    fc.assert(same, { numRuns: 1000 });
    // It does read what the journal writes, unless a time is no plain number.
    expect(count).toBe(lines);
  });

  it("has no others if bytes are damaged", () => {
    let count = 0;
    const same = fc.property(entries, fc.array(change, { minLength: 1, maxLength: 3 }), (list, changes) => {
      const lines = linesOf(list);
      const damaged = lines.map(line => changed(line, changes));
      count += compare([...damaged, ...lines, ...damaged]);
    });
    fc.assert(same, { numRuns: 3000 });
    expect(count).toBeGreaterThan(1000);
  });

  it("is none wherever one byte of it is another, if JSON says so", () => {
    const [line = Buffer.alloc(0)] = linesOf(usual);
    const all = Array.from(line, (_, at) =>
      Array.from('"\\,[]{}0a \n\u007f', other =>
        changed(line, [{ at: at / line.length, length: 1, by: Buffer.from(other) }]),
      ),
    ).flat();
    expect(compare([line, ...all])).toBeGreaterThan(line.length);
  });

  it("takes JSON for the records that are not usual, and for names it does not know", () => {
    const lean = new LeanBatches(new KnownNames());
    const [line = Buffer.alloc(0)] = linesOf(usual);
    const parse = vi.spyOn(JSON, "parse");
    const callsOf = () => {
      parse.mockClear();
      expect(read(lean, line)).toHaveLength(3);
      return parse.mock.calls.length;
    };
    // The node, the session, the file and its place; and each time what is not a lock.
    expect([callsOf(), callsOf()]).toEqual([5, 1]);
    parse.mockRestore();
  });
});

describe("names by their bytes", () => {
  const of = (text: string) => {
    const bytes = Buffer.from(text);
    return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
  };
  const find = (names: ByteNames<string>, text: string, hash: number) => {
    const { bytes, view } = of(text);
    return names.find(view, 0, bytes.length, hash);
  };
  const keep = (names: ByteNames<string>, text: string, hash: number) =>
    names.keep(of(text).bytes, hash, [text]);
  const first = ([text = ""]: readonly string[]) => text;

  it("are kept apart where their hashes are the same, as many as there is room for", () => {
    const names = new ByteNames(first);
    const texts = Array.from({ length: 20 }, (_, n) => `name ${n + 10}`);
    for (const text of texts) {
      expect(find(names, text, 7)).toBeUndefined();
      expect(keep(names, text, 7)).toBe(text);
    }
    const found = texts.map(text => find(names, text, 7));
    expect(found.filter(text => text !== undefined)).toEqual(texts.slice(0, 8));
    expect(find(names, "name 1", 7)).toBeUndefined();
  });

  it("are the latest, and none that are too short or too long", () => {
    const names = new ByteNames(first);
    const long = "x".repeat(limits.knownNameBytes);
    for (const text of ["", "abc", `${long}x`]) {
      expect(keep(names, text, 1)).toBe(text);
      expect(find(names, text, 1)).toBeUndefined();
    }
    for (const text of ["abcd", long]) {
      keep(names, text, 1);
      expect(find(names, text, 1)).toBe(text);
    }
    for (let n = 0; n < limits.knownNamesMax; n += 1) keep(names, `name ${n}`, n);
    expect(find(names, "abcd", 1)).toBeUndefined();
    expect(find(names, "name 0", 0)).toBeUndefined();
    expect(find(names, "name 32767", 32_767)).toBe("name 32767");
  });
});
