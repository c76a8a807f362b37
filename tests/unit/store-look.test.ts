/** What is in the way of a store, in words. */
import { expect, it } from "vitest";
import { lackText } from "../../bin/store/look.ts";
import type { StoreLook } from "../../daemon/journal/shared-journal.ts";

const look: StoreLook = {
  ...{ server: "15.8", user: "kite", schema: "kite", tables: null, isHidden: false, lacks: [] },
  ...{ aheadMs: 0, roundTripMs: 1, isDurable: true },
};

it("a server that is too old is named with what Kite needs", () => {
  expect(lackText({ ...look, server: "12.9" })).toBe(
    "the store is PostgreSQL 12.9, and Kite needs 13 or later: let its administrator update it",
  );
  for (const server of ["13.0", "15.8", "18beta1"]) expect(lackText({ ...look, server })).toBeNull();
});

it("a user's name is one in a statement, and no markup", () => {
  const lacks = ["make the schema kite"];
  expect(lackText({ ...look, lacks })).toMatch(/AUTHORIZATION kite$/);
  expect(lackText({ ...look, lacks, user: 'a"b' })).toMatch(/AUTHORIZATION "a""b"$/);
  const odd = lackText({ ...look, lacks, user: "<b>\u001b[2J" });
  for (const char of ["<", "\u001b"]) expect(odd).not.toContain(char);
});
