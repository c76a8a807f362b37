/** The invariants of notices; part of `check`. */

import type { BaseState } from "../base-state.ts";
import { isSame } from "../same-index.ts";
import { addToSet } from "../sets.ts";
import { noteKey } from "./notice-table.ts";

/** Yields one sentence per broken invariant. */
export function* checkNotes({ notes, sessions, limits }: BaseState): Generator<string> {
  if (notes.pending.size > limits.notedActorsMax) yield "more agents have notes than may";
  if (notes.conflicts.size > limits.conflictsToldMax) yield "more conflicts are remembered than may be";
  const bySession = new Map<string, Set<string>>();
  const given = new Set<number>();
  for (const [key, pending] of notes.pending) {
    const { session } = pending;
    if (key !== noteKey(pending)) yield `the notes of ${key} are those of another agent`;
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
    addToSet(bySession, session, key);
  }
  const conflictsOf = new Map<string, Set<string>>();
  for (const [id, { sides }] of notes.conflicts) {
    for (const { actor } of sides) addToSet(conflictsOf, actor.session, id);
  }
  if (!isSame(notes.bySession, bySession)) yield "the index bySession of the notes is wrong";
  if (!isSame(notes.conflictsOf, conflictsOf)) yield "the index conflictsOf is wrong";
}
