import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Payload, quiet, type Replay, ReplayWorld, type Watcher } from "./hook-replay.ts";
import { pre, reasonOf, TeamFiles } from "./native-team.ts";

/** Who works on a task of the client's own list: what the daemon refuses, and what it lets pass. */
let world: ReplayWorld;
let watch: Watcher;

beforeEach(async () => {
  world = await ReplayWorld.make();
  await world.run("up");
  watch = await world.watch();
});

afterEach(() => world.remove());

const [explore, plan] = ["a0123456789abcdef", "afedcba9876543210"];
const [alice, bob] = ["aalice-8c32192fb1a0179d", "abob-781a707301d929f0"];
const ofMate: Readonly<Record<string, string>> = { [alice]: "alice", [bob]: "bob" };
const begin = { taskId: "1", status: "in_progress" };

/** An event of a session's agent; its files lie where the client keeps them. */
function of(replay: Replay, agent?: string): Payload {
  const type = agent === undefined ? undefined : (ofMate[agent] ?? "general-purpose");
  return {
    ...{ hook_event_name: "PreToolUse", session_id: replay.id, cwd: world.repo },
    transcript_path: join(world.root, "claude", "projects", "p", `${replay.id}.jsonl`),
    ...(agent === undefined ? {} : { agent_id: agent, agent_type: type }),
  };
}

const update = (replay: Replay, agent: string | undefined, input: object) =>
  replay.send(pre(of(replay, agent), "TaskUpdate", input));

async function passes(replay: Replay, agent: string | undefined, input: object): Promise<void> {
  for (const ran of await update(replay, agent, input)) quiet(ran);
}

async function event(replay: Replay, agent: string | undefined, name: string): Promise<void> {
  await replay.send({ ...of(replay, agent), hook_event_name: name });
  await replay.settled();
}

describe("a session without a team is one worker", () => {
  /** Its own list, without a team; the task as the client's file has it. */
  function alone(): { readonly one: Replay; readonly task: (status: string) => void } {
    const one = world.replay();
    const files = new TeamFiles(world.root, one.id);
    const rest = { id: "1", subject: "s", blocks: [], blockedBy: [] };
    const task = (status: string) => files.write(`tasks/${one.id}/1.json`, { ...rest, status });
    task("pending");
    return { one, task };
  }

  test("its main agent goes on with what a subagent began", async () => {
    const { one, task } = alone();
    await event(one, explore, "SubagentStart");
    await passes(one, explore, begin);
    task("in_progress");
    // It may take the task back while the subagent still runs, and another subagent may go on with it.
    await passes(one, undefined, begin);
    await passes(one, plan, begin);
    await event(one, explore, "SubagentStop");
    for (const input of [{ taskId: "1", owner: "x" }, begin, { taskId: "1", status: "completed" }])
      await passes(one, undefined, input);
  });

  test("a subagent marks what its main agent began", async () => {
    const { one, task } = alone();
    await passes(one, undefined, begin);
    task("in_progress");
    for (const status of ["in_progress", "completed"]) await passes(one, explore, { taskId: "1", status });
  });
});

describe("sessions that share a list", () => {
  async function sharing(...tasks: readonly string[]): Promise<readonly [Replay, Replay, TeamFiles]> {
    world.standInEnv = { CLAUDE_CODE_TASK_LIST_ID: "shop" };
    const [one, two] = [world.replay(), world.replay()];
    const files = new TeamFiles(world.root, one.id);
    for (const id of tasks)
      files.write(`tasks/shop/${id}.json`, { id, subject: `do ${id}`, status: "pending", blockedBy: [] });
    return [one, two, files];
  }

  test("a subagent works while it runs, and not when it has stopped", async () => {
    const [one, two, files] = await sharing("1");
    await event(one, explore, "SubagentStart");
    await passes(one, explore, begin);
    files.write("tasks/shop/1.json", { id: "1", subject: "s", status: "in_progress", blockedBy: [] });
    expect(reasonOf(await update(two, undefined, begin))).toContain("Another session works on task 1");
    await event(one, explore, "SubagentStop");
    await passes(two, undefined, begin);
  });

  test("a task that a person may still refuse is nobody's", async () => {
    const [one, two] = await sharing("1", "2");
    for (const taskId of ["1", "2"]) await passes(one, undefined, { ...begin, taskId });
    const dialog = { tool_name: "TaskUpdate", permission_suggestions: [] };
    await one.send({ ...of(one), hook_event_name: "PermissionRequest", ...dialog, tool_input: begin });
    const other = { tool_name: "TaskUpdate", tool_input: { ...begin, taskId: "2" }, reason: "no" };
    await one.send({ ...of(one), hook_event_name: "PermissionDenied", ...other });
    await one.settled();
    for (const taskId of ["1", "2"]) await passes(two, undefined, { ...begin, taskId });
  });

  test("a refusal names no task that somebody just took", async () => {
    const [one, two] = await sharing("1", "2");
    await passes(one, undefined, begin);
    const reason = reasonOf(await update(two, undefined, begin));
    expect(reason).toContain('ready: 2 "do 2".');
  });
});

describe("a team within one process", () => {
  async function team(): Promise<{ readonly lead: Replay; readonly files: TeamFiles }> {
    const lead = world.replay();
    const files = new TeamFiles(world.root, lead.id);
    files.config("in-process", "alice", "bob");
    for (const agent of [alice, bob]) await event(lead, agent, "SubagentStart");
    return { lead, files };
  }

  test("only its worker and the lead end a task, whatever turn the worker is in", async () => {
    const { lead, files } = await team();
    files.tasks({ id: "1", status: "in_progress", owner: "bob" }, { id: "2", blockedBy: ["1"] }, { id: "3" });
    await event(lead, bob, "SubagentStop");
    for (const status of ["completed", "deleted"]) {
      const reason = reasonOf(await update(lead, alice, { taskId: "1", status }));
      expect(reason).toContain('"bob" works on task 1');
      expect(reason).toContain(`ask "bob" to mark it ${status}`);
      expect(reason).not.toContain("ready:");
    }
    for (const agent of [bob, undefined, explore])
      await passes(lead, agent, { taskId: "1", status: "completed" });
    await passes(lead, alice, { taskId: "3", status: "completed" });
    await expect.poll(() => world.run("log")).toContain("bob works on task 1");
  });

  test("a teammate and its subagents are one worker, and so are the lead and its own", async () => {
    const { lead, files } = await team();
    files.tasks({ id: "1", status: "in_progress", owner: "alice" }, { id: "2" });
    const folder = join("projects", "p", lead.id, "subagents");
    files.write(join(folder, `agent-${explore}.meta.json`), { parentAgentId: alice });
    await event(lead, explore, "SubagentStart");
    for (const status of ["in_progress", "completed"]) await passes(lead, explore, { taskId: "1", status });
    await passes(lead, explore, { ...begin, taskId: "2" });
    // Bob hears whose subagent it is, since that one has no name.
    const steal = { taskId: "2", status: "in_progress", owner: "bob" };
    expect(reasonOf(await update(lead, bob, steal))).toContain('"alice" works on task 2');
    files.tasks({ id: "2", status: "in_progress" });
    await passes(lead, alice, { taskId: "2", status: "in_progress", owner: "alice" });
    files.tasks({ id: "1", status: "in_progress", owner: "team-lead" });
    await event(lead, plan, "SubagentStart");
    for (const status of ["in_progress", "completed"]) await passes(lead, plan, { taskId: "1", status });
  });

  test("a member may be given a task in the message that begins it, unless its call fails", async () => {
    const { lead, files } = await team();
    files.tasks({ id: "1" });
    const give = { taskId: "1", owner: "cyd" };
    expect(reasonOf(await update(lead, undefined, give))).toContain('"cyd" is no member');
    const call = pre(of(lead), "Agent", { name: "cyd", prompt: "go", description: "x" });
    for (const ran of await lead.send(call)) quiet(ran);
    await passes(lead, undefined, give);
    expect(reasonOf(await update(lead, undefined, { ...give, owner: "dan" }))).toContain("is no member");
    await lead.send({ ...call, hook_event_name: "PostToolUseFailure", error: "no", is_interrupt: false });
    expect(reasonOf(await update(lead, undefined, give))).toContain('"cyd" is no member');
    await lead.send(call);
    await event(lead, undefined, "Stop");
    expect(reasonOf(await update(lead, undefined, give))).toContain('"cyd" is no member');
  });
});

test("members in panes live on after their lead's death: they are shown, and keep their tasks", async () => {
  const lead = world.replay("r-team-panes-teammate-killed");
  const files = new TeamFiles(world.root, lead.id);
  const [, first = "", second = ""] = lead.sessions;
  files.config("tmux", "alice", "bob");
  files.tasks({ id: "1", status: "in_progress", owner: "bob" });
  const seen = new Set<unknown>();
  await lead.until(p => {
    const isAll = seen.has(first) && seen.has(second);
    seen.add(p.session_id);
    return isAll;
  });
  expect(await watch.session(second)).toMatchObject({ teammate: { name: "bob", lead: lead.id } });
  lead.kill(lead.id);
  await watch.event(e => e.event === "session_ended" && e.id === lead.id);
  const { teams } = JSON.parse(await world.run("team", "--json"));
  expect(teams).toMatchObject([
    {
      members: [
        { name: "team-lead", state: "ended", shownAs: null },
        { name: "alice", backend: "pane", shownAs: "alice" },
        { name: "bob", backend: "pane", shownAs: "bob", does: 'task 1 "do 1"' },
      ],
    },
  ]);
  for (const { state } of teams[0].members.slice(1)) expect(state).toMatch(/^(?:active|idle)$/);
  const asAlice = { ...of(lead), session_id: first };
  const steal = { taskId: "1", status: "in_progress", owner: "alice" };
  expect(reasonOf(await lead.send(pre(asAlice, "TaskUpdate", steal)))).toContain('"bob" works on task 1');
});
