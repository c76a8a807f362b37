import type { Actor } from "../actor.ts";
import type { Written } from "../file-ref.ts";

export interface WriteNote {
  readonly files: readonly Written[];
  /** `edit`: a tool's hook reported the write. `shell`: the daemon detected it after a shell command. */
  readonly by: "edit" | "shell";
  /** Agents of the same session that the writer works for; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  readonly wallMs: number;
}

/** The actor's shell command ended; these files changed while it ran. */
export interface WritesNoted {
  readonly actor: Actor;
  readonly noted: WriteNote;
}

/** Git reports these files clean; `seq` is the latest write that the daemon knew when git ran. */
export interface WritesSettled {
  readonly settled: readonly { readonly key: string; readonly seq: number }[];
}

/** The actor's git command made settled work in these files uncommitted again: it popped a stash or undid a commit. */
export interface WorkReturned {
  readonly actor: Actor;
  readonly noted: WriteNote;
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

/** An actor with the agents of its session that it works for. */
export interface ActorInFamily {
  readonly actor: Actor;
  readonly ancestors: readonly (string | null)[];
}

/** Uncommitted work was wiped or overwritten, and Kite kept it: its writers and whoever did it are to hear of that. */
export interface WorkWiped {
  /** The wipe's name: `r-12`. */
  readonly wipe: string;
  readonly project: string;
  /** Null: no tool use explains it. */
  readonly doer:
    | (ActorInFamily & {
        /** The actor's name for people. */
        readonly name: string;
        /** The line did not name what it wiped: then its actor hears it of its own work, too. */
        readonly isUnaware: boolean;
      })
    | null;
  /** The command in short form: `git checkout`. */
  readonly command: string;
  /** At least one, at most `limits.rescueWipeFilesMax`. */
  readonly files: readonly WipedWork[];
  /** Files that the wipe has besides these, so that a restore of all brings back more. */
  readonly others: number;
}

/** A file that was wiped and that a version brings back. */
export interface WipedWork {
  /** Relative to the top of the worktree. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  /** Lines that the file lost; null: not counted. */
  readonly lines: number | null;
  /** Whose work it was. */
  readonly writers: readonly ActorInFamily[];
}

/** These commands by name. */
export interface WriteCommands {
  writes_noted: WritesNoted;
  writes_settled: WritesSettled;
  work_returned: WorkReturned;
  work_taken: WorkTaken;
  work_wiped: WorkWiped;
}
