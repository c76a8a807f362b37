import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonNumber, jsonText } from "../../daemon/bounded-map.ts";
import { encode, type TrailLine, trailDecisions, trailWoulds } from "../../daemon/trail/line.ts";
import { encodeFast, LineBuffer } from "../../daemon/trail/trail.ts";
import { limits } from "../../protocol/limits.ts";

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", '"', "\\", "a\nb", "\u007f", "\u0080", "\u2028", "\ud800", "größe", "🪁", "/p/a.ts"),
  fc.constantFrom(-1, 0, 1).map(more => "é".repeat(limits.trailFieldChars + more)),
);
const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(-0, Number.NaN, Number.POSITIVE_INFINITY));
const orNull = fc.option(text, { nil: null });
/** Every field there is: a new one that the template does not know makes the test fail. */
const fields = {
  at: number,
  event: text,
  id: orNull,
  agent: orNull,
  name: orNull,
  project: orNull,
  type: orNull,
  file: orNull,
  decision: fc.constantFrom(...trailDecisions),
  rule: text,
  code: text,
  why: text,
  holder: fc.option(text, { nil: undefined }),
  task: fc.option(text, { nil: undefined }),
  ms: fc.option(number, { nil: undefined }),
  waitedMs: fc.option(number, { nil: undefined }),
  heldMs: fc.option(number, { nil: undefined }),
  perhaps: fc.option(text, { nil: undefined }),
  would: fc.option(fc.constantFrom(...trailWoulds), { nil: undefined }),
  chars: fc.option(number, { nil: undefined }),
  files: fc.option(number, { nil: undefined }),
  lines: fc.option(number, { nil: undefined }),
} as const satisfies { readonly [F in keyof Required<TrailLine>]: fc.Arbitrary<unknown> };
const line: fc.Arbitrary<TrailLine> = fc.record(fields, {
  requiredKeys: ["at", "event", "id", "agent", "name", "project", "type", "file", "decision"],
});

describe("JSON by template", () => {
  it("says of any text and any number what JSON.stringify does", () => {
    fc.assert(fc.property(text, value => jsonText(value) === JSON.stringify(value)));
    fc.assert(fc.property(number, value => jsonNumber(value) === JSON.stringify(value)));
    for (let unit = 0; unit <= 0xffff; unit += 1) {
      const one = String.fromCharCode(unit);
      if (jsonText(one) !== JSON.stringify(one)) expect.fail(`unit ${unit.toString(16)}`);
    }
  });

  it("makes of any trail line what the plain way makes of it", () => {
    const same = fc.property(line, one => encodeFast(one) === encode(one));
    fc.assert(same, { numRuns: 2_000 });
  });

  it("knows an actor anew whose name, agent or project changed, and however many there are", () => {
    const few = fc.constantFrom(null, "", "a", "b");
    const actors = fc.record({ id: few, agent: few, name: few, project: few });
    const rest = { at: 1, event: "e", type: null, file: null, decision: "note" } as const;
    const one = (who: Pick<TrailLine, "id" | "agent" | "name" | "project">) => {
      const noted = { ...rest, ...who };
      return encodeFast(noted) === encode(noted);
    };
    fc.assert(fc.property(fc.array(actors, { size: "max", maxLength: 20 }), list => list.every(one)));
    for (let n = 0; n < 2 * limits.trailActorsKept; n += 1) {
      expect(one({ id: `s${n}`, agent: null, name: "x", project: "p" })).toBe(true);
    }
  });
});

describe("lines that wait as bytes", () => {
  it("come out as they went in, in order, however long they are and whenever some are taken", () => {
    const lengths = fc.constantFrom(1, 100, limits.trailPieceBytes / 3, limits.trailPieceBytes);
    const one = fc.tuple(lengths, fc.constantFrom("x", "é", "🪁"), fc.boolean());
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), list => {
        const buffer = new LineBuffer();
        let [sent, got, lines] = ["", "", 0];
        const take = () => {
          const piece = buffer.take();
          if (piece === null) return false;
          got += piece.bytes.toString("utf8");
          lines += piece.lines;
          buffer.giveBack(piece);
          return true;
        };
        for (const [length, letter, taken] of list) {
          sent += letter.repeat(length);
          buffer.add(letter.repeat(length));
          if (taken) take();
          expect(buffer.lines + lines).toBeGreaterThan(0);
        }
        while (take());
        expect(got === sent).toBe(true);
        expect([lines, buffer.lines]).toEqual([list.length, 0]);
      }),
      { numRuns: 200 },
    );
  });
});
