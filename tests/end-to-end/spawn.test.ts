/** Spawned agents through the built programs: the record, the client's own commands, worktrees, and what is left. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ended } from "./kite.ts";
import { Mcp } from "./mcp-client.ts";
import { kiteTask, SpawnWorld } from "./spawn-world.ts";

let world: SpawnWorld;

beforeEach(async () => {
  world = new SpawnWorld();
  await world.home.start();
});
afterEach(() => world.dispose());

const place = (name: string) => join(world.home.work, ".claude/worktrees", name);

describe("an agent in the background", () => {
  test("starts in a worktree of its own, registers by its record, and is listed", async () => {
    const said = await world.kite(["spawn", "TURN", "--name", "bob", "--role", "tester", "--wait"]);
    expect(said).toMatchObject({ code: 0 });
    expect(said.out).toMatch(/^bob \(a-\w+-1\): idle in \.claude\/worktrees\/bob on worktree-bob\n$/);
    const [call] = world.calls;
    expect(call?.argv.slice(0, 6)).toEqual(["--bg", "TURN", "-w", "bob", "-n", "bob"]);
    const row = await world.agent("bob");
    expect(row).toMatchObject({
      ...{ state: "idle", role: "tester", parent: null, backend: "background", client: "claude-code" },
      ...{ worktree: place("bob"), branch: "worktree-bob", base: "main", attempts: 1 },
    });
    const { agents } = JSON.parse((await world.kite(["agents", "--json"])).out);
    expect(agents).toEqual([{ ...row, health: expect.anything() }]);
    const sessions = JSON.parse((await world.kite(["sessions", "--json"])).out).sessions;
    expect(sessions).toMatchObject([{ id: row.session, name: "bob", branch: "worktree-bob" }]);
    const { out } = await world.kite(["agents"], { COLUMNS: "80" });
    expect(out.split("\n").every(line => line.length <= 80)).toBe(true);
    expect(out).toMatch(/^name +state +role +task +worktree +branch +parent +age\nbob +idle +tester/);
  });

  test("inherits nothing of the session that spawned it", async () => {
    const own = { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "ann", CLAUDE_CODE_MESSAGING_TOKEN: "secret" };
    const ann = await world.home.session("ann", { project: world.home.work, name: "Ann" });
    await world.kite(["spawn", "WORK", "--name", "bob"], { ...own, KITE_AGENT: "", KITE_CHECK: "" });
    expect(world.calls[0]?.inherited).toEqual(["KITE_HOME"]);
    // Its client has taken the prompt once its first event is there.
    await expect
      .poll(() => world.agent("bob"))
      .toMatchObject({ parent: { id: "ann", name: "Ann" }, health: { state: "working" } });
    expect((await world.kite(["agent", "bob"])).out).toMatch(/^ +spawned by +Ann$/m);
    ann.destroy();
  });

  test("claims its task, and leaves it done or to be claimed again", async () => {
    const task = await kiteTask(world, "Write the schema");
    const said = await world.kite(["spawn", "--task", task, "--name", "bob"]);
    expect(said).toMatchObject({ code: 0 });
    expect(world.calls[0]?.argv[1]).toMatch(/^Do task \d+: "Write the schema"$/);
    const { session } = await world.agent("bob");
    const claimed = JSON.parse((await world.kite(["task", "show", task, "--json"])).out);
    expect(claimed.task ?? claimed).toMatchObject({ status: "active", assignee: session });
    expect(await world.kite(["spawn", "WORK", "--task", task])).toMatchObject({ code: 1 });
    expect(await world.kite(["stop", "bob"])).toMatchObject({ code: 0, out: "bob: stopped\n" });
    const left = JSON.parse((await world.kite(["task", "show", task, "--json"])).out);
    expect(left.task ?? left).toMatchObject({ status: "pending" });
    // The next agent of the task is told of the branch of the one before.
    await world.kite(["spawn", "--task", task, "--name", "carol"]);
    const briefing = world.calls.at(-1)?.argv.at(-1);
    expect(briefing).toContain(`an earlier agent, bob, worked at it on branch "worktree-bob" and is stopped`);
  });

  test("waits on a person, is shown as that, attached to and stopped", async () => {
    const watcher = await world.watcher();
    await world.kite(["spawn", "ASK", "--name", "bob"]);
    const row = await world.reached(watcher, "bob", "waits_on_person");
    const attached = await ended(world.home.startKite(["attach", "bob"], world.environment));
    expect(attached.out).toBe(`attached to ${row.handle}\n`);
    expect((await world.kite(["agent", "bob", "--log"])).out).toBe("Welcome\nI ‹think› about it\n");
    expect(JSON.parse((await world.kite(["stop", "bob", "--json"])).out)).toMatchObject({
      ok: true,
      spawn: { state: "stopped" },
    });
    expect(await world.kite(["stop", "bob"])).toMatchObject({ code: 0, out: "bob: stopped\n" });
    // Each time the client is asked: it knows more of its session than the record does.
    expect(world.calls.filter(({ argv }) => argv[0] === "stop")).toHaveLength(2);
  });

  test("is removed with its worktree, unless work would be lost; the reason is kept", async () => {
    await world.kite(["spawn", "TURN", "--name", "clean", "--wait"]);
    await world.kite(["spawn", "WRITE", "--name", "dirty", "--wait"]);
    const diff = await world.kite(["agent", "dirty", "--diff"]);
    expect(diff.out).toBe("new file, not added: new.txt\n");
    expect(await world.kite(["agents", "prune", "clean"])).toMatchObject({
      code: 1,
      out: "kept    clean: it has not ended (idle); stop it first: kite agents stop clean\n",
    });
    await world.kite(["stop", "clean"]);
    await world.kite(["stop", "dirty"]);
    const why =
      "its worktree has uncommitted changes (new.txt); commit and merge them, or ask a person whether they may go";
    expect((await world.kite(["agents", "prune"])).out).toBe(`removed clean\nkept    dirty: ${why}\n`);
    expect(existsSync(place("clean"))).toBe(false);
    expect(existsSync(place("dirty"))).toBe(true);
    expect(world.git("branch", "--list", "worktree-*")).toBe("+ worktree-dirty\n");
    expect(await world.agents()).toMatchObject([{ name: "dirty", state: "stopped", reason: why }]);
  });

  test("whose commits are merged is removed, though no remote has them; before that it is kept", async () => {
    await world.kite(["spawn", "COMMIT", "--name", "bob", "--wait"]);
    await world.kite(["stop", "bob"]);
    expect((await world.kite(["agents", "prune"])).out).toMatch(
      /^kept {4}bob: its branch worktree-bob has commits that are nowhere else \(1\)/,
    );
    expect(world.calls.filter(({ argv }) => argv.includes("--discard-unpushed"))).toEqual([]);
    world.git("-c", "user.name=t", "-c", "user.email=t@localhost", "merge", "-q", "-m", "m", "worktree-bob");
    writeFileSync(join(place("bob"), "late.txt"), "late\n");
    expect((await world.kite(["agents", "prune"])).out).toContain("its worktree has uncommitted changes");
    rmSync(join(place("bob"), "late.txt"));
    expect((await world.kite(["agents", "prune"])).out).toBe("removed bob\n");
    expect(existsSync(place("bob"))).toBe(false);
    expect(world.git("branch", "--list", "worktree-*")).toBe("");
    expect(await world.agents()).toEqual([]);
  });

  test("fails with the client's words if that refuses, and nothing is left running", async () => {
    const said = await world.kite(["spawn", "REFUSE", "--name", "bob"]);
    expect(said.code).toBe(1);
    expect(said.err).toContain("claude --bg failed with code 1: Error: not logged in");
    expect(await world.agent("bob")).toMatchObject({ state: "failed", output: "Error: not logged in" });
    expect(world.sessions).toEqual([]);
  });

  test("that a process kills has failed, and its session brings it back", async () => {
    const watcher = await world.watcher();
    await world.kite(["spawn", "TURN", "--name", "bob", "--wait"]);
    const [pid = 0] = world.sessions;
    process.kill(pid, "SIGKILL");
    const row = await world.reached(watcher, "bob", "failed");
    expect(row.reason).toBe("its process ended");
    // The client resumes a killed session in the project's folder.
    const again = await world.home.connect();
    const event = { hook_event_name: "SessionStart", session_id: row.session, source: "resume" };
    await again.ask({ type: "hook", event: { ...event, cwd: world.home.work } });
    expect(await world.reached(watcher, "bob", "idle")).toMatchObject({
      ...{ attempts: 2, worktree: place("bob"), worksIn: null },
    });
    const prompt = { hook_event_name: "UserPromptSubmit", session_id: row.session, prompt_id: "p2" };
    await again.ask({ type: "hook", event: { ...prompt, prompt: "go on", cwd: place("bob") } });
    expect(await world.reached(watcher, "bob", "running")).toMatchObject({ worksIn: null });
  });

  test("outlives the daemon", async () => {
    const watcher = await world.watcher();
    await world.kite(["spawn", "TURN", "--name", "bob", "--wait"]);
    await world.home.daemon.kill();
    watcher.destroy();
    await world.home.start();
    expect(await world.agent("bob")).toMatchObject({ state: "idle", attempts: 1 });
    expect(await world.kite(["stop", "bob"])).toMatchObject({ out: "bob: stopped\n" });
  });
});

describe("from a branch", () => {
  test("git makes the worktree, and prune removes it and the branch, or says what would be lost", async () => {
    world.git("branch", "release");
    writeFileSync(join(world.home.work, "a.ts"), "two\n");
    world.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qam", "second");
    await world.kite(["spawn", "COMMIT", "--name", "bob", "--from", "release", "--wait"]);
    const [call] = world.calls;
    expect(call).toMatchObject({ cwd: place("bob") });
    expect(call?.argv).not.toContain("-w");
    expect(await world.agent("bob")).toMatchObject({ base: "release", branch: "worktree-bob" });
    expect((await world.kite(["agent", "bob", "--diff"])).out).toContain("+new");
    await world.kite(["stop", "bob"]);
    expect((await world.kite(["agents", "prune", "bob"])).out).toBe(
      "kept    bob: its branch worktree-bob has commits that are nowhere else (1); merge or push them first\n",
    );
    world.git("-c", "user.name=t", "-c", "user.email=t@localhost", "merge", "-q", "-m", "m", "worktree-bob");
  });

  test("a spawn that is killed once git has made the worktree leaves it to prune", async () => {
    const bin = join(dirname(world.home.work), "killing");
    mkdirSync(bin);
    const git = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
    const kills = `case " $* " in *" worktree add "*) ${git} "$@"; kill -KILL $PPID; exit;; esac`;
    writeFileSync(join(bin, "git"), `#!/bin/sh\n${kills}\nexec ${git} "$@"\n`, { mode: 0o755 });
    const PATH = `${bin}:${world.environment["PATH"]}`;
    const again = ["spawn", "WORK", "--name", "bob", "--from", "main"];
    await ended(world.home.startKite(again, { ...world.environment, PATH }));
    expect(existsSync(place("bob"))).toBe(true);
    expect((await world.kite(["stop", "bob"])).out).toBe("bob: stopped\n");
    expect((await world.kite(["agents", "prune"])).out).toBe("removed bob\n");
    expect(existsSync(place("bob"))).toBe(false);
    expect(await world.kite(again)).toMatchObject({ code: 0 });
  });

  test("refuses what git does not know, and a place that is taken, before anything runs", async () => {
    const unknown = await world.kite(["spawn", "WORK", "--name", "bob", "--from", "nowhere"]);
    expect(unknown.err).toContain("git knows no branch or commit nowhere here");
    world.git("branch", "worktree-carol");
    const taken = await world.kite(["spawn", "WORK", "--name", "carol"]);
    expect(taken.err).toContain("the branch worktree-carol is there already");
    expect(await world.agents()).toMatchObject([{ state: "failed" }, { state: "failed" }]);
    expect(world.calls).toEqual([]);
  });
});

test("two at once get one name, and one of them a refusal", async () => {
  const both = await Promise.all([
    world.kite(["spawn", "WORK", "--name", "bob"]),
    world.kite(["spawn", "WORK", "--name", "bob"]),
  ]);
  expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
  expect(both.map(({ err }) => err).join("")).toContain("called bob; choose another name");
  expect(await world.agents()).toHaveLength(1);
});

test("the user's setting bounds how many there are, and a spawned agent spawns none", async () => {
  await world.kite(["spawn", "WORK", "--name", "bob", "--here"]);
  const { session } = await world.agent("bob");
  const nested = await world.kite(["spawn", "WORK"], { CLAUDE_CODE_SESSION_ID: session ?? "" });
  expect(nested.err).toContain("a spawned agent may not spawn agents");
  writeFileSync(world.home.paths.config, JSON.stringify({ spawnMax: 1 }));
  await world.kite(["down"]);
  await world.home.start();
  const more = await world.kite(["spawn", "WORK", "--here"]);
  expect(more.err).toContain("has 1 spawned agents that have not ended, as many as it may");
});

test("an agent spawns by the tool, which does not wait", async () => {
  const mcp = await Mcp.start(world.home, { name: "ann", env: world.environment });
  const watcher = await world.watcher();
  const told = await mcp.call("kite_spawn", { prompt: "TURN", name: "bob" });
  // It may have registered by then; its turn has not ended.
  const state = expect.stringMatching(/^(?:starting|running)$/);
  expect(told).toMatchObject({ isError: false, data: { name: "bob", state } });
  const row = await world.reached(watcher, "bob", "idle");
  expect(row).toMatchObject({ parent: { name: "ann" }, worktree: place("bob") });
  const refused = await mcp.call("kite_spawn", { prompt: "REFUSE" });
  expect(refused).toMatchObject({ isError: true });
  expect(refused.text).toContain("not logged in");
  await mcp.close();
});
