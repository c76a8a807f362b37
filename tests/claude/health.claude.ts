/** What is known of the health of real sessions. The limits are seconds, so that what raises nothing is seen to outlast them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { rowsOf } from "../../bin/context/with-daemon.ts";
import { KiteClient } from "../../client/client.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { HealthRow } from "../../protocol/lead/team.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

const limits = { quietMs: 2_000, quietToolMs: 3_000, stalledMs: 2_000 };

let world: World;
let client: KiteClient;
/** Names of events about health, and of ended sessions, in order. */
let told: { readonly event: string; readonly id: string }[] = [];

beforeEach(async () => {
  world = await World.create(programs);
  mkdirSync(world.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(world.paths.config, JSON.stringify({ health: limits }));
  await world.up();
  client = await KiteClient.connect({ paths: world.paths });
  told = [];
  client.onEvent(event => {
    const id = idOf(event);
    if (id !== null) told.push({ event: event.event, id });
  });
  await client.subscribe();
});

afterEach(async () => {
  client.close();
  await world.dispose();
});

function idOf(event: EventLine): string | null {
  if (event.event === "agent_stalled" || event.event === "agent_recovered") return event.agent.id;
  return event.event === "session_ended" ? event.id : null;
}

async function row(
  id: string,
): Promise<{ readonly health: HealthRow | undefined; readonly pid: number | null }> {
  const [session] = await rowsOf(client, "sessions", { id });
  return { health: session?.health, pid: session?.pid ?? null };
}

/** Asks until the session is in the state; fails if it is called stalled before. */
async function until(id: string, state: HealthRow["state"]): Promise<HealthRow> {
  for (;;) {
    const { health } = await row(id);
    if (health?.state === state) return health;
    if (health?.state === "stalled") throw new Error(`stalled, and not ${state}`);
  }
}

/** Asks until `ms` have passed since the agent came into its state, and returns all states that were seen. */
async function statesFor(id: string, ms: number): Promise<ReadonlySet<string>> {
  const states = new Set<string>();
  const client = await row(id);
  const from = client.health?.forMs ?? 0;
  for (;;) {
    const { health } = await row(id);
    if (health === undefined) throw new Error("the session is gone");
    states.add(health.on === undefined ? health.state : `${health.state} on ${health.on}`);
    if (health.forMs >= from + ms) return states;
  }
}

const longMs = limits.quietMs + limits.quietToolMs + limits.stalledMs + 1_000;

test("an answer that never comes is quiet, then stalled; when it comes, that is taken back", async () => {
  const never = new Moment();
  const session = await world.session("first", [never.before(say("At last."))]);
  await session.asked(1);
  await until(session.id, "quiet");
  while (!told.some(({ event }) => event === "agent_stalled")) await row(session.id);
  expect(await row(session.id)).toMatchObject({ health: { state: "stalled" } });
  expect(await world.kite("status")).toMatch(/stalled for[\s\S]*kite release/);
  never.reached();
  expect(await session.ended).toBe(0);
  while (!told.some(({ event }) => event === "session_ended")) await row(session.id);
  expect(told.map(({ event }) => event)).toEqual(["agent_stalled", "agent_recovered", "session_ended"]);
});

test("a long shell command raises nothing, and is at work all the time but for the word quiet", async () => {
  const session = await world.session("first", [
    call("toolu_1", "Bash", {
      command: `sleep ${Math.ceil(longMs / 1000) + 3}`,
      description: "A long build",
    }),
    say("Done."),
  ]);
  await session.asked(1);
  const states = await statesFor(session.id, longMs);
  for (const state of states) expect(["working", "quiet"]).toContain(state);
  expect(await session.ended).toBe(0);
  expect(told.filter(({ event }) => event === "agent_stalled")).toEqual([]);
});

test("a permission dialog that stays open raises nothing: the session waits on a person", async () => {
  const session = await world.interactive("first", [
    call("toolu_1", "Bash", { command: "node --eval 1", description: "Ask for it" }),
    say("Done."),
  ]);
  await session.asked(1);
  await until(session.id, "waiting");
  expect(await statesFor(session.id, longMs)).toEqual(new Set(["waiting on person"]));
  expect(told).toEqual([]);
});

/** The client asks an overloaded service three times at most before it gives up. */
test.each([
  ["is overloaded", { refuse: 529 }],
  ["closes the connection", { hangUp: true }],
] as const)(
  "a service that %s is waited for; if it then says nothing, that is a stall",
  async (_what, fault) => {
    const never = new Moment();
    const session = await world.session("first", [fault, fault, never.before(say("At last."))]);
    await session.asked(3);
    expect(await until(session.id, "waiting")).toMatchObject({ on: "service" });
    while (!told.some(({ event }) => event === "agent_stalled")) await row(session.id);
    never.reached();
    expect(await session.ended).toBe(0);
    while (!told.some(({ event }) => event === "session_ended")) await row(session.id);
    expect(told.map(({ event }) => event)).toEqual(["agent_stalled", "agent_recovered", "session_ended"]);
  },
);

test("a stopped process is shown as that, and works on when it is continued", async () => {
  const never = new Moment();
  const session = await world.session("first", [never.before(say("Done."))]);
  await session.asked(1);
  const { pid } = await row(session.id);
  if (pid === null) throw new Error("a real session has a process");
  process.kill(pid, "SIGSTOP");
  try {
    expect(await until(session.id, "stopped")).toMatchObject({ why: "SIGSTOP" });
    expect(await world.kite("status")).toContain(`kill -CONT ${pid}`);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await until(session.id, "working");
  never.reached();
  expect(await session.ended).toBe(0);
});

test("a killed session is gone at once, and its task is given back", async () => {
  const never = new Moment();
  const session = await world.session("first", [never.before(say("Done."))]);
  await session.asked(1);
  const { pid } = await row(session.id);
  if (pid === null) throw new Error("a real session has a process");
  const made = await client.request("task_create", { id: session.id, description: "Mend it" });
  if (!made.ok) throw new Error(made.error);
  const project = (await world.status()).sessions[0]?.project ?? "";
  const claimed = await client.request("task_claim", { id: session.id, project });
  expect(claimed).toMatchObject({ ok: true, task: { status: "active" } });
  process.kill(pid, "SIGKILL");
  await session.ended.catch(() => undefined);
  while (!told.some(({ event }) => event === "session_ended")) await row(session.id);
  const [task] = await rowsOf(client, "tasks", { project });
  expect(task).toMatchObject({ status: "pending", attempts: 1 });
  expect(await row(session.id)).toEqual({ health: undefined, pid: null });
  expect(told.filter(({ event }) => event === "agent_stalled")).toEqual([]);
  never.reached();
});
