/** How long a session, and with it its locks, lives: the process it stands for, and the terminals it is open in. */
import type { ChildProcess } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { uncollected } from "../uncollected.ts";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let watcher: Client;
let count = 0;

beforeAll(async () => {
  home = new Home();
  await home.start();
  watcher = await home.connect();
  await watcher.ask({ type: "subscribe" });
});
afterAll(() => home.dispose());

function fresh(): string {
  count += 1;
  return `hold-${count}`;
}

/** A session on a connection of its own, anchored at a process. */
async function anchored(id: string, pid: number): Promise<Client> {
  const client = await home.connect();
  const reply = await client.ask({ type: "register", id, cwd: home.work, project: "test", pid });
  expect(reply).toMatchObject({ ok: true, id, anchored: true });
  return client;
}

async function waiting(file: string): Promise<{ id: string; client: Client }> {
  const id = fresh();
  const client = await home.session(id);
  client.send({ type: "file_lock", id, file, progress: true });
  await client.event("lock_queued");
  return { id, client };
}

async function lives(id: string): Promise<boolean> {
  return (await watcher.ask({ type: "heartbeat", id }))["ok"] === true;
}

async function gone(child: ChildProcess): Promise<void> {
  const exited = new Promise(resolve => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
}

describe("a session with a process", () => {
  test("ends when the process is killed, and its locks pass on", async () => {
    const anchor = await home.bystander();
    const id = fresh();
    const file = `${home.work}/${id}`;
    const client = await anchored(id, anchor.pid);
    await client.ask({ type: "file_lock", id, file });
    const next = await waiting(file);
    await gone(anchor);
    expect(await next.client.reply()).toMatchObject({ ok: true, file, granted_from_queue: true });
    expect(await watcher.event("session_ended", e => e["id"] === id)).toMatchObject({ cause: "anchor_gone" });
    expect(await lives(id)).toBe(false);
  });

  test("ends with it though it began without one", async () => {
    const anchor = await home.bystander();
    const id = fresh();
    const client = await home.session(id);
    expect(
      await client.ask({ type: "register", id, cwd: home.work, project: "test", pid: anchor.pid }),
    ).toMatchObject({
      ok: true,
      anchored: true,
    });
    await gone(anchor);
    expect(await watcher.event("session_ended", e => e["id"] === id)).toMatchObject({ cause: "anchor_gone" });
  });

  test("ends when the process was killed while the daemon was away", async () => {
    const own = new Home();
    try {
      const daemon = await own.start();
      const anchor = await own.bystander();
      const first = await own.connect();
      await first.ask({ type: "register", id: "a", cwd: own.work, pid: anchor.pid });
      await first.ask({ type: "file_lock", id: "a", file: "x" });
      await daemon.kill();
      await gone(anchor);
      await own.start();
      const second = await own.session("b");
      // At once if the daemon has seen the end by then, else from the queue.
      expect(await second.ask({ type: "file_lock", id: "b", file: "x" })).toMatchObject({ ok: true });
    } finally {
      await own.dispose();
    }
  });

  test("ends although the process is a zombie that nobody collects", async () => {
    const { parent, pid } = await uncollected();
    home.adopt(parent);
    const id = fresh();
    await anchored(id, pid);
    process.kill(pid, "SIGKILL");
    expect(await watcher.event("session_ended", e => e["id"] === id)).toMatchObject({ cause: "anchor_gone" });
    parent.kill("SIGKILL");
  });

  test("gives up what it waits for as well", async () => {
    const anchor = await home.bystander();
    const holder = fresh();
    const id = fresh();
    const file = `${home.work}/${id}`;
    await (await home.session(holder)).ask({ type: "file_lock", id: holder, file });
    const client = await anchored(id, anchor.pid);
    client.send({ type: "file_lock", id, file, progress: true });
    await client.event("lock_queued");
    await gone(anchor);
    expect(await client.reply()).toMatchObject({ ok: false, code: "lock_given_up" });
  });

  test("is not anchored to a process that is not there, not the user's or not sent", async () => {
    const client = await home.connect();
    const past = await home.bystander();
    await gone(past);
    // Another user's: as root one is made, else the first process is root's.
    const foreign = process.getuid?.() === 0 ? (await home.bystander({ uid: 65534 })).pid : 1;
    for (const pid of [past.pid, foreign, 2 ** 30]) {
      const id = fresh();
      expect(await client.ask({ type: "register", id, cwd: home.work, pid })).toMatchObject({
        ok: true,
        anchored: false,
      });
      expect(await client.ask({ type: "query", target: "sessions", id })).toMatchObject({
        rows: [{ pid: null }],
      });
      expect(await lives(id)).toBe(true);
    }
  });
});

describe("a session in two terminals", () => {
  async function twice(): Promise<{
    id: string;
    one: { anchor: ChildProcess; client: Client };
    two: { anchor: ChildProcess; client: Client };
  }> {
    const id = fresh();
    const first = await home.bystander();
    const second = await home.bystander();
    const one = { anchor: first, client: await anchored(id, first.pid) };
    const two = { anchor: second, client: await anchored(id, second.pid) };
    return { id, one, two };
  }

  const lock = (id: string, file: string, more: Message = {}) => ({ type: "file_lock", id, file, ...more });

  test("tells both, and they contend like strangers", async () => {
    const { id, one, two } = await twice();
    for (const { client } of [one, two]) {
      expect(await client.event("session_duplicated")).toMatchObject({ id, incarnations: 2 });
    }
    const file = `${home.work}/${id}`;
    expect(await one.client.ask(lock(id, file))).toMatchObject({ ok: true });
    expect(await two.client.ask(lock(id, file, { waitMs: 0 }))).toMatchObject({
      code: "lock_held",
      locked_by: id,
    });
    expect(await two.client.ask({ type: "file_unlock", id, file })).toMatchObject({ code: "not_held" });
    // Each by its own name.
    two.client.send(lock(id, file, { progress: true }));
    expect(await two.client.event("lock_queued")).toMatchObject({
      holder: { id, name: id },
      waiter: { id, name: `${id}#2` },
    });
    await one.client.ask({ type: "file_unlock", id, file });
    expect(await two.client.reply()).toMatchObject({ granted_from_queue: true });
  });

  test("lives on in one when the other one's process is killed, which frees only its own", async () => {
    const { id, one, two } = await twice();
    const [mine, other] = [`${home.work}/${id}-1`, `${home.work}/${id}-2`];
    await one.client.ask(lock(id, mine));
    await two.client.ask(lock(id, other));
    const next = await waiting(mine);
    await gone(one.anchor);
    expect(await next.client.reply()).toMatchObject({ ok: true, granted_from_queue: true });
    expect(await lives(id)).toBe(true);
    expect(await watcher.ask({ type: "query", target: "locks", id })).toMatchObject({
      rows: [{ path: other }],
    });
    const last = await waiting(other);
    await gone(two.anchor);
    expect(await last.client.reply()).toMatchObject({ ok: true, granted_from_queue: true });
    expect(await watcher.event("session_ended", e => e["id"] === id)).toMatchObject({ cause: "anchor_gone" });
  });

  test("ends in the one that says so by its process, and whole without", async () => {
    const { id, one, two } = await twice();
    expect(await one.client.ask({ type: "deregister", id, pid: one.anchor.pid })).toEqual({ ok: true });
    expect(await watcher.ask({ type: "query", target: "sessions", id })).toMatchObject({
      rows: [{ incarnations: 1, pid: two.anchor.pid }],
    });
    expect(await two.client.ask({ type: "deregister", id })).toEqual({ ok: true });
    expect(await lives(id)).toBe(false);
  });

  test("does not count a process that is gone already as a terminal", async () => {
    const id = fresh();
    const first = await home.bystander();
    const client = await anchored(id, first.pid);
    await client.ask(lock(id, `${home.work}/${id}`));
    await gone(first);
    const second = await home.bystander();
    const again = await anchored(id, second.pid);
    expect(await again.ask({ type: "query", target: "sessions", id })).toMatchObject({
      rows: [{ incarnations: 1, pid: second.pid, locks: 0 }],
    });
    expect(again.kept).toEqual([]);
  });
});
