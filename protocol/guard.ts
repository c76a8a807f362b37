/** The git commands of a guarded shell line, and the guard's findings: between the daemon and an adapter. */
import { limits } from "./limits.ts";
import type { ActorRow, FilesNews } from "./schemas/lock.ts";

/**
 * In `dir`, a folder of this name means the top of the worktree of the folders before it, as
 * `git rev-parse --show-toplevel` prints it. No file has this name: the code point is a noncharacter.
 */
export const topFolder = "\u{fdd0}";

/** A git command in a shell line, described by its reach into the working tree or the index. */
export interface GuardedCommand {
  /** False: it overwrites files without git's index, as other programs and redirections do. */
  readonly needsIndex?: false;
  /** The command in short form: `git stash push`. */
  readonly name: string;
  /** The absolute directory in which it runs, perhaps with a `topFolder`; null: unknown. */
  readonly dir: string | null;
  /** The command runs in `dir`, or in an unknown folder below it. */
  readonly isBelow?: true;
  /** The directory in which it runs if `dir` does not exist: a failed `cd` leaves the shell there. */
  readonly stays?: string;
  /** The given `--git-dir` and `--work-tree`: relative to `dir`, or absolute, perhaps with a `topFolder`. */
  readonly gitDir: string | null;
  readonly workTree: string | null;
  /**
   * `tree`: may overwrite uncommitted work. `take_all`: takes all changes into the index or a commit. `index`: takes
   * only the files it names, or the staged ones. `stash`: reaches no file, only stash entries. `place`: reaches no file,
   * only where a worktree lies. `refs`: reaches neither file nor index, only what `refs` says.
   */
  readonly reach: "tree" | "take_all" | "index" | "stash" | "place" | "refs";
  /** Whether the command commits the staged files. */
  readonly commits: boolean;
  /** The pathspecs that limit it, named likewise; null: no limit. */
  readonly paths: readonly string[] | null;
  /** Whether it reaches untracked files (`clean`, `stash -u`). */
  readonly untracked: boolean;
  /** Whether it reaches ignored files (`clean -x`, `stash -a`). */
  readonly ignored?: boolean;
  /**
   * The command works on another worktree, which git finds by its path (`dir`) or by this end of the path. Null: only
   * the shell knows which.
   */
  readonly elsewhere?: string | null;
  /** What it does with that worktree as a whole: a session that works in it loses its folder. */
  readonly displaces?: "removes" | "moves";
  /** Its reach into repositories below its worktree. */
  readonly further?: Further;
  /** Paths, relative to `dir`, that it overwrites. */
  readonly over?: readonly string[];
  /** The other commits that it checks out: it reaches only the files that they change. */
  readonly changes?: TreeChange;
  /** What it does with the stash entries of its repository. */
  readonly stash?: StashUse;
  /** The words that give its commit a message: `-m`, `text`; absent: it makes no commit, or only the shell knows them. */
  readonly message?: readonly string[];
  /** What it does to HEAD, to branches and to an operation in progress. */
  readonly refs?: RefUse;
}

/**
 * What a command does to HEAD, to branches and to an operation in progress. `add`: only adds commits to HEAD's branch.
 * `rewrite`: puts other commits in the place of the branch's own.
 */
export type RefUse =
  | HeadMove
  | { readonly does: "add" }
  | {
      readonly does: "rewrite";
      /** The commits, as the line names them; empty: those of HEAD. Absent: only the latest one, which is amended. */
      readonly revisions?: readonly string[];
    }
  | {
      /** It deletes what no ref has: logs of refs that keep commits, or commits that no log keeps either. */
      readonly does: "expire";
      readonly by: "reflog" | "prune";
    }
  | PushUse
  | OperationEnd
  | {
      /** It deletes branches, or with `isRemote` remote-tracking branches. */
      readonly does: "delete";
      readonly branches: readonly string[];
      readonly isRemote?: true;
    };

/** A command that puts HEAD on another branch or off one, or its branch on another commit. */
export interface HeadMove {
  readonly does: "move";
  readonly by:
    | "checkout"
    | "switch"
    | "reset"
    | "rebase"
    | "pull"
    | "bisect"
    | "branch"
    | "symbolic-ref"
    | "update-ref"
    | "stash branch";
  /** The revision that HEAD or its branch goes to, of a rebase the new base; null: the words do not tell. */
  readonly to: string | null;
  /** If no revision has the name `to`, it is a path, and HEAD stays. */
  readonly orPath?: true;
  /** The branch that it makes and goes to; null: only the shell knows its name. */
  readonly newBranch?: string | null;
  /** It makes the branch anew if there is one of that name. */
  readonly isForced?: true;
  readonly isOrphan?: true;
  readonly isDetached?: true;
  /** It moves HEAD only while HEAD is on this branch; null: only the shell knows which. */
  readonly onlyOn?: string | null;
  /** Of a rebase: the branch that it goes to first; null: only the shell knows which. */
  readonly branch?: string | null;
  /** It moves HEAD only if both have commits that the other one lacks; of `pull`, only if HEAD has. */
  readonly ifApart?: true;
  /** It does so only if this setting of the repository says so. */
  readonly ifSet?: string;
}

/** `remote` null: the line does not say. `refs` as the line names them; null: only the shell knows them. */
export interface PushUse {
  readonly does: "push";
  readonly remote: string | null;
  readonly refs: readonly string[] | null;
  readonly isForced?: true;
  readonly isDeleting?: true;
  readonly isAll?: true;
  readonly isTags?: true;
}

/** The command goes on with an operation in progress, or ends it. */
export interface OperationEnd {
  readonly does: "end";
  /** `merge`, `rebase`, `cherry-pick`, `revert`, `am` or `bisect`. */
  readonly operation: string;
  readonly how: "continue" | "skip" | "abort" | "quit";
}

/** What a command does with a stash list. `take_all`: takes every entry out of it, or any number of them. */
export type StashUse = NewStash | NamedStash | { readonly does: "take_all" };

/** The command puts an entry on top of the list, if there is anything to put away. */
export interface NewStash {
  readonly does: "make";
  /** It puts only a part of the changes away, perhaps none. */
  readonly isPart?: true;
}

/** `take`: takes one entry out of the list. `copy`: leaves it there. */
export interface NamedStash {
  readonly does: "take" | "copy";
  /** The entry's position from the top, from 0, or the beginning of its commit's id; null: it may be any. */
  readonly entry: number | string | null;
}

/** How a command reaches into repositories below its worktree, within its paths. */
export interface Further {
  /** `submodules`: only these. `all`: every repository below. */
  readonly into: "submodules" | "all";
  /** Whether the command does so only if the repository's settings say so. */
  readonly isIfSet?: true;
  /** Whether it reaches nothing else, not even its own worktree. */
  readonly isOnly?: true;
  /** Whether it reaches all their files, tracked or not. */
  readonly isWhole?: true;
}

/**
 * How a command checks other commits out. Git itself refuses such a command if it would overwrite uncommitted work,
 * except in ignored files.
 */
export interface TreeChange {
  /**
   * `target`: files that differ between HEAD and each revision. `merge`: those that differ since their merge base.
   * `commits`: those that each commit, or each of a range, changed. `files`: all files of each revision.
   */
  readonly by: "target" | "merge" | "commits" | "files";
  /** The given revisions; "": no file at all. A revision that git does not find changes nothing. */
  readonly revisions: readonly string[];
  /** Of commits with several parents, the number of the one against which they count; absent: each of them. */
  readonly mainline?: number;
  /** Whether a revision that git does not find may be a path, or a remote's branch. */
  readonly orPath: boolean;
  /**
   * The uncommitted work that the command loses whatever differs; `tracked`: all in its own reach. `ignored`: none, and
   * of what differs only ignored files; git refuses to change others with uncommitted work.
   */
  readonly loses: "all" | "tracked" | "staged" | "ignored" | "nothing";
  /** Whether it overwrites untracked files; without force, git refuses that. */
  readonly isForced?: true;
  /** Names in the repository's directory: without any of these files the command does nothing. Empty: it needs none. */
  readonly during: readonly string[];
  /** The settings with which it stashes uncommitted work first, and restores it later. */
  readonly stashes: readonly string[];
}

/** A git command of a name that git itself does not have: perhaps an alias in git's configuration. */
export interface AliasedCommand {
  /** The alias: letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  readonly dir: string | null;
  readonly isBelow?: true;
  readonly gitDir: string | null;
  readonly workTree: string | null;
  /** Returns the commands that the alias runs if `alias.<name>` is this text. Pure; never throws. */
  readonly commandsOf: (text: string) => readonly GuardedCommand[];
  /** Returns the further aliases that it runs; each level has fewer, down to none. */
  readonly aliasesOf?: (text: string) => readonly AliasedCommand[];
}

/** The mode of the guard over uncommitted work; `warn` reports a finding and lets the command run. */
export type GuardMode = "deny" | "warn" | "off";

/** A file with another actor's uncommitted work. */
export interface ForeignFile {
  /** Relative to the worktree. */
  readonly file: string;
  /** The name of its owner. */
  readonly who: string;
  /** The name of the main agent that answers for an owner which has ended; absent: the owner itself, or nobody. */
  readonly answerer?: string;
  /** The owner's present work in a few words, or null if unknown. */
  readonly doing: string | null;
  /** Whether the owner holds the file now; otherwise the owner wrote it and it is not committed. */
  readonly held: boolean;
  /** Its owner holds it, and git reports no uncommitted change in it. */
  readonly isOnlyHeld?: true;
  /** Whether the actor has uncommitted work in it as well. */
  readonly yours: boolean;
  /** Its owner is the main agent, or the lead, for whom the actor works. */
  readonly isKin?: true;
  /** How long ago an owner whose session has ended wrote it, in milliseconds; null: the owner is alive. */
  readonly leftMs: number | null;
}

/** A stash entry that is not the actor's own. */
export interface ForeignStash {
  /** The id of its commit. */
  readonly commit: string;
  /** Its position in the list before the line runs; null: the list could not be read. */
  readonly position: number | null;
  /** The name of the session that made it; null: Kite did not see who made it. */
  readonly who: string | null;
  /** Whether that session is alive. */
  readonly isLive: boolean;
  /** How long ago it was made, in milliseconds. */
  readonly madeMs: number;
}

/** A live session of another agent, in a worktree that a command removes or moves. */
export interface ForeignSession {
  readonly who: string;
  /** Its present work in a few words, or null if unknown. */
  readonly doing: string | null;
  /** The worktree's absolute path. */
  readonly worktree: string;
}

/** A commit of another session that a command would rewrite, drop or publish. */
export interface ForeignCommit {
  /** The whole id. */
  readonly commit: string;
  /** The first line of its message, shortened. */
  readonly subject: string;
  /** The names of those who made it; several: it is of one of them. */
  readonly who: readonly string[];
}

// Where HEAD of a worktree is, what is in progress there, and whose it is.

export type OperationKind = "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "bisect";

/** HEAD of a worktree at one moment. */
export interface HeadPlace {
  /** The full name of the ref that HEAD names; null: it is detached. */
  readonly ref: string | null;
  /** The id of the commit; null: before the first one. */
  readonly commit: string | null;
  /** What is in progress; null: nothing. */
  readonly operation: OperationKind | null;
  /** The branch that the operation began on, by its short name; null: none, or not known. */
  readonly of: string | null;
}

/** Where a commit would land, in a few words: `main`, `detached at 0123456789`, `rebasing main`, `main, merging`. */
export function headWords({ ref, commit, operation, of }: HeadPlace): string {
  const at = commit === null ? "detached" : `detached at ${commit.slice(0, limits.commitIdChars)}`;
  const place = ref === null ? at : branchName(ref);
  switch (operation) {
    case null:
      return place;
    case "rebase":
      return `rebasing ${of ?? place}`;
    case "bisect":
      return `bisecting ${of ?? place}`;
    case "am":
      return `${place}, applying patches`;
    default:
      return `${place}, ${gerunds[operation]}`;
  }
}

const gerunds = { merge: "merging", "cherry-pick": "cherry-picking", revert: "reverting" } as const;

/** The short name of a branch; the full one of another ref. */
export function branchName(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : ref;
}

/** A folder beside the worktree, named after what it is for. */
export function worktreeFolder(worktree: string, name: string): string {
  return `${worktree}-${name.replace(/[^\w.-]+/g, "-").replace(/^[.-]+|[.-]+$/g, "") || "other"}`;
}

/** An actor that is at work in a worktree: in a turn, or with uncommitted work there. */
export interface AtWork {
  readonly who: string;
  readonly doing: string | null;
  /** Its uncommitted files there, relative to the worktree, at most `limits.guardFilesShownMax`. */
  readonly files: readonly string[];
}

/** How an agent does in a place of its own what would move HEAD for all. */
export type HeadWay =
  /** `git worktree add` with these words; `branch`: what it then works on. `orphan`: a line that makes the branch there. */
  | {
      readonly is: "worktree";
      readonly words: readonly string[];
      readonly branch: string | null;
      readonly orphan?: { readonly dir: string; readonly name: string };
    }
  /** A worktree that has the branch already. */
  | { readonly is: "there"; readonly dir: string; readonly branch: string }
  /** The command rewrites the branch: `kite move` takes a copy of it along. */
  | { readonly is: "copy" };

/**
 * What a command would do to HEAD or to an operation of others. `moves`: others are at work there. `moved`: HEAD is elsewhere
 * than the actor knows. `interferes`: an operation that is not the actor's own is in progress.
 */
export type HeadFinding =
  | {
      readonly is: "moves";
      readonly at: HeadPlace;
      /** Where HEAD goes, in a few words; null: its branch goes to another commit. */
      readonly to: string | null;
      readonly others: readonly AtWork[];
      /** The number of those besides. */
      readonly more: number;
      readonly way: HeadWay;
      /** The actor has uncommitted work of its own there. */
      readonly hasOwn: boolean;
    }
  | {
      readonly is: "moved";
      readonly from: HeadPlace;
      readonly to: HeadPlace;
      readonly by: string | null;
      readonly hasOwn: boolean;
    }
  | {
      readonly is: "interferes";
      readonly kind: OperationKind;
      readonly of: string | null;
      /** Whose session began it; null: Kite did not see that. */
      readonly who: string | null;
      readonly state: "at work" | "idle" | "ended" | "unseen";
      readonly sinceMs: number;
    };

/** The reason why a guarded command should not run unchanged. */
export interface GuardFinding {
  /** The index of the action's command, from 0; those of `aliased` follow. */
  readonly command: number;
  /** `tell_first`: the same line passes when the agent sends it again, unless it reaches more files or newer writes. */
  readonly verdict: "deny" | "tell_first";
  /** The foreign files in reach, at most `limits.guardFilesMax`; `more` counts the rest. */
  readonly foreign: readonly ForeignFile[];
  readonly more: number;
  /** The actor's own uncommitted files in reach, relative to the worktree, at most as many. */
  readonly own: readonly string[];
  /**
   * The files with lines that the actor itself wrote, or an agent of its own that has ended, and that the command would take;
   * others' lines may be in them, too. At most `limits.guardOwnFilesMax`; `partMore` counts the rest.
   */
  readonly part?: readonly string[];
  readonly partMore?: number;
  /** The stash entries that it takes and that others made, at most `limits.stashesShownMax`; `more` counts the rest. */
  readonly stashes?: readonly ForeignStash[];
  /** Positions of the actor's own entries, at most as many. Absent without `stashes`. */
  readonly ownStashes?: readonly number[];
  /** The live sessions of others whose folder it takes away, at most `limits.guardFilesMax`; `more` counts the rest. */
  readonly sessions?: readonly ForeignSession[];
  /** The commits of others that it concerns, at most `limits.commitsShownMax`; `more` counts the rest. */
  readonly commits?: readonly ForeignCommit[];
  /**
   * What becomes of them: `dropped` from a branch, `published`, `unpublished` by a forced push, or `deleted` since no ref has
   * them.
   */
  readonly become?: "rewritten" | "dropped" | "published" | "unpublished" | "deleted";
  /** Of a push: what pushes the actor's own commits up to before those of others. */
  readonly upTo?: { readonly remote: string; readonly commit: string; readonly branch: string };
  /** What it does to HEAD or an operation of others. Such a finding names no files. */
  readonly head?: HeadFinding;
  /** The worktree's absolute path. */
  readonly worktree: string;
  /** The guard does not know where the command runs; `worktree` is one of the possible ones. */
  readonly isSupposed?: true;
  /** Why git gave no status in time; all known writes of others there then count as in reach. */
  readonly unseen?: string;
}

/** A program of a shell line that a role may forbid. */
export interface ShellUse {
  /** `git`: a git command that writes. `run`: tests, or a build. */
  readonly does: "git" | "run";
  /** Its name for people: `git commit`, `npm test`. */
  readonly name: string;
  /** Where it runs, absolute; null: only the shell knows. */
  readonly dir: string | null;
  /** It is `git add` or `git commit`, and reaches no other repository or working tree than that of `dir`. */
  readonly commits: boolean;
}

/** A git command whose name git does not have: git's configuration says what it runs. */
export interface AliasedUse {
  /** The alias: letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /** Where it runs, absolute, perhaps with a `topFolder`; null: only the shell knows. */
  readonly dir: string | null;
  readonly gitDir: string | null;
  /** Returns what it does if `alias.<name>` is this text. Pure; never throws; each level has fewer aliases, down to none. */
  readonly usesOf: (text: string) => ShellUses;
}

/** What a shell line does that a role may forbid. */
export interface ShellUses {
  readonly uses: readonly ShellUse[];
  readonly aliases: readonly AliasedUse[];
}

/** The events of the guard. */
export type GuardEvent = FilesNews &
  (
    | {
        /** A git command of `by` committed uncommitted work of `owner`, or took it out of the working tree. */
        readonly event: "work_taken";
        readonly how: "committed" | "discarded";
        /** The command in short form: `git commit -a`. */
        readonly command: string;
        /** The abbreviated id of the commit; null if there is none, or the daemon could not find it. */
        readonly commit: string | null;
        readonly by: ActorRow;
        readonly owner: ActorRow;
      }
    | {
        /** Uncommitted work of `owner` was wiped or overwritten: `kite rescue restore` with `wipe` brings it back. */
        readonly event: "work_wiped";
        /** `r-12`. */
        readonly wipe: string;
        /** The command in short form: `git checkout`. */
        readonly command: string;
        /** Lines that these files lost, of all together; null: not counted. */
        readonly lines: number | null;
        /** Null: no tool use explains it. */
        readonly by: ActorRow | null;
        readonly owner: ActorRow;
      }
  );
