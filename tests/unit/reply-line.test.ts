import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainReplyLine, replyLine } from "../../daemon/server/connection.ts";

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", '"', "\\", "a\nb", "\u007f", "\u2028", "\ud800", "größe", "🪁", "src/a.ts"),
);
const value = fc.oneof(
  text,
  fc.array(text, { maxLength: 2 }),
  fc.constantFrom<unknown>(true, false, null, undefined, 1, Number.NaN, [1], [null], {}, { a: 1 }),
);
const rid = fc.option(fc.oneof(text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })), {
  nil: undefined,
});
/** Some of the fields that replies have, in any order, mostly with values that they have. */
const field = fc.oneof(
  fc.tuple(
    fc.constant("ok"),
    fc.oneof({ arbitrary: fc.constant<unknown>(true), weight: 8 }, { arbitrary: value, weight: 1 }),
  ),
  fc.tuple(
    fc.constantFrom("file", "path", "token"),
    fc.oneof({ arbitrary: text, weight: 8 }, { arbitrary: value, weight: 1 }),
  ),
  fc.tuple(fc.constantFrom("released", "error", "granted_from_queue", "files", "__proto__"), value),
);
const odd = fc.array(field, { maxLength: 5 }).map(list => Object.fromEntries(list));
const grant = fc.record({ ok: fc.constant(true), file: text, path: text, token: text });
const released = fc.record({ ok: fc.constant(true), released: fc.array(text, { maxLength: 2 }) });

describe("a reply by template", () => {
  it("is what the plain way makes of it, whatever fields it has in whatever order", () => {
    const same = fc.property(rid, fc.oneof(odd, grant, released), (id, reply) => {
      expect(replyLine(id, reply)).toBe(plainReplyLine(id, reply));
    });
    fc.assert(same, { numRuns: 10_000 });
  });

  it("has the rid before the fields that it would have without one", () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.integer()), fc.oneof(grant, released), (id, reply) => {
        expect(JSON.parse(replyLine(id, reply))).toEqual({ rid: id, ...reply });
        expect(replyLine(undefined, reply)).toBe(`${JSON.stringify(reply)}\n`);
      }),
    );
  });
});
