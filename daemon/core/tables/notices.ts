/**
 * Notices that an agent gets with the answer to its next waiting event, since an agent behind hooks has no connection.
 *
 * Invariants: a notice's session is alive. Notice numbers are unique and rise. An agent keeps its latest
 * `limits.fileNotesMax` notices, no two alike. `limits.notedActorsMax` evicts the agent whose notices are oldest. A notice
 * stays until an answer with it is delivered, or until its matter is over before that. An actor gets one notice if another
 * one wrote its file after it, until it writes the file itself. `limits.conflictsToldMax` evicts the oldest of these.
 */

import type { FileNote } from "../../../hooks/seam/slices.ts";
import { type Actor, actorKey, sameActor } from "../frame/actors.ts";
import type { BaseState, Meta } from "./base-state.ts";
import type { CommandOf, Step } from "./entries.ts";
import {
  type Conflict,
  type ConflictSide,
  conflictRecords,
  noteKey,
  pendingRecords,
  type Whose,
} from "./messages.ts";

export function conflictNoted(
  state: BaseState,
  command: CommandOf<"conflict_noted">,
  _meta: Meta,
  step: Step,
): void {
  const { key, path, sides, lines } = command;
  const [first, second] = sides;
  // Level 1 told both, once in the turns of both.
  const isMutual = state.rules < 2;
  const ofBoth = sides.map(({ actor }) => actorKey(actor)).sort();
  const id = [...(isMutual ? ofBoth : [actorKey(first.actor)]), key].join("\n");
  const session = state.sessions.live.get(second.actor.session);
  if (!isMutual) forgetConflict(state, second.actor, key, path);
  // Nobody is told of its own write.
  const isOthers = !sameActor(first.actor, second.actor);
  const hasReader = isMutual || (isOthers && state.sessions.live.has(first.actor.session));
  const isNew = session !== undefined && hasReader && !state.notes.conflicts.has(id);
  step.reply = { ok: true, told: isNew };
  if (!isNew) return;
  const [a, b] = [sideOf(first), sideOf(second)];
  conflictRecords.put(state.notes, { id, sides: [a, b] });
  conflictRecords.makeRoom(state.notes, state.limits.conflictsToldMax);
  const sessions = [first.actor.session, second.actor.session] as const;
  const event = { event: "file_conflict" as const, file: path, path, sessions };
  step.events.push({ event, about: sessions, project: session.project });
  const note = { what: "conflict", file: path, mine: true } as const;
  if (isMutual) tellLater(state, second.actor, { ...note, other: first.name });
  tellLater(state, first.actor, { ...note, other: second.name, ...(lines === undefined ? {} : { lines }) });
}

/** Returns the change of another actor that this one has a notice of, and after which it did not write the file. */
export function conflictOf({ notes }: BaseState, actor: Actor, key: string): Conflict | undefined {
  return notes.conflicts.get(`${actorKey(actor)}\n${key}`);
}

/** An actor that writes a file has read it: its client refuses an edit of a file that changed since. */
function forgetConflict(state: BaseState, actor: Actor, key: string, path: string): void {
  const conflict = conflictOf(state, actor, key);
  if (conflict === undefined) return;
  conflictRecords.drop(state.notes, conflict);
  takeBack(state, actor, note => note.what === "conflict" && note.file === path);
}

function sideOf({ actor, prompt }: ConflictSide): ConflictSide {
  return { actor, prompt };
}

export function notesTold(state: BaseState, command: CommandOf<"notes_told">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const pending = state.notes.pending.get(noteKey(command));
  const numbers = new Set(command.notes);
  if (pending !== undefined && numbers.size > 0) {
    const left = pending.notes.filter(({ n }) => !numbers.has(n));
    if (left.length === 0) pendingRecords.drop(state.notes, pending);
    else pendingRecords.put(state.notes, { ...pending, notes: left, dropped: 0 });
  }
  for (const id of command.risks) {
    const risk = state.risks.get(id);
    if (risk === undefined || risk.told.includes(command.session)) continue;
    if (risk.sides.every(({ actor }) => actor.session !== command.session)) continue;
    state.risks.set(id, { ...risk, told: [...risk.told, command.session] });
  }
}

/** An agent of this machine gets a notice of what agents of other machines do, or loses one. */
export function noteGiven(state: BaseState, command: CommandOf<"note_given">, _meta: Meta, step: Step): void {
  if (command.isOver === true) takeBack(state, command, note => isSame(note, command.note));
  else tellLater(state, command, command.note);
  step.reply = { ok: true };
}

/** Keeps a notice for the agent's next waiting event. A session that is not alive gets none, and a copy keeps none. */
export function tellLater(state: BaseState, { session, agent }: Whose, note: FileNote): void {
  if (state.isShared || !state.sessions.live.has(session)) return;
  const { notes } = state;
  const key = noteKey({ session, agent });
  const before = notes.pending.get(key);
  if (before?.notes.some(known => isSame(known.note, note))) return;
  notes.count += 1;
  const all = [...(before?.notes ?? []), { n: notes.count, note }];
  const kept = all.slice(-state.limits.fileNotesMax);
  const dropped = (before?.dropped ?? 0) + all.length - kept.length;
  pendingRecords.putLast(notes, { session, agent, notes: kept, dropped });
  pendingRecords.makeRoom(notes, state.limits.notedActorsMax);
}

/** Takes back the agent's notices that are over before they reached it. */
export function takeBack(state: BaseState, whose: Whose, isOver: (note: FileNote) => boolean): void {
  correct(state, whose, note => (isOver(note) ? null : note));
}

/** Changes the agent's notices that did not reach it yet; null takes one back. A notice that stays is returned as it is. */
export function correct(
  { notes }: BaseState,
  whose: Whose,
  corrected: (note: FileNote) => FileNote | null,
): void {
  const pending = notes.pending.get(noteKey(whose));
  if (pending === undefined) return;
  let isChanged = false;
  const all = pending.notes.flatMap(one => {
    const note = corrected(one.note);
    if (note === one.note) return [one];
    isChanged = true;
    return note === null ? [] : [{ ...one, note }];
  });
  if (!isChanged) return;
  // A change may make two notices the same.
  const left = all.filter((one, i) => !all.slice(0, i).some(known => isSame(known.note, one.note)));
  if (left.length === 0) pendingRecords.drop(notes, pending);
  else pendingRecords.put(notes, { ...pending, notes: left });
}

/** Under level 1, forgets the actor's reported conflicts when its turn ends, except those of the prompt `keepPrompt`. */
export function forgetConflicts(state: BaseState, actor: Actor, keepPrompt: string | null): void {
  if (state.rules >= 2) return;
  const { notes } = state;
  const mine = actorKey(actor);
  const isOver = (conflict: Conflict) =>
    conflict.sides.some(
      side => actorKey(side.actor) === mine && (keepPrompt === null || side.prompt !== keepPrompt),
    );
  for (const id of [...(notes.conflictsOf.get(actor.session) ?? [])]) {
    const conflict = notes.conflicts.get(id);
    if (conflict !== undefined && isOver(conflict)) conflictRecords.drop(notes, conflict);
  }
}

/** Removes the notices and reported conflicts of a session that ended. */
export function forgetNotes({ notes }: BaseState, session: string): void {
  pendingRecords.dropAll(notes, notes.bySession.get(session));
  conflictRecords.dropAll(notes, notes.conflictsOf.get(session));
}

/** Moves the main agent's pending notices to the id under which the session's process goes on. */
export function moveNotes({ notes }: BaseState, from: string, to: string): void {
  const pending = notes.pending.get(noteKey({ session: from, agent: null }));
  if (pending === undefined) return;
  pendingRecords.drop(notes, pending);
  pendingRecords.put(notes, { ...pending, session: to });
}

function isSame(a: FileNote, b: FileNote): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
