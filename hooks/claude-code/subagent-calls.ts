/** Which subagent of a session acts, by the calls in the session's transcript: for clients whose events do not say. */
import { limits } from "../../protocol/limits.ts";
import { within } from "../plans/event.ts";
import type { LikelySubagent } from "../seam/plan.ts";
import { blocksOf, parsed } from "./transcript-lines.ts";

/** The tool that begins a subagent, by its name and its former one. */
const beginners: ReadonlySet<unknown> = new Set(["Agent", "Task"]);

/** What the client runs if a call names no kind. */
const usualType = "general-purpose";

interface OpenCall {
  readonly type: string;
  readonly description: string | null;
  readonly isNested: boolean;
}

/**
 * Returns the subagent of the latest call without a result. Lines that are cut or have another form count as none. A prompt
 * to the main agent shows that the turn before is over, and with it its calls.
 */
export function subagentIn(lines: readonly string[]): LikelySubagent | null {
  const open = new Map<string, OpenCall>();
  for (const text of lines) {
    const line = parsed(text);
    const role = within(line, "type");
    if (role !== "user" && role !== "assistant") continue;
    const isNested = within(line, "isSidechain") === true;
    const blocks = blocksOf(within(line, "message"));
    if (role === "assistant") for (const block of blocks) begin(open, block, isNested);
    else if (blocks.some(block => within(block, "type") === "tool_result"))
      for (const block of blocks) end(open, within(block, "tool_use_id"));
    else if (!isNested && within(line, "isMeta") !== true) open.clear();
  }
  const calls = [...open.values()];
  const latest = calls.at(-1);
  if (latest === undefined) return null;
  // A call around a nested one waits for it.
  const beside = calls.filter(({ isNested }) => isNested === latest.isNested);
  return { ...latest, others: beside.length - 1 };
}

function begin(open: Map<string, OpenCall>, block: unknown, isNested: boolean): void {
  if (within(block, "type") !== "tool_use" || !beginners.has(within(block, "name"))) return;
  const id = within(block, "id");
  if (typeof id !== "string") return;
  const input = within(block, "input");
  const type = nameIn(input, "subagent_type") ?? usualType;
  open.set(id, { type, description: nameIn(input, "description"), isNested });
}

/** The subagents of one that has ended are over, too. */
function end(open: Map<string, OpenCall>, id: unknown): void {
  const ended = typeof id === "string" ? open.get(id) : undefined;
  if (typeof id !== "string" || ended === undefined) return;
  open.delete(id);
  if (ended.isNested || [...open.values()].some(({ isNested }) => !isNested)) return;
  open.clear();
}

function nameIn(input: unknown, field: string): string | null {
  const value = within(input, field);
  return typeof value === "string" && value.trim() !== "" ? value.trim().slice(0, limits.nameBytes) : null;
}
