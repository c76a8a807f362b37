/** The invariants of notices; part of `check`. */

import type { BaseState } from "../base-state.ts";
import { conflictRecords, pendingRecords } from "./notice-table.ts";

/** Yields one sentence per broken invariant. */
export function* checkNotes({ notes, sessions, limits }: BaseState): Generator<string> {
  yield* pendingRecords.check(notes, "agents with notes", limits.notedActorsMax);
  yield* conflictRecords.check(notes, "conflicts", limits.conflictsToldMax);
  const given = new Set<number>();
  for (const [key, pending] of notes.pending) {
    const { session } = pending;
    if (!sessions.live.has(session)) yield `${session} has ended and is to be told something`;
    if (pending.notes.length === 0 || pending.notes.length > limits.fileNotesMax)
      yield `${key} has ${pending.notes.length} notes`;
    let last = 0;
    for (const { n } of pending.notes) {
      if (n <= last || n > notes.count || given.has(n)) yield `${key} has note ${n} behind ${last}`;
      given.add(n);
      last = n;
    }
    if (new Set(pending.notes.map(({ note }) => JSON.stringify(note))).size < pending.notes.length)
      yield `${key} is to be told something twice`;
  }
}
