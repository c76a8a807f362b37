/** Lines, replies and sessions on the wire, against the built daemon. */

import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { version } from "../../bin/version.ts";
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

/** A session's id that no other test uses. */
function fresh(): string {
  count += 1;
  return `wire-${count}-of-the-suite`;
}

/** Somebody who holds `file`, and the file. */
async function held(): Promise<{ holder: Client; id: string; file: string }> {
  const id = fresh();
  const file = `${home.work}/${id}`;
  const holder = await home.session(id);
  expect(await holder.ask({ type: "file_lock", id, file })).toMatchObject({ ok: true });
  return { holder, id, file };
}

describe("a line", () => {
  test("that is no JSON object gets the published refusal, and the connection lives on", async () => {
    const client = await home.connect();
    for (const line of ["oops", "[]", "3", "null", '"ping"', "{", '{"type":"ping"}}']) {
      expect(await client.ask(`${line}\n`)).toEqual({
        ok: false,
        error: "invalid json",
        code: "invalid_json",
      });
    }
    expect(await client.ask({ type: "ping" })).toEqual({ ok: true, pong: true });
  });

  test("may be blank, which means nothing", async () => {
    const client = await home.connect();
    client.send('\n\n  \n\r\n{"type":"ping","rid":1}\r\n\n\t\n{"type":"ping","rid":2}\n\n');
    expect(await client.reply()).toEqual({ rid: 1, ok: true, pong: true });
    expect(await client.reply()).toEqual({ rid: 2, ok: true, pong: true });
    expect(await client.ask({ type: "ping", rid: 3 })).toMatchObject({ rid: 3 });
    expect(client.blanks).toBe(0);
  });

  test("may come in pieces, split anywhere, within a character too", async () => {
    const client = await home.connect();
    const id = `${fresh()}-é-漢-🙂`;
    const bytes = Buffer.from(`${JSON.stringify({ type: "register", id, cwd: home.work, name: "ö🙂" })}\n`);
    for (const byte of bytes) await client.sent(Buffer.of(byte));
    expect(await client.reply()).toMatchObject({ ok: true, id, name: "ö🙂" });
  });

  test("with an unknown type names the nearest known one", async () => {
    const client = await home.connect();
    expect(await client.ask({ type: "file_lok", rid: "r" })).toEqual({
      rid: "r",
      ok: false,
      error: 'unknown type "file_lok"; did you mean file_lock?',
      code: "unknown_type",
      nearest: "file_lock",
    });
    const far = await client.ask({ type: "make_coffee" });
    expect(far).toMatchObject({ code: "unknown_type", nearest: null });
    expect(far["error"]).toContain("register, heartbeat");
    for (const type of [undefined, null, 7, ["ping"], { type: "ping" }])
      expect(await client.ask({ type })).toMatchObject({ ok: false, code: "unknown_type" });
    for (const type of ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"])
      expect(await client.ask({ type })).toMatchObject({ ok: false, code: "unknown_type" });
  });

  test("with a wrong type in it is refused by path, and says what was expected", async () => {
    const client = await home.connect();
    const id = fresh();
    const wrong: readonly [Record<string, unknown>, string][] = [
      [{ type: "register", id, cwd: 7 }, "cwd"],
      [{ type: "register", id }, "cwd"],
      [{ type: "register", id, cwd: "relative" }, "cwd"],
      [{ type: "register", cwd: home.work }, "id"],
      [{ type: "register", id, cwd: home.work, pid: "1" }, "pid"],
      [{ type: "register", id, cwd: home.work, pid: 1.5 }, "pid"],
      [{ type: "heartbeat", id: "" }, "id"],
      [{ type: "heartbeat", id: "x".repeat(limits.idBytes + 1) }, "id"],
      [{ type: "file_lock", id, file: ["a"] }, "file"],
      [{ type: "file_lock", id, files: ["/a", 7] }, "files.1"],
      [{ type: "file_lock", id, files: [] }, "files"],
      [{ type: "file_lock", id, file: "/a", waitMs: limits.waitMaxMs + 1 }, "waitMs"],
      [{ type: "file_lock", id, file: "/a", waitMs: -1 }, "waitMs"],
      [{ type: "file_lock", id, file: "/a", bind: "yes" }, "bind"],
      [{ type: "file_lock", id, file: "x".repeat(limits.pathBytes + 1) }, "file"],
      [{ type: "file_lock", id, files: Array(limits.filesMax + 1).fill("/a") }, "files"],
      [{ type: "query", target: "everything" }, "target"],
      [{ type: "query", target: "locks", limit: limits.rowsMax + 1 }, "limit"],
      [{ type: "hook", event: "Stop" }, "event"],
      [{ type: "ping", requestId: 7 }, "requestId"],
    ];
    for (const [request, path] of wrong) {
      const reply = await client.ask({ ...request, rid: path });
      expect(reply, JSON.stringify(request).slice(0, 200)).toMatchObject({
        rid: path,
        ok: false,
        code: "invalid_request",
        path,
      });
      expect(reply["error"]).toContain(`${request["type"]}: ${path}: `);
    }
    const both = await client.ask({ type: "file_lock", id, file: "/a", files: ["/a"] });
    expect(both).toMatchObject({ code: "invalid_request" });
    expect(both["error"]).toContain("give exactly one of file and files");
    expect(await client.ask({ type: "ping", rid: { a: 1 } })).toMatchObject({
      code: "invalid_request",
      path: "rid",
    });
  });

  test("may carry fields that nobody knows", async () => {
    const client = await home.connect();
    const id = fresh();
    const more = '"toString":1,"__proto__":{"ok":false},"constructor":{"prototype":{"x":1}},"future":[{}]';
    expect(await client.ask(`{"type":"register","id":"${id}","cwd":"${home.work}",${more}}\n`)).toMatchObject(
      {
        ok: true,
        id,
      },
    );
  });
});

describe("replies", () => {
  test("without a rid come in order, one for each request, however they were sent", async () => {
    const client = await home.connect();
    const ids = Array.from({ length: 100 }, fresh);
    const lines = ids.flatMap(id => [
      { type: "register", id, cwd: home.work, project: "order" },
      { type: "ping" },
      { type: "query", target: "sessions", id },
      { type: "file_lock", id, file: id },
      { type: "nothing" },
      { type: "query", target: "locks", id },
      { type: "file_unlock", id, file: id },
      { type: "query", target: "locks", id },
      { type: "deregister", id },
      { type: "query", target: "sessions", id },
    ]);
    client.send(lines.map(line => `${JSON.stringify(line)}\n`).join(""));
    for (const id of ids) {
      expect(await client.reply()).toMatchObject({ ok: true, id });
      expect(await client.reply()).toEqual({ ok: true, pong: true });
      expect(await client.reply()).toMatchObject({ ok: true, rows: [{ id, locks: 0 }] });
      expect(await client.reply()).toMatchObject({ ok: true, file: id });
      expect(await client.reply()).toMatchObject({ ok: false, code: "unknown_type" });
      expect(await client.reply()).toMatchObject({ ok: true, rows: [{ file: id, holder: { id } }] });
      expect(await client.reply()).toEqual({ ok: true, released: [id] });
      expect(await client.reply()).toEqual({ ok: true, rows: [] });
      expect(await client.reply()).toEqual({ ok: true });
      expect(await client.reply()).toEqual({ ok: true, rows: [] });
    }
    expect(client.kept).toEqual([]);
  });

  test("see what came before on their connection, in whatever pieces it was sent", async () => {
    const client = await home.connect();
    const [id, unknown, other] = [fresh(), fresh(), fresh()];
    const file = `${home.work}/${id}`;
    const lines = [
      { type: "register", id, cwd: home.work, rid: 0 },
      { type: "heartbeat", id, rid: 1 },
      { type: "file_touch", id, file, rid: 2 },
      { type: "deregister", id, rid: 3 },
      { type: "heartbeat", id, rid: 4 },
      { type: "file_touch", id, file, rid: 5 },
      // A lock by an id that nobody registered makes a session.
      { type: "file_lock", id: unknown, file, rid: 6 },
      { type: "heartbeat", id: unknown, rid: 7 },
      { type: "file_touch", id: unknown, file, rid: 8 },
      { type: "register", id: other, cwd: home.work, rid: 9 },
      { type: "file_lock", id: other, file: "relative", rid: 10 },
    ];
    client.send(lines.map(line => `${JSON.stringify(line)}\n`).join(""));
    const replies = await Promise.all(lines.map(({ rid }) => client.replyTo(rid)));
    expect(replies.map(({ ok, code }) => (ok === true ? "ok" : code))).toEqual([
      "ok",
      "ok",
      "ok",
      "ok",
      "unknown_session",
      "unknown_session",
      "ok",
      "ok",
      "ok",
      "ok",
      "ok",
    ]);
  });

  test("echo a rid, and those that wait are overtaken", async () => {
    const { holder, id, file } = await held();
    const waiter = await home.session("w-rid");
    waiter.send({ type: "file_lock", id: "w-rid", file, rid: "late" });
    waiter.send({ type: "ping", rid: 0 });
    waiter.send({ type: "ping", rid: -1.5 });
    waiter.send({ type: "ping", rid: "" });
    expect(await waiter.reply()).toEqual({ rid: 0, ok: true, pong: true });
    expect(await waiter.reply()).toEqual({ rid: -1.5, ok: true, pong: true });
    expect(await waiter.reply()).toEqual({ rid: "", ok: true, pong: true });
    await holder.ask({ type: "file_unlock", id, file });
    expect(await waiter.reply()).toMatchObject({ rid: "late", ok: true, granted_from_queue: true });
  });

  test("without a rid that wait are overtaken too, and come when they are ready", async () => {
    const { holder, id, file } = await held();
    const waiter = await home.session("w-order");
    waiter.send({ type: "file_lock", id: "w-order", file });
    expect(await waiter.ask({ type: "ping" })).toEqual({ ok: true, pong: true });
    await holder.ask({ type: "file_unlock", id, file });
    expect(await waiter.reply()).toMatchObject({ ok: true, file, granted_from_queue: true });
  });

  test("to a query show what was asked before it, and not what came after", async () => {
    const { file, id } = await held();
    const client = await home.session("w-view");
    client.send(
      [
        { type: "file_lock", id: "w-view", file: `${file}.1` },
        { type: "query", target: "locks", id: "w-view" },
        { type: "file_lock", id: "w-view", file: `${file}.2` },
        { type: "file_unlock", id: "w-view", file: `${file}.1` },
        { type: "query", target: "locks", id: "w-view" },
      ]
        .map(line => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    await client.reply();
    expect(await client.reply()).toMatchObject({ ok: true, rows: [{ path: `${file}.1` }] });
    await client.reply();
    await client.reply();
    expect(await client.reply()).toMatchObject({ ok: true, rows: [{ path: `${file}.2` }] });
    expect((await client.ask({ type: "query", target: "locks", id }))["rows"]).toHaveLength(1);
  });
});

describe("hello", () => {
  test("says who answers", async () => {
    const client = await home.connect();
    const reply = await client.ask({ type: "hello", protocol: 1, client: "a test" });
    const { pid } = home.daemon;
    expect(reply).toEqual({
      ok: true,
      protocol: 1,
      version,
      pid,
      storeId: expect.stringMatching(/^[0-9a-f]{10}$/),
      epoch: 1,
    });
    expect(await client.ask({ type: "hello" })).toEqual(reply);
  });

  test("with another protocol is refused in words, and the connection lives on", async () => {
    const client = await home.connect();
    expect(await client.ask({ type: "hello", protocol: 2 })).toEqual({
      ok: false,
      error: "this daemon speaks protocol 1, not 2; use the same version on both sides",
      code: "unsupported_protocol",
      protocol: 1,
      version,
    });
    expect(await client.ask({ type: "ping" })).toEqual({ ok: true, pong: true });
  });
});

describe("a session", () => {
  test("is registered, brought up to date, heard of and ended", async () => {
    const client = await home.connect();
    const id = fresh();
    const work = realpathSync(home.work);
    expect(await client.ask({ type: "register", id, cwd: work })).toEqual({
      ok: true,
      id,
      name: nameOfId(id),
      project: work,
      anchored: false,
    });
    expect(await client.ask({ type: "heartbeat", id })).toEqual({ ok: true });
    expect(
      await client.ask({
        type: "register",
        id,
        cwd: "/",
        project: "p",
        name: "alice",
        branch: "main",
        pid: process.pid,
      }),
    ).toEqual({ ok: true, id, name: "alice", project: "p", anchored: true });
    const { rows } = await client.ask({ type: "query", target: "sessions", id });
    expect(rows).toEqual([
      {
        id,
        name: "alice",
        project: "p",
        worktree: expect.any(String),
        branch: "main",
        cwd: "/",
        pid: process.pid,
        status: "idle",
        registeredAt: expect.any(Number),
        lastSeenMs: expect.any(Number),
        incarnations: 1,
        agents: [],
        files: [],
        locks: 0,
        waitingFor: null,
        waitingForPath: null,
        attention: null,
        task: null,
      },
    ]);
    expect(await client.ask({ type: "deregister", id })).toEqual({ ok: true });
    const gone = { ok: false, code: "unknown_session" };
    expect(await client.ask({ type: "deregister", id })).toMatchObject(gone);
    expect(await client.ask({ type: "heartbeat", id })).toEqual({
      ...gone,
      error: `no session ${id} is registered; send register first`,
    });
  });

  test("has a name of its own in its project, on one line", async () => {
    const client = await home.connect();
    const name = async (project: string, asked: string) =>
      (await client.ask({ type: "register", id: fresh(), cwd: "/", project, name: asked }))["name"];
    expect(await name("names", "bob")).toBe("bob");
    expect(await name("names", "bob")).toBe("bob-2");
    expect(await name("other names", "bob")).toBe("bob");
    expect(await name("names", "\u001b[31mred\u0007\r\nline\u202e\u2028end\u0000")).toBe("[31mred line end");
    expect(await name("names", "\u0000\u001b")).toBe("unnamed");
  });

  test("has the branch of when it is registered, also right after a checkout", async () => {
    const repo = home.folder();
    for (const folder of ["objects", "refs"]) mkdirSync(`${repo}/.git/${folder}`, { recursive: true });
    const client = await home.connect();
    for (const branch of ["main", "other", "third"]) {
      writeFileSync(`${repo}/.git/HEAD`, `ref: refs/heads/${branch}\n`);
      const id = fresh();
      await client.ask({ type: "register", id, cwd: repo });
      const { rows } = await client.ask({ type: "query", target: "sessions", id });
      expect(rows).toMatchObject([{ branch, worktree: realpathSync(repo) }]);
    }
  });

  test("outlives the connection it was registered on", async () => {
    const id = fresh();
    const client = await home.session(id);
    client.half();
    await client.ended;
    const other = await home.connect();
    expect(await other.ask({ type: "heartbeat", id })).toEqual({ ok: true });
  });
});

describe("rows", () => {
  test("come page by page, and none is left out when the last one shown has gone meanwhile", async () => {
    const client = await home.connect();
    const project = fresh();
    const ids = Array.from({ length: 25 }, fresh);
    for (const id of ids) await client.ask({ type: "register", id, cwd: home.work, project });
    const query = (after?: unknown) =>
      client.ask({
        type: "query",
        target: "sessions",
        project,
        limit: 10,
        ...(after === undefined ? {} : { after }),
      });
    const first = await query();
    expect(rowIds(first)).toEqual(ids.slice(0, 10));
    await client.ask({ type: "deregister", id: ids[9] });
    const second = await query(first["next"]);
    expect(rowIds(second)).toEqual(ids.slice(10, 20));
    const third = await query(second["next"]);
    expect(rowIds(third)).toEqual(ids.slice(20));
    expect(third).not.toHaveProperty("next");
    expect(await query("nonsense")).toMatchObject({ ok: false, code: "invalid_request" });
  });

  test("of locks do so too, those had together included", async () => {
    const id = fresh();
    const client = await home.session(id);
    const files = Array.from({ length: 20 }, (_, n) => `${home.work}/${id}-${n}`);
    await client.ask({ type: "file_lock", id, files: files.slice(0, 15) });
    for (const file of files.slice(15)) await client.ask({ type: "file_lock", id, file });
    const shown: unknown[] = [];
    let after: unknown;
    do {
      const page = await client.ask({
        type: "query",
        target: "locks",
        id,
        limit: 4,
        ...(after === undefined ? {} : { after }),
      });
      const rows = rowsOf(page);
      shown.push(...rows.map(row => row["path"]));
      after = page["next"];
      // What was shown last goes before the next page is asked for.
      if (after !== undefined) await client.ask({ type: "file_unlock", id, file: rows.at(-1)?.["path"] });
    } while (after !== undefined);
    expect([...new Set(shown)].sort()).toEqual([...files].sort());
  });

  test("are at most 200 unless a limit says so", async () => {
    const id = fresh();
    const client = await home.session(id);
    const files = Array.from({ length: 300 }, (_, n) => `${home.work}/${id}-${n}`);
    await client.ask({ type: "file_lock", id, files });
    const few = await client.ask({ type: "query", target: "locks", id });
    expect(rowsOf(few)).toHaveLength(200);
    expect(few["next"]).toEqual(expect.any(String));
    const all = await client.ask({ type: "query", target: "locks", id, limit: 1000 });
    expect(rowsOf(all)).toHaveLength(300);
    expect(all).not.toHaveProperty("next");
  });

  test("that are long come on pages of a bounded size, and who reads is never closed for them", async () => {
    const id = fresh();
    const client = await home.session(id);
    const deep = `${home.work}/${id}/${`${"d".repeat(250)}/`.repeat(14)}`;
    const files = Array.from({ length: 600 }, (_, n) => `${deep}${n}`);
    for (let n = 0; n < files.length; n += 100) {
      expect(await client.ask({ type: "file_lock", id, files: files.slice(n, n + 100) })).toMatchObject({
        ok: true,
      });
    }
    const shown: unknown[] = [];
    let after: unknown;
    do {
      const before = client.received;
      const page = await client.ask({
        type: "query",
        target: "locks",
        id,
        limit: 1000,
        ...(after === undefined ? {} : { after }),
      });
      expect(page).toMatchObject({ ok: true });
      expect(client.received - before).toBeLessThan(2 * limits.lineBytes);
      shown.push(...rowsOf(page).map(row => row["path"]));
      after = page["next"];
    } while (after !== undefined);
    expect(shown).toEqual(files);
    // The same all at once, as fast as they can be sent.
    const many = Array.from({ length: 12 }, (_, rid) => ({
      type: "query",
      target: "locks",
      id,
      limit: 1000,
      rid,
    }));
    client.send(many.map(line => `${JSON.stringify(line)}\n`).join(""));
    for (const { rid } of many) expect(await client.replyTo(rid)).toMatchObject({ ok: true });
  });
});

function rowsOf(page: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] {
  const { rows } = page;
  if (!Array.isArray(rows)) throw new Error(`no rows: ${JSON.stringify(page)}`);
  return rows;
}

function rowIds(page: Readonly<Record<string, unknown>>): unknown[] {
  return rowsOf(page).map(row => row["id"]);
}

test("query shows all projects unless one is named, and its id is a filter, not who asks", async () => {
  const [one, other] = [fresh(), fresh()];
  const client = await home.session(one, { project: "here" });
  await home.session(other, { project: "there" });
  for (const id of [one, other]) {
    await client.ask({ type: "file_lock", id, file: id });
    const hold = { files: [`${home.work}/held-${id}`], ttlMs: 60_000 };
    expect(await client.ask({ type: "broadcast", id, message: "wait", hold })).toMatchObject({ ok: true });
  }
  const ids = (rows: unknown, id: (row: Message) => unknown) => (rows as Message[]).map(id);
  const whose: Readonly<Record<string, (row: Message) => unknown>> = {
    sessions: row => row["id"],
    locks: row => (row["holder"] as Message)["id"],
    holds: row => (row["by"] as Message)["id"],
  };
  for (const [target, id] of Object.entries(whose)) {
    const shown = async (more: Message) => {
      const all: unknown[] = [];
      let page: Message = { next: "" };
      for (let from: Message = {}; page["next"] !== undefined; from = { after: page["next"] }) {
        page = await client.ask({ type: "query", target, ...more, ...from });
        all.push(...ids(page["rows"], id));
      }
      return all;
    };
    expect(await shown({})).toEqual(expect.arrayContaining([one, other]));
    expect(await shown({ project: "there" })).toEqual([other]);
    expect(await shown({ id: other })).toEqual([other]);
    expect(await shown({ id: other, project: "here" })).toEqual([]);
  }
});
