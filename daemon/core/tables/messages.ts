/** The state's tables of messages and freezes. */

import type { FileNote } from "../../../hooks/seam/slices.ts";
import type { Limits } from "../../../protocol/limits.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { Actor, FileRef, Retry } from "../frame/actors.ts";
import { addToSet, removeFromSet, SortedKeys } from "../frame/collections.ts";
import { paths, Records, sets } from "../frame/records.ts";
import { numberHead, type Preimages, valueList } from "../frame/saved-rows.ts";

export interface Messages {
  readonly limits: Limits;
  readonly preimages: Preimages;
  /** Messages by id, in the order of sending. */
  readonly all: Map<string, Message>;
  /** The number of messages so far; the next id's number is one more. */
  count: number;
  /** Recent sending times (core time, ms) by session, or by project for a person. */
  readonly sent: Map<string, readonly number[]>;
  /** derived: sort keys of all messages (`sortKeyOf`), oldest first. */
  readonly places: SortedKeys;
  /** derived */
  readonly inboxes: Map<string, Inbox>;
  /** derived: keys of inboxes by the session of their agents. */
  readonly bySession: Map<string, Set<string>>;
  /** derived: ids by the session that sent them. */
  readonly bySender: Map<string, Set<string>>;
  /** `Sessions.touched`: the sessions whose letters changed. */
  readonly touched: Set<string>;
  /** derived: sort keys of messages that all recipients have read, and the bytes of their texts. */
  readonly read: SortedKeys;
  readBytes: number;
  /** derived: the bytes of all texts. */
  bytes: number;
}

/** Sort keys of messages (`sortKeyOf`), oldest first: of all, and of those whose letter here is in that state. */
export interface Inbox {
  readonly all: SortedKeys;
  readonly unread: SortedKeys;
  readonly handed: SortedKeys;
  readonly read: SortedKeys;
}

export interface Message {
  readonly id: string;
  /** The number of the message, in the order of sending. */
  readonly order: number;
  readonly project: string;
  /** Null: a person. */
  readonly from: ActorRow | null;
  /** Its letters by the key of their inbox; never empty. */
  readonly letters: ReadonlyMap<string, Letter>;
  /** derived: the number of letters that are not read. */
  open: number;
  readonly text: string;
  readonly bytes: number;
  readonly replyTo: string | null;
  readonly thread: string;
  readonly urgent: boolean;
  readonly broadcast: boolean;
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** A message in one inbox. */
export interface Letter {
  readonly to: ActorRow;
  /**
   * `offered`: an answer under way carries it. `handed`: that answer was delivered; the actor's next event makes it
   * `read`.
   */
  readonly state: "unread" | "offered" | "handed" | "read";
  /** The name of the recipient that a returned message did not reach; else null. */
  readonly undelivered: string | null;
}

/** Files that a broadcast froze for other actors. */
export interface Freeze {
  readonly id: string;
  /** Null: a person. */
  readonly actor: Actor | null;
  readonly by: ActorRow | null;
  readonly project: string;
  readonly files: readonly FileRef[];
  /** The id of the message that asks the others not to edit them; absent below rules 2. */
  readonly message?: string;
  readonly text: string;
  readonly since: number;
  readonly until: number;
}

export const freezeRecords = new Records("all", (freeze: Freeze) => freeze.id, {
  /** The frozen paths, and the ids of the freezes on each. */
  paths: paths(({ files }) => files),
  at: sets(({ files }) => files.map(({ key }) => key)),
  /** Ids by owner (`ownerOf`), and by project. */
  byOwner: sets(freeze => ownerOf(freeze)),
  byProject: sets(({ project }) => project),
});

export interface Freezes extends ReturnType<typeof freezeRecords.empty> {
  /** `Sessions.touched`: the owners whose freezes changed. */
  readonly touched: Set<string>;
  /** The number of freezes so far; the next id's number is one more. */
  count: number;
}

/** Returns the key of a freeze's owner: its session, or the project if a person froze the files. */
export function ownerOf({ actor, project }: Pick<Freeze, "actor" | "project">): string {
  return actor === null ? `\n${project}` : actor.session;
}

export function noFreezes(touched: Set<string>): Freezes {
  return { ...freezeRecords.empty(), touched, count: 0 };
}

export function noMessages(touched: Set<string>, preimages: Preimages, limits: Limits): Messages {
  const [inboxes, bySession, bySender] = [new Map(), new Map(), new Map()];
  const read = new SortedKeys();
  return {
    limits,
    preimages,
    all: new Map(),
    count: 0,
    sent: new Map(),
    places: new SortedKeys(),
    inboxes,
    bySession,
    bySender,
    touched,
    read,
    readBytes: 0,
    bytes: 0,
  };
}

// The log's commands for context, messages, freezes, and the ends of agents.

/** Sets a key's value; `actor` null: a person. `bytes` is the size of the value as JSON. */
export interface ContextSet {
  readonly actor: Actor | null;
  readonly project: string;
  readonly key: string;
  readonly value: JsonValue;
  readonly bytes: number;
  readonly durable: boolean;
  /** The request left open whether the value is durable: a durable key stays that. */
  readonly keeps?: true;
  readonly ifVersion: number | null;
  readonly ttlMs: number | null;
  readonly wallMs: number;
  readonly retry?: Retry;
}

interface ContextDelete {
  readonly actor: Actor | null;
  readonly project: string;
  readonly key: string;
  readonly ifVersion: number | null;
  readonly retry?: Retry;
}

/** The fields of a message and of a broadcast. */
export interface Posted {
  /** Null: a person. */
  readonly actor: Actor | null;
  /** The project that a person writes to; ignored if a session writes, which has its own. */
  readonly project: string;
  readonly text: string;
  /** The size of the text as UTF-8. */
  readonly bytes: number;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface MessageSend extends Posted {
  /** An id, a prefix of one, a name or `everyone`; null: the sender of `replyTo`. */
  readonly to: string | null;
  readonly replyTo: string | null;
  readonly urgent: boolean;
}

/** Writes to every other session; `hold` also freezes files for the others. */
interface Broadcast extends Posted {
  readonly hold: { readonly files: readonly FileRef[]; readonly ttlMs: number } | null;
}

/** A message to sessions of this machine, of the log that it leaves or of Kite itself. `from`: null: a person. */
interface MessageImport {
  readonly project: string;
  readonly from: ActorRow | null;
  readonly to: readonly ActorRow[];
  readonly text: string;
  /** The size of the text as UTF-8. */
  readonly bytes: number;
  readonly urgent: boolean;
  readonly broadcast: boolean;
  /** Wall time in milliseconds when it was sent. */
  readonly at: number;
  readonly retry?: Retry;
}

interface MessageAck {
  readonly actor: Actor;
  readonly messages: readonly string[];
  /** The messages stay in the inbox, as read. */
  readonly read?: true;
  readonly retry?: Retry;
}

/** Notes that somebody read the key's value, so that it stays. */
interface ContextRead {
  readonly project: string;
  readonly key: string;
}

/**
 * Takes up to `max` unread messages for the answer to the actor's event. The messages that earlier answers delivered
 * become read.
 */
interface InboxTake {
  readonly actor: Actor;
  readonly max: number;
  /** The total length of their texts in UTF-16 units; the first message may be longer. */
  readonly chars: number;
}

/** Records whether the answer with these messages reached its client; if not, they are unread again. */
interface InboxTold {
  readonly actor: Actor;
  readonly messages: readonly string[];
  readonly heard: boolean;
}

/** An agent within a session ended: its inbox and its freezes end too. */
export interface AgentEnd {
  readonly actor: Actor;
  /** Another agent stopped it, so the main agent is told of its tasks. */
  readonly stopped?: true;
}

/** Ends the actor's freezes, or those of the whole project if a person asks; with `hold` only that one, with `files` only those over them. */
export interface Resume {
  readonly actor: Actor | null;
  readonly project: string;
  readonly hold: string | null;
  readonly files?: readonly FileRef[];
  readonly retry?: Retry;
}

/** These commands by name. */
export interface TalkCommands {
  context_set: ContextSet;
  context_delete: ContextDelete;
  context_read: ContextRead;
  message_send: MessageSend;
  message_ack: MessageAck;
  message_import: MessageImport;
  inbox_take: InboxTake;
  inbox_told: InboxTold;
  broadcast: Broadcast;
  resume: Resume;
  agent_end: AgentEnd;
}

/** The timers of context and freezes. */
export interface TalkDues {
  context_over: { readonly project: string; readonly key: string; readonly version: number };
  context_unused: { readonly project: string; readonly key: string; readonly version: number };
  edit_hold_over: { readonly hold: string };
}

// The log's commands for notices: what one agent learns of another agent's writes.

/** One of two actors that wrote the same file, with the prompt of its turn if the daemon knows it. */
export interface ConflictSide {
  readonly actor: Actor;
  readonly prompt: string | null;
}

interface NamedSide extends ConflictSide {
  /** The actor's name for people. */
  readonly name: string;
}

/** Two actors wrote the same file within `limits.conflictMs`; the second of `sides` wrote last. */
interface ConflictNoted {
  readonly key: string;
  /** The file's absolute path, unfolded. */
  readonly path: string;
  /** Who wrote it before, and who wrote it now: if that is the same one, it has read what it was told of. */
  readonly sides: readonly [NamedSide, NamedSide];
  /** The lines that the second one changed, for people, if known. */
  readonly lines?: string;
}

/** An answer with these notices reached the agent's client. */
interface NotesTold {
  readonly session: string;
  readonly agent: string | null;
  /** Numbers of notices. */
  readonly notes: readonly number[];
  /** Keys of the merge risks in the answer. */
  readonly risks: readonly string[];
}

/** A notice for an agent of this machine, of what agents of other machines do in a shared project. */
interface NoteGiven {
  readonly session: string;
  readonly agent: string | null;
  readonly note: FileNote;
  /** The matter is over: the notice is taken back, if it did not reach the agent yet. */
  readonly isOver?: true;
}

/** These commands by name. */
export interface NoteCommands {
  conflict_noted: ConflictNoted;
  notes_told: NotesTold;
  note_given: NoteGiven;
}

// Pending notices and reported conflicts.

export interface PendingNotes {
  readonly session: string;
  readonly agent: string | null;
  /** The notices, oldest first; `dropped` counts older ones that were evicted. */
  readonly notes: readonly { readonly n: number; readonly note: FileNote }[];
  readonly dropped: number;
}

/** A conflict that the first side has a notice of. */
export interface Conflict {
  /** The first side and the file's key. */
  readonly id: string;
  readonly sides: readonly [ConflictSide, ConflictSide];
}

/** An agent within a session, in all its terminals. */
export type Whose = Pick<PendingNotes, "session" | "agent">;

/** Returns the key of an agent's pending notices. */
export function noteKey({ session, agent }: Whose): string {
  return agent === null ? session : `${session}\n${agent}`;
}

export const pendingRecords = new Records("pending", (pending: PendingNotes) => noteKey(pending), {
  bySession: sets(({ session }) => session),
});
export const conflictRecords = new Records("conflicts", (conflict: Conflict) => conflict.id, {
  /** By the sessions of their sides. */
  conflictsOf: sets(({ sides }) => sides.map(({ actor }) => actor.session)),
});

type Pending = ReturnType<typeof pendingRecords.empty>;
type Conflicts = ReturnType<typeof conflictRecords.empty>;

/** Pending notices by `noteKey`: the agent with the latest one is last. Reported conflicts, the oldest first. */
export interface Notes extends Pending, Conflicts {
  /** The number of notices so far; the next notice's number is one more. */
  count: number;
}

export function noNotes(): Notes {
  return { ...pendingRecords.empty(), ...conflictRecords.empty(), count: 0 };
}

export const noteRows = {
  head: numberHead("noteCount", "count"),
  lists: {
    notes: valueList(
      (notes: Notes) => notes.pending,
      (notes, pending) => {
        // Earlier programs had notices of one file on two machines.
        const left = pending.notes.filter(({ note }) => (note.what as string) !== "same_file");
        if (left.length > 0) pendingRecords.put(notes, { ...pending, notes: left });
      },
    ),
    conflicts: {
      write: ({ conflicts }: Notes) =>
        [...conflicts.values()].map(({ id, sides }) => [id, { sides }] as const),
      read: (notes: Notes, [id, { sides }]: readonly [string, Pick<Conflict, "sides">]) =>
        conflictRecords.put(notes, { id, sides }),
    },
  },
};

// Letters in their inboxes.

/** Removes a message from one inbox, and altogether if that was the last one. */
export function dropLetter(messages: Messages, message: Message, letter: Letter): void {
  const key = inboxKey(letter.to);
  const place = sortKeyOf(message);
  const inbox = inboxAt(messages, key, letter.to.id);
  inbox.all.delete(place);
  listFor(inbox, letter)?.delete(place);
  if (inbox.all.size === 0) {
    messages.inboxes.delete(key);
    removeFromSet(messages.bySession, letter.to.id, key);
  }
  messages.preimages.writable(message).letters.delete(key);
  messages.touched.add(letter.to.id);
  countOpen(messages, message, letter.state === "read" ? 0 : -1);
  if (message.letters.size > 0) return;
  messages.read.delete(place);
  messages.readBytes -= message.bytes;
  messages.all.delete(message.id);
  messages.places.delete(place);
  messages.bytes -= message.bytes;
  if (message.from !== null) removeFromSet(messages.bySender, message.from.id, message.id);
}

/** Returns the inbox; one that is not there yet is made, for the session of its agent. */
export function inboxAt(messages: Messages, key: string, session: string): Inbox {
  const known = messages.inboxes.get(key);
  if (known !== undefined) return known;
  const [all, unread, handed, read] = [
    new SortedKeys(),
    new SortedKeys(),
    new SortedKeys(),
    new SortedKeys(),
  ];
  const inbox = { all, unread, handed, read };
  messages.inboxes.set(key, inbox);
  addToSet(messages.bySession, session, key);
  return inbox;
}

/** Adds `more` to the message's unread letters, and updates the index of messages that all recipients have read. */
export function countOpen(messages: Messages, message: Message, more: number): void {
  message.open += more;
  const place = sortKeyOf(message);
  const isRead = message.open === 0;
  const changed = isRead ? messages.read.add(place) : messages.read.delete(place);
  if (changed) messages.readBytes += isRead ? message.bytes : -message.bytes;
}

/** Returns the inbox's list for the letter's state; `offered` has none, since lookups of offered letters are by id. */
export function listFor(inbox: Inbox, { state }: Letter): SortedKeys | null {
  return state === "offered" ? null : inbox[state];
}

/** Returns the key of a session's or an agent's inbox. */
export function inboxKey({ id, agent }: Pick<ActorRow, "id" | "agent">): string {
  return agent === null ? id : `${id}\u0000${agent}`;
}

/** Returns the message's sort key, by the order of sending. */
export function sortKeyOf({ order, id }: Pick<Message, "order" | "id">): string {
  return `${order.toString(36).padStart(11, "0")} ${id}`;
}
