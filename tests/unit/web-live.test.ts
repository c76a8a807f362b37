/** When the page's server asks the daemon again: at its events, and after changes of files, not now and then. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Live } from "../../bin/web/live.ts";
import type { StreamLine, Topic } from "../../bin/web/wire.ts";
import type { PostedRow } from "../../protocol/schemas/message.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { now } from "./view-rows.ts";

const viewer = { isPerson: true, project: null, here: null, home: "/home/ana", user: "ana" };
const overview = { ok: true, off: [], stats: {}, wiped: [] };

function message(id: string, more: Partial<PostedRow> = {}): PostedRow {
  return {
    ...{ id, from: null, to: [], project: "/p", text: id, replyTo: null, thread: id, urgent: false },
    ...{ broadcast: false, at: now },
    ...more,
  };
}

/** Opens a page that shows these topics; its clock stands still. `store`: the id of the store that the machine shares. */
async function open(topics: readonly Topic[], store?: string) {
  const home = temporaryFolder("kite-live-");
  const rows: { messages: PostedRow[]; acknowledged: PostedRow[] } = { messages: [], acknowledged: [] };
  const daemon = fakeDaemon({
    subscribe: { ok: true, cursor: "1.1.1" },
    overview,
    "query merges_elsewhere": { ok: true, rows: [] },
    "query messages": () => ({ ok: true, rows: rows.messages }),
    "query messages_acknowledged": () => ({ ok: true, rows: rows.acknowledged }),
  });
  const world = fakeWorld({ daemon, home });
  const sharing = store === undefined ? {} : { sharedStoreId: store };
  const lines: StreamLine[] = [];
  const faults: unknown[] = [];
  const live = new Live(world, viewer, {
    connect: async () => ({ ...daemon.client, daemon: { ...daemon.client.daemon, ...sharing } }),
    onTrouble: error => faults.push(error),
  });
  const close = live.open(topics, { unreadBytes: 0, write: line => lines.push(JSON.parse(line)) });
  onTestFinished(() => {
    close();
    daemon.die();
  });
  const asked = (type: string) =>
    daemon.asked.filter(one => one.type === type || one["target"] === type).length;
  /** Lets the server go round until something holds. */
  const until = (holds: () => boolean) =>
    expect
      .poll(() => {
        world.tick();
        return holds();
      })
      .toBe(true);
  /** Lets it go round a few times. */
  const rounds = async () => {
    for (let left = 20; left > 0; left -= 1) {
      world.tick();
      await new Promise(resolve => setImmediate(resolve));
    }
  };
  await until(() => topics.every(topic => lines.some(line => line.kind === "rows" && line.topic === topic)));
  return { home, rows, daemon, lines, faults, asked, until, rounds };
}

it("messages are asked for once, and again when one is sent, taken or acknowledged", async () => {
  const { daemon, asked, until, rounds, faults } = await open(["messages"]);
  await rounds();
  expect(asked("messages")).toBe(1);
  daemon.push({ event: "inbox_changed", by: { id: "a", agent: null }, project: "/p" });
  await until(() => asked("messages") === 2);
  const by = { id: "a", agent: null, name: "alice" };
  daemon.push({ event: "message_acknowledged", message: "m-1", by });
  await until(() => asked("messages") === 3);
  await rounds();
  expect(asked("messages")).toBe(3);
  expect(faults).toEqual([]);
});

it("a message that its readers acknowledged stays, and one that only some did is shown once", async () => {
  const { daemon, rows, lines, until } = await open(["messages"]);
  const [ann, bob] = [
    { id: "a", agent: null, name: "ann" },
    { id: "b", agent: null, name: "bob" },
  ];
  const acknowledged = { ...ann, state: "acknowledged" as const };
  rows.messages = [message("m-1", { to: [{ ...bob, state: "unread" }] })];
  rows.acknowledged = [message("m-1", { to: [acknowledged] }), message("m-2", { to: [acknowledged] })];
  daemon.push({ event: "message_acknowledged", message: "m-2", by: ann });
  const last = () => lines.findLast(line => line.kind === "rows");
  await until(() => last()?.set.length === 2);
  expect(last()?.set).toMatchObject([
    {
      id: "m-1",
      to: [
        { name: "bob", state: "unread" },
        { name: "ann", state: "acknowledged" },
      ],
    },
    { id: "m-2", to: [{ name: "ann", state: "acknowledged" }] },
  ]);
});

it("notices are asked for when a switch, a setting or the store changes", async () => {
  const { home, daemon, asked, until, rounds } = await open(["notices"]);
  await rounds();
  expect(asked("overview")).toBe(1);
  writeFileSync(join(home, "off"), "");
  await until(() => asked("overview") === 2);
  rmSync(join(home, "off"));
  await until(() => asked("overview") === 3);
  writeFileSync(join(home, "config.json"), "{}");
  await until(() => asked("overview") === 4);
  const store = {
    where: "db",
    is: "open",
    since: null,
    why: null,
    wentBackAt: null,
    node: "n",
    machine: null,
    nodes: [],
  } as const;
  daemon.push({ event: "store_changed", store });
  await until(() => asked("overview") === 5);
  await rounds();
  expect(asked("overview")).toBe(5);
});

it("what is lost is asked for when work is wiped or comes back", async () => {
  const { daemon, asked, until, rounds } = await open(["wiped"]);
  await rounds();
  expect(asked("overview")).toBe(1);
  daemon.push({ event: "work_restored", path: "/p/a.ts", project: "/p" });
  await until(() => asked("overview") === 2);
});

it("other machines are asked for only where a store is set", async () => {
  const topics = ["elsewhere", "merges_elsewhere"] as const;
  const { asked, lines } = await open(topics);
  for (const topic of topics) {
    expect(asked(topic)).toBe(0);
    const sent = lines.find(line => line.kind === "rows" && line.topic === topic);
    expect(sent).toMatchObject({ set: [] });
  }
});

it("merges of others are asked for when an event tells of them", async () => {
  const { daemon, asked, until, rounds } = await open(["merges_elsewhere"], "s1");
  await rounds();
  expect(asked("merges_elsewhere")).toBe(1);
  const place = { project: "/p", machine: "desk" };
  daemon.push({
    ...{ event: "merge_elsewhere_changed", merge: "mg-1", ...place },
    ...{ branch: "work", base: "main", state: "running" },
  });
  await until(() => asked("merges_elsewhere") === 2);
  await rounds();
  expect(asked("merges_elsewhere")).toBe(2);
});
