/**
 * Shares a project of this machine through its store, and takes all of them back.
 *
 * Invariants: the entry `sharing_set` of the own log is the moment from which a project is shared, or no longer is. What
 * a project has moves to the store behind it: until then nobody here or elsewhere can claim these tasks, and a move that
 * broke off goes on whenever the store opens. What comes back is copied before it. So nothing is in neither log, and each step
 * may run again.
 */
import { refuse } from "../../protocol/codes.ts";
import type { CopyNotes, CopyRow } from "../../protocol/store.ts";
import type { Actor } from "../core/actor.ts";
import { bringNewer, claimAgain, claimsIn, doneIn, releasedOf } from "./bring.ts";
import {
  type CopyLog,
  CopyRefused,
  contentsOf,
  copyContext,
  copyTasks,
  enter,
  mayCopy,
  missingAt,
  type Place,
  removeCopied,
} from "./copy.ts";
import { copyMessages } from "./copy-messages.ts";
import { actorHere, actorThere } from "./names.ts";

/** Both logs, and who this machine is in the shared one. */
export interface BothLogs {
  readonly own: CopyLog;
  readonly shared: CopyLog;
  readonly node: string;
  /** What the store calls this machine. */
  readonly machine: string;
  /** Resolves with whether the store has heard of all sessions of this machine. */
  relayed(): Promise<boolean>;
}

export type Copied = Pick<CopyRow, "tasks" | "context"> & CopyNotes;

/**
 * Shares the project as `as`. Rejects with `CopyRefused`: before the project is shared if there is no room for what it has,
 * behind that if the store ends the move, which may run again then.
 */
export async function shareProject(logs: BothLogs, project: string, as: string): Promise<Copied> {
  const { own, shared, node } = logs;
  const isFresh = !isSharedAs(own, project, as);
  if (isFresh) {
    mayCopy({ log: own, project }, { log: shared, project: as });
    const projects = [...own.state.outbox.projects, [project, as] as const];
    await enter(own, { type: "sharing_set", node, projects });
  }
  try {
    return await moveRest(logs, project, as, isFresh);
  } catch (error) {
    if (!(error instanceof CopyRefused)) throw error;
    const { code, error: why } = error.refusal;
    const so = `${project} is shared as ${as}, and not all that it had is in the store yet: Kite goes on moving it by itself, and now with: kite store share`;
    throw new CopyRefused({ ...error.refusal, code, error: `${so}. ${why}` });
  }
}

/**
 * Moves what the own log still has of a shared project. `isFresh`: it was not shared until now. Rejects with `CopyRefused`, and
 * may run again then.
 */
export async function moveRest(
  logs: BothLogs,
  project: string,
  as: string,
  isFresh = false,
): Promise<Copied> {
  const { own, shared, machine } = logs;
  const here: Place = { log: own, project };
  const there: Place = { log: shared, project: as };
  const actorIn = (actor: Actor) => actorThere(own.state, actor);
  // Claims go along, so the store has to know whose they are.
  if (!(await logs.relayed())) throw new CopyRefused(unheard);
  const { tasks, context } = contentsOf(here);
  const claims = claimsIn(tasks);
  // A task that is copied may depend on one that was done here meanwhile.
  await bringNewer(here, there, doneIn(here), isFresh);
  const { numbers, imported } = await copyTasks(here, there, tasks, actorIn);
  await bringNewer(here, there, tasks, isFresh);
  await claimAgain(there, tasks, actorIn, isFresh);
  const released = releasedOf(there, claims, actorIn);
  const keys = await copyContext(here, there, context, machine);
  await removeCopied(here, there, context);
  return { tasks: imported, context: context.length, numbers, keys, released };
}

const unheard = refuse("store_away", "the store has not heard yet of the sessions of this machine");

/** Whether the project is shared under this name. */
export function isSharedAs({ state }: Pick<CopyLog, "state">, project: string, as: string): boolean {
  return state.outbox.node !== "" && state.outbox.projects.get(project) === as;
}

/** Returns the shared projects of which the own log still has something that belongs to the store. */
export function unmoved(own: CopyLog): readonly (readonly [project: string, as: string])[] {
  return [...own.state.outbox.projects].filter(([project]) => {
    const { tasks, context } = contentsOf({ log: own, project });
    return tasks.length + context.length > 0;
  });
}

/**
 * Copies back what is open in all shared projects, with the messages that this machine's sessions have not read, and shares none
 * any more; the store keeps its own. Of clones that share one name, the first gets it. Rejects with `CopyRefused`, and may run again then.
 */
export async function takeBack(
  { own, shared, node }: Pick<BothLogs, "own" | "shared" | "node">,
  outward: <Shown>(shown: Shown) => Shown,
): Promise<Copied & { readonly unread: number }> {
  const all: Copied[] = [];
  let unread = 0;
  for (const [as, project] of projectsByName(own)) {
    const here: Place = { log: own, project };
    const there: Place = { log: shared, project: as };
    // What a move or a copy that broke off left here is older than what the store has.
    await removeCopied(here, there, []);
    const { tasks, context } = contentsOf(there);
    const { numbers } = await copyTasks(there, here, tasks, actor => actorHere(own.state, actor));
    const keys = await copyContext(there, here, context, "store");
    unread += await copyMessages(there, here, node, outward);
    all.push({ tasks: tasks.length, context: context.length, numbers, keys, released: [] });
  }
  const names = projectsByName(own);
  await enter(own, { type: "sharing_set", node: "", projects: [] });
  // What others made in the store while the copy went on.
  for (const [as, project] of names) {
    const there: Place = { log: shared, project: as };
    const here: Place = { log: own, project };
    await copyTasks(there, here, missingAt(here, contentsOf(there).tasks), () => null);
  }
  return {
    tasks: all.reduce((sum, { tasks }) => sum + tasks, 0),
    context: all.reduce((sum, { context }) => sum + context, 0),
    numbers: all.flatMap(({ numbers }) => numbers),
    keys: all.flatMap(({ keys }) => keys),
    released: [],
    unread,
  };
}

/** Returns each shared name with the first of this machine's projects that has it. */
export function projectsByName({ state }: Pick<CopyLog, "state">): ReadonlyMap<string, string> {
  return new Map([...state.outbox.projects].reverse().map(([project, as]) => [as, project]));
}
