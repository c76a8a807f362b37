/** Which actors live, and which work for each other. */
import { type Actor, sameActor } from "../actor.ts";
import type { State } from "../state.ts";

/** An actor with those it works for. */
export interface Lineage {
  readonly actor: Actor;
  readonly ancestors: readonly (string | null)[];
}

/** Whether the part of the session that acted is alive. */
export function isAlive(state: State, { session, incarnation }: Actor): boolean {
  return state.sessions.live.get(session)?.incarnations.some(i => i.ordinal === incarnation) ?? false;
}

/** The same actor, or one of them works for the other. */
export function sameLineage(a: Lineage, b: Lineage): boolean {
  if (sameActor(a.actor, b.actor)) return true;
  const sameProcess = a.actor.session === b.actor.session && a.actor.incarnation === b.actor.incarnation;
  return sameProcess && (a.ancestors.includes(b.actor.agent) || b.ancestors.includes(a.actor.agent));
}
