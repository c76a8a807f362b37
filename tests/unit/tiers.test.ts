import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isInTier, named, tierOf } from "../tiers.ts";

it("names files that exist", () => {
  const root = join(import.meta.dirname, "../..");
  expect(named.filter(path => !existsSync(join(root, path)))).toEqual([]);
});

it.each([
  ["tests/unit/core-locks.test.ts", true],
  ["tests/tidy.test.ts", true],
  ["tests/end-to-end/wire.test.ts", true],
  ["tests/end-to-end/crash.test.ts", false],
  ["tests/simulation/few-seeds.test.ts", true],
  ["tests/simulation/remote.test.ts", false],
])("%s is in one tier alone: fast is %s", (path, isFast) => {
  expect([isInTier(path, "fast"), isInTier(path, "rest"), isInTier(path, "all")]).toEqual([
    isFast,
    !isFast,
    true,
  ]);
});

it("takes all files where no tier is named, and refuses one that is none", () => {
  expect(tierOf(undefined)).toBe("all");
  expect(() => tierOf("quick")).toThrow(/has to be fast, rest or all/);
});
