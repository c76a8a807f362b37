/** The interface through which handlers read the outside world. */

import { resolve } from "node:path";
import type { AgentFile, HookAdapter, LikelySubagent, WatchedAgent } from "../../hooks/seam/plan.ts";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { TreeChange } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { lockKey, resourceName } from "../../protocol/names.ts";
import type { Mounts } from "../../protocol/schemas/hook.ts";
import type { Anchor, FileName, FileRef } from "../core/frame/actors.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";
import { type Changed, ChangeFacts, type CommitDiff, commitDiff } from "./git/changes.ts";
import { CommitFacts, type CommitMark, HistoryFacts, type StashList, stashList } from "./git/commits.ts";
import { HeadFacts } from "./git/head.ts";
import type { GitChild, GitPlace } from "./git/process.ts";
import { type FileState, WorkFacts } from "./git/status.ts";
import { type MountView, MountViews } from "./mounts.ts";
import { type PathFact, PathFacts, type Stamped } from "./paths.ts";
import {
  isAlive,
  type LifeQuestion,
  type LifeSigns,
  lifeSigns,
  likelySubagent,
  processAnchor,
} from "./processes.ts";
import { GitFacts, type Repository } from "./repositories.ts";
import type { Allowance } from "./work-clock.ts";
import { StateFacts, type WorktreeState } from "./worktree-state.ts";

/**
 * Returns the parent agent that the client's file names; null if the file names none, is missing or has another form.
 */
export async function parentAgent(
  outside: BudgetedFs,
  clients: readonly AgentFile[],
  file: string,
): Promise<string | null | Unreachable> {
  const own = clients.find(({ isOne }) => isOne(file));
  if (own === undefined) return null;
  const text = await outside.fact(budget =>
    outside.look(file, null, budget, (prober, path) => prober.readSmall(path, limits.smallFileBytes), {
      maybeElsewhere: true,
    }),
  );
  return typeof text === "string" ? own.parentIn(text) : text;
}

/** Facts about files, git and processes that handlers gather before they propose a command. */
export interface Facts {
  /** The name as an absolute path, without looking at the filesystem. */
  lexical(cwd: string, file: string): string;
  /** The fact about the path if it needs no wait, else null. */
  pathNow(cwd: string, file: string): PathFact | null;
  path(cwd: string, file: string): Promise<PathFact | Unreachable>;
  /** The file's stamp; null if it cannot be read in time. */
  stamped(path: string): Promise<Stamped | null>;
  /** The same if it needs no wait, else null. */
  stampedNow(lexical: string, path: string): Stamped | null;
  /** The parent that the client's file about a nested agent names; null if it names none. */
  parentAgent(file: string): Promise<string | null | Unreachable>;
  /** The repository around a directory (absolute), at most `limits.repositoryKeptMs` old; `isAnew`: as it is now. */
  repository(cwd: string, isAnew?: boolean): Promise<Repository | Unreachable>;
  /** The directory that all worktrees of a repository have in common, by the git directory of one of them. */
  commonDirOf(gitDir: string): Promise<string | Unreachable>;
  /** The uncommitted state of `files` (relative to the worktree). */
  work(
    place: GitPlace,
    files: readonly string[],
    allowance?: Allowance,
  ): Promise<ReadonlyMap<string, FileState> | Unreachable>;
  /** The budget that several looks share. */
  allowance(): Allowance;
  /** Which of `files` a git command would change that puts other commits into the working tree. */
  change(place: GitPlace, change: TreeChange, files: readonly string[]): Promise<Changed | Unreachable>;
  /** The text of a git alias for a command in `cwd`; null if it does not exist. */
  alias(name: string, cwd: string, gitDir: string | null): Promise<string | null | Unreachable>;
  /** The worktree of a command in `cwd` with a git directory of its own; null if it has none. */
  worktreeOf(cwd: string, gitDir: string): Promise<string | null | Unreachable>;
  /** The current commit and log length of a repository, as the start for `commits`. */
  commitMark(place: GitPlace): Promise<CommitMark | Unreachable>;
  /** Returns those of `files` that are in commits made since `mark`, with the abbreviated id of each one's latest commit. */
  commits(
    place: GitPlace,
    mark: CommitMark,
    files: readonly string[],
  ): Promise<ReadonlyMap<string, string> | Unreachable>;
  /** HEAD's log, the history, refs and settings of a repository, as they are now. */
  readonly history: Pick<HistoryFacts, "headLog" | "between" | "refs" | "small" | "settings">;
  /** The stash list of a repository, as it is now. */
  stashes(place: GitPlace): Promise<StashList | Unreachable>;
  /** Where HEAD of a worktree is, and what revisions name. */
  readonly heads: Pick<
    HeadFacts,
    "latest" | "now" | "isAhead" | "isAncestor" | "revision" | "remoteBranches" | "setting" | "worktreeOn"
  >;
  /** The state of a whole worktree, no older than the call. */
  worktreeState(place: GitPlace): Promise<WorktreeState | Unreachable>;
  /** The files that differ between two commits, by their ids; null: no commit. */
  commitDiff(
    place: GitPlace,
    commits: readonly [string | null, string | null],
  ): Promise<CommitDiff | Unreachable>;
  /**
   * The view of a client in a container; null: it is in none. Refused with `mounts_unclear` if what it says of its mounts
   * does not fit this machine.
   */
  mountView(mounts: Mounts | undefined): Promise<MountView | null | Refusal>;
  /** The process as an anchor, if the daemon sees it and it is the user's. */
  anchor(pid: number): Anchor | null;
  isAlive(anchor: Anchor): boolean;
  /** Signs of life of an agent, in its client's files and in the process table. */
  lifeSigns(question: LifeQuestion): Promise<LifeSigns>;
  /** The subagent that probably acts in a session whose client does not say; null: its main agent. */
  likelySubagent(agent: Pick<WatchedAgent, "session" | "transcript">): Promise<LikelySubagent | null>;
}

/** Returns the facts of this machine, all under one budget. */
export function outsideFacts(
  outside: BudgetedFs,
  gitChild: GitChild,
  adapters: readonly Pick<HookAdapter, "agentFile" | "lifeFiles">[],
): Facts {
  const paths = new PathFacts({ outside });
  const views = new MountViews(outside);
  const git = new GitFacts({ outside, paths, mounted: () => views.pairs() });
  const work = new WorkFacts(outside, gitChild);
  const changes = new ChangeFacts(outside, gitChild);
  const commits = new CommitFacts(outside, gitChild);
  const repository = (cwd: string, isAnew?: boolean) => git.repositoryOf(cwd, isAnew);
  const agentFiles = adapters.flatMap(({ agentFile }) => agentFile ?? []);
  const lifeFiles = adapters.flatMap(({ lifeFiles }) => lifeFiles ?? []);
  const states = new StateFacts(outside, gitChild, cwd => git.lookUp(cwd));
  return {
    lexical: (cwd, file) => paths.lexical(cwd, file),
    pathNow: (cwd, file) => paths.resolveNow(cwd, file),
    path: (cwd, file) => paths.resolve(cwd, file),
    stamped: path => paths.stamped(path),
    stampedNow: (lexical, path) => paths.stampedNow(lexical, path),
    work: (place, files, allowance) => work.look(place, files, allowance),
    allowance: () => work.allowance(),
    change: (place, change, files) => changes.look(place, change, files),
    commitMark: place => commits.mark(place),
    commits: (place, mark, files) => commits.commits(place, mark, files),
    alias: (name, cwd, gitDir) => work.alias(name, cwd, gitDir),
    worktreeOf: (cwd, gitDir) => work.top(cwd, gitDir),
    history: new HistoryFacts(outside, gitChild),
    stashes: place => stashList(outside, git, place),
    heads: new HeadFacts(outside, git, gitChild),
    worktreeState: place => states.of(place),
    commitDiff: (place, ids) => commitDiff(outside, gitChild, place, ids),
    repository,
    commonDirOf: gitDir => git.commonDirOf(gitDir),
    parentAgent: file => parentAgent(outside, agentFiles, file),
    mountView: mounts => views.of(mounts),
    anchor: processAnchor,
    isAlive,
    lifeSigns: question => lifeSigns(outside, lifeFiles, question),
    likelySubagent: agent => likelySubagent(outside, lifeFiles, agent),
  };
}

// Turns names of files and resources into the keys of locks.

/** What a check of a name needs. */
interface Looking {
  readonly node: string;
  readonly facts: Facts;
}

/** Returns the files as keys, each once, if none needs a wait; else null. */
export function refsNow(services: Looking, cwd: string, names: readonly string[]): FileRef[] | null {
  const found: FileRef[] = [];
  for (const file of names) {
    const fact = services.facts.pathNow(cwd, file);
    if (fact === null) return null;
    found.push(refOf(services, file, fact));
  }
  return found.length === 1 ? found : once(found);
}

/** Returns the files as keys, or a refusal that names the file that could not be read. */
export async function refs(
  services: Looking,
  cwd: string,
  names: readonly string[],
): Promise<FileRef[] | Refusal> {
  const found: FileRef[] = [];
  for (const file of names) {
    let fact = services.facts.pathNow(cwd, file) ?? (await services.facts.path(cwd, file));
    // A stall of this process (a suspended or overloaded machine) uses up a budget as a hung mount does: try twice.
    if ("unreachable" in fact) fact = await services.facts.path(cwd, file);
    if ("unreachable" in fact) {
      return refuse("path_unreachable", `${file} could not be checked: ${fact.unreachable}; try again`, {
        file,
      });
    }
    found.push(refOf(services, file, fact));
  }
  return once(found);
}

/** Returns the file as a key, or without a key if it could not be read. */
export async function fileName(services: Looking, cwd: string, file: string): Promise<FileName> {
  const fact = services.facts.pathNow(cwd, file) ?? (await services.facts.path(cwd, file));
  return "unreachable" in fact
    ? { file, lexical: resolve(cwd, file), key: null }
    : refOf(services, file, fact);
}

/**
 * Returns the key of a resource: its name, and its project unless it is the machine's. No path begins with @, so no file has
 * such a key, and no directory holds it.
 */
export function resourceRef({ node }: Pick<Looking, "node">, project: string, named: string): FileRef {
  const path = resourceName(named);
  const lexical = lockKey({ path, project });
  return { file: named, lexical, key: `${node}:${lexical}`, dir: false, path };
}

/** The reference made from each fact. Facts are cached, so their keys are shared strings as well. */
const refsMade = new WeakMap<PathFact, FileRef>();

function refOf({ node }: Looking, file: string, fact: PathFact): FileRef {
  const made = refsMade.get(fact);
  if (made !== undefined && made.file === file) return made;
  const { lexical, real, key, dir } = fact;
  const path = key === real ? undefined : real;
  const ref = { file, lexical, key: `${node}:${key === "/" ? "" : key}`, dir, path };
  refsMade.set(fact, ref);
  return ref;
}

/** Removes repeated files. The first entry for a file counts, unless a later one names the subtree. */
export function once<F extends FileName & { readonly dir?: boolean }>(refs: readonly F[]): F[] {
  const found = new Map<string | null, F>();
  for (const ref of refs) if (ref.dir || !found.has(ref.key)) found.set(ref.key, ref);
  return [...found.values()];
}
