/** What a guarded shell line holds, and what was found in its reach: between the daemon and an adapter. */

/**
 * A folder of this name in `dir` stands for the top of the worktree around the folders in front of it, as
 * `git rev-parse --show-toplevel` tells it. No name of a file: the code point stands for no character.
 */
export const topFolder = "\u{fdd0}";

/** A git command found in a shell line, as far as it reaches the working tree or the index. */
export interface GuardedCommand {
  /** As people say it: `git stash push`. */
  readonly name: string;
  /** Absolute directory it runs in, perhaps with a `topFolder`; null: cannot be told. */
  readonly dir: string | null;
  /** It runs there, or in a folder below that cannot be told. */
  readonly isBelow?: true;
  /** Where it runs instead if `dir` is not there: a `cd` that fails leaves the shell where it is. */
  readonly stays?: string;
  /** `--git-dir` and `--work-tree` as they were given, relative to `dir`. */
  readonly gitDir: string | null;
  readonly workTree: string | null;
  /**
   * `tree`: may wipe uncommitted work. `take_all`: puts whatever changed into the index or a commit. `index`: only
   * what it names, or what is staged.
   */
  readonly reach: "tree" | "take_all" | "index";
  /** It commits what is staged. */
  readonly commits: boolean;
  /** Pathspecs it is limited to, relative to `dir`; null: everything. */
  readonly paths: readonly string[] | null;
  /** Untracked files are in reach (`clean`, `stash -u`). */
  readonly untracked: boolean;
  /** Files that git ignores are in reach (`clean -x`, `stash -a`). */
  readonly ignored?: boolean;
  /**
   * It works on another worktree than the one around it, which git finds by its path (`dir`) or by the end of that, this;
   * null: only the shell knows which.
   */
  readonly elsewhere?: string | null;
  /** It reaches into repositories further in, too. */
  readonly further?: Further;
  /** Paths, relative to `dir`, that it writes over whatever is there. */
  readonly over?: readonly string[];
  /** It puts other commits into the working tree: of all this, only what they change is in reach. */
  readonly changes?: TreeChange;
}

/** How a command reaches into repositories below its worktree, as far as its paths go. */
export interface Further {
  /** Submodules, or whatever repository lies there. */
  readonly into: "submodules" | "all";
  /** Only where the repository's settings say so. */
  readonly isIfSet?: true;
  /** With all that is in them, whether git knows of it or not. */
  readonly isWhole?: true;
}

/**
 * How other commits come into the working tree. Git itself refuses such a command where it would overwrite uncommitted
 * work, but for files that it ignores.
 */
export interface TreeChange {
  /**
   * `target`: files that differ between HEAD and each revision. `merge`: those that differ since both parted. `commits`:
   * those that each commit, or each of a range, changed. `files`: all that each revision has.
   */
  readonly by: "target" | "merge" | "commits" | "files";
  /** As they were given; "": no file at all. One that git does not find changes nothing. */
  readonly revisions: readonly string[];
  /** A revision that git does not find may be a path, or a remote's branch. */
  readonly orPath: boolean;
  /** What is lost of what is uncommitted, whatever differs; `tracked`: all that the command reaches of itself. */
  readonly loses: "all" | "tracked" | "staged" | "nothing";
  /** It writes over files that git does not know; unforced, git refuses that. */
  readonly isForced?: true;
  /** Names in the repository's directory: it does nothing unless one of them is there. Empty: it needs none. */
  readonly during: readonly string[];
  /** Settings with which it stashes whatever is uncommitted, and brings it back later. */
  readonly stashes: readonly string[];
}

/** A git command by a name that git itself does not have: perhaps an alias, which git's configuration tells. */
export interface AliasedCommand {
  /** The alias: letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  readonly dir: string | null;
  readonly isBelow?: true;
  readonly gitDir: string | null;
  readonly workTree: string | null;
  /** What it comes to where `alias.<name>` is this text. Pure; never throws. */
  readonly commandsOf: (text: string) => readonly GuardedCommand[];
  /** Further aliases that it comes to then; fewer each time, down to none. */
  readonly aliasesOf?: (text: string) => readonly AliasedCommand[];
}

/** The mode in which uncommitted work is guarded; `warn` tells and lets it run. */
export type GuardMode = "deny" | "warn" | "off";

/** A file with uncommitted work that is not the actor's. */
export interface ForeignFile {
  /** Relative to the worktree. */
  readonly file: string;
  /** Whose it is, as people see it. */
  readonly who: string;
  /** What they do, in a few words, as far as it is known. */
  readonly doing: string | null;
  /** They hold it now; else they wrote it, and it was not committed since. */
  readonly held: boolean;
  /** The actor has uncommitted work in it as well. */
  readonly yours: boolean;
  /** How long ago it was written by one whose session has ended, in milliseconds; null: whose it is lives. */
  readonly leftMs: number | null;
}

/** Why a guarded command should not run as it is. */
export interface GuardFinding {
  /** Which of the action's commands, counted from 0; after them come those of `aliased`. */
  readonly command: number;
  /** `tell_first`: the same line passes when it is sent again and reaches nothing more, and nothing newer. */
  readonly verdict: "deny" | "tell_first";
  /** Those in reach, at most `limits.guardFilesMax`; `more` counts the rest. */
  readonly foreign: readonly ForeignFile[];
  readonly more: number;
  /** The actor's own uncommitted files there, relative to the worktree, at most as many. */
  readonly own: readonly string[];
  /** Absolute. */
  readonly worktree: string;
  /** Where the command runs cannot be told: this is one of the worktrees that it may run in. */
  readonly isSupposed?: true;
  /** Why it could not be looked at in time: then all that others are known to have written there counts as in reach. */
  readonly unseen?: string;
}
