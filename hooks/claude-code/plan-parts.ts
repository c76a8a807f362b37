import type { HookAction, HookContext, HookOutcome } from "../seam/plan.ts";
import { type Actor, isSubagent } from "./agents.ts";
import type { Output } from "./answers/output.ts";
import { type Event, field, label } from "./payload.ts";

/** What one event asks of the daemon, and what it answers; without `answer`, nothing. */
export interface Plan {
  readonly actions: readonly HookAction[];
  readonly file?: string;
  readonly answer?: (outcomes: readonly HookOutcome[]) => Output;
}

export type Row = (event: Event, actor: Actor, context: HookContext) => Plan;

export const idle: Plan = { actions: [] };

type Seen = Extract<HookAction, { do: "seen" }>;
type SeenFields = Partial<Pick<Seen, "active" | "attention" | "agentName" | "descends" | "ended">>;

/** Registers the session if it is not known; for events that wait alone. Empty where the event names no directory. */
export function begin(event: Event, { session, pid }: Actor, revive = false): readonly HookAction[] {
  const cwd = field(event, "cwd");
  if (cwd === null) return [];
  return [{ do: "begin", session, cwd, ...(pid === undefined ? {} : { pid }), revive }];
}

/** A sign of life of the actor. */
export function seen({ session, agent }: Actor, fields: SeenFields = {}): HookAction {
  return { do: "seen", session, ...(agent === undefined ? {} : { agent }), ...fields };
}

/** The actor is at work; an agent is named as the client names it. */
export function atWork(event: Event, actor: Actor): HookAction {
  const { agent } = actor;
  const name = agent === undefined ? null : label(event, "agent_type");
  const known = name === null ? {} : { agentName: name };
  const descends = agent !== undefined && isSubagent(agent) ? { descends: true } : {};
  return seen(actor, { active: true, attention: null, ...known, ...descends });
}

/** The actor's turn is over, and nobody is asked anything for it any more. */
export function turnOver(actor: Actor): readonly HookAction[] {
  return [{ do: "turn_end", ...actor }, seen(actor, { active: false, attention: null })];
}

/** The agent is no more. */
export function agentOver(actor: Actor & { readonly agent: string }): readonly HookAction[] {
  return [{ do: "turn_end", ...actor }, seen(actor, { ended: true, attention: null })];
}

/** The session's main agent, whoever the event names. */
export function mainOf({ session, pid }: Actor): Actor {
  return { session, ...(pid === undefined ? {} : { pid }) };
}
