/** Edits of files that another session locked explicitly: until its work is done, or while a command runs. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

/** An edit that goes as far as its lock. */
function edit(session: string, dir: string, file: string) {
  const asked = { do: "lock", session, cwd: dir, file: `${dir}/${file}`, toolUseId: `${session} ${file}` };
  return {
    ...asked,
    waitMs: 60_000,
    promptId: null,
    ancestors: [],
    parentFile: null,
    overwrites: [],
  };
}

it("an edit does not wait for what another session keeps, and is told that it does, and since when", async () => {
  const dir = w.repo("kept");
  for (const session of ["ann", "bob"]) await w.begin(session, dir);
  const bob = await w.client();
  await bob.ask({ type: "file_lock", id: "bob", files: [`${dir}/src/`, `${dir}/a.ts`] });
  for (const [file, isDirectory] of [
    ["a.ts", false],
    ["src/b.ts", true],
  ] as const) {
    const [refused] = await w.act(edit("ann", dir, file));
    expect(refused).toMatchObject({
      ok: false,
      verdict: "deny",
      refusal: { code: "lock_held" },
      holder: { stays: "kept", isDirectory, heldMs: expect.any(Number) },
    });
  }
  await bob.ask({ type: "file_unlock", id: "bob", all: true });
  const next = { ...edit("ann", dir, "a.ts"), toolUseId: "next" };
  expect(await w.act(next)).toMatchObject([{ did: "lock", ok: true }]);
});

it("an edit that waits is refused as soon as somebody keeps the file, and has left the queue", async () => {
  const dir = w.repo("later");
  for (const session of ["hal", "ida", "joe"]) await w.begin(session, dir);
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued"] });
  expect(await w.act(edit("ida", dir, "a.ts"))).toMatchObject([{ ok: true }]);
  const waiting = ["hal", "joe"].map(session => w.act(edit(session, dir, "a.ts")));
  for (const _ of waiting) await events.event("lock_queued");
  const ida = await w.client();
  await ida.ask({ type: "file_lock", id: "ida", file: `${dir}/a.ts` });
  for (const refused of await Promise.all(waiting)) {
    expect(refused).toMatchObject([
      {
        ...{ ok: false, verdict: "deny", refusal: { code: "lock_held" } },
        holder: { holder: "ida", stays: "kept", waiters: 0 },
      },
    ]);
    expect(refused[0]).not.toHaveProperty("place");
  }
});

it("an edit that waits behind somebody who waits to keep the file is refused once they keep it", async () => {
  const dir = w.repo("behind");
  for (const session of ["kit", "lea", "max"]) await w.begin(session, dir);
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued"] });
  expect(await w.act(edit("lea", dir, "a.ts"))).toMatchObject([{ ok: true }]);
  const max = await w.client();
  const kept = max.ask({ type: "file_lock", id: "max", file: `${dir}/a.ts`, waitMs: 30_000 });
  await events.event("lock_queued");
  const waiting = w.act(edit("kit", dir, "a.ts"));
  await events.event("lock_queued");
  await w.act({ do: "turn_end", session: "lea" });
  expect(await kept).toMatchObject({ ok: true, granted_from_queue: true });
  expect(await waiting).toMatchObject([
    { ok: false, refusal: { code: "lock_held" }, holder: { holder: "max", stays: "kept" } },
  ]);
});

it("an edit does not wait for a file in a directory that another session keeps and edits the file in", async () => {
  const dir = w.repo("inside");
  for (const session of ["ned", "oda"]) await w.begin(session, dir);
  const oda = await w.client();
  await oda.ask({ type: "file_lock", id: "oda", file: `${dir}/src/` });
  expect(await w.act(edit("oda", dir, "src/c.ts"))).toMatchObject([{ ok: true }]);
  expect(await w.act(edit("ned", dir, "src/c.ts"))).toMatchObject([
    {
      ok: false,
      refusal: { code: "lock_held" },
      holder: { holder: "oda", stays: "kept", isDirectory: true },
    },
  ]);
});

it("an agent's edit of a file in a directory that its own session keeps waits for the agent that edits it", async () => {
  const dir = w.repo("siblings");
  await w.begin("pam", dir);
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued"] });
  const pam = await w.client();
  await pam.ask({ type: "file_lock", id: "pam", file: `${dir}/src/` });
  const of = (agent: string, toolUseId: string) => ({
    ...edit("pam", dir, "src/c.ts"),
    ...{ agent, toolUseId, ancestors: [null] },
  });
  expect(await w.act(of("a1", "first"))).toMatchObject([{ ok: true }]);
  const [refused] = await w.act({ ...of("a2", "now"), waitMs: 0 });
  expect(refused).toMatchObject({ ok: false, holder: { stays: "writes", isDirectory: false } });
  const waiting = w.act(of("a2", "later"));
  await events.event("lock_queued");
  await w.act({ do: "turn_end", session: "pam", agent: "a1" });
  expect(await waiting).toMatchObject([{ did: "lock", ok: true }]);
});

it("an edit waits for what a running command of another session holds", async () => {
  const dir = w.repo("command");
  for (const session of ["cat", "dan"]) await w.begin(session, dir);
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued"] });
  const command = await w.client();
  await command.ask({ type: "file_lock", id: "dan", file: `${dir}/a.ts`, bind: true });
  const waiting = w.act(edit("cat", dir, "a.ts"));
  await events.event("lock_queued");
  const [refused] = await w.act({ ...edit("cat", dir, "a.ts"), toolUseId: "other", waitMs: 0 });
  expect(refused).toMatchObject({ ok: false, holder: { stays: "command", isDirectory: false } });
  command.destroy();
  expect(await waiting).toMatchObject([{ did: "lock", ok: true }]);
});

it("an edit is told who keeps a lock, also while an agent of the keeper uses it", async () => {
  const dir = w.repo("lent");
  for (const session of ["eva", "fay"]) await w.begin(session, dir);
  const eva = await w.client();
  await eva.ask({ type: "file_lock", id: "eva", file: `${dir}/a.ts` });
  const agent = { agent: "a1", ancestors: [null] };
  expect(await w.act({ ...edit("eva", dir, "a.ts"), ...agent })).toMatchObject([{ ok: true }]);
  const [refused] = await w.act(edit("fay", dir, "a.ts"));
  expect(refused).toMatchObject({ ok: false, holder: { holder: "eva", stays: "kept" } });
});

it("an edit of the keeper itself waits for its own agent, whose turn ends", async () => {
  const dir = w.repo("back");
  await w.begin("gus", dir);
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued"] });
  const gus = await w.client();
  await gus.ask({ type: "file_lock", id: "gus", file: `${dir}/a.ts` });
  const agent = { agent: "a1", ancestors: [null] };
  expect(await w.act({ ...edit("gus", dir, "a.ts"), ...agent })).toMatchObject([{ ok: true }]);
  const waiting = w.act({ ...edit("gus", dir, "a.ts"), toolUseId: "own" });
  await events.event("lock_queued");
  await w.act({ do: "turn_end", session: "gus", agent: "a1" });
  expect(await waiting).toMatchObject([{ did: "lock", ok: true }]);
});

it("an edit of the keeper's own agent waits for the keeper's edit, which is under way, and then has the file", async () => {
  const dir = w.repo("down");
  await w.begin("quin", dir);
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued"] });
  const quin = await w.client();
  await quin.ask({ type: "file_lock", id: "quin", file: `${dir}/a.ts` });
  const own = { ...edit("quin", dir, "a.ts"), toolUseId: "own" };
  expect(await w.act(own)).toMatchObject([{ ok: true }]);
  const waiting = w.act({ ...edit("quin", dir, "a.ts"), agent: "a1", ancestors: [null] });
  const isDecided = await Promise.race([
    events.event("lock_queued").then(() => false),
    waiting.then(() => true),
  ]);
  expect(isDecided).toBe(false);
  await w.act({ ...own, do: "flight_end", wrote: true, lines: null });
  expect(await waiting).toMatchObject([{ did: "lock", ok: true }]);
});
