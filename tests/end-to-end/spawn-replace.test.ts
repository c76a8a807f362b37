/** kite agents replace: an agent that stalled is resumed by its client, then another one takes its task. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import { Mcp } from "./mcp-client.ts";
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

function stalled(name: string): Promise<SpawnRow> {
  return world.seen(row => row.name === name && row.health?.state === "stalled");
}

test("resumes the agent once, then replaces it with one that is told of it; a stranger may not", async () => {
  const task = await kiteTask(world, "Write the schema");
  await world.kite(["spawn", "WORK", "--name", "bob", "--task", task, "--role", "tester"]);
  const { session } = await stalled("bob");
  const told = (await world.kite(["agents"])).out;
  expect(told).toContain("kite agents replace bob");
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

test("an agent that a person stops while its client resumes it stays stopped", async () => {
  await world.kite(["spawn", "WORK", "--name", "bob"]);
  await stalled("bob");
  const replacing = world.kite(["replace", "bob"], world.holding());
  await world.held();
  const stopped = await world.kite(["stop", "bob"]);
  expect(stopped).toMatchObject({ code: 0, out: "bob: stopped\n" });
  await world.release();
  const said = await replacing;
  expect(said).toMatchObject({ code: 1, err: expect.stringContaining("bob has ended (stopped)") });
  expect(await world.agents()).toMatchObject([{ name: "bob", state: "stopped", replacing: false }]);
  expect(world.calls.at(-1)?.argv[0]).toBe("stop");
});

test("replaces at once what its client cannot resume, and refuses what did not stall or has no task", async () => {
  const task = await kiteTask(world, "Write the schema");
  await world.kite(["spawn", "ASK", "--name", "eve"]);
  // Who waits for a person does not stall, however slow the machine is.
  await world.seen(({ name, state }) => name === "eve" && state === "waits_on_person");
  const early = await world.kite(["replace", "eve"]);
  expect(early.err).toMatch(
    /eve is [a-z ]+, and only an agent that stalled is replaced; to end it: kite agents stop eve/,
  );
  await world.kite(["stop", "eve"]);
  expect((await world.kite(["replace", "eve"])).err).toContain("eve has ended (stopped)");
  await world.kite(["spawn", "WORK", "--name", "bob", "--task", task]);
  await stalled("bob");
  const replaced = await world.kite(["replace", "bob", "--json"], { FAKE_NO_RESUME: "1" });
  expect(JSON.parse(replaced.out)).toMatchObject({ ok: true, spawn: { name: "bob-2", task } });
});

test("puts two agents in a row in one place, whoever was pruned meanwhile, and no further one", async () => {
  const task = await kiteTask(world, "Write the schema");
  await world.kite(["spawn", "WORK", "--name", "bob", "--task", task]);
  for (const [name, next] of [
    ["bob", "bob-2"],
    ["bob-2", "bob-3"],
  ] as const) {
    await stalled(name);
    const said = await world.kite(["replace", name], { FAKE_NO_RESUME: "1" });
    expect(said).toMatchObject({ code: 0, out: expect.stringContaining(`${name} is replaced by ${next}.`) });
    expect((await world.kite(["agents", "prune"])).out).toBe(`removed ${name}\n`);
  }
  expect(await stalled("bob-3")).toMatchObject({ replacements: 2, task });
  const refused = await world.kite(["replace", "bob-3"], { FAKE_NO_RESUME: "1" });
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("Kite puts no further one there") });
  expect(await world.agents()).toHaveLength(1);
});

test("an agent without a task is replaced with its own words and model, and told of the one before", async () => {
  await world.kite(["spawn", "WORK", "--name", "bob", "--model", "opus"]);
  await stalled("bob");
  await world.kite(["replace", "bob"], { FAKE_NO_RESUME: "1" });
  const { argv = [] } = world.calls.findLast(call => call.argv.includes("bob-2")) ?? {};
  expect(argv[1]).toBe("WORK");
  expect(argv.slice(-2)).toEqual(["--model", "opus"]);
  expect(argv.join("\n")).toContain(`an earlier agent, bob, worked at it on branch "worktree-bob"`);
  expect(await world.agent("bob-2")).toMatchObject({ model: "opus", replacements: 1 });
  const [bob, next] = await world.agents();
  expect(bob?.replacedBy).toBe(next?.id);
});

describe("with health: replace", () => {
  beforeEach(async () => {
    const setting = { quietMs: 300, stalledMs: 300, stalled: "replace" };
    writeFileSync(world.home.paths.config, JSON.stringify({ health: setting }));
    await world.home.daemon.kill();
    await world.home.start();
  });

  test("who waits for an agent has it resumed, then replaced twice, and hears of the one that goes on", async () => {
    const waiting = world.kite(["spawn", "WORK", "--name", "bob", "--wait"]);
    await Promise.race([lastOne("bob-3"), waiting]);
    await world.kite(["stop", "bob-3"]);
    const said = await waiting;
    expect(said).toMatchObject({ code: 1, out: expect.stringMatching(/^bob-3 \(a-\S+\): stopped /) });
    const told = ["bob is resumed.", "bob is replaced by bob-2.", "bob-2 is resumed."];
    for (const words of [...told, "bob-2 is replaced by bob-3.", "bob-3 is resumed."])
      expect(said.err).toContain(`kite: ${words}\n`);
    expect((await world.agents()).map(({ name, resumes }) => [name, resumes])).toEqual([
      ["bob", 1],
      ["bob-2", 1],
      ["bob-3", 1],
    ]);
  }, 120_000);

  test("so does the server of tools of the agent that spawned it, until it ends itself", async () => {
    const mcp = await Mcp.start(world.home, { env: world.environment });
    await mcp.call("kite_spawn", { prompt: "WORK", name: "bob" });
    const { parent } = await lastOne("bob-3");
    expect(parent).toEqual((await world.agent("bob")).parent);
    await mcp.close();
  });
});

test("without that setting nobody who waits replaces an agent; kite agents tend does", async () => {
  const waiting = world.kite(["spawn", "WORK", "--name", "bob", "--wait", "--json"]);
  await stalled("bob");
  expect(await world.agent("bob")).toMatchObject({ resumes: 0 });
  const [tending, lines] = tend();
  const said: string[] = [];
  for await (const line of lines) {
    said.push(line);
    if (line.includes("no further one")) break;
  }
  expect(said.slice(0, 2)).toEqual(["bob is resumed.", "bob is replaced by bob-2."]);
  const over = once(tending, "exit");
  tending.kill("SIGINT");
  expect(await over).toEqual([0, null]);
  expect(JSON.parse((await waiting).out)).toMatchObject({ spawn: { name: "bob", state: "stopped" } });
});

/** It has stalled once more after its client resumed it: `resumes` counts before the session is back. */
function lastOne(name: string): Promise<SpawnRow> {
  const isLast = ({ resumes, attempts, health }: SpawnRow) =>
    resumes === 1 && attempts === 2 && health?.state === "stalled";
  return world.seen(row => row.name === name && isLast(row));
}

function tend() {
  const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
  const options = { cwd: world.home.work, env: world.environment };
  const child = spawn(process.execPath, [program, "agents", "tend"], { ...options, stdio: "pipe" });
  return [world.home.adopt(child), createInterface({ input: child.stdout })] as const;
}
