/** What slices of a node's own log say of its actors, in rows of their own, as the shared log takes it. */

import type { BaseState, Meta } from "../tables/base-state.ts";
import type { CommandOf, NodePart, Part, Step } from "../tables/entries.ts";
import { noSession } from "../tables/naming.ts";
import type { Session } from "../tables/sessions.ts";
import type { NodeSessionsAre } from "./commands.ts";

/**
 * The level of rules from which a shared log takes parts, and what outboxes say once. Programs that know only lower levels
 * would void such an entry.
 */
export const partsLevel = 3;

/** Gives an actor the part that its node tells of, in place of the one before. */
export function actorPart(
  state: BaseState,
  { session, agent, part, value }: CommandOf<"actor_part">,
  _meta: Meta,
  step: Step,
): void {
  if (!state.sessions.live.has(session)) {
    step.reply = noSession(state, session);
    return;
  }
  // Parts that this program does not know are dropped.
  for (const [name, rules] of partsOf(state))
    if (name === part) rules.take(state, session, agent, value, step);
  step.reply = { ok: true };
}

/** Takes from these sessions' actors the parts that are not named. */
export function forgetParts(
  state: BaseState,
  sessions: readonly Session[],
  named: NonNullable<NodeSessionsAre["parts"]>,
  step: Step,
): void {
  const keyOf = (...names: (typeof named)[number]) => JSON.stringify(names);
  const left = new Set(named.map(one => keyOf(...one)));
  for (const { id } of sessions)
    for (const [name, rules] of partsOf(state))
      for (const agent of [...rules.agentsWith(state, id)])
        if (!left.has(keyOf(id, agent, name))) rules.take(state, id, agent, null, step);
}

/** Yields the parts of all slices by name. */
export function* partsOf({ points }: BaseState): Generator<readonly [name: string, Part<BaseState>], void> {
  for (const { parts } of points) if (parts !== undefined) yield* Object.entries(parts);
}

/** Takes what a node says of itself, in place of what it said before. */
export function nodePart(
  state: BaseState,
  { part, value }: CommandOf<"node_part">,
  { origin }: Meta,
  step: Step,
): void {
  for (const [name, rules] of nodePartsOf(state))
    if (name === part) rules.take(state, origin.node, value, step);
  step.reply = { ok: true };
}

/** Takes from a node the parts that are not named. */
export function forgetNodeParts(
  state: BaseState,
  node: string,
  step: Step,
  named: readonly string[] = [],
): void {
  for (const [name, rules] of nodePartsOf(state))
    if (!named.includes(name)) rules.take(state, node, null, step);
}

/** Yields the parts that slices tell of a node, by name. */
export function* nodePartsOf({
  points,
}: BaseState): Generator<readonly [name: string, NodePart<BaseState>], void> {
  for (const { nodeParts } of points) if (nodeParts !== undefined) yield* Object.entries(nodeParts);
}
