/** Guarded shell lines while they run, with what they reach of others' uncommitted work. */
import { limits } from "../../protocol/limits.ts";
import type { CommitMark } from "../facts/git-commits.ts";
import type { GitPlace } from "../facts/git-process.ts";

/** A file with uncommitted work of others that a command of the line reaches. */
export interface Reached {
  readonly place: GitPlace;
  readonly key: string;
  /** Relative to the worktree. */
  readonly file: string;
  /** The entry that noted its latest write. */
  readonly seq: number;
  /** As people say it. */
  readonly command: string;
  /** The command commits what it reaches; else it may take it out of the working tree. */
  readonly commits: boolean;
}

/** The same, and what the file was before the line ran. */
export interface Before extends Reached {
  /** Undefined: it could not be looked at. */
  readonly stamp: string | null | undefined;
}

/** One repository before the line ran. */
export interface Repository {
  readonly place: GitPlace;
  /** Where it stood; null: nothing is to be committed, or it could not be told. */
  readonly mark: CommitMark | null;
  readonly files: readonly Before[];
}

/** A command of the line that may wipe whatever others write in its reach before it is its turn. */
export interface Wiping {
  readonly place: GitPlace;
  readonly command: string;
  /** As a pathspec has them; null: all. */
  readonly paths: readonly string[] | null;
  readonly base: string | null;
  /** The latest entry that noted a write in the worktree before the line ran. */
  readonly seq: number;
}

export interface Line {
  readonly places: readonly GitPlace[];
  readonly repositories: readonly Repository[];
  readonly wiping: readonly Wiping[];
}

const nothing: Line = { places: [], repositories: [], wiping: [] };

/** Guarded lines that run now. In memory only: of a line that runs over a restart nothing is told. */
export class Guarded {
  readonly #lines = new Map<string, Line>();
  #files = 0;

  began(toolUseId: string, line: Line): void {
    this.ended(toolUseId);
    this.#lines.set(toolUseId, line);
    this.#files += countOf(line);
    for (const oldest of this.#lines.keys()) {
      const isMuch = this.#lines.size > limits.guardToldMax || this.#files > limits.guardToldFilesMax;
      if (!isMuch || oldest === toolUseId) break;
      this.ended(oldest);
    }
  }

  ended(toolUseId: string): Line {
    const line = this.#lines.get(toolUseId) ?? nothing;
    if (this.#lines.delete(toolUseId)) this.#files -= countOf(line);
    return line;
  }
}

function countOf({ repositories, wiping }: Line): number {
  return repositories.reduce((count, { files }) => count + files.length, wiping.length);
}
