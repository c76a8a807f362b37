/** Pending notices and reported conflicts. */
import type { FileNote } from "../../../hooks/seam/slices.ts";
import { Records, sets } from "../records.ts";
import { numberHead, valueList } from "../rows.ts";
import type { ConflictSide } from "./notice-commands.ts";

export interface PendingNotes {
  readonly session: string;
  readonly agent: string | null;
  /** The notices, oldest first; `dropped` counts older ones that were evicted. */
  readonly notes: readonly { readonly n: number; readonly note: FileNote }[];
  readonly dropped: number;
}

/** A conflict that the first side has a notice of. */
export interface Conflict {
  /** The first side and the file's key. */
  readonly id: string;
  readonly sides: readonly [ConflictSide, ConflictSide];
}

/** An agent within a session, in all its terminals. */
export type Whose = Pick<PendingNotes, "session" | "agent">;

/** Returns the key of an agent's pending notices. */
export function noteKey({ session, agent }: Whose): string {
  return agent === null ? session : `${session}\n${agent}`;
}

export const pendingRecords = new Records("pending", (pending: PendingNotes) => noteKey(pending), {
  bySession: sets(({ session }) => session),
});
export const conflictRecords = new Records("conflicts", (conflict: Conflict) => conflict.id, {
  /** By the sessions of their sides. */
  conflictsOf: sets(({ sides }) => sides.map(({ actor }) => actor.session)),
});

type Pending = ReturnType<typeof pendingRecords.empty>;
type Conflicts = ReturnType<typeof conflictRecords.empty>;

/** Pending notices by `noteKey`: the agent with the latest one is last. Reported conflicts, the oldest first. */
export interface Notes extends Pending, Conflicts {
  /** The number of notices so far; the next notice's number is one more. */
  count: number;
}

export function noNotes(): Notes {
  return { ...pendingRecords.empty(), ...conflictRecords.empty(), count: 0 };
}

export const noteRows = {
  head: numberHead("noteCount", "count"),
  lists: {
    notes: valueList(
      (notes: Notes) => notes.pending,
      (notes, pending) => pendingRecords.put(notes, pending),
    ),
    conflicts: {
      write: ({ conflicts }: Notes) =>
        [...conflicts.values()].map(({ id, sides }) => [id, { sides }] as const),
      read: (notes: Notes, [id, { sides }]: readonly [string, Pick<Conflict, "sides">]) =>
        conflictRecords.put(notes, { id, sides }),
    },
  },
};
