/** What `kite merge` would do: which branches, in which order, and why. */

import { refuse } from "../../../protocol/codes.ts";
import type { MergeRow } from "../../../protocol/lead/merge.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { TaskRow } from "../../../protocol/schemas/task.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { agentCalled, agentElsewhere, agentsOf, type NamedAgent } from "../../context/caller.ts";
import type { Client, ProcessContext } from "../../context/process-context.ts";
import { Refused, rowsOf } from "../../context/with-daemon.ts";
import { type AgentBranch, branchOfAgent, branchOfRecord, branchOfSession } from "../spawn/look.ts";
import {
  branchExists,
  commitOf,
  type Git,
  isAncestor,
  type MergeRepository,
  namesIn,
  shortOf,
  type Worktree,
} from "./git.ts";

// What the authors of branches work on: the tasks that a merge follows, and those that it brings back.

interface AuthorTasks {
  /** All that the author works on, has done or was spawned for: the order of merges follows these. */
  readonly all: readonly string[];
  /** What becomes pending if the merge comes back: what it works on, else what it was spawned for or finished last. */
  readonly present: readonly string[];
}

const none: AuthorTasks = { all: [], present: [] };

/** Returns the tasks of a session, live or ended (null: of nobody). `spawned`: the task that its agent was spawned for. */
async function tasksOf(
  client: Client,
  project: string,
  id: string | null,
  spawned: string | null = null,
): Promise<AuthorTasks> {
  if (id === null) return none;
  const rows = await rowsOf(client, "tasks", { project, assignee: id });
  const mine = rows.filter(row => row.assignee === id && (row.status === "active" || row.status === "done"));
  const active = mine.filter(({ status }) => status === "active");
  const own = mine.find(task => task.id === spawned);
  const latest = own === undefined ? mine.toSorted((a, b) => b.updatedAt - a.updatedAt).slice(0, 1) : [own];
  const present = active.length > 0 ? active : latest;
  const all = new Set([...idsOf(mine), ...(spawned === null ? [] : [spawned])]);
  return { all: [...all], present: idsOf(present).slice(0, limits.mergeTasksMax) };
}

/**
 * Returns who did a task on the branch last, and has ended since; null: nobody is known. A branch has its author's name
 * beyond the end of its session by that alone.
 */
async function lastDoerOn(
  client: Client,
  project: string,
  branch: string,
  sessions: readonly SessionRow[],
): Promise<NamedAgent | null> {
  const live = new Set(sessions.map(({ id }) => id));
  const done = await rowsOf(client, "tasks", { project, status: "done" });
  const [last] = done
    .filter(row => row.branch === branch && row.assignee !== null && !live.has(row.assignee))
    .sort((a, b) => b.updatedAt - a.updatedAt);
  if (last === undefined || last.assignee === null) return null;
  const { assignee: id, assigneeAgent: agent, assigneeName: name } = last;
  return { id, agent, name: name ?? id, project };
}

function idsOf(rows: readonly TaskRow[]): string[] {
  return rows.map(({ id }) => id);
}

/** Returns for each task all that it depends on, by way of others too; it asks for `limits.mergeTasksAskedMax` at most. */
async function dependenciesOf(
  client: Client,
  tasks: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const direct = new Map<string, readonly string[]>();
  const wanted = [...new Set(tasks)];
  for (let id = wanted.pop(); id !== undefined; id = wanted.pop()) {
    if (direct.has(id) || direct.size >= limits.mergeTasksAskedMax) continue;
    const answer = await client.request("task_get", { task: id });
    const found = answer.ok ? answer.task.dependsOn : [];
    direct.set(id, found);
    wanted.push(...found);
  }
  return new Map(tasks.map(id => [id, reachable(id, direct)]));
}

function reachable(from: string, direct: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set<string>();
  const next = [...(direct.get(from) ?? [])];
  for (let id = next.pop(); id !== undefined; id = next.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    next.push(...(direct.get(id) ?? []));
  }
  return found;
}

/** Returns the sessions of spawned agents that have to read of one of these merges and have not. */
export async function spawnedReaders(
  client: Client,
  project: string,
  rows: readonly MergeRow[],
): Promise<ReadonlySet<string>> {
  if (rows.every(({ unread }) => unread === undefined)) return new Set();
  const spawns = await rowsOf(client, "spawns", { project });
  return new Set(
    spawns.flatMap(({ session, endedAt }) => (session === null || endedAt !== null ? [] : [session])),
  );
}

// Which branch a name on the command line means, and whose it is: of a live agent, or of a spawned one that ended.

/** A branch to merge. */
interface NamedBranch {
  /** Its full name. */
  readonly branch: string;
  /** Whose work it is, also if its session has ended; null: Kite does not know. */
  readonly author: NamedAgent | null;
}

export interface Known {
  readonly project: string;
  readonly worktrees: readonly Worktree[];
  /** Live sessions. */
  readonly sessions: readonly SessionRow[];
  /** Records of spawned agents, the oldest first. */
  readonly spawns: readonly SpawnRow[];
  /** Whether there is a local branch of this full name. */
  readonly exists: (branch: string) => Promise<boolean>;
  /** Returns the refusal for a name that an agent of another machine has; null: none has it. */
  readonly elsewhere: (name: string) => Promise<Refused | null>;
}

/**
 * Returns the branch that `name` means: of an agent of this project the branch of its worktree, else a local branch. An
 * agent's whole name or id comes before a branch, and a branch before the beginning of an id. A live agent comes before
 * one that ended. Throws `Refused` if nothing fits, or if a branch and an agent fit that are not the same.
 */
export async function branchOf(world: ProcessContext, all: Known, name: string): Promise<NamedBranch> {
  const known = inProject(all);
  const agents = agentsOf(known.sessions);
  const ref = name.startsWith(heads) ? name : `${heads}${name}`;
  const isBranch = await known.exists(ref);
  const isWhole = agents.some(one => one.id === name || one.agent === name || one.name === name);
  const record = isWhole ? null : branchOfAgent(known.spawns, name, known.project);
  const found = record === null ? null : ofRecord(known, record);
  const live =
    found !== null || (isBranch && !isWhole)
      ? null
      : await agentCalled(world, agents, name).then(one => one && ofLive(known, one));
  const { author, branch } = found ?? live ?? { author: null, branch: null };
  if (branch === null) {
    if (author !== null) throw refused(name, `${author.name} works on no branch; name the branch to merge`);
    if (isBranch) return { branch: ref, author: authorOf(ref, known) };
    const there = await known.elsewhere(name);
    if (there !== null) throw there;
    const some = agents.slice(0, limits.recipientsNamedMax).map(one => one.name);
    const here = some.length === 0 ? "no agent is active here" : `active here: ${some.join(", ")}`;
    throw refused(name, `there is no local branch ${name}, and no agent of that name; ${here}`);
  }
  const short = branch.slice(heads.length);
  if (isBranch && ref !== branch) {
    const error = `${name} is a branch, and an agent on the branch ${short}; say which: ${ref}, or ${branch}`;
    throw refused(name, error);
  }
  if (!(await known.exists(branch)))
    throw refused(name, `the branch ${short} of ${name} is gone; name the branch to merge`);
  return { branch, author };
}

const heads = "refs/heads/";

function refused(name: string, error: string): Refused {
  return new Refused(refuse("invalid_request", error, { name }));
}

function inProject(known: Known): Known {
  const { project } = known;
  const isHere = (row: SessionRow | SpawnRow) => row.project === project;
  return { ...known, sessions: known.sessions.filter(isHere), spawns: known.spawns.filter(isHere) };
}

interface Found {
  readonly author: NamedAgent | null;
  readonly branch: string | null;
}

/** The branch that the agent's session works on; a spawned agent's is that of its own worktree, wherever its session is. */
function ofLive({ spawns, sessions, worktrees }: Known, author: NamedAgent): Found {
  const own = branchOfSession(spawns, author.id);
  if (own !== null) return { author, branch: branchIn(worktrees, own) };
  const session = sessions.find(one => one.id === author.id);
  return { author, branch: worktrees.find(({ path }) => path === session?.worktree)?.branch ?? null };
}

function ofRecord({ worktrees, project }: Known, own: AgentBranch): Found {
  return { author: authorOfRecord(own, project), branch: branchIn(worktrees, own) };
}

/** The agent of a record, by its session; null: it never had one. */
function authorOfRecord({ session, name }: AgentBranch, project: string): NamedAgent | null {
  return session === null ? null : { id: session, agent: null, name, project };
}

/** What is checked out in the agent's worktree, else the branch that it began with: its worktree may be gone. */
function branchIn(worktrees: readonly Worktree[], { worktree, branch }: AgentBranch): string {
  return worktrees.find(({ path }) => path === worktree)?.branch ?? `${heads}${branch}`;
}

/**
 * Returns the main agent of the one session that works on the branch; of several, Kite cannot tell whose it is. If none does,
 * the spawned agent that ended and worked on it last.
 */
function authorOf(branch: string, known: Known): NamedAgent | null {
  const live = known.sessions
    .map(({ id, name, project }) => ({ id, agent: null, name, project }))
    .filter(one => ofLive(known, one).branch === branch);
  const [only, another] = live;
  if (another !== undefined) return null;
  if (only !== undefined) return only;
  const ended = known.spawns.flatMap(row => branchOfRecord(row) ?? []);
  const last = ended.findLast(own => branchIn(known.worktrees, own) === branch);
  return last === undefined ? null : authorOfRecord(last, known.project);
}

// The order in which branches are merged: as their authors' tasks depend on each other, else as given. Pure.

/** A branch with the tasks of its author. */
export interface Placed {
  readonly branch: string;
  /** Ids of tasks that the author works on, or has done. */
  readonly tasks: readonly string[];
}

interface Ordered<B extends Placed> {
  readonly one: B;
  /** The branches that have to be merged first: of the same command, or in the queue already. */
  readonly after: readonly string[];
}

/**
 * Returns the branches in their order, or a cycle of them. Tasks never depend on each other in a cycle, but authors with
 * several tasks can: each has done something that the other builds on. `dependencies`: the tasks that a task depends on, by
 * way of others too. `queued`: what waits for the base already.
 */
export function inOrder<B extends Placed>(
  branches: readonly B[],
  queued: readonly Placed[],
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): readonly Ordered<B>[] | { readonly cycle: readonly string[] } {
  const after = new Map(
    branches.map(one => {
      const needs = new Set(one.tasks.flatMap(task => [...(dependencies.get(task) ?? [])]));
      const others = [...queued, ...branches].filter(other => other.branch !== one.branch);
      const first = others.filter(other => other.tasks.some(task => needs.has(task)));
      return [one.branch, new Set(first.map(({ branch }) => branch))] as const;
    }),
  );
  const ordered: Ordered<B>[] = [];
  let left = [...branches];
  while (left.length > 0) {
    const open = new Set(left.map(({ branch }) => branch));
    const next = left.find(({ branch }) => ![...(after.get(branch) ?? [])].some(one => open.has(one)));
    if (next === undefined) return { cycle: cycleIn(left, after) };
    ordered.push({ one: next, after: [...(after.get(next.branch) ?? [])] });
    left = left.filter(one => one !== next);
  }
  return ordered;
}

/** Returns branches of which each waits for the next, and the last for the first; each of `left` waits for one of them. */
function cycleIn(
  left: readonly Placed[],
  after: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  const open = new Set(left.map(({ branch }) => branch));
  const path: string[] = [];
  let at = left[0]?.branch;
  while (at !== undefined && !path.includes(at)) {
    path.push(at);
    at = [...(after.get(at) ?? [])].find(one => open.has(one));
  }
  return at === undefined ? path : path.slice(path.indexOf(at));
}

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
  const elsewhere = (name: string) => agentElsewhere(client, name, project);
  const all = { project, worktrees, sessions, spawns, exists, elsewhere };
  const branches = new Map<string, NamedBranch>();
  for (const name of names) {
    const named = await branchOf(world, all, name);
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
