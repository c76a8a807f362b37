/** The wire of the store that several machines share: what it is, what this machine shares in it, and the ways in and out. */

import * as z from "zod";
import { once, type RequestTable, repeatable, reply } from "../request-table.ts";
import { baseShape, idSchema, pathSchema } from "./session.ts";

/** Returns the store, its nodes, what this machine shares, and what it does not, and why. */
const storeShowSchema = z.object({
  ...baseShape,
  /** An absolute directory, whose project is looked at besides those of live sessions. */
  cwd: pathSchema.optional(),
});

/**
 * Shares the project of a directory: copies its open tasks and its durable context into the store, and removes them here. Only
 * for a person. Refused by `store_none`, `store_away`, `store_project`, `store_busy`; what was copied before a refusal stays,
 * and the request may be sent again.
 */
const storeShareSchema = z.object({
  ...baseShape,
  /** An absolute directory in the project. */
  cwd: pathSchema,
  /** Only says what would be shared. */
  dryRun: z.boolean().optional(),
  /** The name that the person said yes to: another one now is refused, since agents may write what names a project. */
  as: idSchema.optional(),
});

/**
 * Takes back what is open in the shared projects, and leaves the store. Only for a person. Refused by `store_none`,
 * `store_away`, `store_busy`; it may be sent again.
 */
const storeLeaveSchema = z.object({
  ...baseShape,
  dryRun: z.boolean().optional(),
  /** Leaves although the store does not answer: with what this daemon knows of it, and without telling it. */
  away: z.boolean().optional(),
});

/** Gives this home an id of its own in the store, from the daemon's next start. Only for a person. */
const storeRejoinSchema = z.object({ ...baseShape });

/** How the store is; times are wall time in milliseconds. */
export interface StoreRow {
  /** `user@host/database`, without a password. */
  readonly where: string;
  /** `opening`: this daemon has not reached it yet; `refused`: it answers, and does not take this node. */
  readonly is: "open" | "opening" | "away" | "refused";
  /** Since when it is away. */
  readonly since: number | null;
  /** As of when tasks and messages are known while it is not open; absent: as of `since`, or not at all. */
  readonly asOf?: number;
  /** Why it is not open; null: it is, or nothing is known yet. */
  readonly why: string | null;
  /** Of a store that refuses: the refusal's code. */
  readonly code?: string;
  /** When this machine last saw that the store lacks what it had before; null: never since the daemon began. */
  readonly wentBackAt: number | null;
  /** When this daemon undid a leave that had broken off; absent: never. */
  readonly leaveUndoneAt?: number;
  /** Stored rows that no machine of this version could have written, and that are left out: some of them, each with why. Absent: none. */
  readonly unfit?: readonly string[];
  /** The server tells of no changes, as behind some poolers, so Kite looks each second. Absent: it tells. */
  readonly polls?: true;
  /** What is left here of shared projects: it moves by itself while the store is open. Absent: nothing. */
  readonly unmoved?: UnmovedRow;
  /** This node's id, and what the store calls this machine; null: not known yet. */
  readonly node: string;
  readonly machine: string | null;
  /** Kite is off somewhere, or only observes, so not all edits are coordinated now. Absent: they are. Events do not say it. */
  readonly uncoordinated?: true;
}

/** What is not in the store yet. Nobody can claim or read it meanwhile. */
export interface UnmovedRow {
  /** The projects' names in the store, at most `storeRowsMax`. */
  readonly projects: readonly string[];
  /** Open tasks. */
  readonly tasks: number;
  /** Durable context keys. */
  readonly context: number;
  /** Why the last try failed; null: none did yet. */
  readonly why: string | null;
}

/** What a reply to a read of tasks, messages, context or debates has, too, while the store does not answer. */
export interface StoreStale {
  /** Wall time in milliseconds as of which those of shared projects are known; null: nothing of them is. Absent: as of now. */
  readonly storeAsOf?: number | null;
}

export interface StoreNodeRow {
  readonly node: string;
  readonly machine: string;
  readonly isThis: boolean;
  /** `away`: no sign of life for `limits.nodeAwayMs`; `gone`: for its own `storeGoneMs`, so its claims are free. */
  readonly is: "here" | "away" | "gone";
  /** Milliseconds since its last sign of life, as this machine knows. */
  readonly renewedAgoMs: number;
  /** Its program's. */
  readonly version: string;
  readonly sessions: number;
}

/** The store as screens show it, in one row of `query`: with its machines, this one first. */
export interface StoreState extends StoreRow {
  readonly nodes: readonly Pick<StoreNodeRow, "machine" | "is">[];
}

/**
 * The store is open, away or refused now and was something else, or a machine came, fell silent, is gone, is back, or left. It is about no
 * project and no session: a subscription that names one does not get it. It is not in the log, so it has no cursor.
 */
export interface StoreEvent {
  readonly event: "store_changed";
  readonly store: StoreState;
}

interface SharedProjectRow {
  /** As this machine calls it. */
  readonly project: string;
  /** The name that machines know it by. */
  readonly as: string;
}

/** A project that stays on this machine. */
export interface LocalProjectRow {
  readonly project: string;
  /** The name that it would be shared by; null: it has none, and `why` says why not. */
  readonly name: string | null;
  readonly why: string | null;
}

/** Nodes and projects in one reply; further ones are left out. */
export const storeRowsMax = 100;

export interface StoreShowReply {
  readonly ok: true;
  /** Null: no store is set. */
  readonly store: StoreRow | null;
  /** At most `storeRowsMax`, this machine first. */
  readonly nodes: readonly StoreNodeRow[];
  /** At most `storeRowsMax`; without a store those that wait for one, since nobody left it. */
  readonly projects: readonly SharedProjectRow[];
  readonly local: readonly LocalProjectRow[];
}

/** What is or would be copied. */
export interface CopyRow {
  readonly tasks: number;
  readonly context: number;
  /** Messages that nobody has read: at a share they are read where they are, at a leave they come along. */
  readonly unread: number;
}

/** What a copy changed; each list has at most `storeRowsMax`. */
export interface CopyNotes {
  /** Tasks that have another number there. */
  readonly numbers: readonly RenumberedRow[];
  /** Keys that had another value there, and under which key this one is kept. */
  readonly keys: readonly { readonly key: string; readonly as: string }[];
  /** Ids of tasks that agents of this machine worked on, and that they do not have now. */
  readonly released: readonly string[];
  /** Changes of this machine that the store does not have: it has another one, or refused them. */
  readonly leftOut: readonly LeftOutRow[];
  /** What the store had when this machine left it, and did not have any more: it has it again. */
  readonly returns: readonly ReturnRow[];
  /** What was removed here since this machine left, and is still in the store. */
  readonly stays: readonly ReturnRow[];
  /** How many rows a list would have besides. Absent, or without that list: none. */
  readonly more?: Partial<Record<Exclude<keyof CopyNotes, "more">, number>>;
}

interface RenumberedRow {
  readonly task: string;
  readonly before: number;
  readonly after: number;
  /** The project's name in the store. Absent: the reply is about one project. */
  readonly project?: string;
}

/** A task, by its number in the store, or a key. */
export type ReturnRow = { readonly task: string; readonly number: number } | { readonly key: string };

export interface LeftOutRow {
  readonly task: string;
  /** Its number in the store. */
  readonly number: number;
  readonly fields: readonly LeftOutField[];
}

export type LeftOutField = "description" | "priority" | "labels" | "needs" | "risk" | "status" | "result";

export interface StoreShareReply extends CopyRow, SharedProjectRow, CopyNotes {
  readonly ok: true;
  /** It was shared before. */
  readonly wasShared: boolean;
}

export interface StoreLeaveReply extends CopyRow, CopyNotes {
  readonly ok: true;
  readonly projects: readonly SharedProjectRow[];
  /** The store knows that this machine left; false: it does not answer, or this only says what would be done. */
  readonly told: boolean;
  /**
   * For a leave that does not ask the store: wall time in milliseconds as of which the store is known. Null: nothing of
   * it is known, so nothing comes back. Absent: as of now.
   */
  readonly storeAsOf?: number | null;
  /** An earlier request left it already: nothing was copied now. Absent: none did. */
  readonly leftBefore?: true;
  /** What comes back while agents of other machines work on it in the store. Absent: nothing. */
  readonly others?: OthersWork;
}

interface OthersWork {
  readonly count: number;
  /** At most `storeRowsMax`. `number`: before the copy that of the store, behind it that of this machine. */
  readonly tasks: readonly { readonly task: string; readonly number: number; readonly agent: string }[];
}

interface StoreRejoinReply {
  readonly ok: true;
  readonly node: string;
}

export const storeRequests = {
  store_show: { params: storeShowSchema, reply: reply<StoreShowReply>(), traits: repeatable },
  store_share: { params: storeShareSchema, reply: reply<StoreShareReply>(), traits: once },
  store_leave: { params: storeLeaveSchema, reply: reply<StoreLeaveReply>(), traits: once },
  store_rejoin: { params: storeRejoinSchema, reply: reply<StoreRejoinReply>(), traits: once },
} as const satisfies RequestTable;
