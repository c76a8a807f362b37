/** kite update: the parts that are older than the program, and the commands that update them. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { changesSince } from "../../bin/update/changes.ts";
import { Home } from "./daemon.ts";

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

interface Part {
  readonly part: string;
  readonly now: string;
  readonly todo: string | null;
}

const parts = async (): Promise<readonly Part[]> => JSON.parse(await home.kite("update", "--json")).parts;
const todoOf = async (name: string) => (await parts()).find(({ part }) => part === name)?.todo;

test("names nothing that is not there", async () => {
  expect((await parts()).map(({ part }) => part)).toEqual(["program", "daemon"]);
  expect(await home.kite("update")).toMatch(/^daemon {3}not running$/m);
});

test("names the hooks' client and the plugin when they are of another version, until its advice is followed", async () => {
  await home.kite("install");
  await home.kite("plugin", "plugin");
  expect([await todoOf("hooks"), await todoOf("plugin")]).toEqual([null, null]);
  appendFileSync(join(home.paths.bin, "hook.pl"), "# of another version\n");
  const manifest = join(home.work, "plugin/kite/.claude-plugin/plugin.json");
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/"version": ".*"/, '"version": "0.0.1"'));
  expect(await todoOf("hooks")).toBe("kite install, with the options of the first time");
  expect(await todoOf("plugin")).toBe(`kite plugin ${join(home.work, "plugin")}`);
  await home.kite("install");
  await home.kite("plugin", "plugin");
  expect([await todoOf("hooks"), await todoOf("plugin")]).toEqual([null, null]);
});

test("says nothing of a daemon of this version", async () => {
  await home.start();
  expect(await todoOf("daemon")).toBeNull();
});

describe("the changelog", () => {
  const text =
    "# Changelog\n\n## 0.10.0 (unreleased)\n\n- Ten.\n\n## 0.9.0 (2026-02-01)\n\n- Nine.\n\n## 0.1.0 (2026-01-01)\n\n- One.\n";

  test("is shown from the version after the old one on", () => {
    expect(changesSince(text, "0.1.0")).toEqual([
      "0.10.0 (unreleased)\n\n- Ten.",
      "0.9.0 (2026-02-01)\n\n- Nine.",
    ]);
    expect(changesSince(text, "0.9.0")).toEqual(["0.10.0 (unreleased)\n\n- Ten."]);
    expect(changesSince(text, "0.10.0")).toEqual([]);
  });
});
