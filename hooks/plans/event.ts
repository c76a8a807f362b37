/** An event as plans read it, whichever client sent it, and bounded reads of its parts. */
import { limits } from "../../protocol/limits.ts";

/** Each field that plans read, and its bound. */
const bounds = {
  name: limits.nameBytes,
  session: limits.idBytes,
  agent: limits.idBytes,
  prompt: limits.idBytes,
  toolUseId: limits.idBytes,
  tool: limits.idBytes,
  reason: limits.nameBytes,
  cwd: limits.pathBytes,
  transcript: limits.pathBytes,
} as const;

type Field = keyof typeof bounds;

/** The name that a client gives each field in its events. */
export type FieldNames = Readonly<Record<Field, string>>;

/** What the client's ids and files tell of the agent that acts. */
export interface Worker {
  /** An agent that the main agent began, perhaps through others: the main agent's locks pass to it. */
  readonly isSubagent: boolean;
  /** An agent within its lead's process, with a life of its own: the client offers it none of Kite's tools. */
  readonly isTeammate: boolean;
  /** Its own name and its team, if the event tells that it is a teammate. */
  readonly teammate: { readonly name: string; readonly team: string } | null;
  /** The client's own file that names a subagent's parent; null if there is none to read. */
  readonly parentFile: string | null;
}

/** One event: the fields that most rows read, null where absent, who acts, and all of it as the client sent it. */
export interface Event extends Readonly<Record<Field, string | null>> {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly worker: Worker;
}

/** An event that names the agent that acts. */
export type AgentEvent = Omit<Event, "worker" | "agent"> & { readonly agent: string };

/** Who acts: a session's main agent, or an agent within it; `pid` is the client's process. */
export interface Actor {
  readonly session: string;
  readonly agent?: string;
  readonly pid?: number;
}

const mainAgent: Worker = { isSubagent: false, isTeammate: false, teammate: null, parentFile: null };

const absent: Readonly<Record<Field, null>> = {
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
const unusable: Event = { raw: {}, worker: mainAgent, ...absent };

/**
 * Reads an event; `workerOf` tells who acts in one that names an agent. One field that is neither text within its bound nor
 * absent makes the whole event read as empty: an agent's id that is not text must not turn the agent's edit into its
 * session's.
 */
export function readEvent(
  raw: Event["raw"],
  names: FieldNames,
  workerOf: (event: AgentEvent) => Worker,
): Event {
  const event: { raw: Event["raw"] } & Record<Field, string | null> = { raw, ...absent };
  for (const field of Object.keys(bounds) as Field[]) {
    const value = raw[names[field]];
    if (value === undefined || value === null) continue;
    if (!isText(value, bounds[field])) return unusable;
    event[field] = value;
  }
  const { agent } = event;
  return { ...event, worker: agent === null ? mainAgent : workerOf({ ...event, agent }) };
}

/** Agents of the session whose locks pass to the one that acts; null is the main agent. */
export function ancestorsOf({ worker }: Event): readonly null[] {
  return worker.isSubagent ? [null] : [];
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

function isText(value: unknown, max: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= max && !value.includes("\0");
}
