/** The adapter of a client whose installed entries name it. */

import type { HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import type { Answer } from "./answers/answer.ts";
import { type Event, type EventForm, readEvent, type Worker } from "./event.ts";
import { hookPlan, idle, otherEvent, type Row } from "./plan-parts.ts";

// An id for a call whose client gives it none.

/** Of a longer input only this much of its start and of its end counts, and its length. */
const endChars = 100_000;

/** Returns the event with an id of its call: the event after a call gets that of the event before it. */
export function withCall(event: Event, { calls }: Pick<HookContext, "calls">): Event {
  const { client, step } = event;
  if (client.limits.namesCalls || step === null) return event;
  const words = wordsOf(event);
  return { ...event, toolUseId: step === "before" ? calls.begins(words) : calls.ends(words) };
}

/** The same for two calls if session, agent, tool and input are the same; at most 16 characters. */
function wordsOf({ session, agent, tool, raw }: Event): string {
  const input = JSON.stringify(raw["tool_input"] ?? null);
  const isLong = input.length > 2 * endChars;
  const read = isLong ? input.slice(0, endChars) + input.slice(-endChars) : input;
  return hash(JSON.stringify([session, agent, tool, input.length, read]));
}

/** Two 32-bit FNV-1a hashes from different starts: only calls of one session with one tool must differ in it. */
function hash(text: string): string {
  let [a, b] = [0x811c9dc5, 0x9747b28c];
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit ^ (a >>> 16), 0x01000193);
  }
  return [a, b].map(half => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

/** What such a client has of its own. */
interface NamedClient extends Pick<EventForm, "client" | "steps"> {
  /** By the event's name. */
  readonly rows: Readonly<Record<string, Row>>;
  /** What a hook that may wake its session asks; absent: the client has no such hook. */
  readonly wakingRow?: Row;
  /** Puts what the client writes elsewhere to its place. */
  readonly prepare?: (payload: Event["raw"]) => Event["raw"];
  /** Writes the answer of an event in the client's form. */
  readonly write: (event: string, answer: Answer) => ReturnType<HookPlan["answer"]>;
}

/** The fields' names, as Claude Code has them; a turn has an id where the client gives it one. */
const names = {
  name: "hook_event_name",
  session: "session_id",
  agent: "agent_id",
  prompt: "turn_id",
  toolUseId: "tool_use_id",
  tool: "tool_name",
  reason: "reason",
  cwd: "cwd",
  transcript: "transcript_path",
} as const;

/** Every agent within a session is one that the main agent began; nothing names a nested one's parent. */
const subagent: Worker = { isSubagent: true, isTeammate: false, teammate: null, parentFile: null };

/**
 * Variables that count. Others may be those of another client, in whose shell this one was started. A spawned agent's
 * record is tied to the first session that names it.
 */
const variables = ["HOME", "KITE_SPAWN"] as const;

/**
 * Returns the adapter: one row an event. Pure; no payload makes it throw, and it never grants a tool's permission.
 * `(session_id, agent_id or none)` is the actor. The hook's parent tells how long its sessions can live, and never which one
 * an event is of.
 */
export function namedAdapter(own: NamedClient): HookAdapter {
  const form: EventForm = { ...own, names };
  const rows = new Map(Object.entries(own.rows));
  const plan = (payload: Event["raw"], { env: all, ...context }: HookContext): HookPlan => {
    const env = Object.fromEntries(variables.flatMap(name => (all[name] ? [[name, all[name]]] : [])));
    const prepared = own.prepare === undefined ? payload : own.prepare(payload);
    // Else all agents of a session are one owner, whatever an event has under that name.
    const raw = own.client.limits.tellsSubagents ? prepared : { ...prepared, agent_id: undefined };
    const event = withCall(
      readEvent(raw, form, () => subagent),
      context,
    );
    const { name, session, agent } = event;
    const row = context.wake ? own.wakingRow : (rows.get(name ?? "") ?? otherEvent);
    const who = {
      ...(agent === null ? {} : { agent }),
      ...(context.ppid === null ? {} : { pid: context.ppid }),
    };
    const plan =
      row === undefined || name === null || session === null
        ? idle
        : row(event, { session, ...who }, { env, ...context });
    return hookPlan(event, plan, { env, home: null, write: answer => own.write(name ?? "", answer) });
  };
  return { ...own.client, plan, agentFile: null, teams: null, lifeFiles: null };
}
