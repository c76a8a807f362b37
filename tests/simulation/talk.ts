/**
 * What the simulated clients say to each other and share, and the rules of it once more, written without the core's
 * indexes.
 */

import type { Actor, FileRef } from "../../daemon/core/frame/actors.ts";
import { lettersOf } from "../../daemon/core/messages/inbox.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { Freeze, Hold } from "../../daemon/core/tables/base-state.ts";
import type { Command, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import { inboxKey } from "../../daemon/core/tables/messages.ts";
import { limits } from "../../protocol/limits.ts";
import type { MessageRow } from "../../protocol/schemas/message.ts";
import type { Random } from "./random.ts";

/** Short enough that unused values are announced, kept by a read, and gone within a run. */
Object.assign(limits, { contextUnusedMs: 1_200_000, contextLeavesMs: 600_000, contextReadMs: 30_000 });

const projects = ["/p", "/q"] as const;
const keys = ["port", "plan", "note", "debate/d-0-1", "debate/d-0-2"] as const;
const agents = ["child", "mate"] as const;

/** An acknowledged message in an inbox: it has to be there until it is acknowledged by its reader, or that one ends. */
interface Sent {
  readonly id: string;
  readonly inbox: string;
  readonly session: string;
  readonly agent: string | null;
  /** The session as it was then; a later one of the same id is another. */
  readonly begun: number;
}

/** What clients were told in all lives, and what they may therefore rely on. */
export class TalkLives {
  readonly #random: Random;
  #said = 0;
  readonly #sent = new Map<string, Sent>();
  /** Messages that reached their readers, by message and inbox, with the entry that says so. */
  readonly #shown = new Map<string, number>();
  /** Durable values that were acknowledged, with their version. */
  readonly #durable = new Map<string, number>();
  /** When each durable value was last written or read, and by which entry. */
  readonly #uses = new Map<string, { readonly seq: number; readonly t: number }>();
  /** The last version of a key that was given out. */
  readonly #versions = new Map<string, number>();
  /** The entry that carried each text first, and when. */
  readonly #texts = new Map<string, { readonly seq: number; readonly t: number }>();
  /** The entry that made each message. */
  readonly #made = new Map<string, number>();
  /** The freezes of messages that ask nobody to edit files. */
  readonly #asking = new Map<string, string>();
  #retried: Command[] = [];
  /** What one asks for right after the command before: more freezes than it may have. */
  readonly #next: Command[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** Something that a client asks for. */
  command(state: State, actor: Actor, files: readonly FileRef[]): Command {
    const next = this.#next.shift();
    if (next !== undefined) return next;
    const roll = this.#random.int(1, 100);
    if (roll <= 35) return this.#send(state, actor);
    if (roll <= 60) {
      const { max, chars } = { max: this.#random.int(0, 3), chars: this.#random.pick([5, 1500]) };
      return { type: "inbox_take", actor: this.#reader(state, actor), max, chars };
    }
    if (roll <= 70) return this.#ack(state, actor);
    if (roll === 71) this.#next.push(this.#broadcast(actor, files), this.#broadcast(actor, files));
    if (roll <= 76) return this.#broadcast(actor, files);
    if (roll <= 80) return this.#resume(state, actor);
    if (roll <= 91) return this.#set(state, actor);
    if (roll <= 94) {
      const name = this.#random.pick(["Explore", "Plan", null]);
      return { type: "agent_begin", session: actor.session, agent: this.#random.pick(agents), name };
    }
    if (roll <= 97) {
      const ifVersion = this.#random.pick([null, null, 1]);
      // Without a further roll, as below.
      const read = { type: "context_read", project: "/p", key: this.#random.pick(keys) } as const;
      if (state.seq % 2 === 0) return read;
      return { type: "context_delete", actor, project: "/p", key: this.#random.pick(keys), ifVersion };
    }
    const agent = this.#random.pick(agents);
    // Another agent stops one of them now and then.
    const stopped = state.seq % 2 === 0 ? ({ stopped: true } as const) : {};
    return { type: "agent_end", actor: { ...actor, agent }, ...stopped };
  }

  /** A client hears an answer, or is not there any more; returns what it, or the daemon for it, says then. */
  heard(state: State, command: Command, reply: Reply, isThere: boolean): Command | null {
    if (!reply.ok) return null;
    if (command.type === "inbox_take") {
      const messages = rowsIn(reply).map(({ id }) => id);
      if (messages.length === 0) return null;
      return { type: "inbox_told", actor: command.actor, messages, heard: isThere };
    }
    if (!isThere) return null;
    if (command.type === "message_send" || command.type === "broadcast") this.#rely(state, reply);
    if (command.type === "context_set" && command.durable && command.ttlMs === null) {
      const version = Number(reply["version"]);
      // It may have been replaced since the answer was made.
      const now = state.context.items.get(placeOf(command));
      if (now?.version === version) this.#durable.set(placeOf(command), version);
    }
    return null;
  }

  /** Everything that is wrong after an entry; `granted` are the locks it granted. */
  *observe(
    state: State,
    entry: Entry,
    step: Step,
    granted: readonly Hold[],
    touched: ReadonlySet<TableName>,
  ): Generator<string, void> {
    const { command } = entry;
    const { reply } = step;
    yield* this.#unused(state, entry, reply);
    this.#discharge(state, command, reply);
    if (touched.has("messages")) yield* this.lost(state);
    if (command.type === "inbox_take" && reply?.ok) yield* this.#twice(state, command.actor, reply);
    if (command.type === "inbox_told" && reply?.ok) this.#noteTold(state, command, entry.seq);
    if (command.type === "message_send" && reply?.ok) yield* this.#doubled(state, command.text, entry);
    if (command.type === "context_set" && reply?.ok) yield* this.#version(placeOf(command), reply);
    if (command.type === "daemon_started" && reply?.ok) yield* volatileLeft(state);
    const made = reply?.ok && "message" in reply ? idIn(reply["message"]) : null;
    // The answer to a retry names a message that was made before.
    const isNew = made !== null && [...state.messages.all.keys()].at(-1) === made;
    if (made !== null && isNew && !this.#made.has(made)) this.#made.set(made, entry.seq);
    this.#noteAsking(state, command, reply);
    if (touched.has("messages")) {
      yield* this.#withdrawn(state);
      yield* strangers(state);
      yield* this.#order(state);
    }
    for (const hold of granted) yield* grantedOnHold(state, hold);
  }

  /** What clients may rely on and is not there. */
  *lost(state: State): Generator<string, void> {
    for (const { id, inbox } of this.#sent.values()) {
      if (!isIn(state, id, inbox)) yield `message ${id} to ${inbox} was acknowledged and is lost`;
    }
    for (const [place, version] of this.#durable) {
      const now = state.context.items.get(place)?.version ?? 0;
      if (now < version) yield `durable ${place.replace("\n", " ")} was acknowledged and is lost`;
    }
  }

  /** A life has ended; what it did in the end, and nobody saw, is among `entries`. */
  restarted(entries: readonly Entry[], state: State): void {
    for (const { command, seq } of entries) {
      this.#discharge(state, command, { ok: true });
      if (command.type === "inbox_told") this.#noteTold(state, command, seq, true);
    }
    for (const [place, { seq }] of this.#uses) if (seq > state.seq) this.#uses.delete(place);
    for (const [place, seq] of this.#shown) if (seq > state.seq) this.#shown.delete(place);
    for (const [text, { seq }] of this.#texts) if (seq > state.seq) this.#texts.delete(text);
    for (const [id, seq] of this.#made) if (seq > state.seq) this.#made.delete(id);
    for (const id of this.#asking.keys()) if (!this.#made.has(id)) this.#asking.delete(id);
    // A power cut may have taken versions away that nobody was promised.
    this.#versions.clear();
  }

  /** What must be over once everything due has been proposed and delivered. */
  *overdue({ context, freezes, t }: State): Generator<string, void> {
    for (const { id, until } of freezes.all.values()) if (until < t) yield `${id} outlives its time`;
    for (const { key, endsAt, usedAt = t, leavesAt } of context.items.values()) {
      if (endsAt !== null && endsAt < t) yield `${key} outlives its time`;
      if ((leavesAt ?? usedAt + limits.contextUnusedMs) < t)
        yield `${key}, which nobody uses, outlives its time`;
    }
  }

  /** A durable value goes only when nobody used it for long; reads shortly after a use need not count. */
  *#unused(state: State, { seq, command }: Entry, reply: Reply | null): Generator<string, void> {
    if (!reply?.ok) return;
    const { t } = state;
    if (command.type === "context_set" || command.type === "context_read")
      this.#uses.set(placeOf(command), { seq, t });
    if (command.type !== "elapse" || command.due.what !== "context_unused") return;
    const place = placeOf(command.due);
    if (state.context.items.has(place)) return;
    const { contextUnusedMs, contextLeavesMs, contextReadMs } = limits;
    const used = this.#uses.get(place)?.t ?? 0;
    if (t - used < contextUnusedMs + contextLeavesMs - contextReadMs)
      yield `durable ${place.replace("\n", " ")} went ${t - used} ms after somebody used it`;
    this.#durable.delete(place);
  }

  #rely(state: State, reply: Reply): void {
    const { message } = reply as unknown as { message: { id: string; to: MessageRow["to"][] } };
    for (const to of message.to) {
      const inbox = inboxKey(to);
      const begun = state.sessions.live.get(to.id)?.begun;
      // What happened to it since the answer was made is seen by the entries that did it.
      if (begun === undefined || !isIn(state, message.id, inbox)) continue;
      const sent = { id: message.id, inbox, session: to.id, agent: to.agent, begun };
      this.#sent.set(`${message.id} ${inbox}`, sent);
    }
  }

  /** Forgets what the command ends. */
  #discharge(state: State, command: Command, reply: Reply | null): void {
    if (command.type === "message_ack" && reply?.ok) {
      for (const id of command.messages) this.#sent.delete(`${id} ${inboxOf(command.actor)}`);
    }
    if (command.type === "agent_end") {
      for (const [place, { inbox }] of this.#sent)
        if (inbox === inboxOf(command.actor)) this.#sent.delete(place);
    }
    for (const [place, { id }] of this.#sent) if (this.#isOver(state, id)) this.#sent.delete(place);
    for (const [place, { session, begun }] of this.#sent) {
      if (state.sessions.live.get(session)?.begun !== begun) this.#sent.delete(place);
    }
    const isOver = command.type === "elapse" && command.due.what === "context_over";
    if (command.type === "context_delete" || command.type === "context_set")
      this.#durable.delete(placeOf(command));
    if (isOver) this.#durable.delete(placeOf(command.due));
  }

  #noteAsking({ rules }: State, command: Command, reply: Reply | null): void {
    if (command.type !== "broadcast" || command.hold === null || !reply?.ok || rules < 2) return;
    const [message, hold] = [idIn(reply["message"]), holdIn(reply["hold"])];
    if (message !== null && hold !== null) this.#asking.set(message, hold);
  }

  /** Whether the message asked not to edit what is no longer frozen. */
  #isOver({ freezes }: State, id: string): boolean {
    const hold = this.#asking.get(id);
    return hold !== undefined && !freezes.all.has(hold);
  }

  /** Nobody is asked to leave files alone that are not frozen any more. */
  *#withdrawn(state: State): Generator<string, void> {
    for (const { id, letters } of state.messages.all.values()) {
      if (!this.#isOver(state, id)) continue;
      for (const [inbox, letter] of letters)
        if (letter.state === "unread" || letter.state === "offered")
          yield `${id} asks ${inbox} not to edit what is no longer frozen`;
    }
  }

  *#twice(state: State, actor: Actor, reply: Reply): Generator<string, void> {
    for (const { id, undelivered } of rowsIn(reply)) {
      if (this.#shown.has(shownAs(state, id, actor, undelivered)))
        yield `${id} was shown twice to ${inboxOf(actor)}`;
    }
  }

  #noteTold(
    state: State,
    { actor, messages, heard }: Command & { readonly type: "inbox_told" },
    seq: number,
    isPast = false,
  ): void {
    for (const id of heard ? messages : []) {
      const inbox = inboxOf(actor);
      const letter = state.messages.all.get(id)?.letters.get(inbox);
      // By now it may have come back anew, for another recipient: of that letter nobody was told.
      if (isPast && letter?.state !== "handed" && letter?.state !== "read") continue;
      if (letter !== undefined) this.#shown.set(shownAs(state, id, actor, letter.undelivered), seq);
    }
  }

  /** What was sent again within ten minutes is not carried out again. */
  *#doubled(state: State, text: string, { seq }: Entry): Generator<string, void> {
    const last = [...state.messages.all.values()].at(-1);
    const before = this.#texts.get(text);
    const isNew = last?.text === text && this.#made.get(last.id) === undefined;
    if (!isNew) return;
    this.#texts.set(text, { seq, t: state.t });
    if (before !== undefined && before.t + limits.replyKeptMs > state.t) yield `"${text}" was sent twice`;
  }

  *#version(place: string, reply: Reply): Generator<string, void> {
    const version = Number(reply.ok && reply["version"]);
    const before = this.#versions.get(place) ?? 0;
    if (version <= before) yield `${place.replace("\n", " ")} got version ${version} after ${before}`;
    this.#versions.set(place, version);
  }

  /** In an inbox the texts of one sender stand in the order in which the log took them. */
  *#order({ messages }: State): Generator<string, void> {
    for (const inbox of messages.inboxes.keys()) {
      const last = new Map<string, number>();
      for (const [{ id, from }] of lettersOf(messages, inbox)) {
        const seq = this.#made.get(id);
        if (seq === undefined) continue;
        const by = from?.id ?? "";
        if (seq < (last.get(by) ?? 0)) yield `${id} stands behind a later message of ${by} to ${inbox}`;
        last.set(by, seq);
      }
    }
  }

  #send(state: State, actor: Actor): Command {
    const random = this.#random;
    if (this.#retried.length > 0 && random.chance(0.15)) return random.pick(this.#retried.slice(-5));
    this.#said += 1;
    const text = `said ${this.#said}`;
    const to = random.pick([
      "ann",
      "bob",
      "cyd",
      "d",
      "eve",
      "fay",
      "alice",
      "Explore",
      "ann/Explore",
      "everyone",
      null,
    ]);
    const replyTo =
      to === null || random.chance(0.2) ? random.pick(["m-none", ...state.messages.all.keys()]) : null;
    const command: Command = {
      type: "message_send",
      actor: random.chance(0.9) ? actor : null,
      project: random.pick(projects),
      to,
      text,
      bytes: text.length,
      replyTo,
      urgent: random.chance(0.1),
      wallMs: 0,
    };
    if (random.chance(0.7)) return command;
    const retried = {
      ...command,
      retry: { by: actor.session, requestId: `m${random.bits()}`, digest: "body" },
    };
    this.#retried.push(retried);
    return retried;
  }

  /** Mostly somebody who has messages. */
  #reader(state: State, actor: Actor): Actor {
    const rows = [...state.messages.all.values()].flatMap(({ letters }) =>
      [...letters.values()].map(letter => letter.to),
    );
    if (rows.length === 0 || this.#random.chance(0.2)) return actor;
    const { id, agent } = this.#random.pick(rows);
    return { session: id, agent, incarnation: 0 };
  }

  #ack(state: State, actor: Actor): Command {
    const reader = this.#reader(state, actor);
    const known = [...lettersOf(state.messages, inboxOf(reader))].map(([{ id }]) => id);
    const ids = known.length === 0 ? ["m-none"] : known;
    const messages = ids.slice(0, this.#random.int(1, 3));
    return { type: "message_ack", actor: reader, messages };
  }

  #broadcast(actor: Actor, files: readonly FileRef[]): Command {
    const random = this.#random;
    this.#said += 1;
    const text = `said ${this.#said}`;
    const hold = random.chance(0.8)
      ? { files: [random.pick(files)], ttlMs: random.pick([1000, 60_000]) }
      : null;
    const by = random.chance(0.9) ? actor : null;
    return { type: "broadcast", actor: by, project: "/p", text, bytes: text.length, hold, wallMs: 0 };
  }

  #resume(state: State, actor: Actor): Command {
    const random = this.#random;
    const hold = random.chance(0.5) ? random.pick(["h-none", ...state.freezes.all.keys()]) : null;
    const by = random.chance(0.7) ? actor : null;
    const [frozen] = [...state.freezes.all.values()].at(-1)?.files ?? [];
    // Without a further roll: what all seeds do stays what it is.
    const files = hold === null && frozen !== undefined && state.seq % 3 === 0 ? { files: [frozen] } : {};
    return { type: "resume", actor: by, project: random.pick(projects), hold, ...files };
  }

  #set(state: State, actor: Actor): Command {
    const random = this.#random;
    this.#said += 1;
    const key = random.pick(keys);
    const version = state.context.items.get(`/p\n${key}`)?.version ?? 0;
    return {
      type: "context_set",
      actor: random.chance(0.8) ? actor : null,
      project: "/p",
      key,
      value: { said: this.#said },
      bytes: 12,
      durable: random.chance(0.5),
      ifVersion: random.pick([null, null, version, 1]),
      ttlMs: random.chance(0.2) ? random.int(1, 60_000) : null,
      wallMs: 0,
    };
  }
}

/** What was in memory alone is gone with the daemon. */
function* volatileLeft({ context }: State): Generator<string, void> {
  for (const { key, durable } of context.items.values()) if (!durable) yield `${key} outlives its daemon`;
}

/** A message stays in its project, but for a session that moved to another one since. */
function* strangers({ messages, sessions }: State): Generator<string, void> {
  for (const { id, letters } of messages.all.values()) {
    for (const { to } of letters.values())
      if (!sessions.live.has(to.id)) yield `${id} waits for ${to.id}, who is gone`;
  }
}

/** Nobody but the asker and its descendants is granted what is frozen. */
function* grantedOnHold(state: State, lock: Hold): Generator<string, void> {
  const project = state.sessions.live.get(lock.actor.session)?.project;
  for (const hold of state.freezes.all.values()) {
    if (hold.project !== project || hold.until <= state.t || isFamily(hold, lock)) continue;
    const isOver = (a: FileRef, b: Pick<FileRef, "key" | "dir">) =>
      a.key === b.key || (a.dir && b.key.startsWith(`${a.key}/`)) || (b.dir && a.key.startsWith(`${b.key}/`));
    if (hold.files.some(file => isOver(file, lock)))
      yield `${lock.key} was granted while ${hold.id} holds it`;
  }
}

function isFamily({ actor }: Freeze, lock: Hold): boolean {
  if (actor === null || actor.session !== lock.actor.session) return false;
  if (actor.incarnation !== lock.actor.incarnation) return false;
  return actor.agent === lock.actor.agent || lock.ancestors.includes(actor.agent);
}

/** A message that comes back from several whom it did not reach is shown for each. */
/** One life of an inbox: a session that begins anew under an old id may inherit what another one was not shown. */
function shownAs(state: State, id: string, actor: Actor, undelivered: string | null): string {
  const begun = state.sessions.live.get(actor.session)?.begun ?? "";
  return `${id} ${inboxOf(actor)} ${begun} ${undelivered ?? ""}`;
}

function isIn({ messages }: State, id: string, inbox: string): boolean {
  return messages.all.get(id)?.letters.has(inbox) ?? false;
}

function inboxOf({ session, agent }: Actor): string {
  return inboxKey({ id: session, agent });
}

function placeOf({ project, key }: { readonly project: string; readonly key: string }): string {
  return `${project}\n${key}`;
}

function idIn(message: unknown): string | null {
  return typeof message === "object" && message !== null && "id" in message ? String(message.id) : null;
}

function holdIn(hold: unknown): string | null {
  return typeof hold === "object" && hold !== null && "hold" in hold ? String(hold.hold) : null;
}

function rowsIn(reply: Reply): readonly MessageRow[] {
  return reply.ok && Array.isArray(reply["messages"]) ? reply["messages"] : [];
}
