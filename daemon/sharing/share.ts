/**
 * Shares a project of this machine through its store, and takes all of them back.
 *
 * Invariants: the entry `sharing_set` of the own log is the moment from which a project is shared, or no longer is. Before it,
 * steps only add what is not there yet; behind it, they only remove what is there now. So each may run again after an end at
 * any step, and nothing is in neither log.
 */
import type { CopyNotes, CopyRow } from "../../protocol/store.ts";
import type { Actor } from "../core/actor.ts";
import type { CommandOf } from "../core/commands.ts";
import { nodeOf, ownIdOf } from "../core/nodes/shared-ids.ts";
import { sharedIdOf } from "../core/outbox/publish.ts";
import type { Reply } from "../core/outcome.ts";
import { claimerOf, type Task } from "../core/tasks/table.ts";
import {
  bringNewer,
  type CopyLog,
  contentsOf,
  copyContext,
  copyTasks,
  enter,
  missingAt,
  type Place,
  removeCopied,
} from "./copy.ts";

/** Both logs, and who this machine is in the shared one. */
export interface BothLogs {
  readonly own: CopyLog;
  readonly shared: CopyLog;
  readonly node: string;
  /** What the store calls this machine. */
  readonly machine: string;
  /** Resolves with whether the store has heard of all sessions of this machine. */
  relayed(): Promise<boolean>;
  /** Enters a claim of a session of this machine into the log of its project. */
  claim(actor: Actor, task: Task): Promise<Reply>;
}

export type Copied = Pick<CopyRow, "tasks" | "context"> & CopyNotes;

/** Shares the project as `as`. Rejects with `CopyRefused`, and may run again then. */
export async function shareProject(logs: BothLogs, project: string, as: string): Promise<Copied> {
  const { own, shared, node, machine } = logs;
  const here: Place = { log: own, project };
  const there: Place = { log: shared, project: as };
  const { tasks, context } = contentsOf(here);
  const numbers = await copyTasks(here, there, tasks);
  const keys = await copyContext(here, there, context, machine);
  if (!isSharedAs(own, project, as)) {
    await bringNewer(here, there);
    const projects = [...own.state.outbox.projects, [project, as] as const];
    await enter(own, { type: "sharing_set", node, projects });
    // What was made or changed here while the copy went on; from now on nothing is.
    await copyTasks(here, there, missingAt(there, contentsOf(here).tasks));
    await bringNewer(here, there);
  }
  const claimed = tasks.flatMap(task => claimOf(task));
  const released = (await logs.relayed()) ? await claimAgain(logs, claimed) : claimed;
  await removeCopied(here, there, context);
  return {
    ...{ tasks: tasks.length, context: context.length, numbers, keys },
    released: released.map(({ task }) => task.id),
  };
}

/** Whether the project is shared under this name. */
export function isSharedAs({ state }: Pick<CopyLog, "state">, project: string, as: string): boolean {
  return state.outbox.node !== "" && state.outbox.projects.get(project) === as;
}

/**
 * Copies back what is open in all shared projects, and shares none any more; the store keeps its own. Of clones that share one
 * name, the first gets it. Rejects with `CopyRefused`, and may run again then.
 */
export async function takeBack(logs: Pick<BothLogs, "own" | "shared" | "node">): Promise<Copied> {
  const { own, shared } = logs;
  const all: Copied[] = [];
  const claimed: Claim[] = [];
  for (const [as, project] of projectsByName(own)) {
    const here: Place = { log: own, project };
    const there: Place = { log: shared, project: as };
    // What a copy that broke off left here is older than what the store has.
    await removeCopied(here, there, []);
    const { tasks, context } = contentsOf(there);
    claimed.push(...tasks.flatMap(task => ownClaimOf(logs, task)));
    const numbers = await copyTasks(there, here, tasks);
    const keys = await copyContext(there, here, context, "store");
    all.push({ tasks: tasks.length, context: context.length, numbers, keys, released: [] });
  }
  const names = projectsByName(own);
  await enter(own, { type: "sharing_set", node: "", projects: [] });
  // What others made in the store while the copy went on.
  for (const [as, project] of names) {
    const there: Place = { log: shared, project: as };
    const here: Place = { log: own, project };
    await copyTasks(there, here, missingAt(here, contentsOf(there).tasks));
  }
  const claim: BothLogs["claim"] = (actor, task) =>
    own.submitAndWait(claimCommand(actor, task, task.updatedAt));
  const released = await claimAgain({ claim }, claimed);
  return {
    tasks: all.reduce((sum, { tasks }) => sum + tasks, 0),
    context: all.reduce((sum, { context }) => sum + context, 0),
    numbers: all.flatMap(({ numbers }) => numbers),
    keys: all.flatMap(({ keys }) => keys),
    released: released.map(({ task }) => task.id),
  };
}

/** Returns each shared name with the first of this machine's projects that has it. */
export function projectsByName({ state }: Pick<CopyLog, "state">): ReadonlyMap<string, string> {
  return new Map([...state.outbox.projects].reverse().map(([project, as]) => [as, project]));
}

/** Returns the claim of a task as a command; `wallMs`: wall time in milliseconds. */
export function claimCommand(
  actor: Actor,
  { id: task, project }: Pick<Task, "id" | "project">,
  wallMs: number,
): CommandOf<"task_claim"> {
  return { type: "task_claim", actor, task, labels: [], project, cwd: "", wallMs };
}

interface Claim {
  readonly actor: Actor;
  readonly task: Task;
}

function claimOf(task: Task): Claim[] {
  const actor = claimerOf(task);
  return actor === null ? [] : [{ actor, task }];
}

/** Returns the claim of a session of this machine, as its own log calls it. */
function ownClaimOf({ own, node }: Pick<BothLogs, "own" | "node">, task: Task): Claim[] {
  const claimer = claimerOf(task);
  if (claimer === null || nodeOf(claimer.session) !== node) return [];
  const session = ownIdOf(claimer.session) ?? "";
  const { outbox, sessions } = own.state;
  const known = sessions.live.get(session)?.incarnations ?? [];
  const one = known.find(({ begun }) => sharedIdOf(outbox, session, begun) === claimer.session);
  return one === undefined
    ? []
    : [{ actor: { session, agent: claimer.agent, incarnation: one.ordinal }, task }];
}

/** Returns the claims that were refused: nobody has these tasks now, or somebody else was faster. */
async function claimAgain({ claim }: Pick<BothLogs, "claim">, claims: readonly Claim[]): Promise<Claim[]> {
  const refused: Claim[] = [];
  for (const one of claims) if (!(await claim(one.actor, one.task)).ok) refused.push(one);
  return refused;
}
