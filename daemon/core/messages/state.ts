/** The state's tables of messages and freezes. */

import type { Limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { Actor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import type { Preimages } from "../preimages.ts";
import { paths, Records, sets } from "../records.ts";
import { SortedKeys } from "../sorted-keys.ts";

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
