/** What machines of a shared log call each other's sessions and people. */
import { describe, expect, it } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { taskRow } from "../../daemon/core/tasks/replies.ts";
import { debateText } from "../../daemon/lead/debates.ts";
import { written } from "../../daemon/sharing/names.ts";
import { contextRow, postedRows } from "../../daemon/views/messages.ts";
import { debateRequests } from "../../protocol/lead/debate.ts";
import { personOnWire } from "../../protocol/names.ts";
import { contextRequests } from "../../protocol/schemas/context.ts";
import { messageRequests } from "../../protocol/schemas/message.ts";
import { taskRequests } from "../../protocol/schemas/task.ts";
import { actorOf, begin, type Machine, MemoryStoreOfAll, machine, send, settled } from "./shared-world.ts";

// What goes into the shared log of a machine's names, and what comes back.
describe("names in the shared log", () => {
  it("shows of a message that was sent what this machine calls its sessions and project", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    await begin(laptop, "bob");
    const sent = await laptop.log.submitAndWait(send(laptop, "alice", "bob", "hello"));
    expect(sent).toMatchObject({ ok: true, message: { to: [{ id: "bob", name: "bob" }] } });
  });

  it("imports tasks of projects that are shared and of others each into their log", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    const task = (id: string, project: string) => ({
      ...{ id, project, createdAt: 1, updatedAt: 1, description: id, priority: "normal", labels: [] },
      ...{ dependsOn: [], attempts: 0, state: { status: "pending" } },
    });
    const tasks = [task("t-1", "/laptop/app"), task("t-2", "/laptop/alone"), task("t-3", "/laptop/app")];
    const reply = await laptop.log.submitAndWait({
      type: "task_import",
      by: null,
      tasks,
    } as unknown as Command);
    expect(reply).toMatchObject({ ok: true, imported: 3, skipped: [], debatesDropped: [] });
    const idsAt = (project: string) => [...laptop.log.logOf(project).state.tasks.all.keys()];
    expect([idsAt("/laptop/app"), idsAt("/laptop/alone")]).toEqual([["t-1", "t-3"], ["t-2"]]);
    expect(JSON.stringify(all.entries)).not.toContain("/laptop");
  });

  /** Fields of requests that name what there is already: no text of people and agents. */
  const naming = new Set([
    ...[
      "rid",
      "requestId",
      "project",
      "cwd",
      "id",
      "agent",
      "task",
      "tasks",
      "dependsOn",
      "debate",
      "replyTo",
    ],
    ...["to", "participants", "messages", "thread", "after", "files", "hold"],
    // An id in `message_ack`; the text of a broadcast, which rows have as `text`.
    "message",
    // Of a hypothesis, and of a task in its request; of a session it stands beside the session's id.
    "name",
  ]);

  /** Yields the fields of a schema that hold a string of the sender's own, with the schema's way there. */
  function* stringFields(schema: unknown, field: string): Generator<string> {
    const { def } = (schema as { readonly _zod: { readonly def: Record<string, unknown> } })._zod;
    const { type, innerType, element, options, shape } = def;
    const inner = [innerType, element, def["in"], ...(Array.isArray(options) ? options : [])];
    if (type === "string" || type === "custom") yield field;
    for (const one of inner) if (one !== undefined) yield* stringFields(one, field);
    for (const [key, one] of Object.entries(shape ?? {})) yield* stringFields(one, key);
  }

  it("knows of each string of a request that goes into a shared log whether it names or says something", () => {
    const unknown: string[] = [];
    const tables = { ...taskRequests, ...messageRequests, ...contextRequests, ...debateRequests };
    const fields = new Set<string>();
    for (const [type, { params }] of Object.entries(tables))
      for (const field of stringFields(params, type)) {
        fields.add(field);
        if (!naming.has(field) && !written.has(field)) unknown.push(`${type}: ${field}`);
      }
    expect(unknown).toEqual([]);
    for (const field of ["description", "labels", "text", "value", "because", "project"])
      expect([...fields]).toContain(field);
  });

  it("changes nothing that an agent wrote, also where it looks like a name or an id", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all, { node: "nl" });
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    await begin(laptop, "bob");
    const [name, id] = ["alice@laptop", "alice@nl.1.1"];
    const replies: unknown[] = [];
    const enter = async (command: object) => {
      const reply = await laptop.log.submitAndWait(command as Command);
      expect(reply).toMatchObject({ ok: true });
      replies.push(reply);
      return reply as unknown as Record<string, never>;
    };
    const [by, project] = [actorOf("alice"), "/laptop/app"];
    const at = { project, wallMs: 1 };
    for (const said of [name, id]) {
      const task = {
        ...{ name: said, description: said, priority: "normal" },
        labels: [said],
        dependsOn: [],
      };
      await enter({ type: "task_create", by, tasks: [task], many: true, ...at });
      const [made] = [...laptop.log.logOf(project).state.tasks.all.values()].reverse();
      const change = {
        ...{ dependsOn: null, description: null, priority: null, labels: null },
        cwd: "",
        ...at,
      };
      await enter({ type: "task_claim", actor: by, task: made?.id, labels: [said], cwd: "", ...at });
      await enter({ type: "task_update", by, task: made?.id, status: "done", result: said, ...change });
      const value = { name: said, id: said, [said]: [said] };
      const set = { key: said, value, bytes: 90, durable: true, ifVersion: null, ttlMs: null };
      await enter({ type: "context_set", actor: by, ...set, ...at });
      await enter(send(laptop, "alice", "bob", said));
      const hypotheses = ["x", said].map(one => ({ name: one, claim: said }));
      const opened = await enter({
        type: "debate_open",
        by,
        question: said,
        hypotheses,
        participants: null,
        ...at,
      });
      const { debate } = opened as unknown as { readonly debate: string };
      await enter({
        type: "debate_enter",
        by,
        debate,
        entry: { kind: "challenge", hypothesis: "x", text: said },
        ...at,
      });
      const close = { verdict: said, because: said, force: true };
      await enter({ type: "debate_close", by: null, debate, ...close, ...at });
    }
    await enter({ type: "inbox_take", actor: actorOf("bob"), max: 9, chars: 1_000 });
    const log = laptop.log.logOf(project);
    const { tasks, context, debates } = log.state;
    const rows = [
      ...[...tasks.all.values()].map(task => log.outward(taskRow(log.state, task))),
      ...[...context.items.values()].map(item => log.outward({ ...contextRow(item, 1), value: item.value })),
      ...[...debates.all.values()].map(debate => textOf(debateText(log, debate, 0))),
    ];
    const shown = [...replies, ...rows, ...laptop.heard.map(({ event }) => event)];
    expect([...changedIn(shown, "shown")]).toEqual([]);
    for (const one of [name, id]) expect(JSON.stringify(shown).split(`"${one}"`).length).toBeGreaterThan(20);
  });

  /** Fields that name the session alice of this test, beside `name` in its row. */
  const ofAlice = new Set(["id", "session", "from", "fromName", "createdBy", "assignee", "assigneeName"]);

  /** Yields the places where the session's id or name stands in the place of what was written. */
  function* changedIn(shown: unknown, at: string, isValue = false, isRow = false): Generator<string> {
    const field = at.slice(at.lastIndexOf(".") + 1);
    if (shown === "alice" && (isValue || !(ofAlice.has(field) || (field === "name" && isRow)))) yield at;
    if (typeof shown !== "object" || shown === null) return;
    const isAlice = "id" in shown && shown.id === "alice";
    for (const [key, one] of Object.entries(shown)) {
      if (isValue && key === "alice") yield `${at} (key)`;
      const place = Array.isArray(shown) ? at : `${at}.${key}`;
      yield* changedIn(one, place, isValue || key === "value", isAlice);
    }
  }

  /** Returns what a text that is made in steps says. */
  function textOf(steps: Generator<unknown, unknown>): unknown {
    for (let step = steps.next(); ; step = steps.next())
      if (step.done === true) return JSON.parse(String(step.value));
  }
});

// What machines of a shared log call each other's people: nobody's person is shown as the reader's own.
describe("people of other machines", () => {
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
      if (made === undefined || item === undefined || opened === undefined)
        throw new Error("one is not there");
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
    const say = (entry: object) =>
      enter(desk, { type: "debate_enter", by: null, debate, entry, ...at(desk) });
    for (const hypothesis of ["x", "y"]) await say({ kind: "challenge", hypothesis, text: "no" });
    await say({ kind: "answer", challenge: 1, text: "yes" });
    await settled(laptop, desk);
    const close = { type: "debate_close", debate, verdict: "x", because: "of it", force: false };
    await enter(laptop, { ...close, by: actorOf("alice"), ...at(laptop) });
  });
});
