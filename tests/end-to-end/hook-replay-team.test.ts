import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Payload, quiet, type Replay, ReplayWorld, type Watcher } from "./hook-replay.ts";

/** Several agents in one session, and what happens to its locks when its life takes a turn. */
let world: ReplayWorld;
let watch: Watcher;

beforeEach(async () => {
  world = await ReplayWorld.make();
  await world.home.start();
  watch = await world.watch();
});

afterEach(() => world.remove());

const alice = "aalice-5d0b10a1332e636f";
const helper = "a0954b2b04fdf61ec";

const isAlicesWrite = (p: Payload) =>
  p.hook_event_name === "PreToolUse" && p["tool_name"] === "Write" && p["agent_id"] === alice;

function event(replay: Replay, hook_event_name: string, more: Readonly<Record<string, unknown>>): Payload {
  return { hook_event_name, session_id: replay.id, cwd: world.repo, ...more };
}

async function allQuiet(ran: Promise<readonly Parameters<typeof quiet>[0][]>): Promise<void> {
  const all = await ran;
  expect(all.length).toBeGreaterThan(0);
  for (const one of all) quiet(one);
}

describe("a prompt to the lead in the middle of alice's edit", () => {
  test.each([
    ["typed by a person", "go on"],
    ["made of a teammate's message", '<agent-message from="bob"> bob reports </agent-message>'],
    ["made of the end of a task", "<task-notification> <task-id>a43c0e5261b2b75ce</task-id>"],
  ])("%s: alice keeps her hold until her turn ends", async (_, prompt) => {
    const lead = world.replay("d-team-in-process");
    const other = world.replay();
    await lead.until(isAlicesWrite);
    await lead.next();
    await other.until("PreToolUse");
    const held = [`alice.txt: ${lead.id} ${alice}`];
    expect(await watch.held()).toEqual(held);

    const waits = other.send(other.edit("Write", "alice.txt"));
    await watch.queued(other.id);
    await allQuiet(lead.send(event(lead, "UserPromptSubmit", { prompt, prompt_id: randomUUID() })));
    // The lead's own Stop, in between, ends nothing of alice's either.
    await lead.until(p => p.hook_event_name === "SubagentStop" && p["agent_id"] === alice);
    expect(await watch.held()).toEqual(held);
    await lead.next();
    await allQuiet(waits);
    expect(await watch.held()).toEqual([`alice.txt: ${other.id}`]);
    await lead.toTheEnd();
    for (const ran of lead.ran) expect(ran).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("teammates of one process", () => {
  const bob = "abob-339db4d1bd440138";

  test("who holds and who waits is said of the teammate, under one name everywhere", async () => {
    const lead = world.replay("d-team-in-process");
    await lead.until(isAlicesWrite);
    await lead.next();
    const asBob = { agent_id: bob, agent_type: "bob" };
    const waits = lead.send(lead.edit("Edit", "alice.txt", asBob));
    await watch.event(e => e.event === "lock_queued" && e.waiter.agent === bob);
    const row = await watch.session(lead.id);
    expect(row).toMatchObject({ locks: 0, waitingFor: null });
    expect(row?.agents).toMatchObject([
      { agent: alice, name: "alice", status: "active", locks: 1, waitingFor: null, waitingForPath: null },
      {
        agent: bob,
        name: "bob",
        status: "active",
        locks: 0,
        waitingFor: "alice.txt",
        waitingForPath: join(world.repo, "alice.txt"),
        health: { state: "waiting", on: "lock" },
      },
    ]);
    const names = { alice: `${row?.name}/alice`, bob: `${row?.name}/bob` };
    expect(await watch.locks()).toMatchObject([
      { holder: { name: names.alice }, waiters: [{ name: names.bob }] },
    ]);
    const queued = await watch.event(e => e.event === "lock_queued");
    expect(queued).toMatchObject({ waiter: { name: names.bob }, holder: { name: names.alice } });
    await lead.toTheEnd();
    await waits;
    const said = async () => {
      const printed = await world.run("log", "--json");
      const lines: { agent: string | null; name: string }[] = printed
        .trim()
        .split("\n")
        .map(line => JSON.parse(line));
      return new Set(lines.filter(line => line.agent !== null).map(line => line.name));
    };
    await expect.poll(said).toEqual(new Set(Object.values(names)));
  });

  test("keep their names over a restart of the daemon", async () => {
    const lead = world.replay("d-team-in-process");
    await lead.until(isAlicesWrite);
    await lead.next();
    await world.run("down");
    await world.home.start();
    watch = await world.watch();
    expect((await watch.locks()).map(l => l.holder?.name)).toEqual([
      `${(await watch.session(lead.id))?.name}/alice`,
    ]);
  });

  test("that agreed to shut down are gone; a late event does not bring them back", async () => {
    const lead = world.replay("d-team-in-process");
    await lead.until(p => p["reason"] !== undefined && p.hook_event_name === "SessionEnd");
    await lead.settled();
    expect((await watch.session(lead.id))?.agents).toEqual([]);
    await lead.send(event(lead, "SubagentStop", { agent_id: bob, agent_type: "bob" }));
    await lead.send(event(lead, "Stop", { background_tasks: [] }));
    expect((await watch.session(lead.id))?.agents).toEqual([]);
    await lead.send(event(lead, "SubagentStart", { agent_id: bob, agent_type: "bob" }));
    expect((await watch.session(lead.id))?.agents.map(a => a.name)).toEqual(["bob"]);
  });

  test("that were stopped by name are gone", async () => {
    const lead = world.replay("d-team-in-process");
    await lead.until(isAlicesWrite);
    await lead.next();
    const stopped = {
      message: "stopped",
      task_id: "thmjwc7a1",
      task_type: "in_process_teammate",
      command: "alice",
    };
    const call = { tool_name: "TaskStop", tool_input: { task_id: "alice" }, tool_use_id: "toolu_x" };
    await lead.send(event(lead, "PostToolUse", { ...call, tool_response: stopped }));
    await lead.settled();
    await lead.send(event(lead, "SubagentStop", { agent_id: alice, agent_type: "alice" }));
    expect((await watch.session(lead.id))?.agents.map(a => a.name)).toEqual(["bob"]);
    expect(await watch.held()).toEqual([]);
  });
});

describe("within one session", () => {
  /** A subagent of the session, which has begun. */
  async function withHelper(): Promise<Replay> {
    const session = world.replay();
    await session.until("PreToolUse");
    const who = { agent_id: helper, agent_type: "Explore" };
    await allQuiet(session.send(event(session, "SubagentStart", who)));
    return session;
  }
  const asHelper = { agent_id: helper, agent_type: "Explore" };
  const post = (pre: Payload) => ({ ...pre, hook_event_name: "PostToolUse", tool_response: {} });

  test("a subagent gets its main agent's file at once; the main agent's Stop does not take it", async () => {
    const session = await withHelper();
    const write = session.edit("Edit", "a.txt");
    await allQuiet(session.send(write));
    await session.send(post(write));
    await session.settled();
    await allQuiet(session.send(session.edit("Edit", "a.txt", asHelper)));
    expect(await watch.held()).toEqual([`a.txt: ${session.id} ${helper}`]);
    const running = [{ id: helper, type: "subagent", status: "running" }];
    await allQuiet(session.send(event(session, "Stop", { background_tasks: running })));
    expect(await watch.held()).toEqual([`a.txt: ${session.id} ${helper}`]);
    expect((await watch.session(session.id))?.agents).toMatchObject([
      { agent: helper, name: "Explore", status: "active", locks: 1, waitingFor: null, waitingForPath: null },
    ]);
  });

  test("a nested agent gets the file of the agent that began it; a sibling waits", async () => {
    const session = await withHelper();
    const write = session.edit("Edit", "a.txt", asHelper);
    await allQuiet(session.send(write));
    await session.send(post(write));
    await session.settled();
    // What the client keeps beside the transcript says who began it.
    const transcript_path = join(world.root, "claude", "projects", "p", `${session.id}.jsonl`);
    const [nested, sibling] = ["aba8023534184af07", "aec9c40fb4fbda323"];
    const agents = join(world.root, "claude", "projects", "p", session.id, "subagents");
    mkdirSync(agents, { recursive: true });
    writeFileSync(join(agents, `agent-${nested}.meta.json`), JSON.stringify({ parentAgentId: helper }));
    const asNested = { agent_id: nested, agent_type: "Explore", transcript_path };
    const nestedWrite = session.edit("Edit", "a.txt", asNested);
    await allQuiet(session.send(nestedWrite));
    expect(await watch.held()).toEqual([`a.txt: ${session.id} ${nested}`]);
    expect((await watch.session(session.id))?.agents.map(a => a.name)).toEqual(["Explore", "Explore-2"]);

    const asSibling = { agent_id: sibling, agent_type: "Plan", transcript_path };
    const waits = session.send(session.edit("Edit", "a.txt", asSibling));
    await watch.event(e => e.event === "lock_queued" && e.waiter.agent === sibling);
    await allQuiet(session.send(event(session, "SubagentStop", asNested)));
    await allQuiet(waits);
    expect(await watch.held()).toEqual([`a.txt: ${session.id} ${sibling}`]);
  });

  test("a subagent that ended unseen is gone with the next Stop that does not list it", async () => {
    const session = await withHelper();
    await allQuiet(session.send(session.edit("Edit", "a.txt", asHelper)));
    await allQuiet(session.send(event(session, "Stop", { background_tasks: [] })));
    expect(await watch.held()).toEqual([]);
    expect((await watch.session(session.id))?.agents).toEqual([]);
  });

  test("while a teammate runs, what it may wait for is not taken for gone", async () => {
    const session = await withHelper();
    await allQuiet(session.send(session.edit("Edit", "a.txt", asHelper)));
    const running = [{ id: "t9m7fschg", type: "teammate", status: "running" }];
    await allQuiet(session.send(event(session, "Stop", { background_tasks: running })));
    expect(await watch.held()).toEqual([`a.txt: ${session.id} ${helper}`]);
  });

  test("what waits on a person is shown until that agent goes on", async () => {
    const session = await withHelper();
    const write = session.edit("Write", "new.txt", asHelper);
    await allQuiet(session.send(write));
    const attention = async () => (await watch.session(session.id))?.attention;
    await session.send({ ...write, hook_event_name: "PermissionRequest", tool_use_id: undefined });
    await session.settled();
    expect(await attention()).toBe('permission for Write of "new.txt"');
    const running = [{ id: helper, type: "subagent", status: "running" }];
    await session.send(event(session, "Stop", { background_tasks: running }));
    expect(await attention()).toBe('permission for Write of "new.txt"');
    await session.send(post(write));
    await session.settled();
    expect(await attention()).toBeNull();
  });

  test("one agent's question stays while another one of its session is asked and goes on", async () => {
    const session = await withHelper();
    const write = session.edit("Write", "new.txt", asHelper);
    const own = session.edit("Edit", "a.txt");
    for (const edit of [write, own]) {
      await allQuiet(session.send(edit));
      await session.send({ ...edit, hook_event_name: "PermissionRequest", tool_use_id: undefined });
      await session.settled();
    }
    const attention = async () => (await watch.session(session.id))?.attention;
    expect(await attention()).toBe('permission for Edit of "a.txt"');
    await session.send(post(own));
    await session.settled();
    expect(await attention()).toBe('permission for Write of "new.txt"');
    await session.send(post(write));
    await session.settled();
    expect(await attention()).toBeNull();
  });

  test("a question of an agent that has ended is gone with the next Stop", async () => {
    const session = await withHelper();
    const write = session.edit("Write", "new.txt", asHelper);
    await allQuiet(session.send(write));
    const agentEnded = { tool_name: "Agent", tool_response: { status: "completed", agentId: helper } };
    await session.send(event(session, "PostToolUse", { ...agentEnded, tool_use_id: "toolu_x" }));
    await session.settled();
    // Such an event may come late.
    await session.send({ ...write, hook_event_name: "PermissionRequest", tool_use_id: undefined });
    await session.settled();
    await allQuiet(session.send(event(session, "Stop", { background_tasks: [] })));
    expect((await watch.session(session.id))?.attention).toBeNull();
  });

  test("what comes after the end brings nobody back", async () => {
    const session = await withHelper();
    const write = session.edit("Write", "new.txt", asHelper);
    await session.send(write);
    const agentEnded = { tool_name: "Agent", tool_response: { status: "completed", agentId: helper } };
    await session.send(event(session, "PostToolUse", { ...agentEnded, tool_use_id: "toolu_x" }));
    await session.settled();
    await session.send(post(write));
    await session.send({ ...write, hook_event_name: "PermissionRequest", tool_use_id: undefined });
    await session.settled();
    expect((await watch.session(session.id))?.agents).toEqual([]);
    expect(await watch.held()).toEqual([]);

    await allQuiet(session.send(event(session, "SessionEnd", { reason: "other" })));
    await session.send(post(write));
    await allQuiet(session.send(event(session, "Stop", { background_tasks: [] })));
    const [late] = await session.send(session.edit("Edit", "a.txt"));
    expect(late?.code).toBe(0);
    expect(JSON.parse(late?.stdout ?? "").systemMessage).toContain("did not coordinate this Edit");
    await session.settled();
    expect(await watch.sessions()).toEqual([]);
    expect(await watch.locks()).toEqual([]);
  });
});

test("a cleared session goes on under its new id, with its name and its own locks", async () => {
  const session = world.replay("g-compact-clear");
  const [, next = ""] = session.sessions;
  await session.until(p => p["reason"] === "clear");
  const before = await watch.session(session.id);
  await allQuiet(session.send(session.edit("Edit", "a.txt")));
  const reply = await watch.client.request("file_lock", {
    id: session.id,
    file: join(world.repo, "kept.txt"),
  });
  expect(reply).toMatchObject({ ok: true });
  await session.next();
  expect(await watch.held()).toEqual([`kept.txt: ${session.id}`]);
  await session.next();
  expect(await watch.held()).toEqual([`kept.txt: ${next}`]);
  expect(await watch.session(next)).toMatchObject({ name: before?.name, pid: before?.pid });
  expect(await watch.session(session.id)).toBeUndefined();
  await session.toTheEnd();
  expect(await watch.sessions()).toEqual([]);
  expect(await watch.locks()).toEqual([]);
});
