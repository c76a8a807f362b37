/** Turns at the index, and what shell commands change past their holders. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WriteRow } from "../../protocol/work.ts";
import type { Client } from "./daemon.ts";
import { command, commit, GuardWorld, reset } from "./guard-world.ts";

const w = new GuardWorld();
let count = 0;
async function pair() {
  count += 1;
  const dir = w.repo(`r${count}`);
  const [ann, bob] = [`ann${count}`, `bob${count}`];
  await w.begin(ann, dir);
  await w.begin(bob, dir);
  return { dir, ann, bob };
}

beforeAll(() => w.start());
afterAll(() => w.dispose());

const add = command("git add", { reach: "index", paths: ["a.ts"] });

async function rows(client: Client, target: string, project: string): Promise<Record<string, unknown>[]> {
  const reply = await client.ask({ type: "query", target, project });
  return Object.values(reply["rows"] ?? {});
}

describe("the index", () => {
  it("is written by one after the other", async () => {
    const { dir, ann, bob } = await pair();
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["lock_queued"] });
    expect((await w.guard(ann, dir, [add], { toolUseId: "ann-adds" })).before).toBeNull();
    const waits = w.guard(bob, dir, [commit], { toolUseId: "bob-commits" });
    expect(await events.event("lock_queued")).toMatchObject({ files: [".git/index"], waiter: { name: bob } });
    await w.ended(ann, dir, { toolUseId: "ann-adds" });
    expect(await waits).toMatchObject({ findings: [], before: ann });
    await w.ended(bob, dir, { toolUseId: "bob-commits" });
    expect(await rows(events, "locks", dir)).toEqual([]);
  });

  it("is refused like a lock, with who writes it", async () => {
    const { dir, ann, bob } = await pair();
    await w.guard(ann, dir, [commit]);
    const refused = await w.ask(bob, dir, [add], { waitMs: 0 });
    expect(refused).toMatchObject({
      did: "guard",
      ok: false,
      refusal: { code: "lock_held" },
      holder: { holder: ann, file: `${dir}/.git/index` },
    });
  });

  it("is refused with the directory that somebody locked as a whole", async () => {
    const { dir, ann, bob } = await pair();
    const client = await w.client();
    expect(await client.ask({ type: "file_lock", id: ann, file: `${dir}/` })).toMatchObject({ ok: true });
    const refused = await w.ask(bob, dir, [add], { waitMs: 0 });
    expect(refused).toMatchObject({ ok: false, holder: { holder: ann, file: dir } });
  });

  it("is not waited for by a client that went away", async () => {
    const { dir, ann, bob } = await pair();
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["lock_queued", "lock_wait_ended"] });
    await w.guard(ann, dir, [commit]);
    const client = await w.client();
    const guard = { do: "guard", session: bob, cwd: dir, toolUseId: "gone", promptId: null, waitMs: 30_000 };
    const rest = {
      aliases: [],
      unread: null,
      ancestors: [],
      parentFile: null,
      line: "git",
      typed: "git add",
    };
    const commands = [{ dir, ...add }];
    client.send({ type: "hook", event: { actions: [{ ...guard, ...rest, commands }] } });
    await events.event("lock_queued");
    client.destroy();
    expect(await events.event("lock_wait_ended")).toMatchObject({ waiter: { name: bob } });
  });

  it("is free again at once where the command was denied", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    expect((await w.guard(bob, dir, [reset])).findings).toHaveLength(1);
    expect((await w.guard(ann, dir, [commit], { waitMs: 0 })).findings).toEqual([]);
  });

  it("is free while a person is asked about the command, and stays so when that runs and ends", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.guard(ann, dir, [add], { toolUseId: "asked" });
    expect(await w.ask(bob, dir, [add], { waitMs: 0 })).toMatchObject({ ok: false });
    await w.act({ do: "release_index", session: ann });
    expect(await w.guard(bob, dir, [add], { waitMs: 0, toolUseId: "bob-adds" })).toMatchObject({
      before: null,
    });
    await w.ended(ann, dir, { toolUseId: "asked" });
    await w.act({ do: "release_index", session: ann });
    const events = await w.client();
    const held = await rows(events, "locks", dir);
    expect(held.map(row => [row["file"], (row["holder"] as { id: string }).id])).toEqual([
      ["a.ts", ann],
      [".git/index", bob],
    ]);
  });

  it("is one for each worktree", async () => {
    const { dir, ann, bob } = await pair();
    w.git(dir, "worktree", "add", "-q", "-b", "side", "side");
    await w.guard(ann, dir, [commit]);
    expect((await w.guard(bob, `${dir}/side`, [commit], { waitMs: 0 })).before).toBeNull();
  });

  it("passes from an agent to one that works for it, unless it is being written", async () => {
    const { dir, ann } = await pair();
    const agent = { agent: "a0123456789abcdef", ancestors: [null] };
    await w.guard(ann, dir, [add], { toolUseId: "main" });
    expect(await w.ask(ann, dir, [add], { ...agent, waitMs: 0 })).toMatchObject({ ok: false });
    await w.ended(ann, dir, { toolUseId: "main" });
    expect(await w.ask(ann, dir, [add], { ...agent, waitMs: 0 })).toMatchObject({ ok: true });
  });
});

describe("what a shell command changed", () => {
  it("is told once to its holder, its actor and the trail", async () => {
    const { dir, ann, bob } = await pair();
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["bypassed"], project: dir });
    await w.edit(ann, dir, "a.ts", "ann\n");
    w.put(dir, "a.ts", "bob was here\n");
    await w.ended(bob, dir);
    const told = { file: "a.ts", path: `${dir}/a.ts`, writer: { id: bob }, holder: { id: ann }, held: true };
    expect(await events.event("bypassed")).toMatchObject(told);
    await w.stopped(ann);
    await w.ended(bob, dir);
    w.put(dir, "a.ts", "bob was here again\n");
    await w.ended(bob, dir);
    expect(await events.event("bypassed")).toMatchObject({ ...told, held: false });
    await events.ask({ type: "ping" });
    expect(events.kept).toEqual([]);
  });

  it("costs the log nothing where it was nothing", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    const client = await w.client();
    const before = (await client.ask({ type: "stats" }))["seq"];
    await w.ended(bob, dir, { toolUseId: "ls" });
    expect((await client.ask({ type: "stats" }))["seq"]).toBe(before);
  });

  it("is nothing to tell where one's own formatter did it, or its tool", async () => {
    const { dir, ann, bob } = await pair();
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["bypassed"], project: dir });
    await w.edit(ann, dir, "a.ts", "ann\n");
    w.put(dir, "a.ts", "formatted\n");
    await w.ended(ann, dir);
    // A write of its holder's that is under way is no shell command's.
    const path = `${dir}/b.ts`;
    const write = { session: ann, cwd: dir, file: path, toolUseId: "under-way", ancestors: [] };
    await w.act({ do: "lock", ...write, waitMs: 0, promptId: null, parentFile: null, overwrites: [] });
    w.put(dir, "b.ts", "half\n");
    await w.ended(bob, dir);
    w.put(dir, "b.ts", "whole\n");
    await w.act({ do: "flight_end", ...write, wrote: true, lines: null });
    await w.ended(bob, dir);
    await events.ask({ type: "ping" });
    expect(events.kept).toEqual([]);
    const [a] = await rows(events, "writes", dir);
    expect(a).toMatchObject({ file: "a.ts", writers: [{ id: ann, by: "shell" }] });
  });

  it("does not matter where git ignores it", async () => {
    const { dir, ann, bob } = await pair();
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["bypassed"], project: dir });
    w.put(dir, ".gitignore", "*.log\n");
    await w.edit(ann, dir, "x.log", "ann\n");
    await w.edit(ann, dir, "y.txt", "ann\n");
    for (const file of ["x.log", "y.txt"]) w.put(dir, file, "bob\n");
    await w.ended(bob, dir);
    expect(await events.event("bypassed")).toMatchObject({ file: "y.txt" });
    await events.ask({ type: "ping" });
    expect(events.kept).toEqual([]);
  });

  it("is not the doing of a command that had ended long before", async () => {
    const { dir, ann, bob } = await pair();
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["bypassed"], project: dir });
    await w.edit(ann, dir, "a.ts", "ann\n");
    w.put(dir, "a.ts", "a person's editor\n");
    // As if it had begun after that: what it may be late is taken from its time.
    await w.ended(bob, dir, { ranMs: -3_600_000 });
    await w.ended(bob, dir);
    await events.ask({ type: "ping" });
    expect(events.kept).toEqual([]);
  });
});

describe("whose", () => {
  it("shows what is uncommitted, and no more of it once it is committed", async () => {
    const { dir, ann, bob } = await pair();
    const client = await w.client();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    await w.edit(bob, dir, "a.ts", "bob\n");
    await w.edit(bob, dir, "new.ts", "bob\n");
    await w.edit(ann, dir, "b.ts", "ann\n");
    w.git(dir, "add", "b.ts");
    const found = (await rows(client, "writes", dir)).map(row => {
      const { file, state, writers, holder } = row as unknown as WriteRow;
      return `${file} ${state}: ${writers.map(x => x.name).join(", ")}; held by ${holder?.name ?? "nobody"}`;
    });
    expect(found).toEqual([
      `a.ts changed: ${bob}, ${ann}; held by ${bob}`,
      `new.ts untracked: ${bob}; held by ${bob}`,
      `b.ts staged: ${ann}; held by ${ann}`,
    ]);
    await w.guard(ann, dir, [commit]);
    w.git(dir, "commit", "-qm", "b");
    await w.ended(ann, dir);
    expect((await rows(client, "writes", dir)).map(row => row["file"])).toEqual(["a.ts", "new.ts"]);
    await w.act({ do: "end", session: bob, cause: "test" });
    const [first] = await rows(client, "writes", dir);
    expect(first).toMatchObject({
      writers: [
        { id: bob, name: bob, live: false },
        { id: ann, live: true },
      ],
    });
  });

  it("is known after a restart", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    await w.stop();
    await w.start();
    expect(await w.found(bob, dir, [reset])).toEqual([`0 deny: a.ts of ${ann}`]);
  });
});

describe("what changed while two commands ran", () => {
  const active = (session: string) => w.act({ do: "heartbeat", session, active: true });

  it("is told at once to both, though it may have been the owner's own command", async () => {
    const { dir, ann, bob } = await pair();
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["bypassed"], project: dir });
    await active(ann);
    await w.edit(ann, dir, "a.ts", "ann\n");
    w.put(dir, "a.ts", "bob's command, or ann's build\n");
    await w.ended(bob, dir);
    expect(await events.event("bypassed")).toMatchObject({
      file: "a.ts",
      writer: { id: bob },
      holder: { id: ann },
    });
    await w.ended(ann, dir);
    await w.ended(bob, dir);
    await events.ask({ type: "ping" });
    expect(events.kept).toEqual([]);
  });
});
