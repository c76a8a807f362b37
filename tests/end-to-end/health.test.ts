/** Health of agents, from their events to what others are told, through the built daemon and the command line. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HealthRow } from "../../protocol/lead/team.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let client: Client;
let events: Client;

beforeEach(() => {
  home = new Home();
  execFileSync("git", ["init", "-q"], { cwd: home.work });
  writeFileSync(join(home.work, "a.ts"), "old\n");
});
afterEach(() => home.dispose());

/** Starts the daemon with these limits in the user's settings. */
async function start(health: unknown): Promise<void> {
  mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(home.paths.config, JSON.stringify({ health }));
  await home.start();
  client = await home.connect();
  events = await home.connect();
  await events.ask({
    type: "subscribe",
    events: ["agent_stalled", "agent_recovered", "task_released", "session_ended"],
  });
}

/** Sends an event of a session whose client is the process `ppid`, and returns what its agent is told. */
async function hook(session: string, ppid: number, event: Message): Promise<string> {
  const all = { session_id: session, cwd: home.work, prompt_id: "p1", ...event };
  const reply = await client.ask({ type: "hook", ppid, event: all });
  return String(reply["output"]);
}

const prompt = { hook_event_name: "UserPromptSubmit", prompt: "Go on." };
const editOf = (file: string) => ({
  hook_event_name: "PreToolUse",
  tool_name: "Edit",
  tool_use_id: `use-${file}`,
  tool_input: { file_path: join(home.work, file), old_string: "old", new_string: "new" },
});

async function health(session: string): Promise<HealthRow | undefined> {
  const { rows } = await client.ask({ type: "query", target: "sessions", id: session });
  return (rows as SessionRow[])[0]?.health;
}

/** Asks until the row shows the state. */
async function until(session: string, state: HealthRow["state"]): Promise<HealthRow> {
  for (;;) {
    const row = await health(session);
    if (row?.state === state) return row;
  }
}

const soon = { quietMs: 1_000, stalledMs: 1_000 };

describe("an agent that gives no sign", () => {
  test("is told to its lead, to subscribers and in status; a sign takes it back; a person gives back what it had", async () => {
    await start(soon);
    const [one, other] = [await home.bystander(), await home.bystander()];
    await hook("lead", one.pid, { hook_event_name: "SessionStart", source: "startup" });
    await home.kite("role", "lead", "lead");
    await hook("bob", other.pid, prompt);
    const made = await client.ask({ type: "task_create", id: "lead", description: "Mend the parser" });
    const { id } = made["task"] as { id: string };
    await client.ask({ type: "task_claim", id: "bob", task: id });
    await hook("bob", other.pid, editOf("a.ts"));

    const stalled = await events.event("agent_stalled");
    expect(stalled).toMatchObject({ agent: { id: "bob" }, state: "stalled", tasks: [id], locks: 1 });
    expect(stalled["todo"]).toEqual(["kite explain bob", "kite release bob"]);
    expect(await health("bob")).toMatchObject({ state: "stalled" });
    const status = await home.kite("status");
    expect(status).toMatch(/bob .*stalled for/);
    expect(status).toContain("kite release bob");
    expect(await home.kite("agent", "bob")).toMatch(/^bob {2}stalled for/);

    const told = await hook("lead", one.pid, prompt);
    expect(told).toContain("an agent that you lead gives no sign of life");
    expect(told).toContain(`kite release 'bob'`.replaceAll("'", '\\"'));
    expect(await hook("lead", one.pid, { ...prompt, prompt_id: "p2" })).not.toContain("no sign of life");

    expect(await hook("bob", other.pid, editOf("b.ts"))).toContain("you gave no sign for");
    await events.event("agent_recovered", event => (event["agent"] as Message)["id"] === "bob");
    expect(await hook("lead", one.pid, { ...prompt, prompt_id: "p3" })).toContain("gave a sign of life");

    const released = await home.kite("release", "bob", "--reason", "it hangs");
    expect(released).toContain(`1 task of bob can be claimed again: #1`);
    expect(released).toContain("2 locks of bob released");
    const back = await events.event("task_released");
    expect(back).toMatchObject({ task: id, cause: "released by a person at a terminal (it hangs)" });
    expect(await hook("bob", other.pid, editOf("a.ts"))).toContain("gave back the task");
    await expect.poll(() => home.kite("log", "--json")).toMatch(/"rule":"health"/);
  });

  test("gives its tasks back by itself if the setting asks for that, and is told", async () => {
    await start({ ...soon, stalled: "release" });
    const process = await home.bystander();
    await hook("bob", process.pid, prompt);
    const made = await client.ask({ type: "task_create", id: "bob", description: "Mend the parser" });
    const { id } = made["task"] as { id: string };
    await client.ask({ type: "task_claim", id: "bob", task: id });
    expect(await events.event("task_released")).toMatchObject({ task: id, cause: "stalled" });
    expect(await hook("bob", process.pid, editOf("a.ts"))).toContain("gave back the task");
  });

  test("keeps all it has otherwise, and may not be robbed by an agent that does not lead it", async () => {
    await start(soon);
    const [one, other] = [await home.bystander(), await home.bystander()];
    await hook("ann", one.pid, prompt);
    await hook("bob", other.pid, prompt);
    await hook("bob", other.pid, editOf("a.ts"));
    await events.event("agent_stalled", event => (event["agent"] as Message)["id"] === "bob");
    const { rows } = await client.ask({ type: "query", target: "locks" });
    expect(rows).toMatchObject([{ holder: { id: "bob" } }]);
    const env = { ...home.environment, KITE_SESSION: "ann" };
    await expect(home.kiteIn(env, "release", "bob")).rejects.toThrow(
      /only an agent that leads bob, or a person/,
    );
    expect((await client.ask({ type: "query", target: "locks" }))["rows"]).toHaveLength(1);
  });
});

test("a lead that rests is woken when an agent of its stalls, and told once", async () => {
  await start(soon);
  const [one, other] = [await home.bystander(), await home.bystander()];
  await hook("lead", one.pid, { hook_event_name: "SessionStart", source: "startup" });
  await home.kite("role", "lead", "lead");
  const env = { CLAUDE_CODE_SESSION_ATTENDED: "1" };
  const stop = { hook_event_name: "Stop", session_id: "lead", cwd: home.work, prompt_id: "p1" };
  const waking = { type: "hook", wake: true, ppid: one.pid, env, event: stop };
  const ownHook = await home.connect();
  // Nobody is at work: the hook ends at once.
  expect(await ownHook.ask(waking)).toEqual({ ok: true, output: "" });
  await hook("bob", other.pid, prompt);
  const woken = await ownHook.ask(waking);
  expect(woken).toMatchObject({ ok: true, output: "", exitCode: 2 });
  expect(woken["stderr"]).toContain("an agent that you lead gives no sign of life");
  expect(await hook("lead", one.pid, { ...prompt, prompt_id: "p2" })).not.toContain("no sign of life");
});

test("a process that a signal stopped is shown as that, and as working when it runs on", async () => {
  await start({ quietMs: 60_000, stalledMs: 60_000 });
  const process = await home.bystander();
  await hook("bob", process.pid, prompt);
  process.kill("SIGSTOP");
  expect(await until("bob", "stopped")).toMatchObject({ why: "SIGSTOP" });
  expect(await home.kite("status")).toMatch(/stopped \(SIGSTOP\) for[\s\S]*kill -CONT/);
  process.kill("SIGCONT");
  await until("bob", "working");
  const ended = events.event("session_ended");
  process.kill("SIGKILL");
  expect(await ended).toMatchObject({ id: "bob", cause: "anchor_gone" });
  await events.ask({ type: "ping" });
  expect(events.kept).toEqual([]);
});

test("a turn that failed, and nothing after", async () => {
  await start({ quietMs: 200, stalledMs: 60_000 });
  const process = await home.bystander();
  await hook("bob", process.pid, prompt);
  await hook("bob", process.pid, { hook_event_name: "StopFailure", error: "server_error" });
  expect(await events.event("agent_stalled")).toMatchObject({
    state: "stalled",
    why: "its turn ended by an error",
  });
  await hook("bob", process.pid, { ...prompt, prompt_id: "p2" });
  await events.event("agent_recovered");
});

test("settings are shown", async () => {
  await start({ ...soon, stalled: "release" });
  const shown = await home.kite("config");
  expect(shown).toMatch(/health +quiet after 1000 ms, stalled 1000 ms later: release/);
});
