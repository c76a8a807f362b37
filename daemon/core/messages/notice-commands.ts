import type { Actor } from "../actor.ts";
/** What agents are to be told of each other's writes, as the log holds it. */

/** One of two actors that wrote the same file, with the prompt its turn answers as far as that is known. */
export interface ConflictSide {
  readonly actor: Actor;
  readonly prompt: string | null;
}

interface NamedSide extends ConflictSide {
  /** As people see the actor. */
  readonly name: string;
}

/** Two actors wrote the same file shortly one after the other; the second of `sides` wrote last. */
export interface ConflictNoted {
  readonly key: string;
  /** Absolute, as it is spelled. */
  readonly path: string;
  readonly sides: readonly [NamedSide, NamedSide];
}

/** An answer with these reached its client: the agent was told. */
export interface NotesTold {
  readonly session: string;
  readonly agent: string | null;
  /** Numbers of notes. */
  readonly notes: readonly number[];
  /** Merge risks, by their key in the state, of which the session was told. */
  readonly risks: readonly string[];
}

/**
 * A git command of the actor's took uncommitted work of others: it is in a commit, or not in the working tree any
 * more. `seq` of a file is the latest write known when the command began; later writes were not taken.
 */
export interface WorkTaken {
  readonly actor: Actor;
  /** As people see the actor. */
  readonly name: string;
  readonly ancestors: readonly (string | null)[];
  readonly how: "committed" | "discarded";
  /** As people say it: `git commit -a`. */
  readonly command: string;
  /** The commit's id, abbreviated; null: there is none, or it could not be told. */
  readonly commit: string | null;
  readonly files: readonly { readonly key: string; readonly seq: number }[];
}

/** These commands by name. */
export interface NoteCommands {
  conflict_noted: ConflictNoted;
  notes_told: NotesTold;
  work_taken: WorkTaken;
}
