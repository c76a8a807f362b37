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

/** These commands by name. */
export interface WriteCommands {
  writes_noted: WritesNoted;
  writes_settled: WritesSettled;
  work_returned: WorkReturned;
  work_taken: WorkTaken;
}
