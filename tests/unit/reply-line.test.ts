import fc from "fast-check";
import { expect, it } from "vitest";
import { replyLine } from "../../daemon/server/connection.ts";

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", '"', "\\", "a\nb", "\u007f", "\u2028", "\ud800", "größe", "🪁", "src/a.ts"),
);
const grant = fc.record({ ok: fc.constant(true), file: text, path: text, token: text });
const released = fc.record({ ok: fc.constant(true), released: fc.array(text, { maxLength: 2 }) });

it("has the rid before the fields that it would have without one", () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.integer()), fc.oneof(grant, released), (id, reply) => {
      expect(JSON.parse(replyLine(id, reply))).toEqual({ rid: id, ...reply });
      expect(replyLine(undefined, reply)).toBe(`${JSON.stringify(reply)}\n`);
    }),
  );
});
