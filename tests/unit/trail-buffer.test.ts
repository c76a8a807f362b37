import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineBuffer } from "../../daemon/trail/trail.ts";
import { limits } from "../../protocol/limits.ts";

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
