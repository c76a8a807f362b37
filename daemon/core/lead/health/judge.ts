/**
 * The state that an agent is in, by its signs of life.
 *
 * Invariants: silence proves no death: only a process that is gone makes `dead`. An agent is `stalled` only after it was
 * `quiet` for long, with no tool of its at work, or after its turn failed; any sign of life ends both. What may be a healthy wait (a dialog, a lock, the
 * model's service, a tool that runs) is never an alarm. What the daemon cannot see raises none.
 */
import type { HealthState, WaitsOn } from "../../../../protocol/lead/team.ts";

/** Times are core time in milliseconds. */
export interface HealthFacts {
  /** The process of its client. */
  readonly client: "runs" | "gone" | "unknown";
  /** Since when a signal has stopped the process; null: it runs. */
  readonly stoppedAt: number | null;
  readonly isInTurn: boolean;
  /** Since when the turn runs, or the agent rests. */
  readonly since: number;
  /** When its turn ended by an error of its client, if nothing came after; else null. */
  readonly failedAt: number | null;
  readonly waits: Wait | null;
  /** Its latest sign of life: an event, or growth of its transcript. */
  readonly signAt: number;
  readonly tool: Tool;
  /** Its client shows that no turn runs, although no event said so: a person interrupted it. */
  readonly isResting: boolean;
  /** When it was found quiet, or was last found so with a tool at work, if it has been quiet since; else null. */
  readonly quietAt: number | null;
}

export interface Wait {
  readonly on: WaitsOn;
  readonly why: string;
  readonly since: number;
}

/**
 * `none`: the model's turn. `called`: a tool of its is called. `runs`: and a process of it lives. `unknown`: the daemon
 * cannot tell.
 */
export type Tool = "none" | "called" | "runs" | "unknown";

/** In milliseconds. */
export interface HealthLimits {
  readonly quietMs: number;
  /** The same while a tool is called. */
  readonly quietToolMs: number;
  readonly stalledMs: number;
  /** Time until the next look at an agent that gives no sign. */
  readonly lookMs: number;
}

export interface Health {
  readonly state: HealthState;
  readonly since: number;
  readonly on: WaitsOn | null;
  /** Empty: nothing to say. */
  readonly why: string;
  /** Whether others are told of it. */
  readonly isAlarm: boolean;
  /** When to judge again if no sign comes before; null: with the next sign. */
  readonly lookAt: number | null;
}

/** Returns the state of an agent at `now` (core time, ms). */
export function judge(facts: HealthFacts, limits: HealthLimits, now: number): Health {
  const { client, stoppedAt, waits, since, isInTurn } = facts;
  const again = now + limits.lookMs;
  if (client === "gone") return calm("dead", facts.signAt, null);
  if (stoppedAt !== null) return stopped(stoppedAt, isInTurn, limits, now);
  if (waits !== null) return { ...calm("waiting", waits.since, again), on: waits.on, why: waits.why };
  if (!isInTurn) return resting(facts, limits, now);
  if (facts.isResting) return calm("idle", since, again);
  const limitMs = facts.tool === "none" ? limits.quietMs : limits.quietToolMs;
  if (now - facts.signAt < limitMs) return calm("working", since, facts.signAt + limitMs);
  return silent(facts, limits, now);
}

/** Returns the `quietAt` of an agent for the next look, by what was judged at `now` (core time, ms). */
export function quietSince(facts: HealthFacts, health: Health, now: number): number | null {
  if (!isQuiet(health)) return null;
  return facts.quietAt === null || !mayStall(facts.tool) ? now : facts.quietAt;
}

/** Whether an agent in this state counts as quiet since it was first found so. */
export function isQuiet({ state }: Pick<Health, "state">): boolean {
  return state === "quiet" || state === "stalled";
}

/** Whether nothing is known to work for the agent. */
function mayStall(tool: Tool): boolean {
  return tool === "none" || tool === "called";
}

function silent(facts: HealthFacts, limits: HealthLimits, now: number): Health {
  const { signAt } = facts;
  const stallsAt = (facts.quietAt ?? now) + limits.stalledMs;
  const quiet = calm("quiet", signAt, now + limits.lookMs);
  if (!mayStall(facts.tool)) return quiet;
  if (now < stallsAt) return { ...quiet, lookAt: Math.min(stallsAt, now + limits.lookMs) };
  return { ...quiet, state: "stalled", isAlarm: true };
}

function stopped(since: number, isInTurn: boolean, { stalledMs }: HealthLimits, now: number): Health {
  const isAlarm = isInTurn && now - since >= stalledMs;
  const lookAt = isInTurn && !isAlarm ? since + stalledMs : null;
  return { ...calm("stopped", since, lookAt), why: "SIGSTOP", isAlarm };
}

function resting({ failedAt, since }: HealthFacts, { quietMs }: HealthLimits, now: number): Health {
  if (failedAt === null) return calm("idle", since, null);
  if (now - failedAt < quietMs) return calm("idle", since, failedAt + quietMs);
  return { ...calm("stalled", failedAt, null), why: "its turn ended by an error", isAlarm: true };
}

function calm(state: HealthState, since: number, lookAt: number | null): Health {
  return { state, since, on: null, why: "", isAlarm: false, lookAt };
}
