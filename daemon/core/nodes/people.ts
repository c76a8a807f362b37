/**
 * What a shared log calls the people of its machines. The log of one machine has one person, whom its rows call null.
 *
 * Invariant: only what is shown depends on it. A rule that asks for a person asks `isPerson`, and treats all people alike.
 */

import { personIdOf, personsNode } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { BaseState } from "../tables/base-state.ts";
import type { Entry } from "../tables/entries.ts";

/** Returns the row of the person who speaks in the entry, or null: no person does, or it is the log of one machine. */
export function personIn(
  { leases, rules }: BaseState,
  { origin: { node }, command }: Pick<Entry, "origin" | "command">,
): ActorRow | null {
  const speaker = "by" in command ? command.by : "actor" in command ? command.actor : undefined;
  const machine = speaker === null && rules >= 3 ? leases.all.get(node)?.machine : undefined;
  return machine === undefined ? null : { id: personIdOf(node), agent: null, name: personAt(machine) };
}

/** Returns what everybody but the people of the machine calls one of them. */
export function personAt(machine: string): string {
  return `a person at ${machine}`;
}

/** Whether the row is a person's. */
export function isPerson(row: ActorRow | null): boolean {
  return row === null || personsNode(row.id) !== null;
}
