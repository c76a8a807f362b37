/** What kite doctor says of git's hook before a commit, and that its advice mends it. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Check } from "../../bin/doctor/results.ts";
import { preCommitText } from "../../hooks/install/pre-commit.ts";
import { Client, Home } from "./daemon.ts";

let home: Home;
let hook: string;

function git(...args: readonly string[]): void {
  const { status, stderr } = spawnSync("git", args, { cwd: home.work, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

const install = () => home.kite("install", "--client", "git");

/** The rows of git's hook. `--fix` asks nobody. */
async function rows(...flags: readonly string[]): Promise<readonly Check[]> {
  const { out } = await home.command(["doctor", "--json", ...flags]);
  return JSON.parse(out).checks.filter(({ check }: Check) => check === "git");
}

const well = () =>
  expect.objectContaining({ result: "ok", detail: expect.stringContaining(`git asks Kite: ${hook}`) });

beforeEach(async () => {
  home = new Home({ work: "my work's" });
  git("init", "-q");
  hook = join(home.work, ".git", "hooks", "pre-commit");
  await home.start();
});
afterEach(() => home.dispose());

test("it has a row where it was installed, and none elsewhere", async () => {
  expect(await rows()).toEqual([]);
  await install();
  expect(await rows()).toEqual([well()]);
  const other = join(home.root, "other");
  mkdirSync(other);
  const elsewhere = await home.command(["doctor", "--json"], {}, other);
  expect(elsewhere.out).not.toContain('"check":"git"');
  spawnSync("git", ["init", "-q"], { cwd: other });
  expect((await home.command(["doctor", "--json"], {}, other)).out).not.toContain('"check":"git"');
  await home.kite("uninstall", "--client", "git");
  expect(await rows()).toEqual([]);
});

const foreign = "#!/bin/sh\nexit 0\n";

test.each([
  ["is gone", () => rmSync(hook), /pre-commit is gone, so no commit is checked/],
  [
    "was overwritten",
    () => writeFileSync(hook, foreign),
    /another hook took the place of Kite's in .*pre-commit/,
  ],
  ["is not executable", () => chmodSync(hook, 0o644), /git skips .*pre-commit, which is not executable/],
  [
    "runs a program that is gone",
    () => {
      const { home: folder, socket } = home.paths;
      writeFileSync(
        hook,
        preCommitText({ home: folder, socket, node: process.execPath, kite: "/it's/gone.cjs" }),
      );
    },
    /runs \/it's\/gone\.cjs, which is gone/,
  ],
] as const)("of one that %s it says so, and --fix mends it", async (_, breaks, detail) => {
  await install();
  breaks();
  expect(await rows()).toEqual([
    expect.objectContaining({
      result: "warn",
      detail: expect.stringMatching(detail),
      todo: expect.any(String),
    }),
  ]);
  expect(await rows("--fix", "--yes")).toEqual([well()]);
});

test("of one that somebody changed, or whose place cannot be taken, it says what to do by hand", async () => {
  await install();
  writeFileSync(hook, `${readFileSync(hook, "utf8")}echo mine\n`);
  const todo = expect.stringMatching(/rm .*pre-commit.* && kite install --client git$/);
  const [changed] = await rows();
  expect(changed).toMatchObject({ result: "warn", detail: `somebody changed Kite's hook ${hook}`, todo });
  expect(changed).not.toHaveProperty("fix");
  for (const file of [hook, `${hook}.before-kite`]) writeFileSync(file, foreign);
  const [taken] = await rows();
  expect(taken?.todo).toContain(`put one of ${hook} and ${hook}.before-kite elsewhere`);
  expect(taken).not.toHaveProperty("fix");
});

test("of one that git skips for core.hooksPath it says so, and how git runs it again", async () => {
  await install();
  const folder = join(home.root, "my hooks");
  git("config", "core.hooksPath", folder);
  const [skipped] = await rows();
  expect(skipped).toMatchObject({ result: "warn", fix: "kite install --client git" });
  expect(skipped?.detail).toBe(
    `git takes the hooks of this repository from ${folder} (core.hooksPath), so it skips Kite's: ${hook}`,
  );
  const own = hook;
  hook = join(folder, "pre-commit");
  expect(await rows("--fix", "--yes")).toEqual([well()]);
  hook = own;

  git("config", "core.hooksPath", ".hooks");
  const [team] = await rows();
  expect(team).toMatchObject({ result: "warn" });
  expect(team).not.toHaveProperty("fix");
  const [, line = ""] = /add this line to \S.*pre-commit: (.*)/.exec(team?.todo ?? "") ?? [];
  mkdirSync(join(home.work, ".hooks"));
  writeFileSync(join(home.work, ".hooks", "pre-commit"), `#!/bin/sh -e\n${line}\n`);
  expect(await rows()).toEqual([expect.objectContaining({ result: "ok" })]);
});

/** What the checks and the status say of checkouts. */
async function lost(): Promise<readonly string[]> {
  const { out } = await home.command(["doctor", "--json"]);
  const checks: readonly Check[] = JSON.parse(out).checks;
  const { warnings } = JSON.parse((await home.command(["status", "--json"])).out);
  const told = checks.filter(({ check }) => check === "checkout").map(({ detail }) => detail);
  // The status says the same, with what to do.
  for (const detail of told)
    expect(warnings).toContainEqual(expect.stringContaining(`${detail}; take it back: git -C `));
  expect(warnings.filter((one: string) => one.includes("take it back"))).toHaveLength(told.length);
  return told;
}

test("a checkout in which sessions work and git fails is named, and --fix mends it", async () => {
  const client = await Client.open(home.paths.socket);
  git("commit", "-q", "--allow-empty", "-m", "first");
  const tree = join(home.root, "tree");
  git("worktree", "add", "-q", tree);
  for (const [id, cwd] of [
    ["here", home.work],
    ["there", tree],
  ])
    expect(await client.ask({ type: "register", id, cwd })).toMatchObject({ ok: true });
  expect(await lost()).toEqual([]);
  git("config", "core.bare", "true");
  const config = join(home.work, ".git", "config");
  const status = () => spawnSync("git", ["status"], { cwd: home.work }).status;
  expect(status()).not.toBe(0);
  // Git goes on in the linked worktree.
  expect(await lost()).toEqual([
    `git fails in ${home.work}, where sessions work: core.bare is true in ${config}`,
  ]);
  const { out } = await home.command(["doctor", "--fix", "--yes"]);
  expect(out).toContain("config core.bare false");
  expect(status()).toBe(0);
  expect(await lost()).toEqual([]);
  git("config", "core.worktree", tree);
  expect(await lost()).toEqual([
    `git works on ${tree} in place of ${home.work}, where sessions work: core.worktree is set in ${config}`,
  ]);
  git("config", "core.worktree", "..");
  expect(await lost()).toEqual([]);
  git("config", "extensions.worktreeConfig", "true");
  spawnSync("git", ["config", "--worktree", "core.bare", "true"], { cwd: tree });
  expect(await lost()).toEqual([expect.stringContaining(`git fails in ${tree}, where sessions work`)]);
  client.destroy();
});
