/** The wire of context: requests, replies and rows. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, reply } from "../request-table.ts";
import type { ActorRow } from "./lock.ts";
import { baseShape, idSchema } from "./session.ts";

/** A JSON value, passed on unchanged. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [field: string]: JsonValue };

const valueSchema = z.custom<JsonValue>(v => v !== undefined, { error: "expected a JSON value" });
const versionSchema = z.number().int().min(0);

/**
 * The actor; without `id` a person. The project is `project`, else that of `id`, else that of a session
 * registered on this connection, else `default`.
 */
const byShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
const keyShape = { key: idSchema };

/** Sets a key of the project; refused by `context_too_large`, `context_full`, `context_conflict`, `context_reserved`. */
export const contextSetSchema = z.object({
  ...byShape,
  ...keyShape,
  value: valueSchema,
  /** Whether the value survives restarts and power cuts; otherwise it ends with the daemon. Absent: as the key is now. */
  durable: z.boolean().optional(),
  /** Sets the key only if it has this version; 0: only if it is absent. */
  ifVersion: versionSchema.optional(),
  /** The value expires after this, in milliseconds. */
  ttlMs: z.number().int().min(1).max(limits.contextTtlMaxMs).optional(),
});

/** Returns the value of a key. */
export const contextGetSchema = z.object({ ...byShape, ...keyShape });

/** Lists the keys of the project by name, without their values. */
const contextListSchema = z.object({
  ...byShape,
  /** Only keys with this prefix. */
  prefix: z.string().max(limits.idBytes).optional(),
  limit: z.number().int().min(1).max(limits.rowsMax).optional(),
  /** `next` of the previous reply. */
  after: z
    .string()
    .max(limits.pathBytes * 2)
    .optional(),
});

/** Deletes a key of the project. */
const contextDeleteSchema = z.object({
  ...byShape,
  ...keyShape,
  ifVersion: versionSchema.optional(),
});

/** One key, without its value. */
export interface ContextRow {
  readonly key: string;
  readonly project: string;
  /** The session that set the value; null: a person of this machine. The id of another machine's is `person@NODE`. */
  readonly from: string | null;
  readonly fromName: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly durable: boolean;
  /** Size of the value as JSON, in bytes. */
  readonly bytes: number;
  /** The time until it expires, in milliseconds; null: it does not. */
  readonly endsInMs: number | null;
  /** Absent unless nobody read or wrote the value for long: the time until it goes, in milliseconds. A read or a write keeps it. */
  readonly leavesInMs?: number;
}

interface ContextSetReply {
  readonly ok: true;
  readonly key: string;
  /** Rises with every change of the key, even across deletion. */
  readonly version: number;
}

interface ContextGetReply extends ContextRow {
  readonly ok: true;
  readonly value: JsonValue;
}

interface ContextListReply {
  readonly ok: true;
  readonly rows: readonly ContextRow[];
  readonly next?: string;
}

interface ContextDeleteReply {
  readonly ok: true;
  readonly key: string;
  /** The version that was deleted. */
  readonly version: number;
}

/** The events of shared values. */
export type ContextEvent = {
  readonly event: "context_changed";
  readonly project: string;
  readonly key: string;
  readonly version: number;
  /** The actor; null: a person, or the value expired. */
  readonly from: ActorRow | null;
  readonly deleted: boolean;
};

export const contextRequests = {
  context_set: { params: contextSetSchema, reply: reply<ContextSetReply>(), traits: once },
  context_get: { params: contextGetSchema, reply: reply<ContextGetReply>(), traits: once },
  context_list: { params: contextListSchema, reply: reply<ContextListReply>(), traits: once },
  context_delete: { params: contextDeleteSchema, reply: reply<ContextDeleteReply>(), traits: once },
} as const satisfies RequestTable;
