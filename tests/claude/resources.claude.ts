/** What is no file, shared by sessions of the real client: one takes it with its tool, one with a command in its shell. */
import { existsSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { type Watcher, World } from "./world.ts";

let world: World;
let watch: Watcher;

beforeEach(async () => {
  world = await World.create(programs);
  watch = await world.up();
  return () => world.dispose();
});

const kite = (id: string, tool: string, input: Readonly<Record<string, unknown>>): Turn =>
  call(id, `mcp__kite__kite_${tool}`, input);

const bash = (id: string, words: string): Turn =>
  call(id, "Bash", {
    command: `KITE_HOME=${world.paths.home} ${process.execPath} ${programs.kite} ${words}`,
    description: "Run it",
  });

/** A session that may run what it wants in its shell, and has Kite's tools if it is to. */
async function start(name: string, script: readonly (Turn | Promise<Turn>)[]): Promise<ClaudeSession> {
  await world.tools(name);
  return await world.session(name, script, { settings: { permissions: { allow: ["Bash", "mcp__kite"] } } });
}

/** Who has the resources, and who waits for them. */
async function held(): Promise<readonly (readonly [string, string | undefined, readonly string[]])[]> {
  const { locks } = await world.status();
  return locks.map(({ path, holder, waiters }) => [path, holder?.id, waiters.map(({ id }) => id)]);
}

test("a command waits for a resource that another session keeps", async () => {
  const seen = new Moment();
  const first = await start("first", [
    kite("toolu_1", "lock", { resource: "@db" }),
    seen.before(kite("toolu_2", "unlock", { resource: "@db" })),
    say("Done."),
  ]);
  await first.asked(2);
  expect(first.model.result("toolu_1").text).toContain('You hold "@db".');
  const second = await start("second", [bash("toolu_1", "lock @db -- echo mine"), say("Done.")]);
  await watch.queued(second.id);
  expect(await held()).toEqual([["@db", first.id, [second.id]]]);
  seen.reached();
  expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0]);
  expect(second.model.result("toolu_1")).toEqual({
    text: expect.stringMatching(/(?:^|\n)mine(?:\n|$)/),
    isError: false,
  });
  expect(await held()).toEqual([]);
  for (const { model } of [first, second]) expect(model.surprises).toEqual([]);
});

test("a session waits with its tool for a resource that a command of another one holds", async () => {
  const begun = world.path("begun");
  const first = await start("first", [
    bash("toolu_1", `lock @db -- sh -c 'touch begun; until [ -e go ]; do sleep 0.05; done'`),
    say("Done."),
  ]);
  await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true);
  const second = await start("second", [
    kite("toolu_1", "lock", { resource: "@db", waitMs: 60_000 }),
    kite("toolu_2", "unlock", { all: true }),
    say("Done."),
  ]);
  await watch.queued(second.id);
  expect(await held()).toEqual([["@db", first.id, [second.id]]]);
  world.write("go", "");
  expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0]);
  expect(second.model.result("toolu_1").text).toMatch(/^You hold "@db", after waiting in the queue\. /);
  expect(second.model.result("toolu_2").text).toBe('Released "@db".');
  for (const { model } of [first, second]) expect(model.surprises).toEqual([]);
});
