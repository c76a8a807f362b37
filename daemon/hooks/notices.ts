/**
 * Which notices are in answers in flight. The state keeps a notice until an answer with it is delivered; here it goes
 * into one answer at a time. In memory only: after a restart no answer is in flight.
 */

import type { MergeNote } from "../../hooks/seam/outcomes.ts";
import type { FileNote } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/frame/actors.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import type { State } from "../core/state.ts";
import type { Session } from "../core/tables/base-state.ts";
import { noteKey, type Whose } from "../core/tables/messages.ts";
import { sideRow } from "../core/work/dirty-files.ts";
import { type Logs, logOfSession } from "../engine/log-view.ts";

/** Tells the parts of one hook answer whether that answer reached its client. */
export class Delivery {
  readonly #waiting: ((isDelivered: boolean) => void)[] = [];
  readonly #isTold: boolean;
  #heard: boolean | null = null;

  /** `isTold`: false if the answer will carry no words, as where Kite only observes. */
  constructor(isTold = true) {
    this.#isTold = isTold;
  }

  /**
   * Calls `settled` once: with true if the client got the answer, with false if it did not. A part that comes after the
   * answer was sent is not in it, so its `settled` is called with false at once.
   */
  whenSettled(settled: (isDelivered: boolean) => void): void {
    if (this.#heard === null) this.#waiting.push(settled);
    else settled(false);
  }

  /** The same of words in the answer: `settled` is called with true if the agent got them. */
  whenTold(settled: (isDelivered: boolean) => void): void {
    this.whenSettled(isDelivered => settled(isDelivered && this.#isTold));
  }

  /** Records whether the answer reached its client and calls each `settled`. */
  readonly settle = (isDelivered: boolean): void => {
    this.#heard = isDelivered;
    for (const settled of this.#waiting.splice(0)) settled(isDelivered);
  };
}

/** One kind of notice. */
interface Kind<Reader, Id, Notice> {
  keyOf(reader: Reader): string;
  /** The reader's undelivered notices, the oldest first. */
  pendingOf(state: State, reader: Reader): readonly { readonly id: Id; readonly notice: () => Notice }[];
  /** At most so many in one answer. */
  readonly most: number;
}

/** Remembers the `limits.notedActorsMax` readers that were offered a notice last. */
export class Notices<Reader, Id, Notice> {
  readonly #kind: Kind<Reader, Id, Notice>;
  /** By the reader's key: notices in an answer in flight, or delivered with one. */
  readonly #offered = new BoundedMap<string, ReadonlySet<Id>>({ entriesMax: limits.notedActorsMax });

  constructor(kind: Kind<Reader, Id, Notice>) {
    this.#kind = kind;
  }

  /** Takes the reader's notices. Each is taken once, unless it is restored. */
  take(state: State, reader: Reader): { readonly notes: readonly Notice[]; readonly ids: readonly Id[] } {
    const key = this.#kind.keyOf(reader);
    const before = this.#offered.get(key);
    const pending = this.#kind.pendingOf(state, reader);
    const taken = pending.filter(({ id }) => !before?.has(id)).slice(0, this.#kind.most);
    const ids = taken.map(({ id }) => id);
    // A notice that is not pending any more need not be remembered.
    const offered = new Set(ids);
    for (const { id } of pending) if (before?.has(id)) offered.add(id);
    if (offered.size > 0) this.#offered.set(key, offered);
    else this.#offered.delete(key);
    return { notes: taken.map(({ notice }) => notice()), ids };
  }

  /** Whether a notice is in an answer in flight, or was delivered with one. */
  isOffered(reader: Reader, id: Id): boolean {
    return this.#offered.get(this.#kind.keyOf(reader))?.has(id) === true;
  }

  /** Whether the reader was offered a notice that may have ended since. */
  has(reader: Reader): boolean {
    return this.#offered.has(this.#kind.keyOf(reader));
  }

  /** Takes notices for this delivery's answer; `delivered` is called with them when the reader got the answer. */
  offer(
    state: State,
    reader: Reader,
    delivery: Delivery,
    delivered: (ids: readonly Id[]) => void,
  ): readonly Notice[] {
    const { notes, ids } = this.take(state, reader);
    if (ids.length === 0) return notes;
    delivery.whenTold(isDelivered => {
      if (isDelivered) delivered(ids);
      else this.restore(reader, ids);
    });
    return notes;
  }

  /** Offers notices again whose answer was not delivered. */
  restore(reader: Reader, ids: readonly Id[]): void {
    const key = this.#kind.keyOf(reader);
    const left = [...(this.#offered.get(key) ?? [])].filter(id => !ids.includes(id));
    this.#offered.set(key, new Set(left));
  }
}

/** Notes of an agent, by number. */
export const fileNotes: Kind<Whose, number, FileNote> = {
  keyOf: noteKey,
  pendingOf: (state, of) =>
    state.notes.pending.get(noteKey(of))?.notes.map(({ n, note }) => ({ id: n, notice: () => note })) ?? [],
  most: limits.fileNotesMax,
};

/** Merge risks of a session, by their keys in the state. */
export const mergeRisks: Kind<string, string, MergeNote> = {
  keyOf: session => session,
  pendingOf: (state, session) =>
    [...(state.risksOf.get(session) ?? [])].flatMap(id => {
      const risk = state.risks.get(id);
      if (risk === undefined || risk.told.includes(session)) return [];
      const [a, b] = risk.sides;
      const [own, other] = a.actor.session === session ? [a, b] : [b, a];
      const notice = (): MergeNote => {
        const { name, worktree, branch } = sideRow(state, other);
        return { file: risk.file, own: own.worktree, name, worktree, branch };
      };
      return { id, notice };
    }),
  most: limits.mergeRisksTold,
};

/** That Kite stopped a tool of a session: its person is told of the first time. */
export const firstDenials: Kind<string, "first", true> = {
  keyOf: session => session,
  pendingOf: () => [{ id: "first", notice: () => true }],
  most: 1,
};

/** A session in one of its terminals. */
interface Terminal {
  readonly session: Session;
  /** The ordinal of the incarnation in it. */
  readonly ordinal: number;
}

/** The number of terminals in which the session is open. Each terminal is told once for each set of terminals. */
export const terminalCounts: Kind<Terminal, "open", number> = {
  keyOf: ({ session: { id, incarnations }, ordinal }) =>
    [id, ordinal, ...incarnations.map(({ begun }) => begun)].join(" "),
  pendingOf: (_state, { session: { incarnations } }) =>
    incarnations.length < 2 ? [] : [{ id: "open", notice: () => incarnations.length }],
  most: 1,
};

// Whether anything waits to be told to an agent: at nearly every event nothing does, and this look is all.

export class Pending {
  /** Agents that a slice has something for, besides what the state has. */
  readonly #readers = new BoundedMap<string, true>({ entriesMax: limits.notedActorsMax });

  /** A slice has something for the agent, until it says that it has no more. */
  add(reader: Whose): void {
    this.#readers.set(noteKey(reader), true);
  }

  drop(reader: Whose): void {
    this.#readers.delete(noteKey(reader));
  }

  /** Whether a message, a note, a second terminal or a slice may have something for the agent. */
  has(logs: Logs, actor: Actor): boolean {
    const { session } = actor;
    const { notes, messages, sessions } = logs.state;
    return (
      notes.bySession.has(session) ||
      (sessions.live.get(session)?.incarnations.length ?? 0) > 1 ||
      (messages.inboxes.size > 0 && messages.inboxes.has(inboxOf(actor))) ||
      // Where nothing is shared, nothing more is looked at.
      (logs.logs.length > 1 && isInShared(logs, actor)) ||
      (this.#readers.size > 0 && this.#readers.has(noteKey(actor)))
    );
  }
}

/** Whether the log of the agent's project has a message for it. */
function isInShared(logs: Logs, actor: Actor): boolean {
  const log = logOfSession(logs, actor.session);
  return log.state.messages.inboxes.has(inboxOf(log.actor(actor)));
}
