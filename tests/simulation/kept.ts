/**
 * What a start must find as it was, in a form of its own that no snapshot writes or reads: locks with what is lent and
 * bound, requests in line, late writes, answers kept, sessions with the order in which they make room.
 */

import type { State } from "../../daemon/core/state.ts";
import type { Hold } from "../../daemon/core/tables/base-state.ts";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";

/** All of it, a text each by its name. */
export function keptOf({ locks, sessions, replies }: State): ReadonlyMap<string, string> {
  return new Map([
    ["what is held", textOf(locks.holds)],
    ["who waits", textOf(locks.waiters)],
    ["what was written late", textOf(locks.expiredWrites)],
    ["what was answered", textOf(replies)],
    ["who is there", textOf(sessions.live)],
    ["who makes room", textOf(sessions.idle)],
  ]);
}

/** What a start found otherwise than it was. */
export function* changed(state: State, before: ReadonlyMap<string, string>): Generator<string, void> {
  for (const [name, text] of keptOf(state))
    if (text !== before.get(name)) yield `${name} is another after a start: ${text}, not ${before.get(name)}`;
}

/** What is bound to a connection after the entry that says that it is gone. */
export function* notUnbound({ locks }: State, { command }: Entry): Generator<string, void> {
  if (command.type !== "lock_unbind") return;
  const { epoch, connection } = command.bound;
  for (const hold of locks.holds.values()) {
    for (const { bound } of partsOf(hold)) {
      if (bound?.epoch === epoch && bound.connection === connection)
        yield `${hold.key} outlives connection ${connection} of epoch ${epoch}`;
    }
  }
}

/** Locks that outlive the connection they are bound to, once everything due has been proposed and delivered. */
export function* leftBound(
  { locks, nodes, epoch, t }: State,
  isOpen: (connection: number) => boolean,
): Generator<string, void> {
  for (const hold of locks.holds.values()) {
    for (const { bound } of partsOf(hold)) {
      if (bound === null) continue;
      const since = nodes.get(bound.node)?.at ?? t;
      const isGone = bound.epoch === epoch ? !isOpen(bound.connection) : since + limits.boundGraceMs < t;
      if (isGone) yield `${hold.key} outlives connection ${bound.connection} of epoch ${bound.epoch}`;
    }
  }
}

/** The hold, and what comes back of it. */
function* partsOf(hold: Hold): Generator<Pick<Hold, "bound">, void> {
  yield hold;
  for (let { loan } = hold; loan !== null; loan = loan.loan) yield loan;
}

/** Indexes, which are built again from the rest. */
const derived: ReadonlySet<string> = new Set(["row", "placeInRow", "blockers"]);

function textOf(value: unknown): string {
  return JSON.stringify(value, (name, part: unknown) => {
    if (derived.has(name)) return undefined;
    if (part instanceof Map || part instanceof Set) return [...part];
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
