import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Slot } from "../../daemon/server/connection.ts";
import { limits } from "../../protocol/limits.ts";
import { ConnectionWorld, type Pair } from "./connection-world.ts";

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

  it.each(Object.entries(ends))("do not count any more after %s in the middle of a line", async (_, end) => {
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
  });

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
