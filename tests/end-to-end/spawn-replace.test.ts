/** kite replace: an agent that stalled is resumed by its client, then another one takes its task. */
import { mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SpawnRow } from "../../protocol/spawn.ts";
import { kiteTask, SpawnWorld } from "./spawn-world.ts";

let world: SpawnWorld;

beforeEach(async () => {
  world = new SpawnWorld();
  const { home, config } = world.home.paths;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(config, JSON.stringify({ health: { quietMs: 300, stalledMs: 300 } }));
  await world.home.start();
});
afterEach(() => world.dispose());

/** Asks until the agent has stalled. */
async function stalled(name: string): Promise<SpawnRow> {
  for (;;) {
    const row = await world.agent(name);
    if (row.health?.state === "stalled") return row;
  }
}

test("resumes the agent once, then replaces it with one that is told of it; a stranger may not", async () => {
  const task = await kiteTask(world, "Write the schema");
  await world.kite(["spawn", "WORK", "--name", "bob", "--task", task, "--role", "tester"]);
  const { session } = await stalled("bob");
  const told = (await world.kite(["agents"])).out;
  expect(told).toContain("kite replace bob");
  const ann = await world.home.session("ann", { project: world.home.work, name: "Ann" });
  const foreign = await world.kite(["replace", "bob"], { CLAUDE_CODE_SESSION_ID: "ann" });
  expect(foreign.err).toContain(
    "only the agent that spawned bob, one that leads here, or a person replaces it",
  );
  ann.destroy();

  const resumed = await world.kite(["replace", "bob", "--json"]);
  expect(JSON.parse(resumed.out)).toMatchObject({ ok: true, spawn: { name: "bob", session, attempts: 2 } });
  const call = world.calls.find(({ argv }) => argv[1] === "--resume");
  expect(call?.argv.slice(0, 3)).toEqual(["--bg", "--resume", session]);
  expect(call?.argv[3]).toContain(`Go on with task ${task}.`);
  const shown = JSON.parse((await world.kite(["task", "show", task, "--json"])).out);
  expect(shown.task ?? shown).toMatchObject({ status: "active", assignee: session });

  await stalled("bob");
  const replaced = await world.kite(["replace", "bob"]);
  expect(replaced).toMatchObject({ code: 0 });
  expect(replaced.out).toMatch(/^bob is replaced by bob-2\.\nbob-2 \(a-/);
  expect(await world.agent("bob")).toMatchObject({ state: "stopped" });
  expect(await world.agent("bob-2")).toMatchObject({ task, role: "tester", base: "main", attempts: 1 });
  const briefing = world.calls.at(-1)?.argv.at(-1) ?? "";
  expect(briefing).toContain(`bob, worked at it on branch "worktree-bob" and is stopped`);
  expect(briefing).toContain("it stalled, and another agent took its place");
});

test("replaces at once what its client cannot resume, and refuses what did not stall or has no task", async () => {
  const task = await kiteTask(world, "Write the schema");
  await world.kite(["spawn", "ASK", "--name", "eve"]);
  const early = await world.kite(["replace", "eve"]);
  expect(early.err).toMatch(
    /eve is [a-z ]+, and only an agent that stalled is replaced; to end it: kite stop eve/,
  );
  await world.kite(["stop", "eve"]);
  expect((await world.kite(["replace", "eve"])).err).toContain("eve has ended (stopped)");
  await world.kite(["spawn", "WORK", "--name", "bob", "--task", task]);
  await stalled("bob");
  const replaced = await world.kite(["replace", "bob", "--json"], { FAKE_NO_RESUME: "1" });
  expect(JSON.parse(replaced.out)).toMatchObject({ ok: true, spawn: { name: "bob-2", task } });
});

test("puts no further agent in the place of those of a task that ended twice", async () => {
  const task = await kiteTask(world, "Write the schema");
  for (const name of ["bob", "bob-2"]) {
    await world.kite(["spawn", "WORK", "--name", name, "--task", task]);
    await world.kite(["stop", name]);
  }
  await world.kite(["spawn", "WORK", "--name", "bob-3", "--task", task]);
  await stalled("bob-3");
  const refused = await world.kite(["replace", "bob-3"], { FAKE_NO_RESUME: "1" });
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(`2 agents ended at ${task} before bob-3`);
  expect(await world.agents()).toHaveLength(3);
});
