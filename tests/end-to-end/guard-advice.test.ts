/** Shell lines as agents type them, before a real daemon and on real repositories. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../daemon/config/config.ts";
import { createLog } from "../../daemon/instance/log.ts";
import type { RunningDaemon } from "../../daemon/options.ts";
import { startDaemon } from "../../daemon/start.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { Client } from "./daemon.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "kl-")));
const paths = kitePaths({ KITE_HOME: join(folder, "h") });
let daemon: RunningDaemon;
let client: Client;
let uses = 0;
let count = 0;

beforeAll(async () => {
  const config = await loadConfig({ env: {}, paths });
  const { logger } = createLog(paths.log);
  const started = await startDaemon({
    paths,
    version: "test",
    config,
    adapter: claudeCode,
    log: logger,
  });
  if (started.is !== "started") throw new Error(`not started: ${JSON.stringify(started)}`);
  daemon = started.daemon;
  client = await Client.open(paths.socket);
});

afterAll(async () => {
  client.destroy();
  await daemon.stop("the test is over");
  await daemon.done;
  rmSync(folder, { recursive: true, force: true });
});

/** A shell in `dir`, with nothing of the surroundings. */
function shell(dir: string, line: string): string {
  const author = {
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@t",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@t",
  };
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, GIT_CONFIG_NOSYSTEM: "1", ...author };
  return execFileSync("sh", ["-c", line], { cwd: dir, env, encoding: "utf8", stdio: "pipe" });
}

async function hook(session: string, cwd: string, event: string, fields: object): Promise<string> {
  const payload = { hook_event_name: event, session_id: session, cwd, prompt_id: "p", ...fields };
  const reply = await client.ask({ type: "hook", event: payload });
  if (reply["ok"] !== true) throw new Error(JSON.stringify(reply));
  return String(reply["output"]);
}

/** Two sessions in a repository of their own, in which ann has changed `ann.ts` and bob `bob.ts`. */
async function two() {
  count += 1;
  const dir = join(folder, `r${count}`);
  const [ann, bob] = [`ann-${count}`, `bob-${count}`];
  mkdirSync(join(dir, "src"), { recursive: true });
  for (const file of ["ann.ts", "bob.ts", "src/c.ts"]) writeFileSync(join(dir, file), "old\n");
  shell(
    dir,
    "git init -qb main && git add -A && git commit -qm first && git switch -qc topic && echo new >ann.ts && " +
      "git commit -qam topic && git switch -q main && git config alias.wipe 'reset --hard'",
  );
  for (const session of [ann, bob]) await hook(session, dir, "SessionStart", { source: "startup" });
  await edit(ann, dir, "ann.ts", "ann's\n");
  await edit(bob, dir, "bob.ts", "bob's\n");
  return { dir, ann, bob };
}

async function edit(session: string, dir: string, file: string, text: string): Promise<void> {
  uses += 1;
  const tool = { tool_name: "Write", tool_use_id: `t${uses}`, tool_input: { file_path: join(dir, file) } };
  expect(await hook(session, dir, "PreToolUse", tool)).toBe("");
  mkdirSync(dirname(join(dir, file)), { recursive: true });
  writeFileSync(join(dir, file), text);
  await hook(session, dir, "PostToolUse", { ...tool, tool_response: {} });
  await hook(session, dir, "Stop", { background_tasks: [] });
}

/** Runs the line as the client would: only if the hook lets it. Returns why it did not run, or null. */
async function runs(session: string, dir: string, command: string): Promise<string | null> {
  uses += 1;
  const tool = { tool_name: "Bash", tool_use_id: `t${uses}`, tool_input: { command } };
  const output = await hook(session, dir, "PreToolUse", tool);
  if (output !== "") return JSON.parse(output).hookSpecificOutput.permissionDecisionReason;
  shell(dir, command);
  await hook(session, dir, "PostToolUse", { ...tool, duration_ms: 1 });
  return null;
}

const read = (dir: string, file: string) => readFileSync(join(dir, file), "utf8");

/** The command that a denied line is told to run in its place. */
function advice(reason: string | null): string {
  const [, command] = /run it on your own files only: ([^\n]*)/.exec(reason ?? "") ?? [];
  if (command === undefined) throw new Error(`no way on: ${reason}`);
  return command;
}

describe("a line that would wipe another one's work", () => {
  it.each([
    "git stash",
    "git stash -u",
    "cd src && git stash",
    "git checkout .",
    "git restore .",
    "git reset --hard",
    "true && (cd src; git -C .. checkout -- .)",
    "git stash push -m \"$(cat <<'E'\nit's mine\nE\n)\"",
    "for f in *.ts; do git checkout -- $f; done",
    "git wipe",
  ])("does not run, and what it is told to run in its place leaves that work alone: %s", async line => {
    const { dir, bob } = await two();
    const reason = await runs(bob, dir, line);
    expect(reason).toContain('"ann.ts" has uncommitted changes of "ann-');
    expect([read(dir, "ann.ts"), read(dir, "bob.ts")]).toEqual(["ann's\n", "bob's\n"]);
    expect(await runs(bob, dir, advice(reason))).toBeNull();
    expect([read(dir, "ann.ts"), read(dir, "bob.ts")]).toEqual(["ann's\n", "old\n"]);
  });

  it.each([
    "git checkout topic",
    "git switch topic",
    "git merge topic",
    "git rebase topic",
    "git stash drop",
  ])("does not run where it cannot leave that work alone: %s", async line => {
    const { dir, bob } = await two();
    expect(await runs(bob, dir, line)).toContain("cannot be limited to your own files");
    expect([read(dir, "ann.ts"), read(dir, "bob.ts")]).toEqual(["ann's\n", "bob's\n"]);
  });

  it("is not told to throw away files of its own that it did not name", async () => {
    const { dir, bob } = await two();
    await edit(bob, dir, "src/c.ts", "bob's\n");
    const all = await runs(bob, dir, "git restore ann.ts");
    expect(all).toContain("it reaches none of your own uncommitted files");
    expect(all).not.toContain("last edited");
    expect(advice(await runs(bob, dir, "git restore ann.ts src"))).toBe("git restore -- src/c.ts");
  });

  it("runs when that work is committed, or the session is over and it is sent again", async () => {
    const { dir, ann, bob } = await two();
    expect(await runs(ann, dir, "git add ann.ts && git commit -qm mine -- ann.ts")).toBeNull();
    expect(await runs(bob, dir, "git stash")).toBeNull();
    expect([read(dir, "ann.ts"), read(dir, "bob.ts")]).toEqual(["ann's\n", "old\n"]);
    await edit(ann, dir, "ann.ts", "ann's again\n");
    expect(await runs(bob, dir, "git reset -q --hard")).not.toBeNull();
    await hook(ann, dir, "SessionEnd", { reason: "other" });
    expect(await runs(bob, dir, "git reset -q --hard")).toContain("a session that has ended");
    expect(await runs(bob, dir, "git reset -q --hard")).toBeNull();
    expect(read(dir, "ann.ts")).toBe("ann's\n");
  });

  it("new files count where they are in reach", async () => {
    const { dir, ann, bob } = await two();
    await edit(ann, dir, "new of ann.ts", "ann's\n");
    await edit(bob, dir, "new of bob.ts", "bob's\n");
    const reason = await runs(bob, dir, "git clean -fd");
    expect(await runs(bob, dir, advice(reason))).toBeNull();
    expect(read(dir, "new of ann.ts")).toBe("ann's\n");
    expect(() => read(dir, "new of bob.ts")).toThrow("ENOENT");
  });
});

describe("a line that would take in another one's work", () => {
  it.each(["git add -A", "git add .", "git add ann.ts bob.ts && git commit -qm all", "git commit -qam all"])(
    "is told so, and runs when it is sent again: %s",
    async line => {
      const { dir, bob } = await two();
      expect(await runs(bob, dir, line)).toContain("send exactly the same command again");
      expect(shell(dir, "git diff --cached --name-only")).toBe("");
      expect(await runs(bob, dir, line)).toBeNull();
    },
  );

  it("is told how to commit one's own files alone", async () => {
    const { dir, bob } = await two();
    await edit(bob, dir, "src/new of bob.ts", "bob's\n");
    const reason = await runs(bob, dir, "git add -A && git commit -m all");
    expect(reason).toContain("run it on your own files only: git add -- ");
    const own = (reason ?? "").split("\n").find(line => line.includes("git commit")) ?? "";
    const command = own.slice(own.indexOf("git "));
    expect(await runs(bob, dir, command === "" ? advice(reason) : command)).toBeNull();
    expect(await runs(bob, dir, "git commit -qm mine")).toBeNull();
    expect(shell(dir, "git show --name-only --format= HEAD | sort")).toBe("bob.ts\nsrc/new of bob.ts\n");
    expect(shell(dir, "git status --porcelain")).toBe(" M ann.ts\n");
  });
});

it.each([
  "git stash -- bob.ts",
  "git checkout -- bob.ts src",
  "git restore bob.ts",
  "git add bob.ts",
  "git commit -qm x bob.ts",
])("one that is limited to one's own files runs: %s", async line => {
  const { dir, bob } = await two();
  expect(await runs(bob, dir, line)).toBeNull();
  expect(read(dir, "ann.ts")).toBe("ann's\n");
});

it.each([
  "git status",
  "git diff",
  "git stash list",
  "git log -1",
  "git checkout -b new",
  "git reset --soft HEAD",
  "echo git stash",
])("one that only looks runs: %s", async line => {
  const { dir, bob } = await two();
  expect(await runs(bob, dir, line)).toBeNull();
});
