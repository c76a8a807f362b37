/** The client: connecting, requests, and a daemon that comes back. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ConnectOptions, KiteClient, type LockLost } from "../../client/client.ts";
import { ConnectionClosed, HelloRefused, NotRunning, TimedOut, WrongOwner } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { type FakeDaemon, helloReply, type Message, type Script, Stage } from "./fake-daemon.ts";

describe("one connection", () => {
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage();
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    await stage.clear();
  });

  async function connect(options: Partial<ConnectOptions> = {}): Promise<KiteClient> {
    const client = await KiteClient.connect({ paths: stage.paths, ...options });
    stage.after(() => client.close());
    return client;
  }

  async function pair(script: Script = () => undefined): Promise<[FakeDaemon, KiteClient]> {
    const daemon = await stage.daemon(script);
    return [daemon, await connect()];
  }

  const pong: Script = ({ type }) => (type === "ping" ? { ok: true, pong: true } : undefined);

  describe("connecting", () => {
    it("says hello with the protocol and the client's name, and knows the daemon then", async () => {
      const daemon = await stage.daemon();
      const client = await connect({ name: "test" });
      expect(daemon.received).toEqual([{ type: "hello", protocol: 1, client: "test", rid: "1" }]);
      expect(client.daemon).toEqual(helloReply);
    });

    it("throws NotRunning without a home, without a socket, and with one that nobody listens to", async () => {
      const paths = kitePaths({ KITE_HOME: join(stage.folder, "none") });
      await expect(connect({ paths })).rejects.toThrow(NotRunning);
      await expect(connect()).rejects.toThrow(/kite up/);
      const daemon = await stage.daemon();
      const aside = `${stage.paths.socket}.aside`;
      renameSync(stage.paths.socket, aside);
      await daemon.stop();
      renameSync(aside, stage.paths.socket);
      await expect(connect()).rejects.toThrow(NotRunning);
    });

    it("throws WrongOwner where the home is a link", async () => {
      await stage.daemon(pong);
      const link = `${stage.folder}.link`;
      symlinkSync(stage.folder, link);
      stage.after(() => rmSync(link));
      await expect(connect({ paths: kitePaths({ KITE_HOME: link }) })).rejects.toThrow(WrongOwner);
    });

    it("throws WrongOwner where the socket is a link, to a good one too, or a file", async () => {
      await stage.daemon(pong);
      const home = join(stage.folder, "other");
      const paths = kitePaths({ KITE_HOME: home });
      mkdirSync(home);
      symlinkSync(stage.paths.socket, paths.socket);
      await expect(connect({ paths })).rejects.toThrow(WrongOwner);
      rmSync(paths.socket);
      writeFileSync(paths.socket, "");
      await expect(connect({ paths })).rejects.toThrow(WrongOwner);
    });

    it("throws WrongOwner where the home belongs to another user", async () => {
      await stage.daemon(pong);
      const uid = process.getuid?.() ?? 0;
      vi.spyOn(process, "getuid").mockReturnValue(uid + 1);
      await expect(connect()).rejects.toThrow(WrongOwner);
      vi.restoreAllMocks();
      await connect();
    });

    it("throws HelloRefused with the refusal, ConnectionClosed at an end, TimedOut at silence", async () => {
      const refusal = { ok: false, error: "speak version 2", code: "unsupported_protocol" };
      let answer: Script = () => refusal;
      await stage.daemon((message, socket) => answer(message, socket));
      const refused = await connect().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(HelloRefused);
      expect(refused).toMatchObject({ message: "speak version 2", refusal });
      answer = (_, socket) => void socket.destroy();
      await expect(connect()).rejects.toThrow(ConnectionClosed);
      answer = () => ({ type: "event", event: "file_conflict", file: "a", sessions: ["a", "b"] });
      await expect(connect({ timeoutMs: 20 })).rejects.toThrow(TimedOut);
    });
  });

  describe("requests", () => {
    it("get their own answers, in whatever order those come", async () => {
      const [daemon, client] = await pair();
      const asked = ["a", "b", "c"].map(id => client.request("heartbeat", { id }));
      await daemon.next("heartbeat");
      await daemon.next("heartbeat");
      await daemon.next("heartbeat");
      const answers = daemon.received.slice(1).map(({ rid, id }) => ({ ok: true, rid, echo: id }));
      daemon.say(...answers.reverse());
      expect(await Promise.all(asked)).toEqual(["a", "b", "c"].map(echo => ({ ok: true, echo })));
    });

    it("of one turn leave in order, type first", async () => {
      const [daemon, client] = await pair(pong);
      await Promise.all([client.request("ping", {}), client.request("ping", {})]);
      expect(daemon.received.map(({ rid }) => rid)).toEqual(["1", "2", "3"]);
      expect(daemon.received.every(message => Object.keys(message)[0] === "type")).toBe(true);
    });

    it("return refusals as values", async () => {
      const refusal = { ok: false, error: "nobody registered x", code: "unknown_session" };
      const [, client] = await pair(({ type }) => (type === "heartbeat" ? refusal : undefined));
      expect(await client.request("heartbeat", { id: "x" })).toEqual(refusal);
    });

    it("take `restarting` for a refusal like any other where nobody asked to come back", async () => {
      const refusal = { ok: false, error: "come back", code: "restarting" };
      const [, client] = await pair(({ type }) => (type === "ping" ? refusal : undefined));
      expect(await client.request("ping", {})).toEqual(refusal);
    });

    it("throw TimedOut; the late answer disturbs nobody", async () => {
      const [daemon, client] = await pair();
      await expect(client.request("stats", {}, { timeoutMs: 10 })).rejects.toThrow(TimedOut);
      const late = await daemon.next("stats");
      const ping = client.request("ping", {});
      const { rid } = await daemon.next("ping");
      daemon.say({ ok: true, rid: late["rid"] }, { ok: true, pong: true, rid });
      expect(await ping).toEqual({ ok: true, pong: true });
    });

    it("wait for a lock as long as they ask the daemon to", async () => {
      const daemon = await stage.daemon();
      const client = await connect({ timeoutMs: 1_000 });
      const timeouts = vi.spyOn(globalThis, "setTimeout");
      const asked = client.request("file_lock", { id: "s", file: "a", waitMs: 5_000 });
      client.request("file_lock", { id: "s", file: "b" }).catch(() => {});
      expect(timeouts.mock.calls.map(call => call[1])).toEqual([6_000, limits.waitMs + 1_000]);
      const { rid } = await daemon.next("file_lock");
      daemon.say({ ok: true, rid, file: "a", token: "t" });
      expect(await asked).toMatchObject({ token: "t" });
    });

    it("that were answered leave no timer behind to keep the program alive", async () => {
      const [, client] = await pair(pong);
      const timers = () => process.getActiveResourcesInfo().filter(name => name === "Timeout").length;
      const before = timers();
      await client.request("ping", {}, { timeoutMs: 3_600_000 });
      expect(timers()).toBe(before);
    });

    it("throw the signal's reason", async () => {
      const [daemon, client] = await pair();
      const ending = new AbortController();
      const asked = client.request("ping", {}, { signal: ending.signal });
      await daemon.next("ping");
      ending.abort(new Error("changed my mind"));
      await expect(asked).rejects.toThrow("changed my mind");
      await expect(client.request("ping", {}, { signal: ending.signal })).rejects.toThrow("changed my mind");
    });

    it("too long to be read are refused before they are sent, and the next one is served", async () => {
      const [daemon, client] = await pair(pong);
      const text = "x".repeat(limits.lineBytes);
      const answer = await client.request("file_touch", { id: "s", file: text });
      expect(answer).toMatchObject({ ok: false, code: "line_too_long" });
      expect(await client.request("ping", {})).toMatchObject({ pong: true });
      expect(daemon.types).toEqual(["hello", "ping"]);
    });

    it("of a hook may be longer", async () => {
      const [, client] = await pair(({ type }) => (type === "hook" ? { ok: true, output: "" } : undefined));
      const event = { text: "x".repeat(limits.lineBytes) };
      expect(await client.request("hook", { event })).toMatchObject({ ok: true });
    });
  });

  describe("the end of a connection", () => {
    const ends: Record<string, (daemon: FakeDaemon) => void> = {
      "the daemon goes": daemon => void daemon.stop(),
      "a line is no JSON": daemon => daemon.sockets.forEach(socket => void socket.write("what?\n")),
      "a line is no object": daemon => daemon.sockets.forEach(socket => void socket.write("[1]\n")),
      "a request could not be read": daemon =>
        daemon.say({ ok: false, error: "invalid json", code: "invalid_json" }),
      "a line does not end": daemon => {
        for (const socket of daemon.sockets) socket.write(Buffer.alloc(limits.hookLineBytes + 1, 0x78));
      },
    };

    for (const [what, end] of Object.entries(ends)) {
      it(`throws ConnectionClosed where ${what}`, async () => {
        const [daemon, client] = await pair();
        const asked = client.request("ping", {});
        await daemon.next("ping");
        end(daemon);
        await expect(asked).rejects.toThrow(ConnectionClosed);
        expect(await client.closed).toBeInstanceOf(ConnectionClosed);
        await expect(client.request("ping", {})).rejects.toThrow(ConnectionClosed);
      });
    }

    it("by `close` writes what was sent, throws for what waits, and may be repeated", async () => {
      const [daemon, client] = await pair();
      const asked = client.request("ping", {});
      client.close();
      client.close();
      await expect(asked).rejects.toThrow(ConnectionClosed);
      expect(await daemon.next("ping")).toMatchObject({ type: "ping" });
    });
  });

  describe("events", () => {
    const event = { type: "event", event: "file_conflict", file: "a", sessions: ["a", "b"] };

    it("go to everyone who listens, among the answers", async () => {
      const [daemon, client] = await pair();
      const seen: Message[] = [];
      const first = client.onEvent(e => seen.push({ ...e, by: 1 }));
      client.onEvent(e => seen.push({ ...e, by: 2 }));
      const subscribed = client.subscribe({ events: ["file_conflict"] });
      const { rid, events } = await daemon.next("subscribe");
      expect(events).toEqual(["file_conflict"]);
      daemon.say({ ok: true, cursor: "1.1.0", rid }, event);
      expect(await subscribed).toEqual({ ok: true, cursor: "1.1.0" });
      first();
      const ping = client.request("ping", {});
      daemon.say(event, { ok: true, pong: true, rid: (await daemon.next("ping"))["rid"] });
      await ping;
      expect(seen.map(({ by }) => by)).toEqual([1, 2, 2]);
      expect(seen[0]).toEqual({ ...event, by: 1 });
    });
  });

  describe("a request that a shared store may have", () => {
    const unknown = { ok: false, code: "outcome_unknown", error: "not yet" };

    /** A daemon that never knows what became of a task. */
    async function shared(): Promise<[FakeDaemon, KiteClient]> {
      return pair(({ type }) => (type === "hello" ? { ...helloReply, sharedStoreId: "s" } : unknown));
    }

    const tasks = (daemon: FakeDaemon) => daemon.received.filter(({ type }) => type === "task_create");

    it("is repeated with its id until the outcome is known", async () => {
      let left = 2;
      const daemon = await stage.daemon(({ type }) => {
        if (type === "hello") return { ...helloReply, sharedStoreId: "s" };
        left -= 1;
        return left < 0 ? { ok: true } : unknown;
      });
      const client = await connect();
      expect(await client.request("task_create", { description: "x" })).toMatchObject({ ok: true });
      expect(tasks(daemon)).toHaveLength(3);
      expect(new Set(tasks(daemon).map(({ requestId }) => requestId)).size).toBe(1);
    });

    it("is not repeated for a caller that gave up", async () => {
      const [daemon, client] = await shared();
      const giveUp = new AbortController();
      const asked = client.request("task_create", { description: "x" }, { signal: giveUp.signal });
      // Its answer comes before this one's, and the next try waits.
      await client.request("ping", {});
      expect(tasks(daemon)).toHaveLength(1);
      giveUp.abort(new Error("enough"));
      await expect(asked).rejects.toThrow("enough");
      // Past the time at which it would be sent again.
      await new Promise(resolve => setTimeout(resolve, 2 * limits.storeRepeatPauseMs));
      await client.request("ping", {});
      expect(tasks(daemon)).toHaveLength(1);
    });

    it("is answered within the bound that its caller gave", async () => {
      const [daemon, client] = await shared();
      const timeoutMs = limits.storeAnswerMs;
      expect(await client.request("task_create", { description: "x" }, { timeoutMs })).toMatchObject(unknown);
      expect(tasks(daemon)).toHaveLength(1);
    });
  });
});

describe("a connection anew", () => {
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage();
  });

  afterEach(() => stage.clear());

  const answers: Readonly<Record<string, object>> = {
    ping: { ok: true, pong: true },
    register: { ok: true, id: "s", name: "s", project: "p", anchored: false },
    deregister: { ok: true },
    subscribe: { ok: true, cursor: "1.5.0" },
  };

  const obliging = ({ type }: Message) => answers[`${type}`];

  async function connect(options: Partial<ConnectOptions> = {}): Promise<KiteClient> {
    const client = await KiteClient.connect({
      paths: stage.paths,
      name: "test",
      reconnect: true,
      ...options,
    });
    stage.after(() => client.close());
    return client;
  }

  async function restart(daemon: FakeDaemon, script: Script = obliging): Promise<FakeDaemon> {
    await daemon.stop();
    return stage.daemon(script);
  }

  function withoutRid({ rid: _, ...message }: Message): Message {
    return message;
  }

  describe("a daemon that goes and comes back", () => {
    it("grants the lock that was waited for: the request comes again, with the same requestId", async () => {
      const daemon = await stage.daemon();
      const client = await connect();
      const asked = client.request("file_lock", { id: "s", file: "a" });
      const first = await daemon.next("file_lock");
      const next = await restart(daemon);
      const second = await next.next("file_lock");
      expect(first["requestId"]).toEqual(expect.any(String));
      expect(second).toEqual(first);
      next.say({ ok: true, file: "a", token: "t", granted_from_queue: true, rid: second["rid"] });
      expect(await asked).toEqual({ ok: true, file: "a", token: "t", granted_from_queue: true });
    });

    it("hears hello first, then who is registered, the stream's place, then what waits, in its order", async () => {
      const daemon = await stage.daemon(obliging);
      const client = await connect();
      await client.request("register", { id: "s", cwd: "/p", name: "old" });
      await client.request("register", { id: "s", cwd: "/p", name: "new" });
      await client.request("register", { id: "gone", cwd: "/p" });
      await client.request("deregister", { id: "gone" });
      await client.subscribe({ events: ["lock_granted"] });
      const seen = new Promise<void>(resolve => client.onEvent(e => e.cursor === "1.9.0" && resolve()));
      daemon.say({ type: "event", event: "lock_granted", cursor: "1.9.0" });
      await seen;
      const waiting = ["a", "b", "c"].map(file => client.request("file_lock", { id: "s", file }));
      for (const _ of waiting) await daemon.next("file_lock");
      const next = await restart(daemon, message =>
        message["type"] === "file_lock" ? { ok: true, token: message["file"] } : obliging(message),
      );
      expect(await Promise.all(waiting)).toMatchObject([{ token: "a" }, { token: "b" }, { token: "c" }]);
      expect(next.received.map(withoutRid)).toEqual([
        { type: "hello", protocol: 1, client: "test" },
        { type: "register", id: "s", cwd: "/p", name: "new" },
        { type: "subscribe", events: ["lock_granted"], cursor: "1.9.0" },
        ...["a", "b", "c"].map(file => ({ type: "file_lock", requestId: expect.any(String), id: "s", file })),
      ]);
    });

    it("tells who subscribed when events were missed", async () => {
      const daemon = await stage.daemon(obliging);
      const client = await connect();
      await client.subscribe();
      const lagged = new Promise<void>(resolve => client.onLagged(resolve));
      const next = await restart(daemon, ({ type }) =>
        type === "subscribe" ? { ok: true, cursor: "2.1.0", lagged: true } : undefined,
      );
      await lagged;
      expect(await next.next("subscribe")).toMatchObject({ cursor: "1.5.0" });
    });

    it("tells so too when the daemon says it in between, and keeps bookmarks to itself", async () => {
      const daemon = await stage.daemon(obliging);
      const client = await connect();
      await client.subscribe();
      const events: string[] = [];
      client.onEvent(({ event }) => events.push(event));
      const lagged = new Promise<void>(resolve => client.onLagged(resolve));
      daemon.say({ type: "event", event: "lagged", cursor: "1.6.0" });
      daemon.say({ type: "event", event: "bookmark", cursor: "1.7.0" });
      await lagged;
      await client.request("ping", {});
      const next = await restart(daemon, obliging);
      expect(await next.next("subscribe")).toMatchObject({ cursor: "1.7.0" });
      expect(events).toEqual([]);
    });

    it("takes no cursor of one store to another", async () => {
      const daemon = await stage.daemon(obliging);
      const client = await connect();
      await client.subscribe();
      const next = await restart(daemon, message =>
        message["type"] === "hello" ? { ...helloReply, storeId: "another" } : obliging(message),
      );
      expect(await next.next("subscribe")).toMatchObject({ cursor: "-" });
    });

    it("gets what was asked while it was away", async () => {
      const daemon = await stage.daemon();
      const client = await connect();
      const cut = client.request("ping", {});
      await daemon.next("ping");
      await daemon.stop();
      // Not sent again, so its end shows that the absence has begun.
      await expect(client.request("shutdown", {})).rejects.toThrow(ConnectionClosed);
      const later = client.request("stats", {});
      const next = await stage.daemon(({ type }) => (type === "stats" ? { ok: true } : obliging({ type })));
      expect(await cut).toEqual({ ok: true, pong: true });
      expect(await later).toEqual({ ok: true });
      expect(next.types).toEqual(["hello", "ping", "stats"]);
    });

    it("does not hear `shutdown` again", async () => {
      const daemon = await stage.daemon();
      const client = await connect();
      const asked = client.request("shutdown", {});
      await daemon.next("shutdown");
      const next = await restart(daemon);
      await expect(asked).rejects.toThrow(ConnectionClosed);
      await client.request("ping", {});
      expect(next.types).toEqual(["hello", "ping"]);
    });

    it("may come back any number of times", async () => {
      let daemon = await stage.daemon();
      const client = await connect();
      const asked = client.request("file_lock", { id: "s", file: "a" });
      for (let i = 0; i < 5; i++) {
        await daemon.next("file_lock");
        daemon = await restart(daemon);
      }
      const { rid } = await daemon.next("file_lock");
      daemon.say({ ok: true, token: "t", rid });
      expect(await asked).toEqual({ ok: true, token: "t" });
    });
  });

  describe("`restarting`", () => {
    const restarting = { ok: false, error: "come back", code: "restarting" };

    it("is waited out, on another connection", async () => {
      let left = 3;
      const daemon = await stage.daemon(message =>
        message["type"] === "ping" && left-- > 0 ? restarting : obliging(message),
      );
      const client = await connect();
      expect(await client.request("ping", {})).toEqual({ ok: true, pong: true });
      expect(daemon.types).toEqual(["hello", "ping", "hello", "ping", "hello", "ping", "hello", "ping"]);
    });

    it("is waited out as the answer to hello", async () => {
      const daemon = await stage.daemon();
      const client = await connect();
      const asked = client.request("ping", {});
      await daemon.next("ping");
      let left = 2;
      await restart(daemon, message =>
        message["type"] === "hello" && left-- > 0 ? restarting : obliging(message),
      );
      expect(await asked).toEqual({ ok: true, pong: true });
    });
  });

  describe("a daemon that is away", () => {
    it("is gone, unless it said that it restarts; and back it is neither", async () => {
      const daemon = await stage.daemon();
      const client = await connect({ reconnectMs: 3_600_000 });
      expect(client.absence).toBeNull();
      const asked = client.request("ping", {});
      await daemon.next("ping");
      await daemon.stop();
      await expect(client.request("shutdown", {})).rejects.toThrow(ConnectionClosed);
      expect(client.absence).toBe("gone");
      const again = await stage.daemon(({ type }) =>
        type === "ping" ? { ok: false, error: "come back", code: "restarting" } : undefined,
      );
      // The second one shows that the answer to the first was heard.
      for (let n = 0; n < 2; n += 1) await again.next("ping");
      await again.stop();
      await expect(client.request("shutdown", {})).rejects.toThrow(ConnectionClosed);
      expect(client.absence).toBe("restarting");
      await stage.daemon(obliging);
      await client.comeBackNow();
      expect(client.absence).toBeNull();
      expect(await asked).toEqual({ ok: true, pong: true });
    });
  });

  describe("a daemon that does not come back", () => {
    it("makes everything throw NotRunning once the absence has lasted too long", async () => {
      const daemon = await stage.daemon();
      const client = await connect({ reconnectMs: 50 });
      const asked = client.request("ping", {});
      await daemon.next("ping");
      await daemon.stop();
      await expect(asked).rejects.toThrow(NotRunning);
      expect(await client.closed).toBeInstanceOf(NotRunning);
      await expect(client.request("ping", {})).rejects.toThrow(ConnectionClosed);
    });

    it("is not asked again where it refuses hello for good", async () => {
      const daemon = await stage.daemon();
      const client = await connect();
      const refusal = { ok: false, error: "speak version 2", code: "unsupported_protocol" };
      const next = await restart(daemon, () => refusal);
      expect(await client.closed).toBeInstanceOf(HelloRefused);
      expect(next.types).toEqual(["hello"]);
    });

    it("is not asked again where it speaks no protocol", async () => {
      const daemon = await stage.daemon();
      const client = await connect();
      for (const socket of daemon.sockets) socket.write("what?\n");
      expect(await client.closed).toBeInstanceOf(ConnectionClosed);
      expect(daemon.types).toEqual(["hello"]);
    });

    it("is not waited for by a client that was closed", async () => {
      const daemon = await stage.daemon();
      const client = await connect({ reconnectMs: 3_600_000 });
      const asked = client.request("ping", {});
      await daemon.next("ping");
      await daemon.stop();
      client.close();
      await expect(asked).rejects.toThrow(ConnectionClosed);
    });
  });

  describe("a lock bound to its connection", () => {
    const granted = (token: string) => ({ ok: true, file: "a", path: "/p/a", token });
    const grants =
      (token: string): Script =>
      message =>
        message["type"] === "file_lock" ? granted(token) : (obliging(message) ?? { ok: true, released: [] });

    async function holding(file: { file: string } | { files: string[] }): Promise<[FakeDaemon, KiteClient]> {
      const daemon = await stage.daemon(grants("t1"));
      const client = await connect();
      await client.request("file_lock", { id: "s", bind: true, waitMs: 9_000, ...file });
      return [daemon, client];
    }

    async function afterRestart(daemon: FakeDaemon, client: KiteClient, script: Script): Promise<Message[]> {
      const next = await restart(daemon, script);
      await next.next("hello");
      await client.request("ping", {});
      return next.received.filter(({ type }) => type === "file_lock").map(withoutRid);
    }

    it("is asked for again without waiting, so that it is bound to the new one", async () => {
      const [daemon, client] = await holding({ file: "a" });
      const lost: LockLost[] = [];
      client.onLockLost(l => lost.push(l));
      const again = { type: "file_lock", id: "s", file: "a", bind: true, waitMs: 0 };
      expect(await afterRestart(daemon, client, grants("t1"))).toEqual([again]);
      expect(lost).toEqual([]);
    });

    it("is reported when it is refused, and not asked for a third time", async () => {
      const [daemon, client] = await holding({ file: "a" });
      const lost = new Promise<LockLost>(resolve => client.onLockLost(resolve));
      const refusal = { ok: false, error: "locked by bob", code: "lock_held" };
      const next = await restart(daemon, message =>
        message["type"] === "file_lock" ? refusal : obliging(message),
      );
      expect(await lost).toMatchObject({ request: { file: "a" }, answer: refusal });
      expect(await afterRestart(next, client, grants("t1"))).toEqual([]);
    });

    it("is reported when it has another token: somebody may have been in between", async () => {
      const [daemon, client] = await holding({ file: "a" });
      const lost = new Promise<LockLost>(resolve => client.onLockLost(resolve));
      await restart(daemon, grants("t2"));
      expect(await lost).toMatchObject({ answer: { token: "t2" } });
    });

    const released: Record<string, (client: KiteClient) => Promise<unknown>> = {
      "it was unlocked": client => client.request("file_unlock", { id: "s", files: ["a", "b"] }),
      "a part of it was unlocked": client => client.request("file_unlock", { id: "s", file: "a" }),
      "all was unlocked": client => client.request("file_unlock", { id: "s", all: true }),
      "its session ended": client => client.request("deregister", { id: "s" }),
    };

    for (const [why, release] of Object.entries(released)) {
      it(`is not asked for again where ${why}`, async () => {
        const [daemon, client] = await holding({ files: ["a", "b"] });
        await release(client);
        expect(await afterRestart(daemon, client, grants("t1"))).toEqual([]);
      });
    }

    it("stays where another session's was unlocked", async () => {
      const [daemon, client] = await holding({ file: "a" });
      await client.request("file_unlock", { id: "other", all: true });
      expect(await afterRestart(daemon, client, grants("t1"))).toHaveLength(1);
    });
  });

  it("gives what changes something a requestId, its caller's where there is one, and what only reads none", async () => {
    const daemon = await stage.daemon(() => undefined);
    const client = await connect();
    const quietly = (asked: Promise<unknown>) => asked.catch(() => {});
    quietly(client.request("file_unlock", { id: "s", file: "a" }));
    quietly(client.request("file_unlock", { id: "s", file: "a", requestId: "mine" }));
    quietly(client.request("query", { target: "locks" }));
    await daemon.next("query");
    const [first, second, third] = daemon.received.slice(1).map(message => message["requestId"]);
    expect(first).toEqual(expect.any(String));
    expect([second, third]).toEqual(["mine", undefined]);
    expect(`${first}`.length).toBeLessThanOrEqual(limits.idBytes);
  });
});
