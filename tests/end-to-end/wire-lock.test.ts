/** Locks on the wire: published names, replies and refusals, against the built daemon. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, isLater, type Message } from "./daemon.ts";

const tokenText = expect.stringMatching(/^[0-9a-f]{10}\.1\.\d+$/);

let home: Home;
let count = 0;

beforeAll(async () => {
  home = new Home();
  await home.start();
});
afterAll(() => home.dispose());

interface Party {
  readonly id: string;
  readonly client: Client;
  lock(file: string, more?: Message): Promise<Message>;
  /** Asks for a lock that has to wait, and returns once it stands in line. */
  queue(file: string, more?: Message): Promise<Message>;
  unlock(file: string, more?: Message): Promise<Message>;
}

/** A session with a connection of its own. */
async function party(letter: string): Promise<Party> {
  count += 1;
  const id = `${letter.repeat(8)}-${count}`;
  const client = await home.session(id, { name: `${letter}${count}` });
  return {
    id,
    client,
    lock: (file, more = {}) => client.ask({ type: "file_lock", id, file, ...more }),
    queue: (file, more = {}) => {
      client.send({ type: "file_lock", id, file, progress: true, ...more });
      return client.event("lock_queued");
    },
    unlock: (file, more = {}) => client.ask({ type: "file_unlock", id, file, ...more }),
  };
}

function freshFile(): string {
  count += 1;
  return `${home.work}/file-${count}`;
}

describe("file_lock", () => {
  test("of a subagent takes what its main agent holds, and gives it back; a teammate waits", async () => {
    const a = await party("a");
    const file = freshFile();
    const begin = (agent_id: string) =>
      a.client.ask({
        type: "hook",
        event: { hook_event_name: "SubagentStart", session_id: a.id, cwd: home.work, agent_id },
      });
    const subagent = "a0123456789abcdef";
    expect(await begin(subagent)).toMatchObject({ ok: true });
    expect(await begin("abob-0123456789abcdef")).toMatchObject({ ok: true });
    const { token } = await a.lock(file);
    expect(await a.lock(file, { agent: "abob-0123456789abcdef", waitMs: 0 })).toMatchObject({
      code: "lock_held",
    });
    const passed = await a.lock(file, { agent: subagent, waitMs: 0 });
    expect(passed).toMatchObject({ ok: true });
    expect(isLater(passed["token"], token)).toBe(true);
    expect(await a.unlock(file, { agent: subagent })).toMatchObject({ ok: true });
    expect(await a.client.ask({ type: "file_check", id: a.id, file, token })).toMatchObject({ ok: true });
  });

  test("at once, again by its holder, and after a wait", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    const first = await a.lock(file);
    expect(first).toEqual({ ok: true, file, path: file, token: tokenText });
    expect(await a.lock(file)).toEqual(first);
    await b.queue(file);
    expect(await a.unlock(file)).toEqual({ ok: true, released: [file] });
    const second = await b.client.reply();
    expect(second).toEqual({ ok: true, file, path: file, token: tokenText, granted_from_queue: true });
    expect(isLater(second["token"], first["token"])).toBe(true);
  });

  test("says nothing before its reply, unless asked for progress", async () => {
    const [a, b, c] = [await party("a"), await party("b"), await party("c")];
    const file = freshFile();
    await a.lock(file);
    b.client.send({ type: "file_lock", id: b.id, file });
    expect(await b.client.ask({ type: "ping" })).toMatchObject({ pong: true });
    expect(b.client.kept).toEqual([]);
    expect(await c.queue(file)).toEqual({
      type: "event",
      event: "lock_queued",
      files: [file],
      paths: [file],
      waiter: { id: c.id, agent: null, name: expect.any(String) },
      holder: { id: a.id, agent: null, name: expect.any(String) },
      position: 2,
    });
    await a.unlock(file);
    expect(await b.client.reply()).toMatchObject({ granted_from_queue: true });
    expect(b.client.kept).toEqual([]);
  });

  test("is refused when three wait already", async () => {
    const [a, b, c, d, e] = [
      await party("a"),
      await party("b"),
      await party("c"),
      await party("d"),
      await party("e"),
    ];
    const file = freshFile();
    await a.lock(file);
    for (const one of [b, c, d]) await one.queue(file);
    expect(await e.lock(file)).toEqual({
      ok: false,
      error: "file locked by aaaaaaaa, queue full",
      code: "lock_queue_full",
      file,
      path: file,
      locked_by: a.id,
      locked_by_name: expect.any(String),
      locked_by_agent: null,
      locked_ago: 0,
      queued: false,
    });
    // The one that waited first is next, and a place is free again.
    await a.unlock(file);
    expect(await b.client.reply()).toMatchObject({ granted_from_queue: true });
    expect(await e.queue(file)).toMatchObject({ position: 3 });
    for (const [leaving, next] of [
      [b, c],
      [c, d],
      [d, e],
    ] as const) {
      await leaving.unlock(file);
      expect(await next.client.reply()).toMatchObject({ granted_from_queue: true });
    }
  });

  test("is refused when its wait is over, with the seconds waited", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    await a.lock(file);
    expect(await b.lock(file, { waitMs: 200 })).toMatchObject({
      ok: false,
      error: "lock queue timeout (0.2s)",
      code: "lock_timeout",
      queued: false,
      locked_by: a.id,
      locked_ago: 0,
    });
    // The place is lost with it.
    await a.unlock(file);
    expect(await (await party("c")).lock(file, { waitMs: 0 })).toMatchObject({ ok: true });
  });

  test("does not wait with waitMs 0", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    await a.lock(file);
    expect(await b.lock(file, { waitMs: 0 })).toMatchObject({
      ok: false,
      error: "file locked by aaaaaaaa; ask again with waitMs to wait for it",
      code: "lock_held",
      locked_by: a.id,
      queued: false,
    });
  });

  test("is refused while the same actor waits for the file already", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    await a.lock(file);
    await b.queue(file);
    expect(await b.lock(file)).toMatchObject({
      ok: false,
      error: "already queued for this file",
      code: "already_queued",
    });
    // Another agent of the session is another actor.
    b.client.send({ type: "file_lock", id: b.id, agent: "helper", file, progress: true });
    expect(await b.client.event("lock_queued")).toMatchObject({
      waiter: { id: b.id, agent: "helper" },
      position: 2,
    });
  });

  test("that would close a cycle is refused with the cycle in words", async () => {
    const [a, b, c] = [await party("a"), await party("b"), await party("c")];
    const [x, y, z] = [freshFile(), freshFile(), freshFile()];
    for (const [one, file] of [
      [a, x],
      [b, y],
      [c, z],
    ] as const)
      await one.lock(file);
    await a.queue(y);
    await b.queue(z);
    const refused = await c.lock(x);
    expect(refused).toMatchObject({ ok: false, code: "lock_deadlock", queued: false });
    const names = [a, b, c].map(({ id }) => id);
    const nameOf = async (id: string | undefined) => {
      const { rows } = await c.client.ask({ type: "query", target: "sessions", id });
      return Array.isArray(rows) ? rows[0]?.name : null;
    };
    const [nameA, nameB, nameC] = [await nameOf(names[0]), await nameOf(names[1]), await nameOf(names[2])];
    expect(refused["cycle"]).toEqual([
      { waits: nameC, file: x, for: nameA },
      { waits: nameA, file: y, for: nameB },
      { waits: nameB, file: z, for: nameC },
    ]);
    expect(refused["error"]).toBe(
      `deadlock: ${nameC} waits for ${x} behind ${nameA}, ${nameA} waits for ${y} behind ${nameB}, ` +
        `${nameB} waits for ${z} behind ${nameC}; release what you hold first`,
    );
    await c.unlock(z);
    expect(await b.client.reply()).toMatchObject({ granted_from_queue: true });
  });

  test("of several files is all or nothing, under one token, and holds nothing while it waits", async () => {
    const [a, b, c] = [await party("a"), await party("b"), await party("c")];
    const [x, y, z] = [freshFile(), freshFile(), freshFile()];
    await a.lock(y);
    b.client.send({ type: "file_lock", id: b.id, files: [x, y, z], progress: true });
    await b.client.event("lock_queued");
    expect(await a.client.ask({ type: "query", target: "locks", id: b.id })).toMatchObject({ rows: [] });
    expect(await c.client.ask({ type: "file_lock", id: c.id, files: [z, y], waitMs: 0 })).toMatchObject({
      code: "lock_held",
      file: y,
    });
    await a.unlock(y);
    expect(await b.client.reply()).toEqual({
      ok: true,
      files: [x, y, z],
      paths: [x, y, z],
      token: tokenText,
      granted_from_queue: true,
    });
  });

  test("of a directory takes its whole subtree, of files that do not exist yet too", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const directory = freshFile();
    mkdirSync(directory);
    expect(await a.lock(directory)).toMatchObject({ ok: true, path: directory });
    expect(await b.lock(`${directory}/new/file`, { waitMs: 0 })).toMatchObject({ locked_by: a.id });
    expect(await b.lock(`${directory}-not`, { waitMs: 0 })).toMatchObject({ ok: true });
    // One that will be a directory is named with a slash.
    const later = freshFile();
    expect(await b.lock(`${later}/`)).toMatchObject({ ok: true, file: `${later}/`, path: later });
    expect(await a.lock(`${later}/inside`, { waitMs: 0 })).toMatchObject({ locked_by: b.id });
    // And who has something within keeps others from taking the whole.
    const third = freshFile();
    await a.lock(`${third}/inside`);
    expect(await b.lock(`${third}/`, { waitMs: 0 })).toMatchObject({ locked_by: a.id });
  });

  test("takes relative files from the session's directory, and echoes them as sent", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const name = `sub-${a.id}`;
    mkdirSync(`${home.work}/${name}`);
    await a.client.ask({ type: "register", id: a.id, cwd: `${home.work}/${name}` });
    expect(await a.lock("./x/../y")).toMatchObject({
      ok: true,
      file: "./x/../y",
      path: `${home.work}/${name}/y`,
    });
    expect(await b.lock(`${name}/y`, { waitMs: 0 })).toMatchObject({
      locked_by: a.id,
      file: `${name}/y`,
      path: `${home.work}/${name}/y`,
    });
    const nobody = await b.client.ask({ type: "file_lock", id: "nobody-yet", file: "y" });
    expect(nobody).toMatchObject({ ok: false, code: "invalid_request" });
    expect(nobody["error"]).toContain("register it or give an absolute path");
  });

  test("sees through links: two spellings are one file", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    writeFileSync(file, "");
    symlinkSync(file, `${file}-link`);
    expect(await a.lock(`${file}-link`)).toMatchObject({ file: `${file}-link`, path: file });
    expect(await b.lock(file, { waitMs: 0 })).toMatchObject({ locked_by: a.id });
    // A key stored with a lock is never looked up anew to release it.
    expect(await a.unlock(`${file}-link`)).toMatchObject({ ok: true });
    expect(await b.lock(file, { waitMs: 0 })).toMatchObject({ ok: true });
  });

  test("by an id that nobody registered makes a session without a process", async () => {
    const client = await home.connect();
    count += 1;
    const id = `unheard-of-${count}`;
    expect(await client.ask({ type: "file_lock", id, file: freshFile() })).toMatchObject({ ok: true });
    expect(await client.ask({ type: "query", target: "sessions", id })).toMatchObject({
      rows: [{ id, name: "unheard-", pid: null, locks: 1, project: "default" }],
    });
  });

  test("with bind:true goes with its connection, however that ends", async () => {
    const [a, b] = [await party("a"), await party("b")];
    for (const ending of ["half", "destroy"] as const) {
      const file = freshFile();
      const connection = await home.connect();
      expect(await connection.ask({ type: "file_lock", id: a.id, file, bind: true })).toMatchObject({
        ok: true,
      });
      await b.queue(file);
      if (ending === "half") connection.half();
      else connection.destroy();
      expect(await b.client.reply()).toMatchObject({ ok: true, granted_from_queue: true });
    }
    // Without it a lock outlives the connection.
    const file = freshFile();
    const connection = await home.connect();
    await connection.ask({ type: "file_lock", id: a.id, file });
    connection.half();
    await connection.ended;
    expect(await b.lock(file, { waitMs: 0 })).toMatchObject({ locked_by: a.id });
  });

  test("that waits loses its place with its connection, unless detach:true keeps it", async () => {
    const [a, b, c] = [await party("a"), await party("b"), await party("c")];
    const [kept, lost] = [freshFile(), freshFile()];
    const watcher = await home.connect();
    await watcher.ask({ type: "subscribe", events: ["lock_wait_ended"] });
    for (const [file, detach] of [
      [kept, true],
      [lost, false],
    ] as const) {
      await a.lock(file);
      const connection = await home.connect();
      connection.send({ type: "file_lock", id: b.id, file, detach, progress: true });
      await connection.event("lock_queued");
      await c.queue(file);
      connection.destroy();
    }
    expect(await watcher.event("lock_wait_ended")).toMatchObject({ paths: [lost], waiter: { id: b.id } });
    const rows = async (file: string) => {
      const page = await watcher.ask({ type: "query", target: "locks", id: a.id });
      const all: Message[] = Array.isArray(page["rows"]) ? page["rows"] : [];
      return all.find(row => row["path"] === file)?.["waiters"];
    };
    expect(await rows(lost)).toMatchObject([{ id: c.id, attached: true }]);
    expect(await rows(kept)).toMatchObject([
      { id: b.id, attached: false },
      { id: c.id, attached: true },
    ]);
    // Asking again takes the place up where it was: before the one that came later.
    expect(await b.queue(kept)).toMatchObject({ position: 1 });
    await a.unlock(kept);
    expect(await b.client.reply()).toMatchObject({ path: kept, granted_from_queue: true });
    await b.unlock(kept);
    expect(await c.client.reply()).toMatchObject({ path: kept, granted_from_queue: true });
  });
});

describe("file_unlock", () => {
  test("of several files is done whole or not at all", async () => {
    const a = await party("a");
    const [x, y, z] = [freshFile(), freshFile(), freshFile()];
    await a.lock(x);
    await a.lock(y);
    expect(await a.client.ask({ type: "file_unlock", id: a.id, files: [x, z, y] })).toEqual({
      ok: false,
      error: expect.stringContaining(`${z} is neither held nor waited for by`),
      code: "not_held",
      file: z,
    });
    expect(await a.client.ask({ type: "query", target: "locks", id: a.id })).toMatchObject({
      rows: [{ path: x }, { path: y }],
    });
    expect(await a.client.ask({ type: "file_unlock", id: a.id, files: [y, x] })).toEqual({
      ok: true,
      released: [y, x],
    });
    expect(await a.client.ask({ type: "query", target: "locks", id: a.id })).toMatchObject({ rows: [] });
  });

  test("with all:true releases everything, and nothing is fine", async () => {
    const a = await party("a");
    const [x, y] = [freshFile(), freshFile()];
    await a.lock(x);
    await a.lock(y);
    const all = { type: "file_unlock", id: a.id, all: true };
    expect(await a.client.ask(all)).toEqual({ ok: true, released: [x, y] });
    expect(await a.client.ask(all)).toEqual({ ok: true, released: [] });
  });

  test("gives up a place in line too, and the wait hears of it", async () => {
    const [a, b, c] = [await party("a"), await party("b"), await party("c")];
    const file = freshFile();
    await a.lock(file);
    await b.queue(file, { rid: "wait" });
    await c.queue(file);
    b.client.send({ type: "file_unlock", id: b.id, file, rid: "unlock" });
    expect(await b.client.replyTo("unlock")).toMatchObject({ ok: true, released: [file] });
    expect(await b.client.replyTo("wait")).toMatchObject({ ok: false, code: "lock_given_up", queued: false });
    await a.unlock(file);
    expect(await c.client.reply()).toMatchObject({ granted_from_queue: true });
  });

  test("of what another one holds is refused", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    await a.lock(file);
    expect(await b.unlock(file)).toMatchObject({ ok: false, code: "not_held" });
    expect(await a.client.ask({ type: "file_unlock", id: a.id, agent: "helper", file })).toMatchObject({
      code: "not_held",
    });
  });

  test("with force:true takes it from its holder, who is told, and passes it on", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    const { token } = await a.lock(file);
    await b.queue(file);
    const person = await home.connectPerson();
    expect(await person.ask({ type: "file_unlock", file, force: true })).toEqual({
      ok: true,
      released: [file],
    });
    expect(await a.client.event("lock_revoked")).toMatchObject({
      paths: [file],
      holder: { id: a.id },
      by: "a person at a terminal",
    });
    expect(await b.client.reply()).toMatchObject({ granted_from_queue: true });
    expect(await a.client.ask({ type: "file_check", id: a.id, file, token })).toMatchObject({
      code: "lease_lost",
    });
    expect(await person.ask({ type: "file_unlock", file: freshFile(), force: true })).toMatchObject({
      code: "not_held",
    });
    expect(await person.ask({ type: "file_unlock", file })).toMatchObject({ code: "invalid_request" });
  });
});

describe("file_check", () => {
  test("confirms a holder's token, and says who holds the file where it is lost", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    const { token } = await a.lock(file);
    const check = { type: "file_check", id: a.id, file, token };
    expect(await a.client.ask(check)).toEqual({ ok: true, file, path: file, token });
    expect(await a.client.ask({ ...check, token: "x.1.1" })).toMatchObject({ code: "lease_lost" });
    expect(await a.client.ask({ ...check, token: `${token}0` })).toMatchObject({ code: "lease_lost" });
    expect(await b.client.ask({ ...check, id: b.id })).toMatchObject({
      code: "lease_lost",
      holder: { id: a.id },
    });
    await a.unlock(file);
    expect(await a.client.ask(check)).toEqual({
      ok: false,
      error: `the lock on ${file} was lost; no session holds it now; lock it again and read the file anew`,
      code: "lease_lost",
      file,
      holder: null,
    });
    const { token: again } = await b.lock(file);
    expect(await a.client.ask(check)).toMatchObject({ code: "lease_lost", holder: { id: b.id } });
    expect(await b.client.ask({ ...check, id: b.id, token: again })).toMatchObject({ ok: true });
  });
});

describe("requestId", () => {
  test("is applied once and answered alike, from any connection", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    const request = { type: "file_lock", id: a.id, file, requestId: "once" };
    const first = await a.client.ask(request);
    expect(first).toMatchObject({ ok: true });
    await a.unlock(file);
    const other = await home.connect();
    expect(await other.ask({ ...request, rid: 9 })).toEqual({ rid: 9, ...first });
    expect(await b.lock(file, { waitMs: 0 })).toMatchObject({ ok: true });
    // The same name from another session is another request.
    expect(await b.lock(freshFile(), { requestId: "once" })).toMatchObject({ ok: true });
  });

  test("with another body, or as another request, is refused", async () => {
    const a = await party("a");
    const file = freshFile();
    const request = { type: "file_lock", id: a.id, file, requestId: "same" };
    expect(await a.client.ask(request)).toMatchObject({ ok: true });
    const conflict = { ok: false, code: "request_conflict" };
    expect(await a.client.ask({ ...request, file: freshFile() })).toMatchObject(conflict);
    expect(await a.client.ask({ ...request, waitMs: 5 })).toMatchObject(conflict);
    expect(await a.client.ask({ ...request, type: "file_unlock" })).toMatchObject(conflict);
    expect(await a.client.ask({ type: "query", target: "locks", id: a.id })).toMatchObject({
      rows: [{ path: file }],
    });
  });

  test("of a wait whose connection was lost waits anew, on another connection", async () => {
    const [a, b, watcher] = [await party("a"), await party("b"), await party("c")];
    const file = freshFile();
    await a.lock(file);
    const request = { type: "file_lock", id: b.id, file, requestId: "wait", progress: true };
    await watcher.client.ask({ type: "subscribe", events: ["lock_wait_ended"] });
    b.client.send(request);
    await b.client.event("lock_queued");
    b.client.destroy();
    expect(await watcher.client.event("lock_wait_ended")).toMatchObject({ cause: "disconnected" });
    const again = await home.connect();
    again.send(request);
    await again.event("lock_queued");
    await a.unlock(file);
    expect(await again.reply()).toMatchObject({ ok: true, file, granted_from_queue: true });
  });

  test("of a lock that was bound to a lost connection locks anew", async () => {
    const [a, watcher] = [await party("a"), await party("b")];
    const file = freshFile();
    const request = { type: "file_lock", id: a.id, file, requestId: "bound", bind: true };
    await watcher.client.ask({ type: "subscribe", events: ["lock_released"] });
    const first = await a.client.ask(request);
    a.client.destroy();
    expect(await watcher.client.event("lock_released")).toMatchObject({ cause: "disconnected" });
    const again = await home.connect();
    const second = await again.ask(request);
    expect(isLater(second["token"], first["token"])).toBe(true);
    expect(await watcher.lock(file, { waitMs: 0 })).toMatchObject({ code: "lock_held" });
  });

  test("of a refusal keeps the refusal", async () => {
    const [a, b] = [await party("a"), await party("b")];
    const file = freshFile();
    await a.lock(file);
    const first = await b.lock(file, { waitMs: 0, requestId: "no" });
    expect(first).toMatchObject({ code: "lock_held" });
    await a.unlock(file);
    expect(await b.lock(file, { waitMs: 0, requestId: "no" })).toEqual(first);
  });
});

test("the bound of one session's locks is refused by name", async () => {
  const a = await party("a");
  const each = limits.filesMax;
  for (let n = 0; n < limits.locksPerSessionMax; n += each) {
    const files = Array.from({ length: each }, (_, i) => `${home.work}/bound-${n + i}`);
    expect(await a.client.ask({ type: "file_lock", id: a.id, files })).toMatchObject({ ok: true });
  }
  expect(await a.lock(freshFile())).toMatchObject({ ok: false, code: "too_many_locks" });
  const { released } = await a.client.ask({ type: "file_unlock", id: a.id, all: true });
  expect(released).toHaveLength(limits.locksPerSessionMax);
});
