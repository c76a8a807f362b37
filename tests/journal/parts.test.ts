/** A segment is read piece by piece: what is found does not depend on where the pieces end. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { scanSegment } from "../../daemon/journal/segments.ts";
import { limits } from "../../protocol/limits.ts";
import { wants } from "./commands.ts";
import { lineOf } from "./line-encoder.ts";

const origin = { node: "n1", epoch: 1, n: 1 };

function segment(texts: readonly string[]): Buffer {
  return Buffer.from(
    texts.map((text, i) => lineOf({ seq: i + 1, at: i, origin, command: wants(text) })).join(""),
  );
}

function scanned(parts: readonly Buffer[], after = 0) {
  const entries: Entry[] = [];
  return { ...scanSegment(parts, 1, after, entry => void entries.push(entry)), entries };
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map(n => n % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}

const texts = fc.array(fc.string({ unit: "binary", maxLength: 60 }), { maxLength: 8 });
const places = fc.array(fc.nat({ max: 2000 }), { maxLength: 12 });

describe("a segment in pieces", () => {
  it("is read as in one, be it whole, torn or damaged", () => {
    const garbled = fc.option(fc.record({ at: fc.nat(), to: fc.nat({ max: 255 }) }), { nil: null });
    const some = fc.record({ texts, places, garbled, cut: fc.nat({ max: 3000 }), after: fc.nat({ max: 4 }) });
    fc.assert(
      fc.property(some, ({ texts, places, garbled, cut, after }) => {
        const bytes = segment(texts).subarray(0, cut);
        if (garbled !== null && bytes.length > 0) bytes[garbled.at % bytes.length] = garbled.to;
        expect(scanned(cutAt(bytes, places), after)).toEqual(scanned([bytes], after));
      }),
    );
  });

  it("says of a fault what follows it, however far behind the piece that is", () => {
    const good = segment(["one"]);
    const filler = Buffer.alloc(limits.recordBytes / 4, "x");
    const fault = (rest: readonly Buffer[]) => scanned([good, ...rest]).fault;
    const long = "what is left from there is longer than one write";
    expect(fault([filler, filler, filler, filler, filler])).toEqual({
      line: 2,
      reason: `is not complete, and ${long}`,
      torn: false,
    });
    expect(fault([filler, filler, filler, filler, filler, filler, Buffer.from("\n")])).toEqual({
      line: 2,
      reason: `does not fit its checksum, and ${long}`,
      torn: false,
    });
    expect(fault([filler, Buffer.from("\n"), good])).toEqual({
      line: 2,
      reason: "does not fit its checksum, and further entries begin behind it",
      torn: false,
    });
    expect(scanned([good, filler, filler])).toMatchObject({
      last: 1,
      goodBytes: good.length,
      tornBytes: 2 * filler.length,
      fault: { line: 2, reason: "is not complete", torn: true },
    });
  });
});
