/** Texts in statements for PostgreSQL. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { channelOf, literal, tableName, textArray } from "../../daemon/store/schema.ts";

/**
 * Reads a literal as PostgreSQL does: `E'...'` with escapes, or `'...'`, where a backslash stands for itself if
 * `standard_conforming_strings` is on, and escapes if it is off. Returns the text, or throws if it ends early.
 */
function readBack(sql: string, isConforming: boolean): string {
  const form = /^ ?(E?)'([\s\S]*)'$/.exec(sql);
  if (form === null) throw new Error(`no literal: ${sql}`);
  const [, mark, body = ""] = form;
  const escapes = mark === "E" || !isConforming;
  let text = "";
  for (let i = 0; i < body.length; i += 1) {
    const [one, next] = [body[i] ?? "", body[i + 1]];
    if (one === "'" && next !== "'") throw new Error(`it ends at ${i}: ${sql}`);
    if (one === "\\" && escapes && next !== "\\") throw new Error(`an escape at ${i}: ${sql}`);
    if (one === "'" || (one === "\\" && escapes)) i += 1;
    text += one;
  }
  return text;
}

const awkward = fc.string({
  unit: fc.constantFrom("a", "'", "\\", '"', "E", " ", "\n", ";", "$", "ü", "{", ","),
  maxLength: 12,
});

describe("a literal", () => {
  it.each([true, false])("is the text for the server, with standard_conforming_strings %s", isConforming => {
    fc.assert(fc.property(awkward, text => readBack(literal(text), isConforming) === text));
  });

  it.each([
    ["", "''"],
    ["plain", "'plain'"],
    ["it's", "'it''s'"],
    ["a\\b", " E'a\\\\b'"],
    ["\\'", " E'\\\\'''"],
    ["'; DROP TABLE x; --", "'''; DROP TABLE x; --'"],
  ])("of %j is %j", (text, sql) => {
    expect(literal(text)).toBe(sql);
  });

  it("is none of its own where it stands behind a word", () => {
    expect(`SELECT${literal("\\")}`).toBe("SELECT E'\\\\'");
  });
});

describe("an array of texts", () => {
  it("has each text as a literal, and null as NULL", () => {
    expect(textArray(["a", null, "b'c\\"])).toBe("ARRAY['a',NULL, E'b''c\\\\']::text[]");
  });

  it("has a type although it is empty", () => {
    expect(textArray([])).toBe("ARRAY[]::text[]");
  });

  it("does not confuse null with its name", () => {
    expect(textArray(["NULL"])).toBe("ARRAY['NULL']::text[]");
  });
});

describe("the name of a table", () => {
  it.each(["kite", "_k", "kite_2", `k${"x".repeat(62)}`])("stands in the schema %s", schema => {
    expect(tableName(schema, "rows")).toBe(`"${schema}".rows`);
    expect(channelOf(table => tableName(schema, table))).toBe(`${schema}.steps`);
  });

  it.each(["", "Kite", "2k", "k-k", "k k", 'k"', "k'", "k.k", "kité", `k${"x".repeat(63)}`, "kite\n"])(
    "is refused in the schema %j",
    schema => {
      expect(() => tableName(schema, "rows")).toThrow(`${JSON.stringify(schema)} is no name of a schema`);
    },
  );
});
