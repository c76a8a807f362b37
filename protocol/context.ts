import { z } from "zod";
import { limits } from "./limits.ts";
import { baseShape, idSchema } from "./session.ts";

/** A value that JSON can say; passed on as it came. */
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
 * Who acts; without `id` it is a person. The project is `project`, else that of `id`, else that of a session
 * registered on this connection, else `default`.
 */
const byShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
const keyShape = { key: idSchema };

/** Share a value under a key of the project; refused by `context_too_large`, `context_full`, `context_conflict`. */
export const contextSetSchema = z.object({
  ...byShape,
  ...keyShape,
  value: valueSchema,
  /** Kept over restarts of the daemon and power cuts; without it the value is gone with the daemon. */
  durable: z.boolean().optional(),
  /** Only where the key has this version; 0: only where it is absent. */
  ifVersion: versionSchema.optional(),
  /** The value ends by itself after this. */
  ttlMs: z.number().int().min(1).max(limits.contextTtlMaxMs).optional(),
});

export const contextGetSchema = z.object({ ...byShape, ...keyShape });

export const contextListSchema = z.object({
  ...byShape,
  /** Only keys that begin so. */
  prefix: z.string().max(limits.idBytes).optional(),
  limit: z.number().int().min(1).max(limits.rowsMax).optional(),
  /** `next` of the reply before. */
  after: z
    .string()
    .max(limits.pathBytes * 2)
    .optional(),
});

export const contextDeleteSchema = z.object({
  ...byShape,
  ...keyShape,
  ifVersion: versionSchema.optional(),
});

/** One key, without its value. */
export interface ContextRow {
  readonly key: string;
  readonly project: string;
  /** The session that set it; null: a person. */
  readonly from: string | null;
  readonly fromName: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly durable: boolean;
  /** Size of the value as JSON, in bytes. */
  readonly bytes: number;
  /** In how long it ends by itself, in milliseconds; null: it does not. */
  readonly endsInMs: number | null;
}

export interface ContextSetReply {
  readonly ok: true;
  readonly key: string;
  /** Rises with every change of the key, also where it was deleted between. */
  readonly version: number;
}

export interface ContextGetReply extends ContextRow {
  readonly ok: true;
  readonly value: JsonValue;
}

export interface ContextListReply {
  readonly ok: true;
  readonly rows: readonly ContextRow[];
  readonly next?: string;
}

export interface ContextDeleteReply {
  readonly ok: true;
  readonly key: string;
  /** The one that was deleted. */
  readonly version: number;
}
