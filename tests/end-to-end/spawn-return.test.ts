/** Agents whose process was killed: their client brings them back by itself, so a stop watches them. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import type { Client } from "./daemon.ts";
import { kiteTask, SpawnWorld } from "./spawn-world.ts";

let world: SpawnWorld;
let watcher: Client;
let task: string;

beforeEach(async () => {
  world = new SpawnWorld();
  await world.home.start();
  watcher = await world.watcher();
  task = await kiteTask(world, "Write the schema");
});
afterEach(async () => {
  watcher.destroy();
  await world.dispose();
});

/** An agent whose process was killed, as the daemon knows. */
async function killed(prompt: string): Promise<SpawnRow> {
  await world.kite(["spawn", prompt, "--name", "bob", "--task", task]);
  await world.reached(watcher, "bob", "running");
  process.kill(world.sessions[0] ?? 0, "SIGKILL");
  return world.seen(row => row.endedAt !== null);
}

async function statusOf(): Promise<unknown> {
  const shown = JSON.parse((await world.kite(["task", "show", task, "--json"])).out);
  return (shown.task ?? shown).status;
}

/** How often the client was asked to stop it. */
function stops(): number {
  return world.calls.filter(({ argv }) => argv[0] === "stop").length;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("comes back as what it is, in its worktree, with its task", async () => {
  await killed("RETURN");
  const row = await world.seen(one => one.attempts === 2);
  expect(row).toMatchObject({ state: "idle", worksIn: null, stopping: false });
  expect(row.mayReturn).toBeUndefined();
  const [session] = JSON.parse((await world.kite(["sessions", "--json"])).out).sessions;
  expect(session).toMatchObject({
    id: row.session,
    worktree: join(world.home.work, ".claude/worktrees/bob"),
    branch: "worktree-bob",
  });
  expect(await statusOf()).toBe("active");
});

test("that comes back behind a stop is stopped again, and claims nothing", async () => {
  expect(await killed("LATE")).toMatchObject({ state: "failed", mayReturn: true });
  const stopping = world.kite(["stop", "bob"]);
  expect(await world.seen(row => row.attempts === 2)).toMatchObject({ stopping: true, endedAt: null });
  expect(await statusOf()).toBe("pending");
  expect(await stopping).toMatchObject({ code: 0, out: "bob: stopped\n" });
  expect(stops()).toBe(2);
  await expect.poll(() => world.sessions.some(isAlive), { timeout: 60_000 }).toBe(false);
  expect(await statusOf()).toBe("pending");
  expect(await world.agent("bob")).toMatchObject({ state: "stopped", attempts: 2 });
});

test("that a person prompts when it has come back stays", async () => {
  await killed("PROMPTED");
  expect(await world.kite(["stop", "bob"])).toMatchObject({ code: 0, out: "bob: running\n" });
  expect(stops()).toBe(1);
  expect(world.sessions.some(isAlive)).toBe(true);
  expect(await world.agent("bob")).toMatchObject({ state: "running", stopping: false });
});

test("that does not come back is stopped; whoever resumes it later is left alone", async () => {
  const { session } = await killed("WORK");
  expect(await world.kite(["stop", "bob"])).toMatchObject({ code: 0, out: "bob: stopped\n" });
  const row = await world.agent("bob");
  expect(row).toMatchObject({ state: "stopped", attempts: 1 });
  expect(row.mayReturn).toBeUndefined();
  const person = await world.home.connect();
  const event = { hook_event_name: "SessionStart", session_id: session, source: "resume" };
  await person.ask({ type: "hook", event: { ...event, cwd: world.home.work } });
  expect(await world.seen(one => one.attempts === 2)).toMatchObject({ state: "idle", stopping: false });
  expect(stops()).toBe(1);
  person.destroy();
});
