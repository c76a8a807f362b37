import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { isRebuilt } from "../../bin/version.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let home: string;
let program: string;

beforeEach(() => {
  home = temporaryFolder("kite-rebuilt-");
  program = join(home, "daemon.mjs");
});

const at = (path: string, seconds: number) => {
  writeFileSync(path, "");
  utimesSync(path, seconds, seconds);
};

it("tells a daemon that began before its program was built from one that began after", () => {
  const paths = kitePaths({ KITE_HOME: home });
  at(program, 1_000);
  expect(isRebuilt(paths, program)).toBe(false);
  at(paths.daemonFile, 2_000);
  expect(isRebuilt(paths, program)).toBe(false);
  at(program, 3_000);
  expect(isRebuilt(paths, program)).toBe(true);
});
