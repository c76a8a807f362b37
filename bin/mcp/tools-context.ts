/** Tools of the shared notes: kite_context_set, kite_context_get. */

import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { personName, personOnWire } from "../../protocol/names.ts";
import { type ContextRow, contextGetSchema, contextSetSchema } from "../../protocol/schemas/context.ts";
import { escaped, frame, quote } from "../../protocol/text.ts";
import { granted } from "../with-daemon.ts";
import { type Call, looks, type Tool, type ToolAnswer, tool } from "./tool.ts";

const { key, ifVersion, ttlMs } = contextSetSchema.shape;

const set = tool({
  name: "kite_context_set",
  title: "Share a note",
  description: "Share a value with this project's agents: a decision, an interface. Replaces the old.",
  input: z.object({
    key: key.describe("Such as api/errors"),
    value: z.unknown(),
    ephemeral: z.boolean().optional().describe("Gone when Kite stops"),
    ifVersion: ifVersion.describe("Else refuse; 0: none yet"),
    ttlMs,
  }),
  run: async ({ client, actor }, { value, ephemeral, ...given }) => {
    const json = z.json().parse(value ?? null);
    const set = { ...given, value: json, durable: ephemeral !== true };
    const answer = granted(await client.request("context_set", { ...actor, ...set }));
    const text = `Shared as ${quote(answer.key)}, version ${answer.version}.`;
    return { text, data: { key: answer.key, version: answer.version } };
  },
});

const get = tool({
  name: "kite_context_get",
  title: "Read a note",
  description: "A shared value; without a key, all keys.",
  input: z.object({ key: contextGetSchema.shape.key.optional() }),
  annotations: looks,
  run: (call, given) => (given.key === undefined ? keys(call) : one(call, given.key)),
});

export const contextTools: readonly Tool[] = [set, get];

async function one({ client, actor }: Call, name: string): Promise<ToolAnswer> {
  const { value, ...row } = granted(await client.request("context_get", { ...actor, key: name }));
  // As JSON the value stays complete and cannot pass for Kite's own words.
  const json = escaped(JSON.stringify(value));
  const text = `${frame}\n${rowLine(row)}:\n${json}`;
  return { text, data: { note: frame, ...rowData(row) }, json };
}

async function keys({ client, actor }: Call): Promise<ToolAnswer> {
  const { rows, next } = granted(
    await client.request("context_list", { ...actor, limit: limits.mcpRowsMax }),
  );
  const lines = rows.map(row => `- ${rowLine(row)}`);
  const text = rows.length === 0 ? "Nothing is shared in this project." : [frame, ...lines].join("\n");
  return { text, data: { note: frame, keys: rows.map(rowData), more: next !== undefined } };
}

function rowLine({ key: name, fromName, version, bytes }: ContextRow): string {
  return `${quote(name)}, version ${version}, ${bytes} bytes, by ${fromName === personOnWire ? personName("agent") : quote(fromName)}`;
}

function rowData({ key: name, fromName, version, bytes, durable: kept }: ContextRow) {
  return { key: name, by: fromName, version, bytes, durable: kept };
}
