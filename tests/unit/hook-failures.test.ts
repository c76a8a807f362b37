import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { HookFailures } from "../../daemon/hooks/edits/own-files.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let file: string;
let troubles: string[];
let failures: HookFailures;

beforeEach(() => {
  const folder = temporaryFolder("kite-failures-");
  file = join(folder, "hook-failures");
  troubles = [];
  failures = new HookFailures(file, message => troubles.push(message));
});

test("what was counted is removed, again and again, and nothing is no trouble", () => {
  failures.clear();
  for (let n = 0; n < 2; n += 1) {
    writeFileSync(file, "1700000000\n");
    failures.clear();
    expect(existsSync(file)).toBe(false);
  }
  expect(troubles).toEqual([]);
});

test("what cannot be removed is told once", () => {
  mkdirSync(file);
  failures.clear();
  failures.clear();
  expect(troubles).toEqual([`hooks may pause without need: ${file} cannot be removed; remove it`]);
});
