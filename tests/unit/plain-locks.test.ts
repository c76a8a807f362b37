import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainLock } from "../../daemon/server/parse.ts";
import { limits } from "../../protocol/limits.ts";
import { requests } from "../../protocol/schemas/requests.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom(
    "",
    "s1",
    "src/a.ts",
    "/",
    "\u0000",
    "a\u001fb",
    "a\u007f",
    "a\u0080",
    "größe",
    "🪁",
    "\ud800",
  ),
  fc
    .constantFrom(limits.idBytes, limits.pathBytes)
    .chain(max => fc.constantFrom(max - 1, max, max + 1).map(length => "x".repeat(length))),
);
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, 1e-320),
);
const odd = fc.constantFrom(null, true, [], {}, ["s1"], { toString: 1 });
const anything = fc.oneof(text, number, odd);
const likely = (value: fc.Arbitrary<unknown>) =>
  fc.oneof({ arbitrary: value, weight: 4 }, { arbitrary: anything, weight: 1 });

/** Fields of requests in any order, as text, because JSON can say what an object literal cannot: twice, or `__proto__`. */
const fields = fc.array(
  fc.oneof(
    fc.tuple(fc.constant("id"), likely(text)),
    fc.tuple(fc.constant("file"), likely(text)),
    fc.tuple(fc.constant("rid"), likely(fc.oneof(text, number))),
    fc.tuple(
      fc.constantFrom(
        "type",
        "__proto__",
        "constructor",
        "agent",
        "files",
        "all",
        "force",
        "waitMs",
        "requestId",
        "x",
      ),
      anything,
    ),
  ),
  { maxLength: 5 },
);

/** As JSON; a number that JSON has no word for is one that is read as infinite. */
function asJson(value: unknown): string {
  if (typeof value === "number" && !Number.isFinite(value)) return value < 0 ? "-1e999" : "1e999";
  return Object.is(value, -0) ? "-0" : JSON.stringify(value);
}

describe("a lock request checked by hand", () => {
  for (const type of ["file_lock", "file_unlock"] as const) {
    it(`is what the schema of ${type} makes of it, whatever its fields are`, () => {
      let taken = 0;
      const same = fc.property(fields, list => {
        const json = `{${list.map(([name, value]) => `${JSON.stringify(name)}:${asJson(value)}`).join(",")}}`;
        const value = JSON.parse(json);
        const byHand = plainLock(value);
        if (byHand === null) return;
        taken += 1;
        const parsed = requests[type].params.safeParse(value);
        expect(parsed.success, json).toBe(true);
        expect(byHand).toStrictEqual(parsed.data);
        expect(JSON.stringify(byHand)).toBe(JSON.stringify(parsed.data));
      });
      fc.assert(same, { numRuns: 20_000 });
      expect(taken).toBeGreaterThan(100);
    });
  }

  it("takes each plain request that the schema takes", () => {
    const rid = fc.option(fc.oneof(text, number), { nil: undefined });
    fc.assert(
      fc.property(text, text, rid, (id, file, asked) => {
        const value = asked === undefined ? { id, file } : { rid: asked, id, file };
        expect(plainLock(value) !== null).toBe(requests.file_lock.params.safeParse(value).success);
      }),
      { numRuns: 5_000 },
    );
  });

  it("leaves each other field to the schema", () => {
    for (const field of [
      "agent",
      "files",
      "all",
      "force",
      "waitMs",
      "requestId",
      "project",
      "bind",
      "x",
      "__proto__",
    ]) {
      expect(plainLock(JSON.parse(`{"id":"s1","file":"a.ts","${field}":1}`)), field).toBeNull();
    }
  });
});
