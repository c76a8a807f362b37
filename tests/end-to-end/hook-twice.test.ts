/** Hooks installed for the user and for the project: each edit has two of them, and one of the two may get lost. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let watch: Client;

beforeEach(async () => {
  home = new Home();
  await home.start();
  watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  for (const name of ["alice", "bob"])
    await (await hook(name, "SessionStart", { source: "startup" })).answer();
});
afterEach(() => home.dispose());

/** One hook on a connection of its own. */
async function hook(session_id: string, hook_event_name: string, fields: Message = {}) {
  const client = await home.connect();
  const event = { session_id, hook_event_name, cwd: home.work, prompt_id: session_id, ...fields };
  client.send({ type: "hook", event });
  return {
    /** Its process is killed. */
    kill: () => client.destroy(),
    answer: async () => {
      const reply = await client.next(({ ok }) => ok !== undefined);
      expect(reply).toMatchObject({ ok: true });
      return reply["output"];
    },
    /** It has heard that it waits. */
    waits: async () => {
      if (client.blanks === 0) await client.blank();
    },
  };
}

const editOf = (tool_use_id: string) => ({
  tool_name: "Edit",
  tool_input: { file_path: `${home.work}/a.txt` },
  tool_use_id,
});
const before = (session: string, use: string) => hook(session, "PreToolUse", editOf(use));
const stop = async (session: string) => (await hook(session, "Stop", { background_tasks: [] })).answer();

/** The names of who holds the file and of who waits for it. */
async function line(): Promise<unknown> {
  const { rows } = await watch.ask({ type: "query", target: "locks" });
  return (rows as { holder: { name: string }; waiters: { name: string }[] }[]).map(row => [
    row.holder.name,
    ...row.waiters.map(({ name }) => name),
  ]);
}

test.each(["first", "second"] as const)(
  "the %s is killed while both wait: the other has the lock",
  async lost => {
    await (await before("alice", "toolu_a")).answer();
    const hooks = { first: await before("bob", "toolu_b"), second: await before("bob", "toolu_b") };
    await Promise.all([hooks.first.waits(), hooks.second.waits()]);
    hooks[lost].kill();
    expect(await line()).toEqual([["alice", "bob"]]);
    await stop("alice");
    expect(await hooks[lost === "first" ? "second" : "first"].answer()).toBe("");
    expect(await line()).toEqual([["bob"]]);
    const next = await before("alice", "toolu_a2");
    await next.waits();
    expect(await line()).toEqual([["bob", "alice"]]);
  },
);

test("one is killed in the moment of the grant: the other has the lock", async () => {
  for (let n = 0; n < 20; n += 1) {
    await (await before("alice", `toolu_a${n}`)).answer();
    const [one, other] = [await before("bob", `toolu_b${n}`), await before("bob", `toolu_b${n}`)];
    await Promise.all([one.waits(), other.waits()]);
    const stopped = stop("alice");
    one.kill();
    expect(await other.answer()).toBe("");
    await stopped;
    expect(await line()).toEqual([["bob"]]);
    await stop("bob");
  }
});

test("one is killed while it waits, before the other has come: the other waits, and has the lock then", async () => {
  await (await before("alice", "toolu_a")).answer();
  const one = await before("bob", "toolu_b");
  await one.waits();
  one.kill();
  await watch.event("lock_wait_ended");
  const other = await before("bob", "toolu_b");
  await other.waits();
  expect(await line()).toEqual([["alice", "bob"]]);
  await stop("alice");
  expect(await other.answer()).toBe("");
  expect(await line()).toEqual([["bob"]]);
});

test("the answer of one found nobody, before the other has come: the other has the lock", async () => {
  const one = await before("bob", "toolu_b");
  one.kill();
  await watch.event("lock_granted");
  await watch.event("lock_released", ({ cause }) => cause === "undelivered");
  expect(await (await before("bob", "toolu_b")).answer()).toBe("");
  expect(await line()).toEqual([["bob"]]);
});

test("both are killed: nobody has the lock, and who waited behind them goes on", async () => {
  await (await before("alice", "toolu_a")).answer();
  const hooks = [await before("bob", "toolu_b"), await before("bob", "toolu_b")];
  await Promise.all(hooks.map(({ waits }) => waits()));
  const carol = await before("carol", "toolu_c");
  await carol.waits();
  for (const { kill } of hooks) kill();
  await watch.event("lock_wait_ended");
  await stop("alice");
  expect(await carol.answer()).toBe("");
  expect(await line()).toEqual([["carol"]]);
});
