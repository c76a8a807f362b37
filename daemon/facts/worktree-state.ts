/** The state of a worktree: its commit, and what differs from it. */
import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { Budget, BudgetedFs, Unreachable } from "./filesystem.ts";
import type { GitChild, GitPlace } from "./git/process.ts";
import { contentOf, oidOf } from "./git/process.ts";
import { type GitLists, ListFacts, NotTold, type Staged, statText } from "./git/status.ts";
import type { Repository } from "./repositories.ts";
import { isEmpty, isLinkedWorktree } from "./repositories.ts";
import { Allowance, SharedRuns } from "./work-clock.ts";

export interface WorktreeState {
  /** The id of the commit; null before the first one. */
  readonly commit: string | null;
  /** The hash of `changed` and `absent`: it is the same if the same files differ in the same way. */
  readonly dirty: string;
  /**
   * A hash of what the working tree leaves out on purpose: files of a sparse checkout, submodules that are not checked out.
   * Empty: it leaves out nothing.
   */
  readonly absent: string;
  /**
   * The files that differ from the commit, without ignored ones, ordered by their path from the top. Each has the mode and
   * id of its content, or a word if it has none.
   */
  readonly changed: ReadonlyMap<string, string>;
}

/** What one state may still take, that of its submodules included. */
interface Left {
  readonly allowance: Allowance;
  readonly hashed: { bytes: number };
  readonly depth: number;
  /** The paths of what the working tree leaves out, as they are found. */
  readonly absent: string[];
}

/**
 * Tells the states of worktrees without a program that a repository names. Git lists the index, the commit and untracked
 * files; this process stats and reads the files. If a part cannot be told, the whole state is not told. A file that was
 * touched but is unchanged may count as changed until git refreshes its index. That happens if a filter or an end-of-line
 * conversion applies. A repository in the worktree counts with its own state, but for the project's linked worktrees: each
 * of them has its own.
 */
export class StateFacts {
  readonly #outside: BudgetedFs;
  readonly #lists: ListFacts;
  readonly #repository: (directory: string) => Promise<Repository | Unreachable>;
  readonly #runs = new SharedRuns<WorktreeState | Unreachable>(limits.statesAtOnceMax);

  constructor(
    outside: BudgetedFs,
    git: GitChild,
    repository: (directory: string) => Promise<Repository | Unreachable>,
  ) {
    this.#outside = outside;
    this.#lists = new ListFacts(outside, git);
    this.#repository = repository;
  }

  /** Returns a state that is no older than the call, within `limits.stateMs` of work. */
  of(place: GitPlace): Promise<WorktreeState | Unreachable> {
    return this.#runs.run(`${place.worktree}\0${place.gitDir}`, async () => {
      const allowance = new Allowance(this.#outside.clock, limits.stateMs, limits.stateTimeMs);
      const hashed = { bytes: limits.stateHashBytes };
      try {
        return await this.#state(place, { allowance, hashed, depth: 0, absent: [] });
      } catch (error) {
        if (error instanceof NotTold) return { unreachable: error.message };
        throw error;
      }
    });
  }

  async #state(place: GitPlace, left: Left): Promise<WorktreeState> {
    const { project } = await this.#found(place);
    const lists = await this.#lists.of(place, left.allowance);
    const suspects = await this.#suspects(place, lists, left);
    const changed = new Map<string, string>();
    // One after the other: which files are hashed may not depend on which one is read first.
    const files = [...suspects.keys()].sort();
    await this.#each(files, 1, left, async (file, budget) => {
      const entry = lists.tracked.get(file);
      const path = join(place.worktree, file);
      // Git lists a repository as one name, with a slash at its end.
      const content = file.endsWith("/")
        ? await this.#nested(path.slice(0, -1), project, left, budget)
        : await this.#content(path, entry, left, budget);
      if (content !== (suspects.get(file) ?? gone)) changed.set(file, content);
    });
    const absent = left.absent.length === 0 ? "" : hashOf(left.absent.sort());
    const dirty = hashOf(absent === "" ? [...changed] : [[...changed], absent]);
    return { commit: lists.commit, dirty, absent, changed };
  }

  /** Looks the repository up anew, as another one may stand in its place. */
  async #found({ worktree, gitDir }: GitPlace): Promise<Repository> {
    const found = await this.#repository(worktree);
    if ("unreachable" in found) throw new NotTold(found.unreachable);
    if (found.worktree === worktree && found.gitDir === gitDir) return found;
    throw new NotTold(`another repository than before is in ${worktree}; try again`);
  }

  /** Returns the files that may differ from the commit, with mode and content id there; null: the commit has none. */
  async #suspects(
    { worktree }: GitPlace,
    { tracked, staged, untracked, indexMtimeNs }: GitLists,
    left: Left,
  ): Promise<ReadonlyMap<string, string | null>> {
    const suspects = new Map<string, string | null>(staged);
    await this.#each(
      groupsOf(tracked, staged),
      limits.stateGroupsMax,
      left,
      async ({ folder, files }, budget) => {
        const directory = folder === "." ? worktree : join(worktree, folder);
        const names = files.map(([file]) => basename(file));
        const stats = await this.#outside.lstats(directory, names, budget);
        for (const [i, [file, entry]] of files.entries()) {
          const { mode, oid, isSkipped, isUnmerged, mtimeNs } = entry;
          const stat = stats[i] ?? null;
          const isSame = stat !== null && statText(stat) === entry.stat && mtimeNs < indexMtimeNs;
          if (isUnmerged) suspects.set(file, null);
          else if (stat === null && isSkipped && mode !== submodule) left.absent.push(file);
          else if (mode === submodule || !isSame) suspects.set(file, `${mode} ${oid}`);
        }
      },
    );
    for (const file of untracked) if (!suspects.has(file)) suspects.set(file, null);
    if (suspects.size > limits.stateChangedMax) {
      const error = `more than ${limits.stateChangedMax} files differ from the commit; let .gitignore name what is made`;
      throw new NotTold(error);
    }
    return suspects;
  }

  /** Returns mode and content id of a file as it is, or a word. */
  async #content(path: string, entry: Staged | undefined, left: Left, budget: Budget): Promise<string> {
    const stat = await this.#stat(path, budget);
    if (stat === null) return gone;
    if (stat.isDirectory()) {
      return entry?.mode === submodule ? this.#submodule(path, entry, left, budget) : "a directory";
    }
    const mode = stat.isSymbolicLink() ? "120000" : (stat.mode & 0o100n) === 0n ? "100644" : "100755";
    if (!stat.isSymbolicLink() && !stat.isFile()) return "no regular file";
    const isHashed = stat.size <= limits.hashBytes && stat.size <= left.hashed.bytes;
    if (isHashed) left.hashed.bytes -= Number(stat.size);
    const content = isHashed
      ? await this.#outside.look(path, stat.dev, budget, () => contentOf(path, stat), inWorktree)
      : null;
    // Whatever writes a file changes its stat.
    if (content === null) return `${mode} of ${statText(stat)}`;
    return `${mode} ${oidOf(content, entry?.oid.length ?? 40)}`;
  }

  /** A submodule is as it is committed if its own commit is that one, and none of its files differs. */
  async #submodule(path: string, entry: Staged, left: Left, budget: Budget): Promise<string> {
    const found = await this.#repository(path);
    if ("unreachable" in found) throw new NotTold(found.unreachable);
    if (found.gitDir === null || found.worktree !== path) {
      // Git looks at nothing in it.
      if (!(await isEmpty(this.#outside, path, budget)))
        throw new NotTold(`${path} is a submodule without its repository, and there are files in it`);
      left.absent.push(path);
      return `${entry.mode} ${entry.oid}`;
    }
    return `${entry.mode} ${await this.#inner({ worktree: path, gitDir: found.gitDir }, left)}`;
  }

  /** A repository that git does not track is as its own state. */
  async #nested(path: string, project: string, left: Left, budget: Budget): Promise<string> {
    const found = await this.#repository(path);
    if ("unreachable" in found) throw new NotTold(found.unreachable);
    const { gitDir } = found;
    if (gitDir === null || found.worktree !== path)
      throw new NotTold(`git takes ${path} for a repository, and Kite finds none there`);
    if (found.project === project && (await isLinkedWorktree(this.#outside, found, budget)))
      return "a worktree";
    return `a repository at ${await this.#inner({ worktree: path, gitDir }, left)}`;
  }

  /** Returns commit and work of a repository within this one. */
  async #inner(place: GitPlace, left: Left): Promise<string> {
    if (left.depth >= limits.stateDepthMax)
      throw new NotTold(`${place.worktree} is too many repositories deep`);
    const { commit, dirty } = await this.#state(place, { ...left, depth: left.depth + 1, absent: [] });
    return dirty === clean ? `${commit}` : `${commit} and ${dirty}`;
  }

  /** Does the work for `width` items at a time, under one budget. */
  async #each<T>(
    items: Iterable<T>,
    width: number,
    { allowance }: Left,
    work: (item: T, budget: Budget) => Promise<void>,
  ): Promise<void> {
    for (const batch of batchesOf(items, width)) {
      if (allowance.isOver) throw new NotTold(`it took longer than ${limits.stateMs} ms of work`);
      const done = await this.#outside.fact(budget => Promise.all(batch.map(item => work(item, budget))));
      if ("unreachable" in done) throw new NotTold(done.unreachable);
    }
  }

  #stat(path: string, budget: Budget): Promise<BigIntStats | null> {
    return this.#outside.look(path, null, budget, (prober, p) => prober.lstat(p), inWorktree);
  }
}

/** Files of one folder. */
interface Group {
  /** The path from the worktree's top; a dot for the top. */
  readonly folder: string;
  readonly files: (readonly [string, Staged])[];
}

/**
 * Yields the files that are not in `staged` by folder, `limits.stateGroupFilesMax` in a group at most. It is lazy, because
 * all groups of a large worktree at once would hold other requests up.
 */
function* groupsOf(
  tracked: ReadonlyMap<string, Staged>,
  staged: ReadonlyMap<string, unknown>,
): Generator<Group, void> {
  let group: Group = { folder: ".", files: [] };
  for (const one of tracked) {
    if (staged.has(one[0])) continue;
    const folder = dirname(one[0]);
    if (folder !== group.folder || group.files.length === limits.stateGroupFilesMax) {
      if (group.files.length > 0) yield group;
      group = { folder, files: [] };
    }
    group.files.push(one);
  }
  if (group.files.length > 0) yield group;
}

function* batchesOf<T>(items: Iterable<T>, width: number): Generator<readonly T[], void> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < width) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** Of a worktree in which nothing differs. */
const clean = hashOf([]);

/** Whether nothing differs from the commit, and the working tree leaves out nothing. */
export function isCleanState({ dirty }: Pick<WorktreeState, "dirty">): boolean {
  return dirty === clean;
}
const gone = "gone";
const submodule = "160000";
/** A folder of a worktree may have become a link. */
const inWorktree = { maybeElsewhere: true };
