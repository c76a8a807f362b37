import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { checkVersion, risk } from "../../bin/diff/risk.ts";
import { limits } from "../../protocol/limits.ts";
import { fakeDaemon, fakeWorld } from "../unit/command-world.ts";
import { session } from "../unit/view-rows.ts";

const top = realpathSync(mkdtempSync(join(tmpdir(), "kite risk:")));
let count = 0;
afterAll(() => rmSync(top, { recursive: true, force: true }));

const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: top,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "t",
  GIT_AUTHOR_EMAIL: "t@t",
  GIT_COMMITTER_NAME: "t",
  GIT_COMMITTER_EMAIL: "t@t",
};

function git(dir: string, ...args: string[]): string {
  const all = ["-c", "init.defaultBranch=main", ...args];
  return execFileSync("git", all, { cwd: dir, env, encoding: "utf8", stdio: "pipe" });
}

function put(dir: string, file: string, text: string): void {
  mkdirSync(dirname(join(dir, file)), { recursive: true });
  writeFileSync(join(dir, file), text);
}

function commit(dir: string, file: string, text: string): void {
  put(dir, file, text);
  git(dir, "add", "-A");
  git(dir, "commit", "-qm", file);
}

/** A repository with a worktree for each branch named. */
function repository(...branches: readonly string[]) {
  const dir = join(top, `shop${++count}`);
  mkdirSync(dir);
  git(dir, "init", "-q");
  for (const file of ["src/auth.ts", "src/käse list.ts", "README.md"]) put(dir, file, "1\n2\n3\n4\n5\n");
  git(dir, "add", "-A");
  git(dir, "commit", "-qm", "first");
  const at = (branch: string) => join(top, `shop${count}-${branch}`);
  for (const branch of branches) git(dir, "worktree", "add", "-q", "-b", branch, at(branch));
  return { dir, worktrees: branches.map(at) };
}

async function look(cwd: string, live: readonly string[] | "all", more: object = {}) {
  const rows = live === "all" ? [] : live.map((worktree, i) => session(`s${i}`, { worktree, project: cwd }));
  const daemon = live === "all" ? undefined : fakeDaemon({ "query sessions": { ok: true, rows } });
  const world = {
    ...fakeWorld(daemon === undefined ? {} : { daemon }),
    cwd,
    env: { ...env, GIT_DIR: "/nowhere" },
  };
  const code = await risk(world, { all: live === "all", ...more });
  return { code, out: world.out(), err: world.err() };
}

/** Everything in the repository but what status may touch: nothing. */
function fingerprint(dir: string): string {
  const names = readdirSync(join(dir, ".git"), { recursive: true, encoding: "utf8" }).sort();
  return JSON.stringify([
    names,
    readFileSync(join(dir, ".git", "index")).toString("base64"),
    git(dir, "status", "-s"),
  ]);
}

it("names the files that a later real merge conflicts on, and touches nothing", async () => {
  const { dir, worktrees } = repository("pay", "tax");
  const [pay = "", tax = ""] = worktrees;
  commit(dir, "src/auth.ts", "1\nmain\n3\n4\n5\n");
  commit(pay, "src/auth.ts", "1\npay\n3\n4\n5\n");
  commit(pay, "src/käse list.ts", "pay\n2\n3\n4\n5\n");
  commit(tax, "src/käse list.ts", "tax\n2\n3\n4\n5\n");
  commit(tax, "README.md", "tax\n");
  const before = fingerprint(dir);
  const { code, out } = await look(dir, [dir, pay, tax], { json: true });
  expect(code).toBe(0);
  expect(fingerprint(dir)).toBe(before);
  const found = JSON.parse(out);
  expect(found).toMatchObject({
    branches: [{ name: "main", worktree: dir }, { name: "pay" }, { name: "tax" }],
    pairs: [
      { a: "main", b: "pay", conflicts: ["src/auth.ts"], uncommitted: [] },
      { a: "main", b: "tax", conflicts: [] },
      { a: "pay", b: "tax", conflicts: ["src/käse list.ts"] },
    ],
    left: 0,
  });
  for (const { a, b, conflicts } of found.pairs) {
    git(dir, "checkout", "-q", "--detach", a);
    spawnSync("git", ["merge", "-q", b], { cwd: dir, env });
    const real = git(dir, "-c", "core.quotePath=false", "diff", "--name-only", "--diff-filter=U").split("\n");
    expect(real.filter(file => file !== "")).toEqual(conflicts);
    git(dir, "reset", "-q", "--hard");
  }
});

it("looks at live branches, says when there are too few, and at all when asked", async () => {
  const { dir, worktrees } = repository("pay");
  const [pay = ""] = worktrees;
  commit(dir, "README.md", "main\n");
  commit(pay, "README.md", "pay\n");
  expect((await look(dir, [])).out).toContain("No worktree with live sessions in this repository.");
  expect((await look(dir, [pay])).out).toContain("Only one worktree with live sessions: pay.");
  expect((await look(dir, "all")).out).toBe(
    "Trial merges of what is committed in 2 worktrees:\n\nmain and pay conflict in 1 file\n    README.md\n",
  );
});

it("names what is uncommitted on both sides, which it does not try", async () => {
  const { dir, worktrees } = repository("pay");
  const [pay = ""] = worktrees;
  for (const place of [dir, pay]) put(place, "src/new.ts", place);
  put(dir, "README.md", "only here\n");
  const { out } = await look(dir, [dir, pay]);
  expect(out.split("\n").slice(2)).toEqual([
    "main and pay merge cleanly",
    "  Uncommitted on both sides, not tried:",
    "    src/new.ts",
    "",
  ]);
});

it("says what it cannot do: no repository, no daemon, no common history, an old git", async () => {
  const outside = join(top, "outside");
  mkdirSync(outside);
  expect(await look(outside, "all")).toMatchObject({
    code: 1,
    err: expect.stringContaining("no git repository"),
  });
  const { dir, worktrees } = repository("pay");
  const [pay = ""] = worktrees;
  const world = { ...fakeWorld(), cwd: dir, env };
  expect(await risk(world, {})).toBe(3);
  git(pay, "checkout", "-q", "--orphan", "alone");
  git(pay, "commit", "-qm", "alone");
  expect((await look(dir, "all")).out).toContain("main and alone not tried:");
  const old = async () => ({ code: 0, out: "git version 2.34.1\n" });
  await expect(checkVersion(old, dir)).rejects.toThrow(
    "needs git 2.38 or newer, and this is 2.34.1; update git",
  );
  for (const version of ["2.38.0", "2.39.5 (Apple Git-154)", "3.0.1"]) {
    await checkVersion(async () => ({ code: 0, out: `git version ${version}\n` }), dir);
  }
});

it("fits into 80 columns, however many there are", async () => {
  const { trialView } = await import("../../bin/diff/risk.ts");
  const { screen } = await import("../unit/view-rows.ts");
  const { widthOf } = await import("../../bin/view/text.ts");
  const branches = ["main", "x".repeat(90)].map(name => ({ name, worktree: "/w", head: "1" }));
  const files = Array.from({ length: 30 }, (_, i) => `${"folder/".repeat(15)}${i}\u001b[2J.ts`);
  const pairs = [
    { a: "main", b: "x".repeat(90), conflicts: files, uncommitted: files },
    { a: "main", b: "p", conflicts: null, error: "why ".repeat(40), uncommitted: [] },
    { a: "main", b: "q", conflicts: [], uncommitted: [] },
  ];
  const lines = trialView({ branches, pairs, left: limits.riskPairsMax, all: true }, screen(80));
  for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(80);
  expect(lines).toContain("    and 10 more");
  expect(lines.at(-1)).toBe("200 pairs more, not tried.");
  expect(lines.join("")).not.toContain("\u001b");
});
