import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Slot } from "../../daemon/connection.ts";
import { limits } from "../../protocol/limits.ts";
import { ConnectionWorld } from "./connection-world.ts";

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
