/** Who hears what: subscriptions, cursors, and clients that never asked. */

import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { nameOfId } from "../session-name.ts";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let count = 0;

beforeAll(async () => {
  home = new Home();
  await home.start();
});
afterAll(() => home.dispose());

function fresh(): string {
  count += 1;
  return `event-${count}`;
}

async function subscriber(
  events?: readonly string[],
  cursor?: unknown,
): Promise<{ client: Client; reply: Message }> {
  const client = await home.connect();
  const reply = await client.ask({
    type: "subscribe",
    ...(events === undefined ? {} : { events }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  return { client, reply };
}

/** One line that comes to every subscriber: whatever was to come before it has come when it is here. */
async function mark(): Promise<string> {
  const id = fresh();
  await home.session(id);
  return id;
}

test("a client that did not subscribe hears of itself alone", async () => {
  const [a, b] = [fresh(), fresh()];
  const file = `${home.work}/${fresh()}`;
  const first = await home.session(a);
  const second = await home.session(b);
  const stranger = await home.session(fresh());
  await first.ask({ type: "file_lock", id: a, file });
  second.send({ type: "file_lock", id: b, file });
  await second.ask({ type: "ping" });
  // Granted, revoked, in conflict, in two terminals.
  expect(await stranger.ask({ type: "file_unlock", file, force: true })).toMatchObject({
    code: "person_only",
  });
  const person = await home.connectPerson();
  await person.ask({ type: "file_unlock", file, force: true });
  expect(await second.reply()).toMatchObject({ granted_from_queue: true });
  expect(await first.ask({ type: "file_touch", id: a, file, action: "edit" })).toEqual({ ok: true });
  expect(await second.ask({ type: "file_touch", id: b, file })).toEqual({ ok: true });
  const one = await home.bystander();
  await first.ask({ type: "register", id: a, cwd: home.work, project: "test", pid: one.pid });
  await first.ask({ type: "register", id: a, cwd: home.work, project: "test", pid: process.pid });
  await first.ask({ type: "ping" });
  await second.ask({ type: "ping" });
  await stranger.ask({ type: "ping" });
  const conflict = { type: "event", event: "file_conflict", file, path: file, sessions: [b, a] };
  expect(first.kept).toMatchObject([
    { type: "event", event: "lock_revoked", paths: [file], holder: { id: a } },
    conflict,
    { type: "event", event: "session_duplicated", id: a, incarnations: 2 },
  ]);
  expect(second.kept).toEqual([conflict]);
  expect(stranger.kept).toEqual([]);
});

test("a reply is not overtaken by what the request itself sets off: published clients read one line", async () => {
  const [a, b] = [fresh(), fresh()];
  const file = `${home.work}/${fresh()}`;
  const first = await home.session(a);
  const second = await home.session(b);
  await first.ask({ type: "file_touch", id: a, file });
  second.send({ type: "file_touch", id: b, file });
  expect(await second.next()).toEqual({ ok: true });
  expect(await second.next()).toMatchObject({ event: "file_conflict" });
  await first.ask({ type: "file_lock", id: a, file });
  await first.event("file_conflict");
  await first.ask({ type: "hello", person: readFileSync(home.paths.personToken, "utf8").trim() });
  first.send({ type: "file_unlock", file, force: true });
  expect(await first.next()).toMatchObject({ ok: true, released: [file] });
  expect(await first.next()).toMatchObject({ event: "lock_revoked" });
});

test("file_touch tells nobody of one's own session, and not of those that ended", async () => {
  const [a, b] = [fresh(), fresh()];
  const file = `${home.work}/${fresh()}`;
  const first = await home.session(a);
  await first.ask({ type: "file_touch", id: a, file });
  await first.ask({ type: "file_touch", id: a, agent: "helper", file });
  await first.ask({ type: "deregister", id: a });
  const second = await home.session(b);
  await second.ask({ type: "file_touch", id: b, file });
  await second.ask({ type: "ping" });
  expect(first.kept).toEqual([]);
  expect(second.kept).toEqual([]);
});

test("a subscriber hears everything, in order, with rising cursors", async () => {
  const { client, reply } = await subscriber();
  expect(reply).toEqual({ ok: true, cursor: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  const [a, b] = [fresh(), fresh()];
  const file = `${home.work}/${a}`;
  const first = await home.session(a);
  const second = await home.session(b);
  const { token } = await first.ask({ type: "file_lock", id: a, file });
  second.send({ type: "file_lock", id: b, file });
  await client.event("lock_queued");
  await first.ask({ type: "file_unlock", id: a, file });
  const granted = await second.reply();
  expect(granted["token"]).not.toEqual(token);
  await second.ask({ type: "deregister", id: b });
  const ended = await client.event("session_ended");
  const holder = (id: string) => ({ id, agent: null, name: nameOfId(id) });
  expect([...client.kept, ended]).toMatchObject([
    { event: "session_started", id: a, name: nameOfId(a), project: "test" },
    { event: "session_started", id: b, name: nameOfId(b), project: "test" },
    { event: "lock_granted", files: [file], paths: [file], holder: holder(a), token, waitedMs: 0 },
    { event: "lock_released", files: [file], paths: [file], holder: holder(a), cause: "unlocked" },
    { event: "lock_granted", files: [file], paths: [file], holder: holder(b), token: granted["token"] },
    { event: "lock_released", paths: [file], holder: holder(b), cause: "deregistered" },
    { event: "session_ended", id: b, cause: "deregistered" },
  ]);
  const cursors = [...client.kept, ended].map(event => String(event["cursor"]).split(".").map(Number));
  for (const [i, [, seq = 0, n = 0]] of cursors.entries()) {
    const [, before = 0, nBefore = 0] = cursors[i - 1] ?? [];
    expect(seq > before || (seq === before && n > nBefore)).toBe(true);
  }
});

test("a subscriber hears only the names it asked for, and may ask anew", async () => {
  const { client } = await subscriber(["session_ended"]);
  const id = fresh();
  const session = await home.session(id);
  await session.ask({ type: "deregister", id });
  expect(await client.event("session_ended")).toMatchObject({ id });
  await client.ask({ type: "subscribe", events: ["session_started"] });
  const marked = await mark();
  expect(await client.event("session_started")).toMatchObject({ id: marked });
  expect(client.kept).toEqual([]);
});

test("project, session and file leave out the rest", async () => {
  const [a, b] = [fresh(), fresh()];
  const base = `${home.work}/${fresh()}`;
  const listen = async (filter: Message) => {
    const client = await home.connect();
    expect(await client.ask({ type: "subscribe", ...filter })).toMatchObject({ ok: true });
    return client;
  };
  const within = await listen({ file: `${base}/src`, events: ["lock_granted", "file_conflict"] });
  const about = await listen({ id: b });
  const elsewhere = await listen({ project: "another" });
  const first = await home.session(a);
  const second = await home.session(b, { project: "another" });
  await first.ask({ type: "file_lock", id: a, file: `${base}/srcs.ts` });
  await first.ask({ type: "file_lock", id: a, file: `${base}/src/a.ts` });
  await first.ask({ type: "file_touch", id: a, file: `${base}/src/b.ts` });
  await second.ask({ type: "file_touch", id: b, file: `${base}/src/b.ts` });
  await first.ask({ type: "file_unlock", id: a, all: true });
  await first.ask({ type: "file_lock", id: a, file: `${base}/` });
  await first.ask({ type: "file_unlock", id: a, all: true });
  await second.ask({ type: "deregister", id: b });
  await Promise.all([within, about, elsewhere].map(client => client.ask({ type: "ping" })));
  const conflict = { event: "file_conflict", path: `${base}/src/b.ts` };
  expect(within.kept).toMatchObject([
    { event: "lock_granted", paths: [`${base}/src/a.ts`] },
    conflict,
    { event: "lock_granted", paths: [base] },
  ]);
  const life = [
    { event: "session_started", id: b },
    { event: "session_ended", id: b },
  ];
  expect(about.kept).toMatchObject([life[0], conflict, life[1]]);
  expect(elsewhere.kept).toMatchObject([life[0], conflict, life[1]]);
  const client = await home.connect();
  expect(await client.ask({ type: "subscribe", file: "src" })).toMatchObject({ code: "invalid_request" });
});

test("who wants little gets a new cursor now and then", async () => {
  const id = fresh();
  const first = await home.session(id);
  const { client, reply } = await subscriber(["session_lost"]);
  const file = `${home.work}/${id}`;
  for (let n = 0; n < limits.bookmarkEvents / 2; n += 1) {
    first.send({ type: "file_lock", id, file });
    first.send({ type: "file_unlock", id, file });
  }
  const bookmark = await client.event("bookmark");
  expect(bookmark["cursor"]).not.toBe(reply["cursor"]);
  expect(client.kept).toEqual([]);
  const again = await subscriber(["session_started"], bookmark["cursor"]);
  expect(again.reply).toEqual({ ok: true, cursor: bookmark["cursor"] });
});

test("after a lost connection the last cursor goes on without a gap and without a double", async () => {
  const heard: unknown[] = [];
  const started: string[] = [];
  const { client, reply } = await subscriber(["session_started"]);
  let cursor: unknown = reply["cursor"];
  let current = client;
  for (let round = 0; round < 10; round += 1) {
    for (let n = 0; n < 5; n += 1) started.push(await mark());
    // Some were heard, some perhaps not: what counts is the last one read.
    for (let n = 0; n < round % 4; n += 1) {
      const event = await current.event("session_started");
      heard.push(event["id"]);
      cursor = event["cursor"];
    }
    current.destroy();
    started.push(await mark());
    const again = await subscriber(["session_started"], cursor);
    expect(again.reply).toEqual({ ok: true, cursor });
    current = again.client;
  }
  while (heard.length < started.length) heard.push((await current.event("session_started"))["id"]);
  expect(heard).toEqual(started);
  const last = await mark();
  expect(await current.next()).toMatchObject({ event: "session_started", id: last });
});

test("a cursor that is not known is answered with lagged, and events go on from here", async () => {
  for (const cursor of ["9.9.9", "1.999999.1", "0.0.1", "nonsense", "1.2", "__proto__"]) {
    const { client, reply } = await subscriber(undefined, cursor);
    expect(reply, cursor).toEqual({ ok: true, cursor: expect.any(String), lagged: true });
    const id = await mark();
    expect(await client.next()).toMatchObject({ event: "session_started", id });
    client.destroy();
  }
});

test("a cursor lives on over a restart, or says that something is missing", async () => {
  const own = new Home();
  try {
    const { daemon } = { daemon: await own.start() };
    const at = async (cursor?: unknown) => {
      const client = await own.connect();
      return {
        client,
        reply: await client.ask({ type: "subscribe", ...(cursor === undefined ? {} : { cursor }) }),
      };
    };
    // Nothing happened yet in this store.
    const empty = (await at()).reply["cursor"];
    await own.session("one");
    const { client, reply } = await at(empty);
    expect(reply).toEqual({ ok: true, cursor: empty });
    const one = await client.event("session_started");
    expect(one).toMatchObject({ id: "one" });
    await own.session("two");
    await daemon.kill();
    // The log is replayed: nothing is missing.
    const second = await own.start();
    for (const cursor of [empty, one["cursor"]]) {
      const again = await at(cursor);
      expect(again.reply).toEqual({ ok: true, cursor });
      expect(await again.client.event("session_started", e => e["id"] === "two")).toMatchObject({
        id: "two",
      });
    }
    const latest = await at();
    await own.session("three");
    const three = await latest.client.event("session_started");
    second.signal("SIGTERM");
    await second.exited;
    // The log is gone with the snapshot; what the daemon kept is not.
    const third = await own.start();
    for (const cursor of [empty, one["cursor"]]) {
      const again = await at(cursor);
      expect(again.reply).toEqual({ ok: true, cursor });
      expect(await again.client.event("session_started", e => e["id"] === "three")).toEqual(three);
    }
    third.signal("SIGTERM");
    await third.exited;
    rmSync(own.paths.events);
    await own.start();
    // Without it only the latest event is known: nothing came after it.
    const same = await at(three["cursor"]);
    expect(same.reply).toEqual({ ok: true, cursor: three["cursor"] });
    for (const cursor of [empty, one["cursor"]]) {
      expect((await at(cursor)).reply, String(cursor)).toMatchObject({ ok: true, lagged: true });
    }
    // One from here on is good again.
    const now = (await at()).reply["cursor"];
    await own.session("four");
    const again = await at(now);
    expect(again.reply).toEqual({ ok: true, cursor: now });
    expect(await again.client.next()).toMatchObject({ event: "session_started", id: "four" });
  } finally {
    await own.dispose();
  }
});
