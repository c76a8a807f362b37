/** Pending notices and reported conflicts. Invariant: only this file's functions change the two maps' indexes. */
import type { FileNote } from "../../../hooks/seam/notices.ts";
import { addToSet, removeFromSet, type Sets } from "../sets.ts";
import type { ConflictSide } from "./notice-commands.ts";

/** The state's table of notices. */
export interface Notes {
  /** Pending notices by `noteKey`; the agent with the latest notice is last. */
  readonly pending: Map<string, PendingNotes>;
  /** The number of notices so far; the next notice's number is one more. */
  count: number;
  /** Conflicts that both sides have a notice of, by both actors and the file, oldest first. */
  readonly conflicts: Map<string, Conflict>;
  /** derived: keys of `pending` by session. */
  readonly bySession: Sets<string, string>;
  /** derived: keys of `conflicts` by the sessions of their sides. */
  readonly conflictsOf: Sets<string, string>;
}

export interface PendingNotes {
  readonly session: string;
  readonly agent: string | null;
  /** The notices, oldest first; `dropped` counts older ones that were evicted. */
  readonly notes: readonly { readonly n: number; readonly note: FileNote }[];
  readonly dropped: number;
}

export interface Conflict {
  readonly sides: readonly [ConflictSide, ConflictSide];
}

/** An agent within a session, in all its terminals. */
export type Whose = Pick<PendingNotes, "session" | "agent">;

export function noNotes(): Notes {
  return {
    pending: new Map(),
    count: 0,
    conflicts: new Map(),
    bySession: new Map(),
    conflictsOf: new Map(),
  };
}

/** Returns the key of an agent's pending notices. */
export function noteKey({ session, agent }: Whose): string {
  return agent === null ? session : `${session}\n${agent}`;
}

export function addPending(notes: Notes, pending: PendingNotes): void {
  const key = noteKey(pending);
  notes.pending.set(key, pending);
  addToSet(notes.bySession, pending.session, key);
}

export function removePending(notes: Notes, pending: PendingNotes): void {
  const key = noteKey(pending);
  notes.pending.delete(key);
  removeFromSet(notes.bySession, pending.session, key);
}

export function addConflict(notes: Notes, id: string, conflict: Conflict): void {
  notes.conflicts.set(id, conflict);
  for (const { actor } of conflict.sides) addToSet(notes.conflictsOf, actor.session, id);
}

export function removeConflict(notes: Notes, id: string): void {
  const conflict = notes.conflicts.get(id);
  notes.conflicts.delete(id);
  for (const { actor } of conflict?.sides ?? []) removeFromSet(notes.conflictsOf, actor.session, id);
}
