/** Reads fields of the client's events, within bounds. */
import { limits } from "../../protocol/limits.ts";
import type { HookContext } from "../seam/plan.ts";

/** One event as the client sent it. */
export type Event = Readonly<Record<string, unknown>>;

/** The fields that the adapter reads. A field that is present must be text within these bounds. */
const bounds = {
  hook_event_name: limits.nameBytes,
  session_id: limits.idBytes,
  agent_id: limits.idBytes,
  prompt_id: limits.idBytes,
  tool_use_id: limits.idBytes,
  tool_name: limits.idBytes,
  reason: limits.nameBytes,
  cwd: limits.pathBytes,
  transcript_path: limits.pathBytes,
} as const;

type Field = keyof typeof bounds;

const fields = Object.entries(bounds);

/**
 * Whether every field that is present can be used. One wrong type makes the whole event unusable: an `agent_id` that is
 * not text must not turn an agent's edit into its session's.
 */
export function wellFormed(event: Event): boolean {
  for (const [name, max] of fields) {
    const value = event[name];
    if (value !== undefined && value !== null && !isText(value, max)) return false;
  }
  return true;
}

/** A field of a well-formed event; null if it is absent. */
export function field(event: Event, name: Field): string | null {
  const value = event[name];
  return typeof value === "string" ? value : null;
}

/** A name that only people read; null if there is none that can be used. */
export function label(
  event: Event,
  name: "agent_type" | "teammate_name" | "team_name" | "task_id" | "session_title",
): string | null {
  const value = event[name];
  return isText(value, limits.nameBytes) ? value : null;
}

/** A name in the tool's response; null if there is none that can be used. */
export function responseLabel(event: Event, name: string): string | null {
  const value = within(event["tool_response"], name);
  return isText(value, limits.nameBytes) ? value : null;
}

/** A path in the tool's input; null if there is none that can be used. */
export function inputPath(event: Event, name: string): string | null {
  const value = within(event["tool_input"], name);
  return isText(value, limits.pathBytes) ? value : null;
}

/** A text of any length in the tool's input; null if there is none. */
export function inputText(event: Event, name: string): string | null {
  const value = within(event["tool_input"], name);
  return typeof value === "string" ? value : null;
}

/** An id in the tool's input or response; null if there is none that can be used. */
export function innerId(event: Event, outer: "tool_input" | "tool_response", name: string): string | null {
  const value = within(event[outer], name);
  return isId(value) ? value : null;
}

/** Whether it can be an id of the client. */
export function isId(value: unknown): value is string {
  return isText(value, limits.idBytes);
}

/** A property of a value; undefined if the value is not an object. */
export function within(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** The client's process: the one that the client names, else the hook's parent. */
export function clientPid(context: HookContext): number | null {
  const said = context.env["CLAUDE_PID"] ?? "";
  return /^[1-9]\d{0,9}$/.test(said) ? Number(said) : context.ppid;
}

function isText(value: unknown, max: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= max && !value.includes("\0");
}
