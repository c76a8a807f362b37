/**
 * A background session of the real client that `kite spawn` starts: it registers by its record, does its task in a worktree
 * of its own, is stopped by the client and removed. Nothing of it is left: no process, worktree, branch or record.
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import { installPrograms } from "./background.ts";
import { answeredBefore } from "./interactive.ts";
import { ScriptedModel, type Turn } from "./model.ts";
import { allGone, processesAt } from "./processes.ts";
import { programs } from "./programs.ts";
import { call, say } from "./script.ts";
import { environment } from "./session.ts";
import { shownAtTerminal } from "./terminal.ts";
import { World } from "./world.ts";

const commandMs = 120_000;

let world: World;
let home: string;
let model: ScriptedModel;
/** What a test adds to the person's environment. */
let variables: Readonly<Record<string, string>>;

beforeEach(async () => {
  world = await World.create(programs);
  variables = {};
  home = join(dirname(world.repository), "agent");
  mkdirSync(join(home, ".claude"), { recursive: true });
  const settings = { permissions: { allow: ["Write", "Bash", "mcp__kite"], defaultMode: "acceptEdits" } };
  writeFileSync(join(home, ".claude", "settings.json"), JSON.stringify(settings));
  installPrograms(home, programs);
  await world.tools("agent");
  const own = join(home, ".claude.json");
  const before = existsSync(own) ? JSON.parse(readFileSync(own, "utf8")) : {};
  writeFileSync(own, JSON.stringify(answeredBefore(world.repository, before)));
  world.write("a.ts", "one\n");
  git("add", "a.ts");
  git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first");
  await world.up();
});

afterEach(async () => {
  // First the sessions that a test which failed left behind, then what they ask.
  await world.dispose();
  await model.close();
});

function git(...args: string[]): string {
  const env = { PATH: process.env["PATH"], HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", args, { cwd: world.repository, env, encoding: "utf8" });
}

/** A person's environment, with the client in the PATH. */
function person(): Record<string, string> {
  return {
    ...environment(home, model.url),
    ...variables,
    KITE_HOME: world.paths.home,
    // A tmux of its own.
    TMUX_TMPDIR: home,
    PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
  };
}

/** Runs `kite` as a person in the repository. */
async function kite(...args: string[]): Promise<string> {
  const options = { cwd: world.repository, env: person(), timeout: commandMs };
  const { stdout } = await promisify(execFile)(process.execPath, [programs.kite, ...args], options);
  return stdout;
}

async function play(script: readonly Turn[], aside?: string): Promise<void> {
  model = await ScriptedModel.start(script, {}, aside);
}

async function agents(): Promise<SpawnRow[]> {
  return JSON.parse(await kite("agents", "--json")).agents;
}

/** Resolves when the session of this id has ended for the daemon. */
async function ended(session: string): Promise<void> {
  const client = await KiteClient.connect({ paths: world.paths });
  try {
    const over = new Promise<void>(resolve => {
      client.onEvent(event => {
        if (event.event === "session_ended" && event.id === session) resolve();
      });
    });
    await client.subscribe({ events: ["session_ended"] });
    const rows = await client.request("query", { target: "sessions", id: session });
    if (rows.ok && rows.rows.length === 0) return;
    await over;
  } finally {
    client.close();
  }
}

const complete = call("toolu_done", "mcp__kite__kite_task_complete", { task: "1", result: "looked at it" });

test("an agent does its task in the background, is stopped and leaves nothing", async () => {
  await play([complete, say("Done.")]);
  const task = JSON.parse(await kite("task", "add", "Look at a.ts", "--json")).task.id;
  const said = JSON.parse(
    await kite(
      "spawn",
      "Do your task.",
      "--task",
      task,
      "--name",
      "bob",
      "--role",
      "tester",
      "--wait",
      "--json",
    ),
  );
  const place = world.path(".claude/worktrees/bob");
  expect(said).toMatchObject({
    ok: true,
    spawn: {
      name: "bob",
      state: "idle",
      worktree: place,
      branch: "worktree-bob",
      attempts: 1,
      result: "looked at it",
    },
  });
  const { session, handle } = said.spawn;
  expect(session).toContain(handle);
  const shown = (await world.status()).sessions.find(row => row.id === session);
  expect(shown).toMatchObject({ name: "bob", branch: "worktree-bob" });
  expect(model.result("toolu_done")).toMatchObject({ isError: false });
  expect(model.prompts.join("\n")).toContain("Do your task.");
  expect(await kite("agent", "bob", "--log")).not.toBe("");

  expect(await kite("stop", "bob")).toBe("bob: done\n");
  await ended(session);
  expect(await kite("agents", "prune")).toBe("removed bob\n");
  expect(await agents()).toEqual([]);
  expect(existsSync(place)).toBe(false);
  expect(git("worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(1);
  expect(git("branch", "--list", "worktree-*")).toBe("");
  await allGone(home);
  expect(processesAt(home)).toEqual([]);
});

test("uncommitted work keeps the worktree, and the client's refusal is shown", async () => {
  await play([
    call("toolu_write", "Write", { file_path: world.path(".claude/worktrees/bob/new.ts"), content: "new\n" }),
    say("Written."),
  ]);
  await kite("spawn", "Write new.ts.", "--name", "bob", "--wait");
  expect(await kite("agent", "bob", "--diff")).toBe("new file, not added: new.ts\n");
  expect(await kite("stop", "bob")).toBe("bob: stopped\n");
  expect(await kite("agents", "prune")).toMatch(/^kept {4}bob: .*uncommitted/);
  expect(existsSync(world.path(".claude/worktrees/bob/new.ts"))).toBe(true);
  expect((await agents())[0]?.reason).toContain("uncommitted");
  await allGone(home);
  expect(processesAt(home)).toEqual([]);
});

/** Kills the process of an agent whose turn is over, and resolves with its record once the daemon knows. */
async function killed(task: string): Promise<SpawnRow> {
  const said = JSON.parse(await kite("spawn", "Do it.", "--task", task, "--name", "bob", "--wait", "--json"));
  const { session } = said.spawn;
  const row = (await world.status()).sessions.find(({ id }) => id === session);
  const over = ended(session);
  process.kill(row?.pid ?? 0, "SIGKILL");
  await over;
  return said.spawn;
}

/** Resolves with the agent's record once its session has begun again. */
async function returned(): Promise<SpawnRow> {
  const client = await KiteClient.connect({ paths: world.paths });
  try {
    let wake = () => {};
    client.onEvent(() => wake());
    await client.subscribe({ events: ["spawn_changed"] });
    for (;;) {
      const changed = new Promise<void>(resolve => {
        wake = resolve;
      });
      const [row] = await agents();
      if (row !== undefined && row.attempts > 1) return row;
      await changed;
    }
  } finally {
    client.close();
  }
}

test("a session that was killed is kept stopped, and leaves nothing", async () => {
  await play([say("Done."), say("Back.")]);
  const task = JSON.parse(await kite("task", "add", "Look at a.ts", "--json")).task.id;
  await killed(task);
  expect((await agents())[0]).toMatchObject({ state: "failed", mayReturn: true });
  expect(await kite("stop", "bob")).toBe("bob: stopped\n");
  const [row] = await agents();
  expect(row).toMatchObject({ state: "stopped", attempts: 1 });
  expect(row?.mayReturn).toBeUndefined();
  expect(JSON.parse(await kite("task", "show", task, "--json"))).toMatchObject({
    task: { status: "pending" },
  });
  expect(await kite("agents", "prune")).toBe("removed bob\n");
  await allGone(home);
  expect(processesAt(home)).toEqual([]);
});

test("a session that was killed comes back by itself in its worktree, and can be stopped", async () => {
  await play([say("Done."), say("Back."), say("Back.")]);
  const task = JSON.parse(await kite("task", "add", "Look at a.ts", "--json")).task.id;
  const { session } = await killed(task);
  expect(await returned()).toMatchObject({ session, attempts: 2, worksIn: null, stopping: false });
  const shown = (await world.status()).sessions.find(({ id }) => id === session);
  expect(shown).toMatchObject({ branch: "worktree-bob", worktree: world.path(".claude/worktrees/bob") });
  expect(await kite("stop", "bob")).toBe("bob: stopped\n");
  await allGone(home);
  expect(processesAt(home)).toEqual([]);
});

test("an interactive session in a window of tmux is closed with its window, and leaves nothing", async () => {
  await play([say("Done.")]);
  const said = JSON.parse(await kite("spawn", "Do it.", "--name", "bob", "--tmux", "--wait", "--json"));
  const place = world.path(".claude/worktrees/bob");
  expect(said).toMatchObject({
    ok: true,
    spawn: { state: "idle", backend: "tmux", worktree: place, branch: "worktree-bob" },
  });
  // The client writes its transcript after its turn ended, so the last message comes a moment later.
  await expect.poll(() => kite("agent", "bob", "--log"), { timeout: 10_000 }).toContain("Done.");
  expect(await kite("stop", "bob")).toBe("bob: stopped\n");
  expect(await kite("agents", "prune")).toBe("removed bob\n");
  expect(existsSync(place)).toBe(false);
  expect(git("branch", "--list", "worktree-*")).toBe("");
  await allGone(home);
  expect(processesAt(home)).toEqual([]);
});

test("a diff of an agent shows what it wrote in its worktree and nothing else, before a commit and after it", async () => {
  const place = world.path(".claude/worktrees/bob");
  const written = (id: string, file: string, content: string) =>
    call(id, "Write", { file_path: join(place, file), content });
  await play([
    call("toolu_read", "Read", { file_path: join(place, "a.ts") }),
    written("toolu_edit", "a.ts", "one\nby bob\n"),
    call("toolu_move", "Bash", { command: "git mv a.ts moved.ts", description: "Move it" }),
    written("toolu_image", "image", "bob\0\u0001"),
    written("toolu_new", "new.ts", "new by bob\n"),
    say("Done."),
  ]);
  await kite("spawn", "Do it.", "--name", "bob", "--wait");
  world.write("a.ts", "one\nby hand\n");
  writeFileSync(join(place, "b.ts"), "by hand\n");
  const shown = async (...args: string[]) =>
    (await kite("diff", "bob", ...args)).split("\n").filter(line => /^In |│ [+-]/.test(line));
  const wrote = await shown();
  expect(wrote).toEqual([
    "In image, added  bob: no text, 0 bytes became 5",
    "In moved.ts, which was a.ts  bob  +1 −0",
    expect.stringMatching(/│ \+by bob$/),
    "In new.ts, added  bob  +1 −0",
    expect.stringMatching(/│ \+new by bob$/),
  ]);
  expect(await kite("diff", "bob")).toContain("1 further file differs, and Kite saw nobody write: b.ts");
  const commit = [
    "-c",
    "user.name=t",
    "-c",
    "user.email=t@localhost",
    "-C",
    place,
    "commit",
    "-qam",
    "by bob",
  ];
  git("-C", place, "add", "moved.ts", "image", "new.ts");
  git(...commit);
  expect(await shown()).toEqual([]);
  expect(await shown("--commit")).toEqual(wrote);
  expect(await kite("stop", "bob")).toBe("bob: stopped\n");
  await allGone(home);
  expect(processesAt(home)).toEqual([]);
});

test("an agent is shown by its name, and its client makes no other title of it", async () => {
  variables = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "", NO_COLOR: "1" };
  await play([say("Done.")], JSON.stringify({ title: "Another title" }));
  const prompt =
    "Please look through all of the parser module and say which of its functions are never called.";
  await kite("spawn", prompt, "--name", "bob", "--wait");
  const status = await shownAtTerminal("kite status", world.repository, person());
  expect(status).toMatch(/^ +bob +bob\/ worktree-\S+ +idle +\w+$/m);
  expect(await kite("stop", "bob")).toBe("bob: stopped\n");
  await allGone(home);
  const projects = join(home, ".claude/projects");
  const [transcript = ""] = readdirSync(projects, { recursive: true, encoding: "utf8" }).filter(name =>
    name.endsWith(".jsonl"),
  );
  const lines = readFileSync(join(projects, transcript), "utf8").trim().split("\n");
  const records = lines.map(line => JSON.parse(line)).filter(({ type }) => type.endsWith("-title"));
  expect(new Set(records.map(({ type, customTitle }) => `${type} ${customTitle}`))).toEqual(
    new Set(["custom-title bob"]),
  );
});
