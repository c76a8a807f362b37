/** The log's commands for notices: what one agent learns of another agent's writes. */
import type { Actor } from "../actor.ts";

/** One of two actors that wrote the same file, with the prompt of its turn if the daemon knows it. */
export interface ConflictSide {
  readonly actor: Actor;
  readonly prompt: string | null;
}

interface NamedSide extends ConflictSide {
  /** The actor's name for people. */
  readonly name: string;
}

/** Two actors wrote the same file within `limits.conflictMs`; the second of `sides` wrote last. */
export interface ConflictNoted {
  readonly key: string;
  /** The file's absolute path, unfolded. */
  readonly path: string;
  readonly sides: readonly [NamedSide, NamedSide];
}

/** An answer with these notices reached the agent's client. */
export interface NotesTold {
  readonly session: string;
  readonly agent: string | null;
  /** Numbers of notices. */
  readonly notes: readonly number[];
  /** Keys of the merge risks in the answer. */
  readonly risks: readonly string[];
}

/**
 * The actor's git command committed other actors' uncommitted work, or removed it from the working tree. A file's
 * `seq` is the latest write that the daemon knew when the command began; it took no later write.
 */
export interface WorkTaken {
  readonly actor: Actor;
  /** The actor's name for people. */
  readonly name: string;
  readonly ancestors: readonly (string | null)[];
  readonly how: "committed" | "discarded";
  /** The command in short form: `git commit -a`. */
  readonly command: string;
  /** The abbreviated id of the commit; null if there is none, or the daemon could not find it. */
  readonly commit: string | null;
  readonly files: readonly { readonly key: string; readonly seq: number }[];
}

/** These commands by name. */
export interface NoteCommands {
  conflict_noted: ConflictNoted;
  notes_told: NotesTold;
  work_taken: WorkTaken;
}
