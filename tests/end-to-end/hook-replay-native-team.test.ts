import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Payload, quiet, type Replay, ReplayWorld, type Watcher } from "./hook-replay.ts";
import { contextOf, pre, reasonOf, TeamFiles } from "./native-team.ts";

/** Teams of the client: their files lie where the recorded client kept them, and Kite only reads them. */
let world: ReplayWorld;
let watch: Watcher;

beforeEach(async () => {
  world = await ReplayWorld.make();
  await world.home.start();
  watch = await world.watch();
});

afterEach(() => world.remove());

describe("a team within one process", () => {
  const isClaim = (p: Payload) => p.hook_event_name === "PreToolUse" && p["tool_name"] === "TaskUpdate";

  /** The lead's session when a teammate is about to claim a task, with the files of its team. */
  async function claiming(): Promise<{
    readonly lead: Replay;
    readonly files: TeamFiles;
    readonly as: (name: string) => Payload;
  }> {
    const lead = world.replay("r-team-in-process-stopped-and-lead-killed");
    const files = new TeamFiles(world.root, lead.id);
    files.config("in-process", "alice", "bob");
    await lead.until(p => isClaim(p) && p["agent_type"] === "alice");
    const transcript_path = join(files.home, "projects", "p", `${lead.id}.jsonl`);
    const ids: Readonly<Record<string, string>> = {
      alice: "aalice-8c32192fb1a0179d",
      bob: "abob-781a707301d929f0",
    };
    const as = (name: string): Payload => ({
      ...{ hook_event_name: "PreToolUse", session_id: lead.id, cwd: world.repo, transcript_path },
      ...(ids[name] === undefined ? {} : { agent_id: ids[name], agent_type: name }),
    });
    await lead.send({ ...as("bob"), hook_event_name: "SubagentStart" });
    await lead.send({ ...as("alice"), hook_event_name: "SubagentStart" });
    return { lead, files, as };
  }

  test("a blocked claim, a stolen task, an unknown owner, a cycle and a moved worktree are refused", async () => {
    const { lead, files, as } = await claiming();
    files.tasks({ id: "1", status: "in_progress", owner: "bob" }, { id: "2", blockedBy: ["1"] }, { id: "3" });
    const begin = (taskId: string) => ({ taskId, status: "in_progress", owner: "alice" });
    const reason = reasonOf(await lead.send(pre(as("alice"), "TaskUpdate", begin("2"))));
    expect(reason).toContain("Task 2");
    expect(reason).toContain("ready: 3");
    expect(reasonOf(await lead.send(pre(as("alice"), "TaskUpdate", begin("1"))))).toContain(
      '"bob" works on task 1',
    );
    const given = { taskId: "3", owner: "eve" };
    expect(reasonOf(await lead.send(pre(as("lead"), "TaskUpdate", given)))).toContain('"eve" is no member');
    const circle = { taskId: "1", addBlockedBy: ["2"] };
    expect(reasonOf(await lead.send(pre(as("lead"), "TaskUpdate", circle)))).toContain("closes a cycle");
    const moved = reasonOf(await lead.send(pre(as("alice"), "EnterWorktree", { name: "wt" })));
    expect(moved).toContain("would move the whole session");
    for (const ran of await lead.send(pre(as("lead"), "EnterWorktree", { name: "wt" }))) quiet(ran);
    for (const ran of await lead.send(pre(as("alice"), "TaskUpdate", begin("3")))) quiet(ran);
    // Kite saw her take it before the client's file says so.
    const steal = { taskId: "3", status: "in_progress", owner: "bob" };
    expect(reasonOf(await lead.send(pre(as("bob"), "TaskUpdate", steal)))).toContain(
      '"alice" works on task 3',
    );
    const before = readFileSync(join(files.home, "tasks", files.team, "2.json"), "utf8");
    expect(JSON.parse(before)).toMatchObject({ status: "pending" });
    await expect.poll(() => world.run("log")).toContain("task 2 waits for 1");
  });

  test("of two that begin a task at the same moment, one gets it", async () => {
    const { lead, files, as } = await claiming();
    files.tasks({ id: "1" });
    const begin = (owner: string) =>
      lead.send(pre(as(owner), "TaskUpdate", { taskId: "1", status: "in_progress", owner }));
    const all = (await Promise.all([begin("alice"), begin("bob")])).flat();
    const denied = all.filter(({ stdout }) => stdout.includes('"deny"'));
    expect([all.length, denied.length]).toEqual([2, 1]);
  });

  test("what cannot be read passes, and the trail says so", async () => {
    const { lead, files, as } = await claiming();
    files.tasks({ id: "1" });
    files.write(`tasks/${files.team}/2.json`, '{"id":"2","status":"pen');
    const begin = { taskId: "2", status: "in_progress" };
    for (const ran of await lead.send(pre(as("alice"), "TaskUpdate", begin))) quiet(ran);
    for (const ran of await lead.send(pre(as("alice"), "TaskUpdate", { ...begin, taskId: "9" }))) quiet(ran);
    await expect.poll(() => world.run("log", "--json")).toContain("no file of task 9");
    expect(await world.run("log", "--json")).toContain("passed unchecked");
  });

  test("a teammate that was stopped leaves its tasks, and the lead is told whose they are", async () => {
    const { lead, files, as } = await claiming();
    files.tasks(
      { id: "1", status: "in_progress", owner: "alice" },
      { id: "2", status: "completed", owner: "alice" },
    );
    const stopped = { task_type: "in_process_teammate", command: "alice", task_id: "t1" };
    const call = { tool_name: "TaskStop", tool_input: { task_id: "alice" }, tool_use_id: "toolu_stop" };
    await lead.send({ ...as("lead"), hook_event_name: "PostToolUse", ...call, tool_response: stopped });
    await lead.settled();
    const told = await lead.send(pre(as("lead"), "Agent", { name: "cyd", prompt: "go" }));
    const seen = [contextOf(told), contextOf(lead.ran)].join("\n");
    expect(seen).toContain('your teammate "alice" is gone');
    expect(seen).toContain('1 "do 1"');
    expect(seen).not.toContain('2 "do 2"');
  });
});

describe("tasks of a team", () => {
  test("are shown with what they wait for, and taken into the queue once", async () => {
    const lead = world.replay("r-team-in-process-stopped-and-lead-killed");
    const files = new TeamFiles(world.root, lead.id);
    files.config("in-process", "alice", "bob");
    const isAlices = (p: Payload) => p["agent_type"] === "alice" && p.hook_event_name === "PreToolUse";
    await lead.until(isAlices);
    files.tasks(
      { id: "1", status: "completed", owner: "bob" },
      { id: "2", status: "in_progress", owner: "alice", blockedBy: ["1"] },
      { id: "3", blockedBy: ["2"] },
    );
    files.write(`tasks/${files.team}/4.json`, "{");
    const listed = await world.run("task", "list", "--project", world.repo);
    expect(listed).toMatch(/not claimable/);
    expect(listed).toMatch(/3 +waits +do 3 +after 2/);
    expect(await world.run("team", files.team)).toContain("may be torn");
    const take = async () =>
      JSON.parse(
        await world.run("task", "import", "--from-team", files.team, "--project", world.repo, "--json"),
      );
    expect(await take()).toMatchObject({ imported: 2, skipped: [] });
    const again = await take();
    expect([again.imported, again.skipped.length]).toEqual([0, 2]);
    const { tasks } = JSON.parse(await world.run("task", "list", "--project", world.repo, "--json"));
    expect(tasks).toMatchObject([
      { description: "do 2", status: "pending", dependsOn: [] },
      { description: "do 3", status: "pending", blockedBy: [{ task: tasks[0].id }] },
    ]);
  });
});

describe("sessions that share a list by their environment", () => {
  test("do not take a task from each other", async () => {
    const files = new TeamFiles(world.root, randomUUID());
    world.standInEnv = { CLAUDE_CODE_TASK_LIST_ID: "shop" };
    const [one, two] = [world.replay(), world.replay()];
    files.write("tasks/shop/1.json", { id: "1", subject: "s", status: "pending", blocks: [], blockedBy: [] });
    const of = (replay: Replay): Payload => ({
      ...{ hook_event_name: "PreToolUse", session_id: replay.id, cwd: world.repo },
      transcript_path: join(files.home, "projects", "p", `${replay.id}.jsonl`),
    });
    const begin = { taskId: "1", status: "in_progress" };
    for (const ran of await one.send(pre(of(one), "TaskUpdate", begin))) quiet(ran);
    expect(reasonOf(await two.send(pre(of(two), "TaskUpdate", begin)))).toContain(
      "Another session works on task 1",
    );
    expect(await world.run("team")).toContain("the shared list shop");
    for (const ran of await one.send(pre(of(one), "TaskUpdate", { taskId: "1", status: "pending" })))
      quiet(ran);
    for (const ran of await two.send(pre(of(two), "TaskUpdate", begin))) quiet(ran);
  });
});

describe("a team in panes", () => {
  test("has names, stands under its lead, and a killed teammate gets no letters and loses no task unseen", async () => {
    const lead = world.replay("r-team-panes-teammate-killed");
    const files = new TeamFiles(world.root, lead.id);
    const [, alice = ""] = lead.sessions;
    files.config("tmux", "alice", "bob");
    files.tasks(
      { id: "1", status: "in_progress", owner: "alice" },
      { id: "2", status: "in_progress", owner: "bob" },
    );
    await lead.until(p => p.hook_event_name === "PreToolUse" && p["tool_name"] === "TaskUpdate");
    expect(await watch.session(alice)).toMatchObject({
      name: "alice",
      teammate: { name: "alice", lead: lead.id },
    });
    const status = await world.run("status");
    expect(status).toContain("└ alice");
    lead.kill(alice);
    await watch.event(e => e.event === "session_ended" && e.id === alice);
    const of: Payload = {
      ...{ hook_event_name: "PreToolUse", session_id: lead.id, cwd: world.repo },
      transcript_path: join(files.home, "projects", "p", `${lead.id}.jsonl`),
    };
    const letter = await lead.send(pre(of, "SendMessage", { to: "alice", message: "are you there?" }));
    expect(reasonOf(letter)).toContain('"alice" has ended');
    expect(contextOf(letter)).toContain('your teammate "alice" is gone: its process died');
    expect(contextOf(letter)).toContain('1 "do 1"');
    for (const ran of await lead.send(pre(of, "SendMessage", { to: "bob", message: "go on" }))) quiet(ran);
    files.write(`teams/${files.team}/inboxes/alice.json`, [{ from: "bob", text: "hi", read: false }]);
    const [team] = JSON.parse(await world.run("team", "bob", "--json")).teams;
    expect(team.members).toMatchObject([
      { name: "team-lead", backend: "lead" },
      { name: "alice", backend: "pane", state: "died", shownAs: null },
      { name: "bob", backend: "pane", shownAs: "bob" },
    ]);
    const shown = await world.run("team");
    expect(shown).toContain("task 1 is in progress and owned by alice, which has ended");
    expect(shown).toContain("1 message to alice, which has ended: nobody will read it");
    // Whoever the client no longer lists is resumed, or refused by the client itself.
    files.config("tmux", "bob");
    for (const ran of await lead.send(pre(of, "SendMessage", { to: "alice", message: "hello" }))) quiet(ran);
    rmSync(join(files.home, "teams"), { recursive: true });
    for (const ran of await lead.send(pre(of, "SendMessage", { to: "alice", message: "hello" }))) quiet(ran);
  });
});

describe("a team in panes whose calls are refused", () => {
  const isUpdate = (p: Payload) => p.hook_event_name === "PreToolUse" && p["tool_name"] === "TaskUpdate";

  /** The recorded team up to the first claim of a teammate, with its files as the client had them then. */
  async function claiming(): Promise<{ readonly lead: Replay; readonly alice: string }> {
    const lead = world.replay("r-team-panes-hooks-refuse");
    const files = new TeamFiles(world.root, lead.id);
    const [, alice = ""] = lead.sessions;
    await lead.until(p => p.hook_event_name === "PreToolUse" && p["tool_name"] === "Agent");
    files.config("tmux", "alice", "bob");
    files.tasks({ id: "1" }, { id: "2", blockedBy: ["1"] }, { id: "3" }, { id: "4" });
    await lead.until(p => isUpdate(p) && p.session_id === alice);
    return { lead, alice };
  }

  test("in the recorded order: what breaks the rules is refused, and nothing else", async () => {
    const { lead, alice } = await claiming();
    expect(await watch.session(alice)).toMatchObject({
      name: "alice",
      teammate: { name: "alice", lead: lead.id },
    });
    expect(reasonOf(await lead.next())).toContain("Task 2");
    const before = lead.ran.length;
    await lead.until(isUpdate);
    expect(reasonOf(await lead.next())).toContain('"me" is no member');
    await lead.toTheEnd();
    const refused = lead.ran.slice(before).filter(({ stdout }) => /"deny"|"block"/.test(stdout));
    expect(refused.map(({ stdout }) => stdout.includes("is no member"))).toEqual([true]);
    for (const { code, signal } of lead.ran) expect([code, signal]).toEqual([0, null]);
    const { sessions } = JSON.parse(await world.run("sessions", "--json"));
    expect(sessions).toEqual([]);
  });

  test("with teams set to warn each passes, and its agent is told what is wrong", async () => {
    await world.run("down");
    writeFileSync(world.paths.config, JSON.stringify({ teams: "warn" }));
    await world.home.start();
    const { lead } = await claiming();
    const told = await lead.next();
    expect(told.map(({ stdout }) => stdout).join("")).not.toContain('"deny"');
    expect(contextOf(told)).toContain("Task 2");
    await lead.until(isUpdate);
    expect(contextOf(await lead.next())).toContain('"me" is no member');
    await expect.poll(() => world.run("log", "--json")).toContain("task 2 waits for 1");
    expect(await world.run("log", "--json")).not.toContain('"decision":"deny"');
    // Both calls ran: the next one that begins a task finds it begun by her, and says nothing.
    await lead.until(isUpdate);
    for (const ran of await lead.next()) quiet(ran);
  });
});

describe("a session that its person named in the client", () => {
  test("has that name, as a person types it, with a number if another has it", async () => {
    const [one, two] = [world.replay(), world.replay()];
    const event = (of: Replay, hook_event_name: string, session_title: string): Payload => ({
      ...{ hook_event_name, session_id: of.id, cwd: world.repo, source: "startup", session_title },
    });
    const nameOf = async ({ id }: Replay) => (await watch.session(id))?.name;
    await one.send(event(one, "SessionStart", "reviewer"));
    expect(await nameOf(one)).toBe("reviewer");
    await two.send(event(two, "SessionStart", "reviewer"));
    expect(await nameOf(two)).toBe("reviewer-2");
    await two.send(event(two, "UserPromptSubmit", "\u001b***"));
    expect(await nameOf(two)).toBe("reviewer-2");
    await two.send(event(two, "UserPromptSubmit", "second reader"));
    expect(await nameOf(two)).toBe("second-reader");
    await one.send(event(one, "UserPromptSubmit", "first reader of all the code"));
    expect(await nameOf(one)).toBe("first-reader-of-all-the");
    await one.send({ ...event(one, "UserPromptSubmit", ""), session_title: undefined });
    expect(await nameOf(one)).toBe("first-reader-of-all-the");
  });
});
