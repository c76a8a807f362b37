/** Too much of something: each client bears the consequences of what it does, and no other one does. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, type Message, tokenPair } from "./daemon.ts";

const mib = 1024 * 1024;

let home: Home;

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(() => home.dispose());

function lines(messages: Iterable<Message>): string {
  let text = "";
  for (const message of messages) text += `${JSON.stringify(message)}\n`;
  return text;
}

async function stats(client: Client): Promise<{ requests: number; rssBytes: number; connections: number }> {
  const { requests, rssBytes, connections } = await client.ask({ type: "stats" });
  return { requests: Number(requests), rssBytes: Number(rssBytes), connections: Number(connections) };
}

describe("a client that never reads", () => {
  test("is closed when its replies pile up, while others are served", async () => {
    const other = await home.connect();
    const before = await stats(other);
    const deaf = await home.connect();
    deaf.stopReading();
    const flood = lines(Array.from({ length: 2000 }, (_, rid) => ({ type: "ping", rid })));
    let over = false;
    void deaf.closed.then(() => {
      over = true;
    });
    let asked = 0;
    while (!over) {
      deaf.send(flood);
      asked += 2000;
      // What was asked cannot pile up here either: the other one's answer is the pace.
      await stats(other);
      expect(asked, "it should have been closed by now").toBeLessThan(10_000_000);
    }
    const after = await stats(other);
    expect(after.connections).toBe(1);
    expect(after.rssBytes - before.rssBytes).toBeLessThan(100 * mib);
  });

  test("and asks for long answers makes no more of them than it takes", async () => {
    const id = "long";
    const holder = await home.session(id);
    const deep = `${home.work}/${`${"d".repeat(250)}/`.repeat(14)}`;
    for (let n = 0; n < 3; n += 1) {
      const files = Array.from({ length: 100 }, (_, i) => `${deep}${n}-${i}`);
      await holder.ask({ type: "file_lock", id, files });
    }
    const before = await stats(holder);
    const deaf = await home.connect();
    deaf.stopReading();
    const queries = Array.from({ length: 200 }, (_, rid) => ({
      type: "query",
      target: "locks",
      limit: 1000,
      rid,
    }));
    deaf.send(lines(queries));
    for (let n = 0; n < 200; n += 1) await holder.ask({ type: "ping" });
    const after = await stats(holder);
    expect(after.requests - before.requests - 201).toBeLessThan(20);
    expect(after.rssBytes - before.rssBytes).toBeLessThan(100 * mib);
    // It reads at last, and nothing is missing.
    deaf.read();
    for (const { rid } of queries) expect(await deaf.reply()).toMatchObject({ rid, ok: true });
  });
});

describe("a subscriber that does not read", () => {
  /** A session's begin of several kilobytes. */
  const long = (n: number): Message => ({
    type: "register",
    id: `s-${n}`,
    cwd: home.work,
    project: "p".repeat(limits.pathBytes),
  });

  async function deafSubscriber(): Promise<Client> {
    const deaf = await home.connect();
    await deaf.ask({ type: "subscribe", events: ["session_started"] });
    deaf.stopReading();
    return deaf;
  }

  async function begin(maker: Client, from: number, to: number): Promise<void> {
    maker.send(lines(Array.from({ length: to - from }, (_, n) => long(from + n))));
    for (let n = from; n < to; n += 1) expect(await maker.reply()).toMatchObject({ ok: true });
  }

  test("is stopped, and gets the rest without a gap when it reads again", async () => {
    const deaf = await deafSubscriber();
    const maker = await home.connect();
    const before = await stats(maker);
    await begin(maker, 0, 2000);
    const after = await stats(maker);
    expect(after.rssBytes - before.rssBytes).toBeLessThan(100 * mib);
    deaf.read();
    for (let n = 0; n < 2000; n += 1) {
      expect((await deaf.event("session_started"))["id"]).toBe(`s-${n}`);
    }
    await begin(maker, 2000, 2001);
    expect(await deaf.next()).toMatchObject({ event: "session_started", id: "s-2000" });
  });

  test("for too long hears that it lagged, where it stands, and then what comes", async () => {
    const deaf = await deafSubscriber();
    const maker = await home.connect();
    await begin(maker, 0, 1000);
    // The ring goes on without it.
    const round = lines([
      { type: "deregister", id: "s-0" },
      { type: "register", id: "s-0", cwd: home.work, project: "p" },
    ]);
    for (let n = 0; n < limits.ringEntriesMax / 2 + 100; n += 100) {
      maker.send(round.repeat(100));
      for (let i = 0; i < 200; i += 1) await maker.reply();
    }
    deaf.read();
    let heard = 0;
    let next = await deaf.next();
    for (; next["event"] === "session_started"; next = await deaf.next()) {
      expect(next["id"]).toBe(`s-${heard}`);
      heard += 1;
    }
    expect(next).toEqual({ type: "event", event: "lagged", cursor: expect.any(String) });
    expect(heard).toBeGreaterThan(0);
    await begin(maker, 1000, 1001);
    expect(await deaf.next()).toMatchObject({ event: "session_started", id: "s-1000" });
    // The cursor it was given is good.
    const again = await home.connect();
    expect(await again.ask({ type: "subscribe", cursor: next["cursor"] })).toEqual({
      ok: true,
      cursor: next["cursor"],
    });
    expect(await again.next()).toMatchObject({ event: "session_started", id: "s-1000" });
  });

  test("comes back to a long history and is not closed for it", async () => {
    const first = await home.connect();
    const { cursor } = await first.ask({ type: "subscribe" });
    first.destroy();
    const maker = await home.connect();
    await begin(maker, 0, 2000);
    const again = await home.connect();
    expect(await again.ask({ type: "subscribe", cursor })).toEqual({ ok: true, cursor });
    for (let n = 0; n < 2000; n += 1) {
      expect((await again.event("session_started"))["id"]).toBe(`s-${n}`);
    }
  });
});

describe("a flood of requests on one connection", () => {
  test("does not starve another one", async () => {
    const flooder = await home.connect();
    const other = await home.connect();
    const size = 5000;
    const flood = lines(Array.from({ length: size }, (_, rid) => ({ type: "ping", rid })));
    const overtaken: number[] = [];
    for (let round = 0; round < 9; round += 1) {
      const before = await stats(other);
      flooder.send(flood);
      const during = await stats(other);
      overtaken.push(during.requests - before.requests - 1);
      for (let rid = 0; rid < size; rid += 1) await flooder.replyTo(rid);
    }
    // The one in the middle: the kernel may let this process wait between the two sends.
    const [median = size] = overtaken.sort((a, b) => a - b).slice(4);
    expect(median).toBeLessThan(size / 8);
  });

  test("is answered whole, and what was answered is let go while it lasts", async () => {
    const other = await home.connect();
    const before = await stats(other);
    const [rounds, each] = [120, 5000];
    // Short enough that there is always more than the daemon takes in one go.
    const flood = lines(Array.from({ length: each }, () => ({ type: "ping", pad: "x".repeat(200) })));
    const flooder = connect(home.paths.socket);
    let answered = 0;
    flooder.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 0x0a) answered += 1;
    });
    for (let round = 0; round < rounds; round += 1) {
      await new Promise(resolve => flooder.write(flood, resolve));
    }
    flooder.end();
    await once(flooder, "close");
    expect(answered).toBe(rounds * each);
    const after = await stats(other);
    expect(after.rssBytes - before.rssBytes).toBeLessThan(60 * mib);
  });
});

describe("more requests in flight than the bound", () => {
  const many = 2 * limits.inFlightMax;

  test("do not count while they wait: the unlock behind them is read", async () => {
    const client = await home.session("holder");
    await client.ask({ type: "register", id: "waiter", cwd: home.work });
    const files = Array.from({ length: many }, (_, n) => `f-${n}`);
    await client.ask({ type: "file_lock", id: "holder", files });
    client.send(
      lines([
        ...files.map(file => ({
          type: "file_lock",
          id: "waiter",
          file,
          rid: file,
          waitMs: limits.waitMaxMs,
        })),
        ...files.map(file => ({ type: "file_unlock", id: "holder", file, rid: `unlock ${file}` })),
        { type: "ping" },
      ]),
    );
    for (const file of files) {
      expect(await client.replyTo(`unlock ${file}`)).toMatchObject({ ok: true });
      expect(await client.replyTo(file)).toMatchObject({ ok: true, granted_from_queue: true });
    }
    expect(await client.reply()).toMatchObject({ pong: true });
  });

  test("nor do hooks that wait", async () => {
    const client = await home.session("holder");
    const files = Array.from({ length: many }, (_, n) => `${home.work}/f-${n}`);
    await client.ask({ type: "file_lock", id: "holder", files, bind: true });
    const hook = (file: string) => ({
      type: "hook",
      rid: file,
      event: {
        hook_event_name: "PreToolUse",
        session_id: "hooked",
        cwd: home.work,
        prompt_id: "p",
        tool_name: "Edit",
        tool_use_id: file,
        tool_input: { file_path: file, old_string: "a", new_string: "b" },
      },
    });
    client.send(lines([...files.map(hook), { type: "ping" }]));
    expect(await client.reply()).toMatchObject({ pong: true });
    client.send(lines([{ type: "file_unlock", id: "holder", all: true, rid: "unlock" }]));
    expect(await client.replyTo("unlock")).toMatchObject({ ok: true });
    for (const file of files) expect(await client.replyTo(file)).toEqual({ rid: file, ok: true, output: "" });
  });
});

test("fifteen hundred connects at once are all answered", async () => {
  const clients = await Promise.all(Array.from({ length: 1500 }, () => home.connect()));
  const replies = await Promise.all(clients.map((client, rid) => client.ask({ type: "ping", rid })));
  expect(replies).toEqual(clients.map((_, rid) => ({ rid, ok: true, pong: true })));
});

test("more connections than descriptors: those there are go on, and new ones get in when some have gone", async () => {
  const own = new Home();
  try {
    // The shell sets its limit for what it becomes.
    const limited = 'ulimit -n 80 && exec "$0" "$@"';
    const daemon = await own.start(["sh", "-c", limited, process.execPath, Home.program]);
    const first = await own.session("first");
    const crowd = await Promise.allSettled(Array.from({ length: 200 }, () => own.connect()));
    expect(await first.ask({ type: "file_lock", id: "first", file: "x" })).toMatchObject({ ok: true });
    // Not all of them fit: the limit is in force.
    const { connections } = await stats(first);
    expect(connections).toBeLessThan(80);
    for (const one of crowd) if (one.status === "fulfilled") one.value.destroy();
    // Nothing tells when the daemon has seen them all go: whoever is refused asks again.
    let reply: Message | null = null;
    while (reply === null) {
      const late = await own.connect();
      reply = await late.ask({ type: "query", target: "locks" }).catch(() => null);
    }
    expect(reply).toMatchObject({ rows: [{ file: "x" }] });
    daemon.signal("SIGTERM");
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
  } finally {
    await own.dispose();
  }
});

describe("many clients that ask for long answers at the same time", () => {
  test("keep nobody waiting who asks for short ones", async () => {
    const many = 30;
    const id = "long";
    const other = await home.session(id);
    const deep = `${home.work}/${`${"d".repeat(250)}/`.repeat(14)}`;
    for (let n = 0; n < 3; n += 1) {
      const files = Array.from({ length: 100 }, (_, i) => `${deep}${n}-${i}`);
      await other.ask({ type: "file_lock", id, files });
    }
    const greedy = await Promise.all(Array.from({ length: many }, () => home.connect()));
    const short = 20;
    // The daemon finds all of it at once. Each answer but the last needs a turn of its event loop.
    home.daemon.signal("SIGSTOP");
    for (const [n, client] of greedy.entries()) {
      const lock = { type: "file_lock", rid: "lock", id: `greedy-${n}`, file: `${home.work}/${n}` };
      client.send(lines([{ type: "query", rid: "query", target: "locks", limit: 1000 }, lock]));
    }
    const locks = Array.from({ length: short }, (_, rid) => ({
      type: rid % 2 === 0 ? "file_lock" : "file_unlock",
      rid,
      id,
      file: "mine",
    }));
    const paced = locks.flatMap(lock => [{ type: "stats", rid: "stats" }, lock]);
    other.send(lines(paced));
    home.daemon.signal("SIGCONT");
    const tokens: number[] = [];
    for (let rid = 0; rid < short; rid += 1) {
      const { token } = await other.replyTo(rid);
      if (token !== undefined) tokens.push(grantOf(token));
    }
    const others = await Promise.all(
      greedy.map(async client => grantOf((await client.replyTo("lock"))["token"])),
    );
    const queries = await Promise.all(greedy.map(client => client.replyTo("query")));
    for (const query of queries) expect(query).toMatchObject({ ok: true, next: queries[0]?.["next"] });
    // Tokens rise in the order of the grants: that of the last short request came before the long answers were made.
    const last = Math.max(...tokens);
    expect(others.filter(grant => grant < last).length).toBeLessThan(many / 3);
  });
});

function grantOf(token: unknown): number {
  return tokenPair(token)[1];
}
