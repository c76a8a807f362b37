/** Guarded shell lines that run now, with the uncommitted work of others that they reach. */
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { DirtyFile } from "../../core/tables/base-state.ts";
import type { CommitMark } from "../../facts/git/commits.ts";
import type { GitPlace } from "../../facts/git/process.ts";

/** A file with uncommitted work of others that a command of the line reaches. */
export interface Reached {
  readonly place: GitPlace;
  readonly key: string;
  /** Relative to the worktree. */
  readonly file: string;
  /** The sequence number of the entry that noted its latest write. */
  readonly seq: number;
  /** The command's name, for people. */
  readonly command: string;
  /** True if the command commits the file; else it may remove it from the working tree. */
  readonly commits: boolean;
}

/** A reached file with its stamp from before the line ran. */
export interface Before extends Reached {
  /** Undefined: the file could not be read. */
  readonly stamp: string | null | undefined;
}

/** One repository before the line ran. */
export interface Repository {
  readonly place: GitPlace;
  /** Where it stood; null: the line commits nothing, or git did not say. */
  readonly mark: CommitMark | null;
  readonly files: readonly Before[];
}

/** A command of the line that may wipe what others write in its reach before the command runs. */
export interface Wiping {
  readonly place: GitPlace;
  readonly command: string;
  /** As in a pathspec; null: all files. */
  readonly paths: readonly string[] | null;
  readonly base: string | null;
  /** The sequence number of the latest entry that noted a write in the worktree before the line ran. */
  readonly seq: number;
}

/** Files of one worktree without uncommitted work, which a line may make uncommitted again. */
export interface Settled {
  readonly place: GitPlace;
  /** The command brings back the work of the files' writers. */
  readonly isBack: boolean;
  readonly files: readonly DirtyFile[];
}

export interface RunningLine {
  readonly places: readonly GitPlace[];
  readonly repositories: readonly Repository[];
  readonly wiping: readonly Wiping[];
  /** Files that it may make uncommitted again. */
  readonly settled: readonly Settled[];
}

const nothing: RunningLine = { places: [], repositories: [], wiping: [], settled: [] };

/** Guarded lines that run now. In memory only: after a restart the daemon reports nothing of them. */
export class RunningGitCommands {
  readonly #lines = new BoundedMap<string, RunningLine>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: ({ repositories, wiping, settled }) =>
      [...repositories, ...settled].reduce((count, { files }) => count + files.length, wiping.length),
  });

  began(toolUseId: string, line: RunningLine): void {
    this.#lines.set(toolUseId, line);
  }

  ended(toolUseId: string): RunningLine {
    const line = this.#lines.get(toolUseId) ?? nothing;
    this.#lines.delete(toolUseId);
    return line;
  }
}
