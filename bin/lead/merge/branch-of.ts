/** Which branch a name on the command line means, and whose it is: of a live agent, or of a spawned one that ended. */
import { refuse } from "../../../protocol/codes.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { agentCalled, agentsOf, type NamedAgent } from "../../agent/named.ts";
import type { ProcessContext } from "../../process-context.ts";
import { Refused } from "../../with-daemon.ts";
import { type AgentBranch, branchOfAgent, branchOfRecord, branchOfSession } from "../spawn/branch-of.ts";
import type { Worktree } from "./worktrees.ts";

/** A branch to merge. */
export interface NamedBranch {
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
}

/**
 * Returns the branch that `name` means: of an agent of this project the branch of its worktree, else a local branch. An
 * agent's whole name or id comes before a branch, and a branch before the beginning of an id; a live agent comes before one
 * that ended. Throws `Refused` if nothing fits, or if a branch and an agent fit that are not the same.
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
