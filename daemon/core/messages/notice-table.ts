import type { FileNote } from "../../../hooks/seam/notices.ts";
import type { ConflictSide } from "./notice-commands.ts";

/** What agents are to be told with their next event that waits. */
export interface Notes {
  /** By `noteKey`; who got one latest is last. */
  readonly pending: Map<string, PendingNotes>;
  /** Notes so far; the next number is one more. */
  count: number;
  /** Pairs that were told that both wrote a file, by both and the file, oldest first. */
  readonly conflicts: Map<string, Conflict>;
  /** derived: keys of `pending` by session. */
  readonly bySession: Map<string, Set<string>>;
  /** derived: keys of `conflicts` by the sessions of their sides. */
  readonly conflictsOf: Map<string, Set<string>>;
}

export interface PendingNotes {
  readonly session: string;
  readonly agent: string | null;
  /** Oldest first, and how many older ones there was no room for. */
  readonly notes: readonly { readonly n: number; readonly note: FileNote }[];
  readonly dropped: number;
}

export interface Conflict {
  readonly sides: readonly [ConflictSide, ConflictSide];
}

/** An agent within a session, in whichever terminal. */
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

/** What the notes of an agent are found by. */
export function noteKey({ session, agent }: Whose): string {
  return agent === null ? session : `${session}\n${agent}`;
}

export function addPending(notes: Notes, pending: PendingNotes): void {
  const key = noteKey(pending);
  notes.pending.set(key, pending);
  enlist(notes.bySession, pending.session, key);
}

export function removePending(notes: Notes, pending: PendingNotes): void {
  const key = noteKey(pending);
  notes.pending.delete(key);
  strike(notes.bySession, pending.session, key);
}

export function addConflict(notes: Notes, id: string, conflict: Conflict): void {
  notes.conflicts.set(id, conflict);
  for (const { actor } of conflict.sides) enlist(notes.conflictsOf, actor.session, id);
}

export function removeConflict(notes: Notes, id: string): void {
  const conflict = notes.conflicts.get(id);
  notes.conflicts.delete(id);
  for (const { actor } of conflict?.sides ?? []) strike(notes.conflictsOf, actor.session, id);
}

function enlist(index: Map<string, Set<string>>, at: string, key: string): void {
  const keys = index.get(at);
  if (keys === undefined) index.set(at, new Set([key]));
  else keys.add(key);
}

function strike(index: Map<string, Set<string>>, at: string, key: string): void {
  const keys = index.get(at);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(at);
}
