/** A connection's replies: each is written, or said not to have been, whatever ends it. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Slot } from "../../daemon/server/connection.ts";
import { Connection, type ConnectionOwner } from "../../daemon/server/connection.ts";
import { temporaryFolder } from "../temporary-folder.ts";

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
