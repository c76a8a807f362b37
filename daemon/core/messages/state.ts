/** The state's types for context, messages and freezes. */

import type { JsonValue } from "../../../protocol/context.ts";
import type { Limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/lock.ts";
import type { Actor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import { PathIndex } from "../path-index.ts";
import type { Preimages } from "../preimages.ts";
import { SortedKeys } from "../sorted-keys.ts";

export interface ContextTable {
  /** Items by `project\nkey`, in the order of setting. */
  readonly items: Map<string, ContextItem>;
  /** The highest version of any deleted key. */
  versions: number;
  /** derived: the size of all items but verdicts of debates, and the number of those. */
  bytes: number;
  verdicts: number;
  /** derived: the keys of `items`, in order. */
  readonly places: SortedKeys;
  /** derived: by project, sort keys of its items by the time of setting; see `context-index.ts`. */
  readonly lately: Map<string, SortedKeys>;
}

export interface ContextItem {
  readonly project: string;
  readonly key: string;
  readonly value: JsonValue;
  /** The size of the value as JSON. */
  readonly bytes: number;
  /** The actor that set it; null: a person. */
  readonly from: ActorRow | null;
  readonly node: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly durable: boolean;
  /** When it expires (core time, ms), or null. */
  readonly endsAt: number | null;
}

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
export interface Freezes {
  readonly all: Map<string, Freeze>;
  /** `Sessions.touched`: the owners whose freezes changed. */
  readonly touched: Set<string>;
  /** The number of freezes so far; the next id's number is one more. */
  count: number;
  /** derived: the frozen paths, and the ids of the freezes on each. */
  readonly paths: PathIndex;
  readonly at: Map<string, Set<string>>;
  /** derived: ids by owner (`ownerOf`), and by project. */
  readonly byOwner: Map<string, Set<string>>;
  readonly byProject: Map<string, Set<string>>;
}

export interface Freeze {
  readonly id: string;
  /** Null: a person. */
  readonly actor: Actor | null;
  readonly by: ActorRow | null;
  readonly project: string;
  readonly files: readonly FileRef[];
  readonly text: string;
  readonly since: number;
  readonly until: number;
}

export function noContext(): ContextTable {
  const [places, lately] = [new SortedKeys(), new Map()];
  return { items: new Map(), versions: 0, bytes: 0, verdicts: 0, places, lately };
}

export function noFreezes(touched: Set<string>): Freezes {
  const [at, byOwner, byProject] = [new Map(), new Map(), new Map()];
  return { all: new Map(), count: 0, touched, paths: new PathIndex(), at, byOwner, byProject };
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
