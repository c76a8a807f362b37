import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { HookFailures } from "../../daemon/hooks/failures-file.ts";

let file: string;
let troubles: string[];
let failures: HookFailures;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "kite-failures-"));
  file = join(folder, "hook-failures");
  troubles = [];
  failures = new HookFailures(file, message => troubles.push(message));
  return () => rmSync(folder, { recursive: true, force: true });
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
