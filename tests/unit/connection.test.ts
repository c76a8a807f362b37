/** A connection: its sessions, its replies, and its end. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connection, type ConnectionOwner, replyLine, type Slot } from "../../daemon/server/connection.ts";
import { limits } from "../../protocol/limits.ts";
import type { Line } from "../../protocol/wire.ts";
import { temporaryFolder } from "../temporary-folder.ts";

// One connection of the daemon over a real socket, with the server's part in the test's hand.

type Handler = (connection: Connection, text: string) => Promise<void> | undefined;

/** A connected pair: the daemon's end, and the client's socket. */
interface Pair {
  readonly connection: Connection;
  readonly client: Socket;
}

/** Hands each line to `handle`, sends what there is to send at once, and counts what the connections tell it. */
class ConnectionWorld implements ConnectionOwner {
  /** Bytes that wait for their newline or their turn, as the connections tell it. */
  unfinishedBytes = 0;
  readonly hasRoomToWait = true;
  /** More of them are too many. */
  unfinishedMax = Number.POSITIVE_INFINITY;
  readonly texts: string[] = [];
  handleText: Handler = () => undefined;
  readonly #folder = temporaryFolder("kite-connection-");
  readonly #server: Server;
  readonly #clients: Socket[] = [];
  readonly #closed = new Map<Connection, () => void>();
  #taken: (connection: Connection) => void = () => {};

  constructor() {
    this.#server = createServer({ allowHalfOpen: true }, socket =>
      this.#taken(new Connection(this.#clients.length, socket, this)),
    );
  }

  async pair(): Promise<Pair> {
    const path = join(this.#folder, "s");
    if (!this.#server.listening) await once(this.#server.listen(path), "listening");
    const taken = new Promise<Connection>(resolve => {
      this.#taken = resolve;
    });
    const client = connect({ path, allowHalfOpen: true });
    // How a client ends is what the tests are about.
    client.on("error", () => {});
    this.#clients.push(client);
    return { connection: await taken, client };
  }

  /** Resolves when the connection has told that it is closed. */
  gone(connection: Connection): Promise<void> {
    if (connection.isClosed) return Promise.resolve();
    return new Promise(resolve => this.#closed.set(connection, resolve));
  }

  async end(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  handle(connection: Connection, line: Line): Promise<void> | undefined {
    const text = "text" in line ? line.text : line.fault;
    this.texts.push(text);
    return this.handleText(connection, text);
  }

  unfinished(bytes: number): boolean {
    this.unfinishedBytes += bytes;
    return this.unfinishedBytes > this.unfinishedMax;
  }

  closed(connection: Connection): void {
    this.#closed.get(connection)?.();
  }

  flushSoon(connection: Connection): void {
    queueMicrotask(() => connection.flush());
  }

  drained(): void {}
}

describe("what is tied to a connection", () => {
  let world: ConnectionWorld;

  beforeEach(() => {
    world = new ConnectionWorld();
  });
  afterEach(() => world.end());

  /** Until the daemon's end has taken `count` lines. */
  async function taken(count: number): Promise<void> {
    while (world.texts.length < count) await new Promise(resolve => setImmediate(resolve));
  }

  describe("what is tied to a connection", () => {
    it("is released once when the connection is gone, and not where it was untied", async () => {
      const { connection, client } = await world.pair();
      const released: string[] = [];
      connection.tie(() => released.push("kept"));
      connection.tie(() => released.push("untied"))();
      client.destroy();
      connection.destroy();
      await world.gone(connection);
      expect(released).toEqual(["kept"]);
    });

    it("is released at once where the connection is gone already", async () => {
      const { connection } = await world.pair();
      connection.destroy();
      await world.gone(connection);
      const released: string[] = [];
      connection.tie(() => released.push("late"))();
      expect(released).toEqual(["late"]);
    });
  });

  describe("sessions registered on a connection", () => {
    it("are forgotten with it, and none is noted afterwards", async () => {
      const { connection } = await world.pair();
      connection.registered("a", 7, () => true);
      connection.registered("b", null, () => true);
      connection.deregistered("b");
      expect([...connection.sessions]).toEqual([["a", 7]]);
      connection.destroy();
      await world.gone(connection);
      connection.registered("c", null, () => true);
      expect(connection.sessions.size).toBe(0);
    });

    it("are at most as many as live, however many come and go", async () => {
      const { connection } = await world.pair();
      const live = new Set<string>();
      for (let n = 0; n < 3 * limits.sessionsMax; n += 1) {
        live.delete(`s-${n - 10}`);
        live.add(`s-${n}`);
        connection.registered(`s-${n}`, null, id => live.has(id));
        expect(connection.sessions.size).toBeLessThanOrEqual(limits.sessionsMax);
      }
      for (const id of live) expect(connection.sessions.has(id)).toBe(true);
    });
  });

  describe("a reply that waits for the one before it", () => {
    it("is known not to have been delivered when the connection ends first", async () => {
      const slots: Slot[] = [];
      world.handleText = connection => {
        slots.push(connection.open(undefined));
        return undefined;
      };
      const { connection, client } = await world.pair();
      client.write("1\n2\n");
      await taken(2);
      const [first, second] = slots;
      if (first === undefined || second === undefined) throw new Error("two lines came");
      const heard: (readonly [string, boolean])[] = [];
      connection.reply(second, { ok: true }, ok => heard.push(["second", ok]));
      client.destroy();
      connection.destroy();
      await world.gone(connection);
      expect(heard).toEqual([["second", false]]);
      connection.reply(first, { ok: true }, ok => heard.push(["first", ok]));
      expect(heard).toEqual([
        ["second", false],
        ["first", false],
      ]);
    });
  });

  describe("bytes that wait for their newline or their turn", () => {
    const half = "x".repeat(10_000);

    /** Until as many bytes wait as the test expects: each piece arrives in its own time. */
    async function waiting(bytes: number): Promise<void> {
      while (world.unfinishedBytes !== bytes) await new Promise(resolve => setImmediate(resolve));
    }

    const ends: Readonly<Record<string, (pair: Pair) => void>> = {
      "its client's end": ({ client }) => client.destroy(),
      "an end by the daemon": ({ connection }) => connection.destroy(),
      "the daemon's last answer": ({ connection }) => connection.end(),
    };

    it.each(Object.entries(ends))(
      "do not count any more after %s in the middle of a line",
      async (_, end) => {
        for (let round = 0; round < 20; round += 1) {
          const pair = await world.pair();
          pair.client.write(half);
          await waiting(half.length);
          end(pair);
          pair.client.destroy();
          pair.connection.destroy();
          await world.gone(pair.connection);
          expect(world.unfinishedBytes).toBe(0);
        }
      },
    );

    it("do not count any more when a line proves too long, nor when its connection ends amid the rest", async () => {
      const { connection, client } = await world.pair();
      client.write("x".repeat(limits.lineBytes));
      await waiting(limits.lineBytes);
      client.write(half);
      await taken(1);
      expect([world.texts, world.unfinishedBytes]).toEqual([["line_too_long"], 0]);
      client.write(half);
      client.write(`${half}\nnext\n${half}`);
      await waiting(half.length);
      expect(world.texts).toEqual(["line_too_long", "next"]);
      client.destroy();
      connection.destroy();
      await world.gone(connection);
      expect(world.unfinishedBytes).toBe(0);
    });

    it("count on other connections when those of one are thrown away as too many", async () => {
      world.unfinishedMax = 3 * half.length;
      const first = await world.pair();
      first.client.write(half + half);
      await waiting(2 * half.length);
      const second = await world.pair();
      second.client.write(half + half);
      await taken(1);
      expect([world.texts, world.unfinishedBytes]).toEqual([["line_too_long"], 2 * half.length]);
      // Whole lines are none of that.
      second.client.write("\nwhole\n");
      first.client.write("\n");
      await taken(3);
      expect(world.texts.slice(1).sort()).toEqual(["whole", half + half]);
      expect(world.unfinishedBytes).toBe(0);
    });

    it("are those of whole lines, too, that wait for the answer before them", async () => {
      let answer: () => void = () => {};
      world.handleText = (_, text) =>
        text === "wait" ? new Promise(resolve => (answer = resolve)) : undefined;
      const { client } = await world.pair();
      client.write("wait\n");
      await taken(1);
      client.write(`${half}\n`);
      await waiting(half.length);
      answer();
      await taken(2);
      await waiting(0);
    });
  });

  describe("a connection that the daemon has ended", () => {
    it("looks at nothing any more that its client goes on to send", async () => {
      const { connection, client } = await world.pair();
      connection.end();
      await once(client.resume(), "end");
      const again = vi.spyOn(globalThis, "setImmediate");
      const line = `${"x".repeat(50_000)}\n`;
      for (let n = 0; n < 100; n += 1) {
        await new Promise(resolve => client.write(`${line}half of a line`, resolve));
      }
      const tries = again.mock.calls.length;
      again.mockRestore();
      expect(world.texts).toEqual([]);
      expect(world.unfinishedBytes).toBe(0);
      // Nor does it look again and again at what is there.
      expect(tries).toBeLessThan(50);
    });
  });
});

// A connection's replies: each is written, or said not to have been, whatever ends it.
describe("replies of a connection", () => {
  let folder = "";
  let server: Server;
  let client: Socket;
  let connection: Connection;
  let gone: Promise<void>;
  const slots: Slot[] = [];
  let opened: () => void = () => {};

  /** Leaves every request open, for the test to answer. */
  const owner: ConnectionOwner = {
    handle(of) {
      slots.push(of.open(undefined));
      opened();
      return undefined;
    },
    hasRoomToWait: true,
    unfinished: () => false,
    closed: () => {},
    flushSoon: of => queueMicrotask(() => of.flush()),
    drained: () => {},
  };

  beforeEach(async () => {
    folder = temporaryFolder("kc-");
    slots.length = 0;
    const path = join(folder, "s");
    await new Promise<void>(resolve => {
      server = createServer({ allowHalfOpen: true }, socket => {
        connection = new Connection(1, socket, owner);
        gone = new Promise(ended => connection.tie(ended));
        resolve();
      });
      server.listen(path, () => {
        client = connect(path);
        client.on("error", () => {});
      });
    });
  });

  afterEach(async () => {
    client.destroy();
    connection.destroy();
    await new Promise(resolve => server.close(resolve));
  });

  /** The slots of so many requests. */
  async function asked(count: number): Promise<Slot[]> {
    const all = new Promise<void>(resolve => {
      opened = () => slots.length === count && resolve();
    });
    client.write("{}\n".repeat(count));
    await all;
    return slots;
  }

  describe("a reply behind one that is not ready", () => {
    it("has not been delivered where the connection breaks", async () => {
      const [, second] = await asked(2);
      if (second === undefined) throw new Error("there are not two slots");
      const outcome = new Promise<boolean>(resolve => connection.reply(second, { ok: true }, resolve));
      connection.destroy();
      await gone;
      expect(await Promise.race([outcome, Promise.resolve("nobody was told")])).toBe(false);
    });

    it("has not been delivered where this side ends first", async () => {
      const [first, second] = await asked(2);
      if (first === undefined || second === undefined) throw new Error("there are not two slots");
      const outcomes: [string, boolean][] = [];
      connection.reply(second, { ok: true }, got => outcomes.push(["second", got]));
      connection.end();
      connection.reply(first, { ok: true }, got => outcomes.push(["first", got]));
      expect(outcomes).toEqual([
        ["second", false],
        ["first", false],
      ]);
    });

    it("is delivered in its turn, and told so once", async () => {
      const [first, second] = await asked(2);
      if (first === undefined || second === undefined) throw new Error("there are not two slots");
      const told = new Promise<[string, boolean][]>(resolve => {
        const outcomes: [string, boolean][] = [];
        const tell = (which: string) => (got: boolean) => {
          outcomes.push([which, got]);
          if (outcomes.length === 2) resolve(outcomes);
        };
        connection.reply(second, { n: 2 }, tell("second"));
        connection.reply(first, { n: 1 }, tell("first"));
      });
      client.setEncoding("utf8");
      const read = new Promise<string>(resolve => {
        let text = "";
        client.on("data", chunk => {
          text += chunk;
          if (text.split("\n").length === 3) resolve(text);
        });
      });
      expect(await read).toBe('{"n":1}\n{"n":2}\n');
      expect(await told).toEqual([
        ["first", true],
        ["second", true],
      ]);
    });
  });
});

describe("a reply's line", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("", '"', "\\", "a\nb", "\u007f", "\u2028", "\ud800", "größe", "🪁", "src/a.ts"),
  );
  const grant = fc.record({ ok: fc.constant(true), file: text, path: text, token: text });
  const released = fc.record({ ok: fc.constant(true), released: fc.array(text, { maxLength: 2 }) });

  it("has the rid before the fields that it would have without one", () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.integer()), fc.oneof(grant, released), (id, reply) => {
        expect(JSON.parse(replyLine(id, reply))).toEqual({ rid: id, ...reply });
        expect(replyLine(undefined, reply)).toBe(`${JSON.stringify(reply)}\n`);
      }),
    );
  });
});
