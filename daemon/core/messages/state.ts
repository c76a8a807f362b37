/** What agents share and say to each other, as part of the state. */

import type { JsonValue } from "../../../protocol/context.ts";
import type { ActorRow } from "../../../protocol/lock.ts";
import type { Actor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import { PathIndex } from "../path-index.ts";
import { SortedKeys } from "../sorted-keys.ts";

export interface ContextTable {
  /** By `project\nkey`, in the order they were set. */
  readonly items: Map<string, ContextItem>;
  /** The highest version of a key that is no more. */
  versions: number;
  /** derived */
  bytes: number;
}

export interface ContextItem {
  readonly project: string;
  readonly key: string;
  readonly value: JsonValue;
  /** Of the value as JSON. */
  readonly bytes: number;
  /** Who set it; null: a person. */
  readonly from: ActorRow | null;
  readonly node: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly durable: boolean;
  /** When it ends by itself (core time), or null. */
  readonly endsAt: number | null;
}

export interface Messages {
  /** By id, in the order they were sent. */
  readonly all: Map<string, Message>;
  /** Messages so far; the next id is one more. */
  count: number;
  /** When each sender sent lately (core time), by session, or by project for a person. */
  readonly sent: Map<string, readonly number[]>;
  /** derived */
  readonly inboxes: Map<string, Inbox>;
  /** derived: inboxes by the session whose agents they belong to. */
  readonly bySession: Map<string, Set<string>>;
  /** derived: ids by the session that wrote them. */
  readonly bySender: Map<string, Set<string>>;
  /** `Sessions.touched`: letters of a session came, went or changed. */
  readonly touched: Set<string>;
  /** derived: places of those that all have read, and the bytes of their texts. */
  readonly read: SortedKeys;
  readBytes: number;
  /** derived: of all texts. */
  bytes: number;
}

/** Places of messages (`placeOf`), oldest first: all, and those whose letter here is in that state. */
export interface Inbox {
  readonly all: SortedKeys;
  readonly unread: SortedKeys;
  readonly handed: SortedKeys;
  readonly read: SortedKeys;
}

export interface Message {
  readonly id: string;
  /** How many there were with it: ids in the order they were sent. */
  readonly order: number;
  readonly project: string;
  /** Null: a person. */
  from: ActorRow | null;
  /** By the inbox it is in; never empty. */
  readonly letters: Map<string, Letter>;
  /** derived: how many of them are not read. */
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
   * `offered`: it is in an answer that nobody is known to have got. `handed`: in one that its client got; the actor's
   * next event makes it `read`.
   */
  readonly state: "unread" | "offered" | "handed" | "read";
  /** It came back to its sender: whom it did not reach. */
  readonly undelivered: string | null;
}

/** Files that others may not edit for a while, as a broadcast asked. */
export interface EditHolds {
  readonly all: Map<string, EditHold>;
  /** `Sessions.touched` */
  readonly touched: Set<string>;
  /** Holds so far; the next id is one more. */
  count: number;
  /** derived: which paths are on hold, and the ids of the holds on each. */
  readonly paths: PathIndex;
  readonly at: Map<string, Set<string>>;
  /** derived: ids by whose they are (`ownerOf`), and by project. */
  readonly byOwner: Map<string, Set<string>>;
  readonly byProject: Map<string, Set<string>>;
}

export interface EditHold {
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
  return { items: new Map(), versions: 0, bytes: 0 };
}

export function noEditHolds(touched: Set<string>): EditHolds {
  const [at, byOwner, byProject] = [new Map(), new Map(), new Map()];
  return { all: new Map(), count: 0, touched, paths: new PathIndex(), at, byOwner, byProject };
}

export function noMessages(touched: Set<string>): Messages {
  const [inboxes, bySession, bySender] = [new Map(), new Map(), new Map()];
  const read = new SortedKeys();
  return {
    all: new Map(),
    count: 0,
    sent: new Map(),
    inboxes,
    bySession,
    bySender,
    touched,
    read,
    readBytes: 0,
    bytes: 0,
  };
}
