/** What clients do to a daemon, by accident or not: each trap, and the answer to it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureDaemon, stopDaemon } from "../../client/launch.ts";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const mib = 1024 * 1024;

let home: Home;
let count = 0;

beforeAll(async () => {
  home = new Home();
  await home.start();
});
afterAll(() => home.dispose());

function fresh(): string {
  count += 1;
  return `trap-${count}`;
}

/** A file that somebody holds, a client to release it with, and a watcher of what happens to those who wait. */
async function held(): Promise<{ file: string; release: () => Promise<Message>; watcher: Client }> {
  const id = fresh();
  const file = `${home.work}/${id}`;
  const holder = await home.session(id);
  await holder.ask({ type: "file_lock", id, file, bind: true });
  const watcher = await home.connect();
  await watcher.ask({ type: "subscribe" });
  return { file, release: () => holder.ask({ type: "file_unlock", id, file }), watcher };
}

/** A new session's connection, waiting for the file. */
async function waiting(file: string): Promise<{ id: string; client: Client }> {
  const id = fresh();
  const client = await home.session(id);
  client.send({ type: "file_lock", id, file, progress: true });
  await client.event("lock_queued");
  return { id, client };
}

async function alive(client: Client): Promise<void> {
  expect(await client.ask({ type: "ping" })).toEqual({ ok: true, pong: true });
}

describe("a client that closes its own side", () => {
  test("gets its deferred grant, and then the end", async () => {
    const { file, release } = await held();
    const { client } = await waiting(file);
    const blank = client.blank();
    client.half();
    // It still waits: the daemon asks whether it lives.
    await blank;
    await release();
    expect(await client.reply()).toMatchObject({ ok: true, file, granted_from_queue: true });
    await client.closed;
    expect(client.kept).toEqual([]);
  });

  test("right behind its requests gets every answer, and then the end", async () => {
    const client = await home.connect();
    const id = fresh();
    const { file, release, watcher } = await held();
    const lines = [
      { type: "register", id, cwd: home.work },
      { type: "file_lock", id, file },
      { type: "query", target: "sessions", id },
      { type: "ping" },
    ];
    client.send(lines.map(line => `${JSON.stringify(line)}\n`).join(""));
    client.half();
    expect(await client.reply()).toMatchObject({ ok: true, id });
    expect(await client.reply()).toMatchObject({ rows: [{ id, waitingFor: file }] });
    expect(await client.reply()).toMatchObject({ pong: true });
    await watcher.event("lock_queued");
    await release();
    expect(await client.reply()).toMatchObject({ granted_from_queue: true });
    await client.closed;
  });

  test("without having asked anything is let go, in the middle of a line too", async () => {
    for (const text of ["", "\n", '{"type":"pi', '{"type":"hook"']) {
      const client = await home.connect();
      if (text !== "") client.send(text);
      client.half();
      await client.closed;
      expect(client.received).toBe(0);
    }
  });

  test("and takes its time to read loses nothing of a long answer", async () => {
    const { file, release, watcher } = await held();
    const id = fresh();
    const client = await home.session(id);
    // Its grant is more than the kernel keeps for a client.
    const names = Array.from({ length: 999 }, (_, n) => `${file}-${n}-${"x".repeat(200)}`);
    const blank = client.blank();
    client.send({ type: "file_lock", id, files: [file, ...names] });
    client.half();
    await blank;
    client.stopReading();
    await release();
    // Another one that waits hears a blank line now and then: three of them are a while.
    const other = await held();
    const { client: late } = await waiting(other.file);
    late.half();
    for (let n = 0; n < 3; n += 1) await late.blank();
    client.read();
    expect(await client.reply()).toMatchObject({
      ok: true,
      files: [file, ...names],
      granted_from_queue: true,
    });
    await client.closed;
    expect(await watcher.ask({ type: "file_unlock", id, all: true })).toMatchObject({ ok: true });
    await other.release();
    expect(await late.reply()).toMatchObject({ ok: true });
  });

  test("and is killed then is found out, and loses its place", async () => {
    const { file, release, watcher } = await held();
    const first = await waiting(file);
    const blank = first.client.blank();
    first.client.half();
    await blank;
    first.client.destroy();
    expect(await watcher.event("lock_wait_ended")).toMatchObject({
      waiter: { id: first.id },
      cause: "disconnected",
    });
    await release();
  });

  test("and is killed then gets no lock: the grant is undone and goes to the next one", async () => {
    const { file, release, watcher } = await held();
    const first = await waiting(file);
    const second = await waiting(file);
    const blank = first.client.blank();
    first.client.half();
    await blank;
    first.client.destroy();
    await release();
    expect(await second.client.reply()).toMatchObject({ ok: true, granted_from_queue: true });
    const rows = await watcher.ask({ type: "query", target: "locks", id: first.id });
    expect(rows).toMatchObject({ rows: [] });
  });
});

describe("a client that is killed while it waits", () => {
  test("loses its place at once, and the next one gets the lock", async () => {
    const { file, release, watcher } = await held();
    const first = await waiting(file);
    const second = await waiting(file);
    first.client.destroy();
    expect(await watcher.event("lock_wait_ended")).toMatchObject({
      waiter: { id: first.id },
      cause: "disconnected",
    });
    await release();
    expect(await second.client.reply()).toMatchObject({ ok: true, granted_from_queue: true });
    const granted = await watcher.event("lock_granted", e => !isFirst(e));
    expect(granted).toMatchObject({ holder: { id: second.id } });
    expect(watcher.kept.filter(isFirst)).toEqual([]);

    function isFirst(event: Message): boolean {
      return event["event"] === "lock_granted" && JSON.stringify(event["holder"]).includes(`"${first.id}"`);
    }
  });

  test("leaves no place behind, not even with what it had sent unread", async () => {
    const { file, release, watcher } = await held();
    const first = await waiting(file);
    first.client.send("x".repeat(100_000));
    first.client.destroy();
    await watcher.event("lock_wait_ended");
    const page = await watcher.ask({ type: "query", target: "locks" });
    const rows: Message[] = Array.isArray(page["rows"]) ? page["rows"] : [];
    expect(rows.find(row => row["path"] === file)).toMatchObject({ waiters: [] });
    await release();
  });

  test("with a hook loses its place as soon as it closes its side", async () => {
    const { file, release, watcher } = await held();
    const id = fresh();
    const hook = await home.connect();
    const blank = hook.blank();
    hook.send({ type: "hook", event: edit(id, file) });
    await blank;
    hook.half();
    expect(await watcher.event("lock_wait_ended")).toMatchObject({ waiter: { id }, cause: "disconnected" });
    await hook.closed;
    await release();
  });
});

function edit(id: string, file: string): Message {
  return {
    hook_event_name: "PreToolUse",
    session_id: id,
    cwd: home.work,
    prompt_id: "p",
    tool_name: "Edit",
    tool_use_id: `${id}-use`,
    tool_input: { file_path: file, old_string: "a", new_string: "b" },
  };
}

describe("a line without an end", () => {
  test("of 100 MB costs its length and no memory, is refused once, and the connection lives on", async () => {
    const client = await home.connect();
    const other = await home.connect();
    const before = home.daemon.memory();
    const piece = Buffer.alloc(mib, "x");
    for (let n = 0; n < 100; n += 1) {
      await client.sent(piece);
      if (n % 10 === 0) await alive(other);
    }
    client.send("\n");
    expect(await client.reply()).toEqual({
      ok: false,
      error: `the line is longer than ${limits.lineBytes} bytes (${limits.hookLineBytes} for a hook) and was thrown away`,
      code: "line_too_long",
    });
    await alive(client);
    expect(client.kept).toEqual([]);
    const after = home.daemon.memory();
    // On a busy machine some pieces are not collected yet; a daemon that kept the line would have all of them.
    if (before !== null && after !== null) expect(after.peak - before.peak).toBeLessThan(80 * mib);
  });

  test("of a hook may be long, but not longer than its bound", async () => {
    const client = await home.connect();
    const event = (length: number) => `{"type":"hook","event":{"pad":"${"x".repeat(length)}"}}\n`;
    expect(await client.ask(event(limits.hookLineBytes - 100))).toEqual({ ok: true, output: "" });
    const other = await home.connect();
    expect(await other.ask(event(limits.hookLineBytes))).toMatchObject({ code: "line_too_long" });
    await alive(other);
  });

  test("counts towards nothing any more when its connection ends", async () => {
    const begin = Buffer.from(`{"type":"hook","event":{"pad":"`);
    const part = Buffer.concat([begin, Buffer.alloc(25 * mib - begin.length, "x")]);
    for (let n = 0; n * part.length < 4 * limits.unfinishedBytes; n += 1) {
      const client = await home.connect();
      if (n % 2 === 1) {
        // With an answer unread its end is no end of the stream but a connection reset.
        client.stopReading();
        await client.sent({ type: "ping", rid: "x".repeat(200_000) });
      }
      await client.sent(part);
      client.destroy();
      await client.closed;
    }
    const last = await home.connect();
    await last.sent(part);
    expect(await last.ask('"}}\n')).toEqual({ ok: true, output: "" });
  });

  test("over all connections together has a bound: who exceeds it loses the line, the others nothing", async () => {
    const before = home.daemon.memory();
    const each = 30 * mib;
    const fits = Math.floor(limits.unfinishedBytes / each);
    const begin = Buffer.from(`{"type":"hook","event":{"pad":"`);
    const clients: Client[] = [];
    for (let n = 0; n <= fits; n += 1) {
      const client = await home.connect();
      clients.push(client);
      await client.sent(Buffer.concat([begin, Buffer.alloc(each - begin.length, "x")]));
    }
    const last = clients.pop();
    if (last === undefined) throw new Error("no client");
    expect(await last.reply()).toMatchObject({ ok: false, code: "line_too_long" });
    for (const client of clients) expect(await client.ask('"}}\n')).toEqual({ ok: true, output: "" });
    last.send('"}}\n');
    await alive(last);
    const after = home.daemon.memory();
    if (before !== null && after !== null) {
      expect(after.peak - before.peak).toBeLessThan(limits.unfinishedBytes + 5 * each);
    }
  });
});

describe("nesting", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

  test("is refused beyond its bound, by rid, and the connection lives on", async () => {
    const client = await home.connect();
    const line = (depth: number) => `{"type":"ping","rid":1,"x":${nested(depth - 1)}}\n`;
    expect(await client.ask(line(limits.nestingMax))).toEqual({ rid: 1, ok: true, pong: true });
    expect(await client.ask(line(limits.nestingMax + 1))).toMatchObject({
      rid: 1,
      ok: false,
      code: "nesting_too_deep",
    });
    expect(await client.ask(`${nested(limits.lineBytes / 2 - 1)}\n`)).toMatchObject({ code: "invalid_json" });
    await alive(client);
  });

  test("may be deeper in a hook's event, and no deeper around it", async () => {
    const client = await home.connect();
    const line = (depth: number, around = 1) =>
      `{"type":"hook","event":{"x":${nested(depth - 1)}},"y":${nested(around)}}\n`;
    expect(await client.ask(line(limits.hookNestingMax))).toEqual({ ok: true, output: "" });
    expect(await client.ask(line(limits.hookNestingMax + 1))).toMatchObject({ code: "nesting_too_deep" });
    expect(await client.ask(line(2, limits.nestingMax))).toMatchObject({ code: "nesting_too_deep" });
  });

  test("of a long line is looked at before it is parsed: a parser would take seconds and a gigabyte", async () => {
    const client = await home.connect();
    const before = home.daemon.memory();
    const begin = `{"type":"hook","event":{"x":`;
    const half = 15 * mib;
    for (const inside of [
      nested(half),
      "[".repeat(2 * half),
      `[${"[],".repeat(10 * mib)}0]`,
      `[${"{},".repeat(mib)}0]`,
    ]) {
      expect(await client.ask(`${begin}${inside}}}\n`)).toMatchObject({
        ok: false,
        code: "nesting_too_deep",
      });
    }
    // Brackets within strings are no nesting, whatever stands before their quotes.
    const text = JSON.stringify(`[{\\"\\\\`.repeat(mib));
    expect(await client.ask(`${begin}${text}}}\n`)).toEqual({ ok: true, output: "" });
    const after = home.daemon.memory();
    if (before !== null && after !== null) expect(after.peak - before.peak).toBeLessThan(400 * mib);
  });
});

describe("names that mean something to the language", () => {
  const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"];
  const bad = `"__proto__":{"ok":true,"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":7`;

  test("are just keys, in every object of every request", async () => {
    const client = await home.connect();
    const id = fresh();
    const file = `${home.work}/${id}`;
    const lines = [
      `{"type":"register","id":"${id}","cwd":"${home.work}",${bad}}`,
      `{"type":"file_lock","id":"${id}","file":"${file}","requestId":"r",${bad}}`,
      `{"type":"file_check","id":"${id}","file":"${file}","token":"t",${bad}}`,
      `{"type":"query","target":"locks","id":"${id}",${bad}}`,
      `{"type":"hook","event":{${bad},"tool_input":{${bad}}},"env":{"__proto__":"x","constructor":"y"},${bad}}`,
      `{"type":"file_unlock","id":"${id}","file":"${file}",${bad}}`,
      `{${bad}}`,
    ];
    client.send(lines.map(line => `${line}\n`).join(""));
    expect(await client.reply()).toMatchObject({ ok: true, id });
    expect(await client.reply()).toMatchObject({ ok: true, file });
    expect(await client.reply()).toMatchObject({ ok: false, code: "lease_lost" });
    expect(await client.reply()).toMatchObject({ ok: true, rows: [{ file }] });
    expect(await client.reply()).toEqual({ ok: true, output: "" });
    expect(await client.reply()).toEqual({ ok: true, released: [file] });
    expect(await client.reply()).toMatchObject({ ok: false, code: "unknown_type" });
    await alive(client);
  });

  test("cannot slip an event in", async () => {
    const client = await home.connect();
    const id = fresh();
    const event = JSON.stringify({ hook_event_name: "SessionStart", session_id: id, cwd: home.work });
    expect(await client.ask(`{"type":"hook","event":{"__proto__":${event}}}\n`)).toEqual({
      ok: true,
      output: "",
    });
    expect(await client.ask({ type: "heartbeat", id })).toMatchObject({ code: "unknown_session" });
  });

  test("may be anybody's name", async () => {
    const client = await home.connect();
    for (const name of names) {
      expect(await client.ask({ type: "heartbeat", id: name })).toMatchObject({ code: "unknown_session" });
      expect(
        await client.ask({
          type: "register",
          id: name,
          cwd: home.work,
          project: name,
          name,
          requestId: name,
        }),
      ).toMatchObject({ ok: true, id: name, name, project: name });
      expect(await client.ask({ type: "file_lock", id: name, agent: name, file: name })).toMatchObject({
        ok: true,
      });
      expect(await client.ask({ type: "query", target: "locks", id: name, project: name })).toMatchObject({
        rows: [{ file: name, holder: { id: name, agent: name } }],
      });
      expect(await client.ask({ type: "subscribe", events: [name], cursor: name })).toMatchObject({
        lagged: true,
      });
      expect(await client.ask({ type: "file_unlock", id: name, agent: name, file: name })).toMatchObject({
        ok: true,
      });
      expect(await client.ask({ type: "deregister", id: name })).toEqual({ ok: true });
    }
  });
});

test("bytes that are no UTF-8 are refused, and the connection lives on", async () => {
  const client = await home.connect();
  const bad = [
    [0xff],
    [0xc3],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xe2, 0x82],
    [0x80],
  ];
  for (const bytes of bad) {
    const line = Buffer.concat([
      Buffer.from('{"type":"ping","x":"'),
      Buffer.from(bytes),
      Buffer.from('"}\n'),
    ]);
    expect(await client.ask(line), bytes.join()).toEqual({
      ok: false,
      error: "the line is not UTF-8; send JSON encoded as UTF-8",
      code: "invalid_utf8",
    });
  }
  await alive(client);
  // Half a pair by its escape is JSON; it goes back as it came.
  expect(await client.ask('{"type":"ping","rid":"\\ud800"}\n')).toEqual({
    rid: "\ud800",
    ok: true,
    pong: true,
  });
});

describe("a path", () => {
  async function ask(file: string): Promise<Message> {
    const id = fresh();
    const client = await home.session(id);
    return client.ask({ type: "file_lock", id, file, waitMs: 0 });
  }

  test("to a pipe, a device or a socket is locked without being opened", async () => {
    const pipe = `${home.work}/${fresh()}`;
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    for (const file of [pipe, "/dev/null", home.paths.socket]) {
      expect(await ask(file)).toMatchObject({ ok: true, path: file });
      expect(await ask(file)).toMatchObject({ code: "lock_held" });
    }
    // The hook's way, with a wait and a look at the file before and after.
    const other = `${home.work}/${fresh()}`;
    expect(spawnSync("mkfifo", [other]).status).toBe(0);
    const id = fresh();
    const holder = await home.session(id);
    await holder.ask({ type: "file_lock", id, file: other, bind: true });
    const hook = await home.connect();
    const blank = hook.blank();
    hook.send({ type: "hook", event: edit(fresh(), other) });
    await blank;
    await holder.ask({ type: "file_unlock", id, file: other });
    expect(await hook.reply()).toMatchObject({ ok: true, output: "" });
  });

  test("with a NUL is refused in words", async () => {
    const reply = await ask(`${home.work}/a\u0000b`);
    expect(reply).toMatchObject({ ok: false, code: "path_unreachable" });
    const client = await home.connect();
    const id = fresh();
    expect(await client.ask({ type: "register", id, cwd: `${home.work}\u0000` })).toMatchObject({ ok: true });
    expect(await client.ask({ type: "file_lock", id, file: "x" })).toMatchObject({ ok: false });
    expect(await client.ask({ type: "file_unlock", id, file: "x" })).toMatchObject({ code: "not_held" });
    expect(await client.ask({ type: "file_touch", id, file: "x\u0000" })).toEqual({ ok: true });
    await alive(client);
  });

  test("that is too long for any file is refused or locked as what it is, never more", async () => {
    // Within the bound of a request, but no system has such a name or such a path.
    const name = `${home.work}/${"n".repeat(300)}`;
    const path = `/${"d/".repeat(limits.pathBytes / 2 - 1)}x`;
    expect(path).toHaveLength(limits.pathBytes);
    for (const file of [name, path]) {
      const reply = await ask(file);
      if (reply["ok"] === true) expect(reply).toMatchObject({ path: file });
      else expect(reply).toMatchObject({ code: "path_unreachable" });
    }
    expect(await ask(`${path}x`)).toMatchObject({ code: "invalid_request", path: "file" });
    // Short words that lead far away.
    const far = "é".repeat(limits.pathBytes);
    expect(await ask(far)).toMatchObject({ ok: expect.any(Boolean) });
  });

  test("may have any character in it that a file may have", async () => {
    const client = await home.session("control");
    const watcher = await home.connect();
    await watcher.ask({ type: "subscribe", events: ["lock_granted"] });
    const directory = `${home.work}/\u0007dir\n`;
    mkdirSync(directory);
    for (const name of [
      "a\nb",
      "\u001b[31mred\u001b[0m",
      "tab\tand\rreturn",
      "\u202eoverride",
      '"quoted"\\',
      " ",
      "\u007f",
    ]) {
      const file = `${directory}/${name}`;
      expect(await client.ask({ type: "file_lock", id: "control", file })).toMatchObject({
        ok: true,
        file,
        path: file,
      });
      expect(await watcher.event("lock_granted")).toMatchObject({ files: [file] });
      expect(await client.ask({ type: "file_unlock", id: "control", file })).toEqual({
        ok: true,
        released: [file],
      });
    }
  });
});

test("a daemon started from a session's surroundings knows nothing of them", async () => {
  const own = new Home();
  const secrets = {
    ANTHROPIC_API_KEY: "secret-1",
    AWS_SECRET_ACCESS_KEY: "secret-2",
    CLAUDE_PID: "secret-3",
    CLAUDE_CODE_ENTRYPOINT: "secret-4",
    KITE_SESSION: "secret-5",
    NODE_OPTIONS: "--title=secret-6",
    LD_PRELOAD: "",
    SSH_AUTH_SOCK: "secret-7",
  };
  const env = { ...own.environment, ...secrets, LANG: "C.UTF-8" };
  const { started, client } = await ensureDaemon({ paths: own.paths, daemonProgram: Home.program, env });
  try {
    expect(started).toBe(true);
    const { pid } = await client.request("hello", {});
    if (process.platform === "linux") {
      const kept = readFileSync(`/proc/${pid}/environ`, "utf8");
      expect(kept).not.toContain("secret");
      const names = kept
        .split("\0")
        .filter(Boolean)
        .map(pair => pair.split("=")[0]);
      expect(names.sort()).toEqual([
        "HOME",
        "KITE_HOME",
        "KITE_READY_FD",
        "LANG",
        "PATH",
        "UV_THREADPOOL_SIZE",
      ]);
    }
  } finally {
    // It is nobody's child here: its files are its own until its process has ended.
    await stopDaemon(client, false);
    await own.dispose();
  }
});
