/** The wire of the daemon itself: hello, query, subscribe, stats, shutdown. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { always, type RequestTable, repeatable, reply } from "../request-table.ts";
import { mountsSchema } from "./hook.ts";
import { baseShape, idSchema, type OkReply, pathSchema } from "./session.ts";
import { taskFilterShape } from "./task.ts";

export const queryTargets = [
  "sessions",
  "locks",
  "writes",
  "risks",
  "tasks",
  "task_ready",
  "task_blocked",
  "task_watched",
  "client_tasks",
  "teams",
  "declarations",
  "declarations_ended",
  "context",
  "messages",
  "messages_acknowledged",
  "holds",
  "elsewhere",
  "store",
  "checks",
  "spawns",
  "merges",
  "merges_elsewhere",
  "gates",
  "versions",
  "wipes",
  "unkept",
  "transcripts",
  "refusals",
  "stats",
] as const;
export type QueryTarget = (typeof queryTargets)[number];

/** Says who the client is, and asks which daemon answers. No other request needs it. */
const helloSchema = z.object({
  ...baseShape,
  protocol: z.number().int().optional(),
  client: idSchema.optional(),
  /** The text of `person.token`: what this connection asks without `id` counts as a person's. Another text counts as none. */
  person: idSchema.optional(),
  /** This connection only looks on: for it alone the daemon does not stay. */
  onlooker: z.literal(true).optional(),
  /** The client is in a container: what it names on this connection, and is told, are the container's own paths. */
  mounts: mountsSchema.optional(),
});

/** Returns a page of the rows of a target. */
const querySchema = z.object({
  ...baseShape,
  ...taskFilterShape,
  target: z.enum(queryTargets),
  id: idSchema.optional(),
  /** Of `versions`, `wipes` and `unkept`: only this absolute path, or of a directory what is below it. */
  file: pathSchema.optional(),
  /** Of the same: the session that asks. It sees its own project alone; without it a person asks. */
  reader: idSchema.optional(),
  limit: z.number().int().min(1).max(limits.rowsMax).optional(),
  /** `next` of the previous reply. */
  after: z
    .string()
    .max(limits.pathBytes * 2)
    .optional(),
});

/** Asks for events on this connection, instead of those that it asked for before. */
const subscribeSchema = z.object({
  ...baseShape,
  /** The names of the events to get; without it all. */
  events: z.array(idSchema).max(64).optional(),
  /** Only events about this session. With `project`, only those of that project. */
  id: idSchema.optional(),
  /** Only events about this absolute path, a path below it, or a directory above it. */
  file: pathSchema.optional(),
  /** Continue after this event. */
  cursor: idSchema.optional(),
});

const plainSchema = z.object({ ...baseShape });

/** Ends the daemon. */
const shutdownSchema = z.object({
  ...baseShape,
  /** A newer version takes over: the daemon tells waiting clients to connect again. */
  handover: z.boolean().optional(),
});

interface HelloReply {
  readonly ok: true;
  readonly protocol: number;
  readonly version: string;
  readonly pid: number;
  readonly storeId: string;
  readonly epoch: number;
  /** The id of the store that machines share; "" before it was reached; absent where none is set. */
  readonly sharedStoreId?: string;
  /** Of a client in a container: its folders that have another path where the daemon is, at most `limits.mountPairsMax`. */
  readonly mounted?: readonly { readonly inside: string; readonly outside: string }[];
}

export interface QueryReply<Row = unknown> {
  readonly ok: true;
  readonly rows: readonly Row[];
  readonly next?: string;
}

interface SubscribeReply {
  readonly ok: true;
  /** The events after this cursor follow. */
  readonly cursor: string;
  /** The requested cursor is too old or of another store: query again. */
  readonly lagged?: true;
}

interface PingReply {
  readonly ok: true;
  readonly pong: true;
}

/** Tasks of all projects; pending ones are ready or blocked. */
export interface TaskCounts {
  readonly active: number;
  readonly ready: number;
  readonly blocked: number;
  readonly failed: number;
  readonly done: number;
}

/** Counters since this daemon started; sizes in bytes, durations in milliseconds. */
export interface StatsReply {
  readonly ok: true;
  readonly version: string;
  readonly pid: number;
  readonly upMs: number;
  readonly storeId: string;
  readonly epoch: number;
  readonly seq: number;
  readonly sessions: number;
  readonly locks: number;
  readonly waiters: number;
  readonly tasks: TaskCounts;
  readonly connections: number;
  readonly subscribers: number;
  readonly requests: number;
  readonly refused: number;
  readonly journalBytes: number;
  readonly storeFull: boolean;
  readonly voided: readonly number[];
  readonly trailDropped: number;
  readonly rssBytes: number;
  /** Branches whose latest merge came back within a day with nobody there to read so; absent if there are none. */
  readonly mergesUnheard?: number;
  /** How many files the daemon could open when it began to serve; absent if those are enough. */
  readonly filesFree?: number;
  /** Hook events by name. */
  readonly hooks: Readonly<Record<string, number>>;
}

/** A refused request, as `kite status` shows the latest ones. */
export interface RefusalRow {
  readonly at: number;
  readonly type: string;
  readonly id: string | null;
  readonly name: string | null;
  readonly file: string | null;
  readonly code: string;
  readonly error: string;
  /** The name of who has the file, or is before it in the queue; absent if the refusal names nobody. */
  readonly holder?: string;
}

export const daemonRequests = {
  hello: { params: helloSchema, reply: reply<HelloReply>(), traits: always },
  subscribe: { params: subscribeSchema, reply: reply<SubscribeReply>(), traits: repeatable },
  query: { params: querySchema, reply: reply<QueryReply>(), traits: repeatable },
  /** Returns counters and sizes since the daemon's start. */
  stats: { params: plainSchema, reply: reply<StatsReply>(), traits: always },
  /** Shows that the daemon answers. */
  ping: { params: plainSchema, reply: reply<PingReply>(), traits: always },
  /** Writes the decisions so far to the log of decisions, and answers then. */
  trail_flush: { params: plainSchema, reply: reply<OkReply>(), traits: always },
  shutdown: { params: shutdownSchema, reply: reply<OkReply>(), traits: always },
} as const satisfies RequestTable;
