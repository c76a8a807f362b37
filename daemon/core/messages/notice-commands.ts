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
  /** Who wrote it before, and who wrote it now: if that is the same one, it has read what it was told of. */
  readonly sides: readonly [NamedSide, NamedSide];
  /** The lines that the second one changed, for people, if known. */
  readonly lines?: string;
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

/** These commands by name. */
export interface NoteCommands {
  conflict_noted: ConflictNoted;
  notes_told: NotesTold;
}
