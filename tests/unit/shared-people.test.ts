/** What machines of a shared log call each other's people: nobody's person is shown as the reader's own. */
import { expect, it } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { taskRow } from "../../daemon/core/tasks/replies.ts";
import { contextRow, postedRows } from "../../daemon/views/messages.ts";
import { personOnWire } from "../../protocol/names.ts";
import { actorOf, begin, type Machine, MemoryStoreOfAll, machine, send, settled } from "./shared-world.ts";

async function two() {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = [await machine("laptop", all), await machine("desk", all)];
  for (const one of [laptop, desk]) expect(await one.store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(desk, "bob");
  await settled(laptop, desk);
  return { laptop, desk };
}

async function enter({ log }: Machine, command: object) {
  const reply = await log.submitAndWait(command as Command);
  expect(reply).toMatchObject({ ok: true });
  return reply as unknown as Record<string, never>;
}

const at = ({ name }: Machine) => ({ project: `/${name}/app`, wallMs: 1 });
const byPerson = { actor: null };
const other = { agent: null, name: "a person at desk" };

function viewOf(one: Machine) {
  return one.log.logOf(at(one).project);
}

function messagesOf(one: Machine) {
  return [...postedRows(viewOf(one))].map(({ row }) => row());
}

it("names the machine of a person who writes, to all but that person's own", async () => {
  const { laptop, desk } = await two();
  await enter(desk, { ...send(desk, "", "alice@laptop", "stop"), ...byPerson });
  await enter(desk, {
    type: "broadcast",
    ...byPerson,
    text: "main is red",
    bytes: 11,
    hold: null,
    ...at(desk),
  });
  await settled(laptop, desk);
  expect(messagesOf(laptop).map(({ from }) => from)).toMatchObject([other, other]);
  expect(messagesOf(desk).map(({ from }) => from)).toEqual([null, null]);
  const news = (one: Machine) =>
    one.heard.flatMap(({ event }) => (event.event === "message_sent" ? [event.from] : []));
  expect(news(laptop)).toMatchObject([other, other]);
  expect(news(desk)).toEqual([null, null]);
});

it("says how an agent answers a person of another machine", async () => {
  const { laptop, desk } = await two();
  const { message } = await enter(desk, { ...send(desk, "", "alice@laptop", "stop"), ...byPerson });
  await settled(laptop, desk);
  const { id } = message as unknown as { id: string };
  const answer = { ...send(laptop, "alice", "", "why?"), to: null, replyTo: id } as Command;
  const error = `a person at desk wrote ${id} and has no inbox; write to an agent there (bob@desk) or to everyone: people read these in kite message inbox`;
  expect(await laptop.log.submitAndWait(answer)).toMatchObject({ code: "recipient_gone", error });
  await enter(desk, { type: "session_end", session: "bob", incarnation: null, cause: "ended" });
  await settled(laptop, desk);
  const alone = "has no inbox; write to everyone: people read these in kite message inbox";
  expect(await laptop.log.submitAndWait(answer)).toMatchObject({ error: expect.stringContaining(alone) });
  const { message: own } = await enter(laptop, { ...send(laptop, "", "alice", "go on"), ...byPerson });
  const { id: ownId } = own as unknown as { id: string };
  const refused = await laptop.log.submitAndWait({ ...answer, replyTo: ownId } as Command);
  const home = expect.stringMatching(/has no inbox; .* your user$/);
  expect(refused).toMatchObject({ error: home });
});

it("names the machine of a person who adds tasks, sets values and speaks in debates", async () => {
  const { laptop, desk } = await two();
  const task = { name: null, description: "work", priority: "normal", labels: [], dependsOn: [] };
  await enter(desk, { type: "task_create", by: null, tasks: [task], many: false, ...at(desk) });
  const value = { value: 1, bytes: 1, durable: true, ifVersion: null, ttlMs: null };
  await enter(desk, { type: "context_set", ...byPerson, key: "port", ...value, ...at(desk) });
  const hypotheses = ["x", "y"].map(name => ({ name, claim: name }));
  const { debate } = await enter(desk, {
    ...{ type: "debate_open", by: null, question: "which?", hypotheses, participants: null, ...at(desk) },
  });
  const entry = { kind: "challenge", hypothesis: "x", text: "no" };
  await enter(desk, { type: "debate_enter", by: null, debate, entry, ...at(desk) });
  await settled(laptop, desk);
  const shown = (one: Machine) => {
    const view = viewOf(one);
    const { tasks, context, debates } = view.state;
    const [made] = [...tasks.all.values()];
    const [item] = [...context.items.values()];
    const [opened] = [...debates.all.values()];
    if (made === undefined || item === undefined || opened === undefined) throw new Error("one is not there");
    return view.outward({
      task: taskRow(view.state, made).createdBy,
      row: { createdBy: taskRow(view.state, made).createdBy },
      context: contextRow(item, 0),
      debate: opened.openedBy,
      entry: opened.entries[0]?.by ?? null,
    });
  };
  expect(shown(laptop)).toMatchObject({
    row: { createdBy: other.name },
    context: { fromName: other.name },
    debate: other,
    entry: other,
  });
  expect(shown(desk)).toMatchObject({
    row: { createdBy: null },
    context: { from: null, fromName: personOnWire },
    debate: null,
    entry: null,
  });
  const made = (one: Machine) =>
    one.heard.flatMap(({ event }) => (event.event === "task_created" ? [event.by] : []));
  expect([made(laptop), made(desk)]).toMatchObject([[other], [null]]);
});

it("lets an agent close a debate in which a person of another machine spoke, as with its own", async () => {
  const { laptop, desk } = await two();
  const hypotheses = ["x", "y"].map(name => ({ name, claim: name }));
  const opened = { type: "debate_open", by: null, question: "which?", hypotheses, participants: null };
  const { debate } = await enter(desk, { ...opened, ...at(desk) });
  const say = (entry: object) => enter(desk, { type: "debate_enter", by: null, debate, entry, ...at(desk) });
  for (const hypothesis of ["x", "y"]) await say({ kind: "challenge", hypothesis, text: "no" });
  await say({ kind: "answer", challenge: 1, text: "yes" });
  await settled(laptop, desk);
  const close = { type: "debate_close", debate, verdict: "x", because: "of it", force: false };
  await enter(laptop, { ...close, by: actorOf("alice"), ...at(laptop) });
});
