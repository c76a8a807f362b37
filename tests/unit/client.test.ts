import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ConnectOptions, KiteClient } from "../../client/client.ts";
import { ConnectionClosed, HelloRefused, NotRunning, TimedOut, WrongOwner } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { type FakeDaemon, helloReply, type Message, type Script, Stage } from "./fake-daemon.ts";

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
