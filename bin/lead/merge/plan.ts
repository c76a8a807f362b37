/** What `kite merge` would do: which branches, in which order, and why. */
import { refuse } from "../../../protocol/codes.ts";
import type { MergeRow } from "../../../protocol/lead/merge.ts";
import type { Client, ProcessContext } from "../../process-context.ts";
import { Refused, rowsOf } from "../../with-daemon.ts";
import { type AuthorTasks, dependenciesOf, lastDoerOn, tasksOf } from "./authors.ts";
import { branchOf, type NamedBranch } from "./branch-of.ts";
import { branchExists, commitOf, type Git, isAncestor, namesIn } from "./git.ts";
import { inOrder } from "./order.ts";
import type { MergeRepository } from "./repository.ts";
import { shortOf } from "./trial.ts";
import type { Worktree } from "./worktrees.ts";

export interface Planned extends NamedBranch {
  /** Tasks that become pending if the merge comes back. */
  readonly tasks: readonly string[];
  /** Branches that have to be merged first. */
  readonly after: readonly string[];
  /** Number of files that are not committed in a worktree of the branch: they are not merged. */
  readonly uncommitted: number;
  /** Whether the base has all of it. */
  readonly isMerged: boolean;
}

/** Returns the branches that the names mean, each once, in the order of merging. Throws `Refused` and `GitFailed`. */
export async function planOf(
  world: ProcessContext,
  client: Client,
  { project, git, worktrees, base }: MergeRepository,
  names: readonly string[],
): Promise<readonly Planned[]> {
  const [sessions, spawns] = [await rowsOf(client, "sessions"), await rowsOf(client, "spawns", { project })];
  const exists = (branch: string) => branchExists(git, branch);
  const branches = new Map<string, NamedBranch>();
  for (const name of names) {
    const named = await branchOf(world, { project, worktrees, sessions, spawns, exists }, name);
    const short = shortOf(named.branch);
    // Of several that work on it now, Kite cannot tell whose it is.
    const isUnclear = sessions.some(one => one.project === project && one.branch === short);
    const found =
      named.author !== null || isUnclear
        ? named
        : { ...named, author: await lastDoerOn(client, project, short, sessions) };
    if (found.branch === base) {
      const error = `${name} is ${shortOf(base)} itself, the branch to merge into; name another branch, or another base: --into BRANCH`;
      throw new Refused(refuse("invalid_request", error, { name }));
    }
    branches.set(found.branch, found);
  }
  const tasks = new Map<string, AuthorTasks>();
  const known = async (id: string | undefined): Promise<AuthorTasks> => {
    const spawned = spawns.find(({ session }) => session !== null && session === id)?.task ?? null;
    const found = tasks.get(id ?? "") ?? (await tasksOf(client, project, id ?? null, spawned));
    tasks.set(id ?? "", found);
    return found;
  };
  const placed = [];
  for (const one of branches.values()) placed.push({ ...one, tasks: (await known(one.author?.id)).all });
  const queued = [];
  for (const one of await openMerges(client, project, base))
    if (!branches.has(one.branch))
      queued.push({ branch: one.branch, tasks: (await known(one.author?.id)).all });
  const dependencies = await dependenciesOf(client, [...placed.flatMap(one => one.tasks)]);
  const ordered = inOrder(placed, queued, dependencies);
  if ("cycle" in ordered) throw cycleRefused(ordered.cycle);
  const end = await commitOf(git, base);
  const plans: Planned[] = [];
  for (const { one, after } of ordered) {
    const tip = await commitOf(git, one.branch);
    const isMerged = tip !== null && end !== null && (await isAncestor(git, tip, end));
    const uncommitted = await uncommittedIn(git, worktrees, one.branch);
    plans.push({ ...one, after, uncommitted, isMerged, tasks: (await known(one.author?.id)).present });
  }
  return plans;
}

async function uncommittedIn(git: Git, worktrees: readonly Worktree[], branch: string): Promise<number> {
  const place = worktrees.find(one => one.branch === branch);
  if (place === undefined) return 0;
  const { code, out } = await git(["status", "--porcelain", "--no-renames", "-z"], { cwd: place.path });
  return code === 0 ? namesIn(out).length : 0;
}

/** Returns the base's merges that no command attends to, in their order. */
export async function waitingFor(
  client: Client,
  project: string,
  base: string,
): Promise<readonly MergeRow[]> {
  return (await openMerges(client, project, base)).filter(({ attended }) => !attended);
}

async function openMerges(client: Client, project: string, base: string): Promise<readonly MergeRow[]> {
  const rows = await rowsOf(client, "merges", { project });
  return rows.filter(one => one.base === base && (one.state === "queued" || one.state === "running"));
}

function cycleRefused(cycle: readonly string[]): Refused {
  const names = cycle.map(shortOf);
  const path = [...names, names[0]].join(" after ");
  const error = `the authors' tasks build on each other: ${path}; merge one of these branches alone first`;
  return new Refused(refuse("task_cycle", error, { cycle: names }));
}
