/**
 * The state that an agent is in, by its signs of life.
 *
 * Invariants: silence proves no death. Only a process that is gone makes an agent `dead`. An agent becomes `stalled` after
 * its turn failed, or after it was `quiet` for long with no tool at work. Any sign of life ends both. What may be a healthy
 * wait (a dialog, a lock, the model's service, a tool that runs) is never an alarm. What the daemon cannot see raises no
 * alarm.
 */

import { refuse } from "../../../protocol/codes.ts";
import type { HealthState, WaitsOn } from "../../../protocol/lead/team.ts";
import { limits } from "../../../protocol/limits.ts";
import { releaseTurn } from "../locks/release.ts";
import type { Meta, Rules } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { lastingAndFreeing } from "../tables/entries.ts";
import { rowsOfSession } from "../tables/locks.ts";
import { noteKey, type Whose } from "../tables/messages.ts";
import { actorRow, pathOf } from "../tables/naming.ts";
import { claimerOf } from "../tables/tasks.ts";
import { claimsOf, giveBack } from "../tasks/leave.ts";
import { isLead, leadsOf as projectLeads } from "./roles.ts";
import type { State } from "./state.ts";
import type { HealthCommands } from "./tables/roles.ts";
import { spawnAt } from "./tables/spawns.ts";

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

// Which agents lead which: they are told of those that stall, and may give back what these have.
//
// Invariant: who is told may act, and the other way round, but for the bound on those told.

/**
 * Whether `lead` leads `other`. A session's main agent leads the session's agents, and every agent leads those that it
 * spawned. A team's lead leads its teammates with sessions of their own. A lead leads its whole project.
 */
export function leads(state: State, lead: Whose, other: Whose): boolean {
  if (noteKey(lead) === noteKey(other)) return isLead(state, lead);
  const isNear = nearLeads(state, other).some(one => noteKey(one) === noteKey(lead));
  if (isNear) return true;
  const { live } = state.sessions;
  const project = live.get(lead.session)?.project;
  return project !== undefined && live.get(other.session)?.project === project && isLead(state, lead);
}

/**
 * Returns the live agents that lead this one, those that began it first; at most `limits.stalledToldMax`. `project`: where
 * it worked, if it has ended.
 */
export function leadsOf(
  state: State,
  whose: Whose,
  project = state.sessions.live.get(whose.session)?.project,
): Whose[] {
  const { live } = state.sessions;
  const found = new Map<string, Whose>();
  for (const one of nearLeads(state, whose)) if (live.has(one.session)) found.set(noteKey(one), one);
  for (const one of project === undefined ? [] : projectLeads(state, project, whose)) {
    if (found.size >= limits.stalledToldMax) break;
    found.set(noteKey(one), one);
  }
  return [...found.values()].slice(0, limits.stalledToldMax);
}

/** The agents that began this one: its session's main agent, its team's lead, and the one that spawned its session. */
function nearLeads({ teammates, spawns }: State, { session, agent }: Whose): Whose[] {
  const found: Whose[] = agent === null ? [] : [{ session, agent: null }];
  const lead = teammates.get(session)?.get(null)?.lead;
  if (lead !== undefined && lead !== session) found.push({ session: lead, agent: null });
  const parent = spawnAt(spawns, session)?.parent ?? null;
  if (parent === null) return found;
  found.push({ session: parent.id, agent: parent.agent });
  // An agent that spawned may have ended; its session's main agent answers for it.
  if (parent.agent !== null) found.push({ session: parent.id, agent: null });
  return found;
}

// Gives back what an agent has, without its doing: its tasks become pending, its turn locks go to their waiters.
//
// Invariants: only a lead, a person or a setting may; the agent lives on, keeps its explicit locks, and may claim and lock
// again. Attempts of a task do not rise: nothing is known to have failed.

function agentRelease(state: State, command: CommandOf<"agent_release">, _meta: Meta, step: Step): void {
  const { session, agent, begun, by, cause, wallMs } = command;
  const known = state.sessions.live.get(session);
  if (known === undefined || known.begun !== begun) {
    const error = `session ${session} has ended; what it had was given back then`;
    step.reply = refuse("session_ended", error);
    return;
  }
  const row = actorRow(state, { session, agent, incarnation: 0 });
  if (by !== null && !leads(state, by, { session, agent })) {
    const error = `only an agent that leads ${row.name}, or a person, may give back what it has; ask one of them`;
    step.reply = refuse("lead_only", error);
    return;
  }
  const claims = claimsOf(state, session).filter(task => claimerOf(task)?.agent === agent);
  for (const task of claims) giveBack(state, task, cause, { by, wallMs, attempts: task.attempts }, step);
  const rows = rowsOfSession(state.locks.actors, session, null).filter(({ actor }) => actor.agent === agent);
  const released = rows.flatMap(own => releaseTurn(state, own, null, "given back", step));
  step.reply = {
    ok: true,
    agent: row,
    tasks: claims.slice(0, limits.releasedNamedMax).map(({ id, description }) => ({
      id,
      description: description.slice(0, limits.quoteChars),
    })),
    taskCount: claims.length,
    paths: released.slice(0, limits.releasedNamedMax).map(pathOf),
    lockCount: released.length,
  };
}

export const healthRules: Rules<HealthCommands, State> = {
  commands: { agent_release: lastingAndFreeing(agentRelease) },
  points: { answersFor: leads },
};
