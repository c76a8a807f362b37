import { expect, it } from "vitest";
import { GuardConfirmations } from "../../daemon/hooks/guard/memory.ts";
import { limits } from "../../protocol/limits.ts";

const files = (...names: string[]) => new Map(names.map(name => [name, "as it was"]));

it("confirms a line for as long as what it was told counts, and no longer where it is told more meanwhile", () => {
  const known = new GuardConfirmations();
  const later = limits.guardToldMs;
  known.told("line", files("a"), "first", 0);
  expect(known.isConfirmed("line", files("a"), "first", 1)).toBe(false);
  expect(known.isConfirmed("line", files("a"), "second", later - 1)).toBe(true);
  expect(known.isConfirmed("line", files("a"), "second", later)).toBe(false);
  known.told("line", files("b"), "second", later);
  expect(known.isConfirmed("line", files("b"), "third", later + 1)).toBe(true);
  expect(known.isConfirmed("line", files("a", "b"), "third", later + 1)).toBe(false);
});

it("confirms the latest line however many files it reaches, and forgets the others then", () => {
  const known = new GuardConfirmations();
  const many = files(...Array.from({ length: limits.guardToldFilesMax + 1 }, (_, i) => `${i}`));
  known.told("small", files("a"), "first", 0);
  known.told("large", many, "first", 1);
  expect(known.isConfirmed("large", many, "second", 2)).toBe(true);
  expect(known.isConfirmed("small", files("a"), "second", 2)).toBe(false);
});
