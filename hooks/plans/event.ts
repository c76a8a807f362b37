/** An event as plans read it, whichever client sent it, and bounded reads of its parts. */

import { limits } from "../../protocol/limits.ts";
import type { AgentClient } from "../seam/plan.ts";

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

/** Where an event stands to the call of a tool: the call is about to run, has run, or failed. */
type Step = "before" | "after" | "failed";

/** How a client writes its events. */
export interface EventForm {
  readonly client: AgentClient;
  /** The events around a call, by name; a name that is not here is about no call. */
  readonly steps: Readonly<Record<string, Step>>;
  /** The name that it gives each field. */
  readonly names: Readonly<Record<Field, string>>;
}

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

/**
 * One event: the fields that most rows read, null where absent, who acts, and all of it. Shared plans look in `raw` for
 * `tool_input`, `tool_response`, `source`, `stop_hook_active` and the labels below. If a client has other names for
 * these, its adapter translates them.
 */
export interface Event extends Readonly<Record<Field, string | null>> {
  readonly client: AgentClient;
  readonly step: Step | null;
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

/**
 * Reads an event; `workerOf` tells who acts in one that names an agent. If one field is neither text within its bound
 * nor absent, the whole event reads as empty. An agent's id that is not text must not turn the agent's edit into its
 * session's.
 */
export function readEvent(
  raw: Event["raw"],
  { client, steps, names }: EventForm,
  workerOf: (event: AgentEvent) => Worker,
): Event {
  const event: Pick<Event, "raw" | "client"> & Record<Field, string | null> = { raw, client, ...absent };
  for (const field of Object.keys(bounds) as Field[]) {
    const value = raw[names[field]];
    if (value === undefined || value === null) continue;
    if (!isText(value, bounds[field])) return { raw: {}, client, step: null, worker: mainAgent, ...absent };
    event[field] = value;
  }
  const { agent, name } = event;
  const step = name !== null && Object.hasOwn(steps, name) ? (steps[name] ?? null) : null;
  return { ...event, step, worker: agent === null ? mainAgent : workerOf({ ...event, step, agent }) };
}

/** Agents of the session whose locks pass to the one that acts; null is the main agent. */
export function ancestorsOf({ worker }: Event): readonly null[] {
  return worker.isSubagent ? [null] : [];
}

/** Whether the event is about a call of the tool that runs shell lines. */
export function isShell({ tool, client }: Event): boolean {
  return tool === client.words.shellTool;
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

/** The beginning of the error that the event is about, at most `failureChars`; empty if it names none. */
export function errorOf({ raw }: Event): string {
  const { error } = raw;
  return typeof error === "string" ? error.slice(0, limits.failureChars) : "";
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

// The rows of a client's table of events, from which its installed entries follow. What an event asks for is in the client's `rows.ts`.

interface EventRow<Name extends string = string> {
  readonly event: Name;
  /** The tools, as the client matches them; if left out, all. */
  readonly matcher?: string;
  /** How long the hook waits for the daemon, and the client for the hook; in milliseconds. */
  readonly budgetMs: number;
  readonly timeoutMs: number;
}

/** Returns the rows, with the events' names in their type: the adapter must have a plan for each. */
export function tableOf<const Name extends string>(
  ...rows: readonly EventRow<Name>[]
): readonly EventRow<Name>[] {
  return rows;
}

/**
 * How long an event may take: a session's start, a turn, the end of a call, a write. The last one is a write where Esc
 * ends no hook.
 */
export const times = {
  start: { budgetMs: limits.hookStartBudgetMs, timeoutMs: limits.hookStartTimeoutMs },
  turn: { budgetMs: limits.hookTurnBudgetMs, timeoutMs: limits.hookTurnTimeoutMs },
  callEnd: { budgetMs: limits.hookObserverBudgetMs, timeoutMs: limits.hookObserverTimeoutMs },
  write: { budgetMs: limits.hookWriteBudgetMs, timeoutMs: limits.hookWriteTimeoutMs },
  shortWrite: { budgetMs: limits.hookShortWriteBudgetMs, timeoutMs: limits.hookShortWriteTimeoutMs },
} as const;
