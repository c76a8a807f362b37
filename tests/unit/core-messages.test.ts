import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { inboxOf, lettersOf } from "../../daemon/core/messages/inbox.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Reply } from "../../daemon/core/tables/entries.ts";
import type { MessageSend } from "../../daemon/core/tables/messages.ts";
import { limits } from "../../protocol/limits.ts";
import type { MessageRow } from "../../protocol/schemas/message.ts";
import { Random } from "../simulation/random.ts";
import { actor, bounded, World } from "./core-world.ts";

function send(
  w: World,
  from: string | Actor | null,
  to: string | null,
  more: Partial<MessageSend> = {},
): Reply {
  const text = more.text ?? "hello";
  return w.do({
    type: "message_send",
    actor: from === null ? null : actor(from),
    project: "/p",
    to,
    text,
    bytes: text.length,
    replyTo: null,
    urgent: false,
    wallMs: w.now,
    ...more,
  });
}

const take = (w: World, of: string | Actor, max = 3, chars = 1500) => {
  const reply = w.do({ type: "inbox_take", actor: actor(of), max, chars });
  const { messages, unread } = reply as unknown as { messages: MessageRow[]; unread: number };
  return { texts: messages.map(m => m.text), ids: messages.map(m => m.id), messages, unread };
};

const told = (w: World, of: string | Actor, messages: readonly string[], heard: boolean) =>
  w.do({ type: "inbox_told", actor: actor(of), messages, heard });

const ack = (w: World, of: string | Actor, ...messages: string[]) =>
  w.do({ type: "message_ack", actor: actor(of), messages });

const inbox = (w: World, of: string | Actor) =>
  [...lettersOf(w.state.messages, inboxOf(actor(of)))].map(([{ text }, { state }]) => `${text} ${state}`);

const events = (w: World) => w.steps.flatMap(s => s.events.map(e => e.event.event));

const inboxMax = 50;

function world(...sessions: string[]): World {
  return begun(new World(bounded({ inboxMax })), sessions);
}

function begun(w: World, sessions: readonly string[]): World {
  for (const session of sessions) w.begin(session);
  return w;
}

describe("to", () => {
  it("is an id, a name, the beginning of an id, an agent, or everyone; never somebody of another project", () => {
    const w = world("ann-1", "bob-22", "bob-33");
    w.begin("cyd", { name: "carl" });
    w.begin("far", { project: "/q", name: "dan" });
    w.do({ type: "agent_begin", session: "cyd", agent: "x1", name: "Explore" });
    const to = (name: string) => {
      const reply = send(w, "ann-1", name);
      return reply.ok ? (reply["message"] as { to: { name: string }[] }).to.map(row => row.name) : reply.code;
    };
    expect(to("bob-22")).toEqual(["bob-22"]);
    expect(to("bob-3")).toEqual(["bob-33"]);
    expect(to("carl")).toEqual(["carl"]);
    expect(to("carl/Explore")).toEqual(["carl/Explore"]);
    expect(to("Explore")).toEqual(["carl/Explore"]);
    expect(to("everyone")).toEqual(["bob-22", "bob-33", "carl"]);
    expect(to("bob")).toBe("recipient_ambiguous");
    expect(to("dan")).toBe("recipient_gone");
    expect(to("far")).toBe("recipient_gone");
    expect(inbox(w, "far")).toEqual([]);
  });

  it("that is ambiguous is refused with the list", () => {
    const w = world("ann", "bob-1", "bob-2");
    expect(send(w, "ann", "bob-")).toMatchObject({
      code: "recipient_ambiguous",
      error: "bob- can be bob-1, bob-2; say which by its whole name",
      matches: [{ id: "bob-1" }, { id: "bob-2" }],
    });
    w.do({ type: "agent_begin", session: "bob-1", agent: "x1", name: "Explore" });
    w.begin("cyd", { name: "Explore" });
    expect(send(w, "ann", "Explore")).toMatchObject({
      error: "Explore can be Explore (cyd), bob-1/Explore (bob-1, x1); say which by its id",
    });
  });

  it("by an agent's name is found among all that have it, and only as long as they do", () => {
    const w = world("ann", "bob", "cyd");
    for (const session of ["cyd", "bob"])
      w.do({ type: "agent_begin", session, agent: `x-${session}`, name: "Explore" });
    w.do({ type: "agent_begin", session: "bob", agent: "Explore", name: "Plan" });
    const matches = (to: string) => {
      const reply = send(w, "ann", to);
      const named = reply.ok ? (reply["message"] as { to: unknown })["to"] : reply["matches"];
      return (named as { id: string; name: string }[]).map(row => row.name);
    };
    expect(matches("Explore")).toEqual(["bob/Explore", "bob/Plan", "cyd/Explore"]);
    expect(matches("x-cyd")).toEqual(["cyd/Explore"]);
    w.begin("bob", { name: "b/b" });
    expect(matches("b/b/Plan")).toEqual(["b/b/Plan"]);
    w.begin("bob", { project: "/q" });
    expect(matches("Explore")).toEqual(["cyd/Explore"]);
    w.begin("bob");
    expect(matches("Explore")).toHaveLength(3);
    w.do({ type: "agent_end", actor: { session: "bob", agent: "Explore", incarnation: 0 } });
    w.do({ type: "session_end", session: "cyd", incarnation: null, cause: "ended" });
    expect(matches("Explore")).toEqual([expect.stringMatching(/\/Explore$/)]);
    expect(matches("x-bob")).toEqual([expect.stringMatching(/\/Explore$/)]);
    expect(send(w, "ann", "Plan")).toMatchObject({ code: "recipient_gone" });
  });

  it("that has gone is refused, with who is here", () => {
    const w = world("ann", "bob");
    w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
    expect(send(w, "ann", "bob")).toMatchObject({ code: "recipient_gone" });
    expect(send(w, "ann", "zoe")).toMatchObject({
      error: "no session or agent named zoe in /p; message not sent; active: ann",
    });
    expect(send(w, "ann", "everyone")).toMatchObject({ code: "recipient_gone" });
    expect(send(w, "bob", "ann")).toMatchObject({ code: "session_ended" });
    expect(send(w, "nobody", "ann")).toMatchObject({ code: "unknown_session" });
  });
});

describe("an answer", () => {
  it("goes to who wrote, and is of the same thread", () => {
    const w = world("ann", "bob");
    expect(send(w, "ann", "bob")).toMatchObject({ message: { id: "m-1", thread: "m-1" } });
    expect(send(w, "bob", null, { replyTo: "m-1" })).toMatchObject({
      message: { id: "m-2", thread: "m-1", to: [{ id: "ann" }] },
    });
    expect(send(w, "ann", "bob", { replyTo: "m-2" })).toMatchObject({ message: { thread: "m-1" } });
    expect(send(w, "ann", null, { replyTo: "m-99" })).toMatchObject({ code: "unknown_message" });
  });

  it("goes to that very session, not to another one of its name", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob");
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    w.begin("other", { name: "ann" });
    expect(send(w, "bob", null, { replyTo: "m-1" })).toMatchObject({ code: "recipient_gone" });
    expect(inbox(w, "other")).toEqual([]);
  });

  it("to a person is refused: a terminal has no inbox", () => {
    const w = world("bob");
    expect(send(w, null, "bob")).toMatchObject({ ok: true });
    expect(send(w, "bob", null, { replyTo: "m-1" })).toMatchObject({ code: "recipient_gone" });
    expect(take(w, "bob").messages).toMatchObject([{ from: null }]);
  });

  it("finds its recipient after /clear, when another id goes on", () => {
    const w = world("bob");
    const anchor = { pid: 7, startTime: "1" };
    w.begin("ann", { anchor, name: "Ann" });
    send(w, "ann", "bob", { text: "question" });
    send(w, "bob", "ann", { text: "unread still" });
    w.do({ type: "session_suspend", session: "ann" });
    w.begin("ann-again", { anchor });
    expect(inbox(w, "ann-again")).toEqual(["unread still unread"]);
    expect(send(w, "bob", null, { replyTo: "m-1", text: "answer" })).toMatchObject({ ok: true });
    expect(send(w, "bob", "Ann")).toMatchObject({ ok: true });
    expect(inbox(w, "ann-again")).toEqual(["unread still unread", "answer unread", "hello unread"]);
    expect(events(w)).not.toContain("message_undelivered");
  });
});

describe("an inbox", () => {
  it("gives a few at a time, oldest first, and each once", () => {
    const w = world("ann", "bob");
    for (const text of ["1", "2", "3", "4"]) send(w, "ann", "bob", { text });
    expect(take(w, "bob")).toMatchObject({ texts: ["1", "2", "3"], unread: 1 });
    told(w, "bob", ["m-1", "m-2", "m-3"], true);
    expect(take(w, "bob")).toMatchObject({ texts: ["4"], unread: 0 });
    expect(inbox(w, "bob")).toEqual(["1 read", "2 read", "3 read", "4 offered"]);
  });

  it("gives no more than so much text, but one at least", () => {
    const w = world("ann", "bob");
    for (const length of [2000, 700, 700, 200]) send(w, "ann", "bob", { text: "x".repeat(length) });
    expect(take(w, "bob").texts.map(t => t.length)).toEqual([2000]);
    expect(take(w, "bob").texts.map(t => t.length)).toEqual([700, 700]);
    expect(take(w, "bob").texts.map(t => t.length)).toEqual([200]);
  });

  it("counts as read when the next event comes, not before", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob", { text: "1" });
    const { ids } = take(w, "bob");
    told(w, "bob", ids, true);
    expect(inbox(w, "bob")).toEqual(["1 handed"]);
    expect(take(w, "bob").texts).toEqual([]);
    expect(inbox(w, "bob")).toEqual(["1 read"]);
  });

  it("gives again what an answer lost took with it, also where the daemon was killed in between", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob", { text: "1" });
    told(w, "bob", take(w, "bob").ids, false);
    expect(take(w, "bob").texts).toEqual(["1"]);
    w.start();
    expect(take(w, "bob").texts).toEqual(["1"]);
  });

  it("gives nothing twice after an interruption: what was handed over stays so", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob", { text: "1" });
    told(w, "bob", take(w, "bob").ids, true);
    w.start();
    expect(take(w, "bob").texts).toEqual([]);
  });

  it("gives what is under way in one answer to no other", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob", { text: "1" });
    take(w, "bob");
    expect(take(w, "bob").texts).toEqual([]);
    expect(inbox(w, "bob")).toEqual(["1 offered"]);
  });

  it("of an agent is its own", () => {
    const w = world("ann", "bob");
    const helper = { session: "bob", agent: "x1", incarnation: 0 };
    w.do({ type: "agent_begin", session: "bob", agent: "x1", name: "Explore" });
    send(w, "ann", "bob/Explore");
    expect(take(w, "bob").texts).toEqual([]);
    expect(take(w, helper).texts).toEqual(["hello"]);
  });

  it("is emptied by acknowledging, all or nothing", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob", { text: "1" });
    send(w, "ann", "bob", { text: "2" });
    expect(ack(w, "bob", "m-1", "m-9")).toMatchObject({ code: "unknown_message", message: "m-9" });
    expect(ack(w, "ann", "m-1")).toMatchObject({ code: "unknown_message" });
    expect(ack(w, "bob", "m-1")).toEqual({ ok: true, acknowledged: ["m-1"] });
    expect(inbox(w, "bob")).toEqual(["2 unread"]);
    expect(ack(w, "bob", "m-1")).toMatchObject({ code: "unknown_message" });
    expect(events(w)).toContain("message_acknowledged");
  });

  it("keeps what was only read, to be answered", () => {
    const w = world("ann", "bob");
    for (const text of ["1", "2"]) send(w, "ann", "bob", { text });
    const read = { type: "message_ack", actor: actor("bob"), messages: ["m-1"], read: true } as const;
    expect(w.do(read)).toEqual({ ok: true, acknowledged: ["m-1"] });
    expect(inbox(w, "bob")).toEqual(["1 read", "2 unread"]);
    expect(take(w, "bob").texts).toEqual(["2"]);
    expect(send(w, "bob", null, { text: "yes", replyTo: "m-1" })).toMatchObject({ ok: true });
    expect(events(w)).not.toContain("message_acknowledged");
  });
});

describe("who has gone", () => {
  it("lets what was not read come back to its sender", () => {
    const w = world("ann", "bob");
    for (const text of ["read", "unread"]) send(w, "ann", "bob", { text });
    told(w, "bob", take(w, "bob", 1).ids, true);
    take(w, "bob", 0);
    w.do({ type: "session_end", session: "bob", incarnation: null, cause: "anchor_gone" });
    expect(take(w, "ann").messages).toMatchObject([{ text: "unread", undelivered: "bob" }]);
    expect(events(w).filter(name => name === "message_undelivered")).toHaveLength(1);
  });

  it("as an agent of a session does the same", () => {
    const w = world("ann", "bob");
    w.do({ type: "agent_begin", session: "bob", agent: "x1", name: "Explore" });
    send(w, "ann", "Explore");
    w.do({ type: "agent_end", actor: { session: "bob", agent: "x1", incarnation: 0 } });
    expect(take(w, "ann").messages).toMatchObject([{ undelivered: "bob/Explore" }]);
    expect(w.state.messages.inboxes.size).toBe(1);
  });

  it("gets nothing back itself, and a message that came back goes no further", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob");
    w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    expect(w.state.messages.all.size).toBe(0);
  });

  it("puts what came back where it belongs in time", () => {
    const w = world("ann", "bob", "cyd");
    send(w, "ann", "bob", { text: "old" });
    send(w, "cyd", "ann", { text: "new" });
    w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
    expect(take(w, "ann").texts).toEqual(["old", "new"]);
    expect(writeState(readState(writeState(w.state)))).toBe(writeState(w.state));
  });
});

/** Fills an inbox to its bound, slowly enough for a person at a terminal. */
function fill(w: World, to: string): void {
  for (let n = 0; n < inboxMax; n += 1) {
    send(w, null, to, { text: `${n}` });
    w.now += limits.messageRateMs / limits.messageRateMax;
  }
  expect(inbox(w, to)).toHaveLength(inboxMax);
}

describe("an inbox that is full of what nobody has read", () => {
  it("takes no more, and the sender is told whose it is; nothing in it is dropped", () => {
    const w = world("ann", "bob");
    fill(w, "bob");
    expect(send(w, "ann", "bob", { text: "more" })).toMatchObject({ code: "inbox_full", to: ["bob"] });
    expect(inbox(w, "bob")[0]).toBe("0 unread");
    expect(inbox(w, "bob")).toHaveLength(inboxMax);
    // What was refused counts for nothing.
    expect(w.state.messages.sent.get("ann")).toBeUndefined();
  });

  it("keeps nobody else from a message to all: who did not get it is named", () => {
    const w = world("ann", "bob", "cyd");
    fill(w, "bob");
    expect(send(w, "ann", "everyone", { text: "news" })).toMatchObject({
      ok: true,
      message: { to: [{ id: "cyd" }] },
      full: [{ id: "bob" }],
    });
    expect(inbox(w, "cyd")).toEqual(["news unread"]);
    expect(inbox(w, "bob")).toHaveLength(inboxMax);
    const posted = { project: "/p", text: "call", bytes: 4, wallMs: 1, hold: null };
    expect(w.do({ type: "broadcast", actor: actor("ann"), ...posted })).toMatchObject({
      ok: true,
      full: [{ id: "bob" }],
    });
  });

  it("makes room by what was read alone: not by what is in an answer, nor by what a client has just got", () => {
    const w = world("ann", "bob");
    fill(w, "bob");
    const { ids } = take(w, "bob", 2);
    expect(send(w, "ann", "bob")).toMatchObject({ code: "inbox_full" });
    told(w, "bob", ids, true);
    expect(inbox(w, "bob").slice(0, 3)).toEqual(["0 handed", "1 handed", "2 unread"]);
    expect(send(w, "ann", "bob")).toMatchObject({ code: "inbox_full" });
    take(w, "bob", 0);
    expect(send(w, "ann", "bob", { text: "a" })).toMatchObject({ ok: true });
    expect(inbox(w, "bob").slice(0, 2)).toEqual(["1 read", "2 unread"]);
    expect(send(w, "ann", "bob", { text: "b" })).toMatchObject({ ok: true });
    expect(send(w, "ann", "bob", { text: "c" })).toMatchObject({ code: "inbox_full" });
    expect(inbox(w, "bob").slice(-2)).toEqual(["a unread", "b unread"]);
    expect(inbox(w, "bob")).toHaveLength(inboxMax);
  });

  it("takes nothing back that did not arrive, keeps what is in it, and its session is told all the same", () => {
    const w = world("ann", "bob");
    send(w, "ann", "bob", { text: "lost" });
    fill(w, "ann");
    const { events: said } = w.step({
      type: "session_end",
      session: "bob",
      incarnation: null,
      cause: "ended",
    });
    expect(said).toContainEqual({
      event: expect.objectContaining({ event: "message_undelivered", message: "m-1" }),
      about: ["ann"],
      project: "/p",
    });
    expect(inbox(w, "ann")[0]).toBe("0 unread");
    expect(inbox(w, "ann")).toHaveLength(inboxMax);
    expect([...w.state.messages.all.values()].some(({ text }) => text === "lost")).toBe(false);
  });

  it("of an agent is that one's alone", () => {
    const w = world("ann", "bob");
    fill(w, "bob");
    w.do({ type: "agent_begin", session: "bob", agent: "x1", name: "Explore" });
    expect(send(w, "ann", "Explore")).toMatchObject({ ok: true });
  });
});

describe("how much a session may send", () => {
  const spend = (w: World, from: string | Actor, to: string) => {
    for (let n = 0; n < limits.messageRateMax; n += 1) expect(send(w, from, to)).toMatchObject({ ok: true });
  };
  const refused = { code: "too_many_messages" };

  it("is counted by its id: under another name it may send no more", () => {
    const w = world("ann", "bob");
    spend(w, "ann", "bob");
    for (const name of ["eve", "dan"]) {
      w.begin("ann", { name });
      expect(send(w, "ann", "bob")).toMatchObject(refused);
    }
    w.begin("ann", { project: "/q" });
    w.begin("bob", { project: "/q" });
    expect(send(w, "ann", "bob")).toMatchObject(refused);
  });

  it("is nobody else's who takes the name it had", () => {
    const w = world("bob");
    w.begin("ann", { name: "alice" });
    spend(w, "ann", "bob");
    w.begin("ann", { name: "other" });
    expect(w.begin("cyd", { name: "alice" })).toMatchObject({ name: "alice" });
    spend(w, "cyd", "bob");
    expect(send(w, "ann", "bob")).toMatchObject(refused);
  });

  it("goes on with its process under another id", () => {
    const w = world("bob");
    const anchor = { pid: 7, startTime: "1" };
    w.begin("ann", { anchor });
    spend(w, "ann", "bob");
    w.do({ type: "session_suspend", session: "ann" });
    w.begin("ann-again", { anchor });
    expect(send(w, "ann-again", "bob")).toMatchObject(refused);
    w.pass(limits.messageRateMs);
    expect(send(w, "ann-again", "bob")).toMatchObject({ ok: true });
  });

  it("is one for the session and its agents, and begins anew with no new life of it", () => {
    const w = world("ann", "bob");
    spend(w, { session: "ann", agent: "x1", incarnation: 0 }, "bob");
    expect(send(w, "ann", "bob")).toMatchObject(refused);
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    w.begin("ann");
    expect(send(w, "ann", "bob")).toMatchObject(refused);
  });

  it("of persons is one for each project", () => {
    const w = world("bob");
    w.begin("far", { project: "/q" });
    for (let n = 0; n < limits.messageRateMax; n += 1) send(w, null, "bob");
    expect(send(w, null, "bob")).toMatchObject(refused);
    expect(send(w, null, "far", { project: "/q" })).toMatchObject({ ok: true });
  });
});

describe("bounds", () => {
  it("let a session send so many a minute, and then again", () => {
    const w = world("ann", "bob", "cyd");
    for (let n = 0; n < limits.messageRateMax; n += 1)
      expect(send(w, "ann", "bob")).toMatchObject({ ok: true });
    expect(send(w, "ann", "bob")).toMatchObject({ code: "too_many_messages", retryMs: limits.messageRateMs });
    expect(send(w, "cyd", "bob")).toMatchObject({ ok: true });
    w.pass(limits.messageRateMs);
    expect(send(w, "ann", "bob")).toMatchObject({ ok: true });
    expect([...w.state.messages.sent.keys()]).toEqual(["ann"]);
  });

  it("of an inbox let what was read go, and refuse where nothing was", () => {
    const w = world("ann", "bob");
    for (let n = 0; n < inboxMax; n += 1) {
      send(w, "ann", "bob", { text: String(n) });
      w.pass(limits.messageRateMs / limits.messageRateMax);
    }
    expect(send(w, "ann", "bob")).toMatchObject({ code: "inbox_full" });
    told(w, "bob", take(w, "bob", 1).ids, true);
    take(w, "bob", 0);
    expect(send(w, "ann", "bob")).toMatchObject({ ok: true });
    expect(inbox(w, "bob")[0]).toBe("1 unread");
  });

  it("of all texts likewise", () => {
    const w = world("ann", "bob");
    const bytes = limits.messagesBytes / 2;
    send(w, "ann", "bob", { text: "1", bytes });
    send(w, "ann", "bob", { text: "2", bytes });
    expect(send(w, "ann", "bob", { bytes: 1 })).toMatchObject({ code: "messages_full" });
    told(w, "bob", take(w, "bob", 1).ids, true);
    take(w, "bob", 0);
    expect(send(w, "ann", "bob", { text: "3", bytes: 1 })).toMatchObject({ ok: true });
    expect(inbox(w, "bob")).toEqual(["2 unread", "3 unread"]);
  });
});

it.each([1, 2, 3])(
  "an inbox that is read while messages leave it shows each that stays once (seed %i)",
  seed => {
    const random = new Random(seed);
    const w = begun(new World(), ["ann", "bob"]);
    const text = (n: number) => `${n % 3 === 0 ? "stays" : "goes"} ${n}`;
    const numbers = Array.from({ length: 600 }, (_, n) => n);
    for (const n of numbers) {
      w.now += 61_000;
      send(w, "ann", "bob", { text: text(n) });
    }
    const going = [...w.state.messages.all.values()].filter(one => one.text.startsWith("goes"));
    const shown: string[] = [];
    for (const [message] of lettersOf(w.state.messages, inboxOf(actor("bob")))) {
      shown.push(message.text);
      if (random.chance(0.9)) continue;
      const gone = going.splice(random.int(0, going.length), random.int(1, 40));
      ack(w, "bob", ...gone.map(({ id }) => id));
    }
    expect(going.length).toBeLessThan(200);
    expect(shown.filter(one => one.startsWith("stays"))).toEqual(
      numbers.map(text).filter(one => one.startsWith("stays")),
    );
  },
);
