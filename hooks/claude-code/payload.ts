/** Reads fields of the client's events, within bounds. */
import { limits } from "../../protocol/limits.ts";
import type { HookContext } from "../seam/plan.ts";

/** Each field's name in the event, and its bound. */
const fields = [
  ["name", "hook_event_name", limits.nameBytes],
  ["session", "session_id", limits.idBytes],
  ["agent", "agent_id", limits.idBytes],
  ["prompt", "prompt_id", limits.idBytes],
  ["toolUseId", "tool_use_id", limits.idBytes],
  ["tool", "tool_name", limits.idBytes],
  ["reason", "reason", limits.nameBytes],
  ["cwd", "cwd", limits.pathBytes],
  ["transcript", "transcript_path", limits.pathBytes],
] as const;

type Field = (typeof fields)[number][0];

/** One event: the fields that most rows read, null where absent, and all of it as the client sent it. */
export interface Event extends Readonly<Record<Field, string | null>> {
  readonly raw: Readonly<Record<string, unknown>>;
}

const absent = {
  name: null,
  session: null,
  agent: null,
  prompt: null,
  toolUseId: null,
  tool: null,
  reason: null,
  cwd: null,
  transcript: null,
};
const unusable: Event = { raw: {}, ...absent };

/**
 * Reads an event. One field that is neither text within its bound nor absent makes the whole event read as empty: an
 * `agent_id` that is not text must not turn an agent's edit into its session's.
 */
export function readEvent(raw: Event["raw"]): Event {
  const event: { raw: Event["raw"] } & Record<Field, string | null> = { raw, ...absent };
  for (const [field, name, max] of fields) {
    const value = raw[name];
    if (value === undefined || value === null) continue;
    if (!isText(value, max)) return unusable;
    event[field] = value;
  }
  return event;
}

/** A name that only people read; null if there is none that can be used. */
export function label(
  event: Event,
  name: "agent_type" | "teammate_name" | "team_name" | "task_id" | "session_title",
): string | null {
  const value = event.raw[name];
  return isText(value, limits.nameBytes) ? value : null;
}

/** A name in the tool's response; null if there is none that can be used. */
export function responseLabel(event: Event, name: string): string | null {
  const value = within(event.raw["tool_response"], name);
  return isText(value, limits.nameBytes) ? value : null;
}

/** A path in the tool's input; null if there is none that can be used. */
export function inputPath(event: Event, name: string): string | null {
  const value = within(event.raw["tool_input"], name);
  return isText(value, limits.pathBytes) ? value : null;
}

/** A text of any length in the tool's input; null if there is none. */
export function inputText(event: Event, name: string): string | null {
  const value = within(event.raw["tool_input"], name);
  return typeof value === "string" ? value : null;
}

/** An id in the tool's input or response; null if there is none that can be used. */
export function innerId(event: Event, outer: "tool_input" | "tool_response", name: string): string | null {
  const value = within(event.raw[outer], name);
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
