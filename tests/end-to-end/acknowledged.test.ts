/** Messages that were acknowledged: gone from the inbox, and there for people who look on, as long as their readers are. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const home = new Home();
let looker: Client;
let count = 0;

beforeAll(async () => {
  await home.start();
  looker = await home.connect();
  await looker.ask({ type: "subscribe" });
});
afterAll(() => home.dispose());

/** Two agents in a project of their own. */
async function two() {
  count += 1;
  const project = `project-${count}`;
  const ids = [`a${count}`, `b${count}`] as const;
  const [alice, bob] = [
    await home.session(ids[0], { name: "alice", project }),
    await home.session(ids[1], { name: "bob", project }),
  ];
  const send = async (more: Message = {}): Promise<string> => {
    const said = await alice.ask({ type: "message_send", id: ids[0], to: ids[1], text: "look", ...more });
    expect(said).toMatchObject({ ok: true });
    return (said["message"] as { readonly id: string }).id;
  };
  const ack = (message: string, more: Message = {}) =>
    bob.ask({ type: "message_ack", id: ids[1], message, ...more });
  const rows = async (target: string, more: Message = {}) =>
    (await looker.ask({ type: "query", target, project, ...more }))["rows"] as Message[];
  return { project, ids, alice, bob, send, ack, rows };
}

test("are rows of their own, of their project and session, until their reader ends", async () => {
  const { ids, bob, send, ack, rows } = await two();
  const message = await send();
  expect(await rows("messages_acknowledged")).toEqual([]);
  expect(await ack(message)).toMatchObject({ ok: true });
  expect(await rows("messages")).toEqual([]);
  const kept = {
    id: message,
    text: "look",
    from: { name: "alice" },
    to: [{ name: "bob", state: "acknowledged" }],
  };
  expect(await rows("messages_acknowledged")).toMatchObject([kept]);
  expect(await rows("messages_acknowledged", { id: ids[0] })).toMatchObject([kept]);
  expect(await rows("messages_acknowledged", { id: "nobody" })).toEqual([]);
  expect(await rows("messages_acknowledged", { project: "another" })).toEqual([]);
  await bob.ask({ type: "deregister", id: ids[1] });
  expect(await rows("messages_acknowledged")).toEqual([]);
});

test("are not those that were refused, or only read", async () => {
  const { project, send, ack, rows } = await two();
  const message = await send();
  expect(await ack("m-zzz")).toMatchObject({ code: "unknown_message" });
  expect(await ack(message, { read: true })).toMatchObject({ ok: true });
  await looker.event("inbox_changed", event => event["project"] === project);
  expect(await rows("messages_acknowledged")).toEqual([]);
  expect(await rows("messages")).toMatchObject([{ id: message, to: [{ state: "read" }] }]);
});

test("of several readers name those who did so", async () => {
  const { ids, alice, project, bob, rows } = await two();
  const third = await home.session(`c${count}`, { name: "carol", project });
  await alice.ask({ type: "broadcast", id: ids[0], message: "pull" });
  const [{ id: message = "" } = {}] = (await rows("messages")) as { id: string }[];
  await bob.ask({ type: "message_ack", id: ids[1], message });
  expect(await rows("messages")).toMatchObject([{ to: [{ name: "carol" }] }]);
  expect(await rows("messages_acknowledged")).toMatchObject([{ to: [{ name: "bob" }] }]);
  await third.ask({ type: "message_ack", id: `c${count}`, message });
  expect(await rows("messages_acknowledged")).toMatchObject([{ to: [{ name: "bob" }, { name: "carol" }] }]);
});

test("stay within a bound, the latest", async () => {
  const { send, ack, rows } = await two();
  const text = "x".repeat(limits.messageBytes);
  const most = limits.acknowledgedBytes / limits.messageBytes;
  const sent: string[] = [];
  // Fewer than a session may send in a minute.
  for (let left = limits.messageRateMax; left > 0; left -= 1) {
    const message = await send({ text });
    await ack(message);
    sent.push(message);
  }
  const kept = await rows("messages_acknowledged");
  expect(kept.map(({ id }) => id)).toEqual(sent.slice(-most));
});
