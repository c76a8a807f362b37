/** npm run release: one script writes the version everywhere. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const project = fileURLToPath(new URL("../..", import.meta.url));
const open = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- New.\n\n## 0.1.0 (2026-01-31)\n\n- First.\n";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "kite-release-"));
  mkdirSync(join(root, "bin"));
  for (const name of ["bin/release.mjs", "package.json", "package-lock.json"])
    copyFileSync(join(project, name), join(root, name));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function release(changelog: string, ...args: readonly string[]) {
  writeFileSync(join(root, "CHANGELOG.md"), changelog);
  const { status, stderr } = spawnSync(process.execPath, [join(root, "bin/release.mjs"), ...args], {
    encoding: "utf8",
  });
  return { status, stderr, changelog: readFileSync(join(root, "CHANGELOG.md"), "utf8") };
}

const json = (name: string) => JSON.parse(readFileSync(join(root, name), "utf8"));

test("a release dates the open section and writes the version, and nothing else", () => {
  const before = readFileSync(join(root, "package.json"), "utf8");
  const done = release(open, "0.3.0");
  expect(done).toMatchObject({ status: 0, stderr: "" });
  expect(done.changelog.replace(/\d{4}-\d\d-\d\d/, "DATE")).toBe(
    open.replace("0.2.0 (unreleased)", "0.3.0 (DATE)"),
  );
  expect([json("package.json").version, json("package-lock.json").version]).toEqual(["0.3.0", "0.3.0"]);
  expect(json("package-lock.json").packages[""].version).toBe("0.3.0");
  expect(readFileSync(join(root, "package.json"), "utf8")).toBe(
    before.replace(/"version": ".*"/, '"version": "0.3.0"'),
  );
});

test("--open begins the next section", () => {
  const closed = open.replace("unreleased", "2026-02-28");
  expect(release(closed, "0.3.0", "--open").changelog).toBe(
    closed.replace("## 0.2.0", "## 0.3.0 (unreleased)\n\n## 0.2.0"),
  );
});

test.each([
  ["a word that is no version", open, ["v1"], "v1 is no version; write it as 1.2.3"],
  ["a version that is not newer", open, ["0.1.0"], "0.1.0 is not newer than 0.1.0"],
  [
    "a section that says nothing",
    open.replace("- New.\n\n", ""),
    ["0.2.0"],
    "the section of 0.2.0 says nothing; write what changed",
  ],
  [
    "a second open section",
    open,
    ["0.3.0", "--open"],
    "the section of 0.2.0 is open already; release it first",
  ],
  [
    "nothing to release",
    "## 0.1.0 (2026-01-31)\n",
    ["0.2.0"],
    "no section is open; begin one: npm run release -- 0.2.0 --open",
  ],
  ["no version", open, [], "usage: npm run release -- VERSION [--open]"],
] as const)("%s is refused, and nothing changes", (_, changelog, args, error) => {
  const before = json("package.json").version;
  expect(release(changelog, ...args)).toEqual({ status: 1, stderr: `release: ${error}\n`, changelog });
  expect(json("package.json").version).toBe(before);
});
