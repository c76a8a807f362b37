/** Tells whether an actor is alive, its project, and which actors work for each other. */
import { type Actor, sameActor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";

/** An actor with the agents that it works for. */
export interface Lineage {
  readonly actor: Actor;
  readonly ancestors: readonly (string | null)[];
}

/** Whether the actor's incarnation is alive. */
export function isAlive(state: BaseState, { session, incarnation }: Actor): boolean {
  return state.sessions.live.get(session)?.incarnations.some(i => i.ordinal === incarnation) ?? false;
}

/** Returns the project of the actor's session, or undefined if the session has ended. */
export function projectOf(state: BaseState, { session }: Actor): string | undefined {
  return state.sessions.live.get(session)?.project;
}

/** Whether both are the same actor, or one works for the other. */
export function sameLineage(a: Lineage, b: Lineage): boolean {
  if (sameActor(a.actor, b.actor)) return true;
  const sameProcess = a.actor.session === b.actor.session && a.actor.incarnation === b.actor.incarnation;
  return sameProcess && (a.ancestors.includes(b.actor.agent) || b.ancestors.includes(a.actor.agent));
}
