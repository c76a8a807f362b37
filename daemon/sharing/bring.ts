/**
 * Brings over what happened here to tasks that the other log has already. A machine left, people and agents went on, and now
 * it shares the project again.
 *
 * Invariants: only what the project's record knows is brought over, so what a share copied itself stays as it is there. A run that
 * broke off brings nothing twice, within `limits.replyKeptMs`. A text that is left out is kept there before its task goes from here.
 */
import type { LeftOutField, LeftOutRow, ReturnRow } from "../../protocol/schemas/store.ts";
import type { Actor, Retry } from "../core/frame/actors.ts";
import { contextAt } from "../core/messages/context.ts";
import type { Command } from "../core/tables/entries.ts";
import { claimerOf, listOf, numberOf, resultOf, type Task, taskAt } from "../core/tables/tasks.ts";
import {
  type CopyLog,
  CopyRefused,
  contentsOf,
  dependenciesFirst,
  isCopy,
  isLeaving,
  keepText,
  noChange,
  type Place,
  type Replaces,
} from "./copy.ts";
import { digestOf, type ProjectRecord } from "./leave-records.ts";
import { mergeTask } from "./merge-task.ts";

/** Returns the done tasks of a project. */
export function doneIn({ log, project }: Place): readonly Task[] {
  const { tasks } = log.state;
  return [...listOf(tasks, "done", project)].map(place => taskAt(tasks, place));
}

/**
 * Returns the record that a share begins with. If no record has a task that both logs have, nothing is known of that task.
 */
export function recordForShare(known: ProjectRecord | null, from: Place, to: Place): ProjectRecord | null {
  const { all } = to.log.state.tasks;
  const twins = [...contentsOf(from).tasks, ...doneIn(from)].filter(task =>
    isCopy(task, all.get(task.id), to),
  );
  if (known === null && twins.length === 0) return null;
  const unknown = Object.fromEntries(twins.map(({ id, createdAt }) => [id, { createdAt }]));
  const { tasks = {}, keys = {} } = known ?? {};
  return { as: to.project, before: null, tasks: { ...unknown, ...tasks }, keys };
}

/**
 * Brings over what changed here of these tasks, and returns what it left out. The texts of those are kept there as context,
 * with `aside` in their keys. Rejects with `CopyRefused` if the log takes nothing now.
 */
export async function bringChanges(
  from: Place,
  to: Place,
  tasks: readonly Task[],
  record: ProjectRecord | null,
  aside: string,
): Promise<readonly LeftOutRow[]> {
  if (record === null) return [];
  const { all } = to.log.state.tasks;
  const isThere = (id: string) => isCopy(from.log.state.tasks.all.get(id), all.get(id), to);
  const rows: LeftOutRow[] = [];
  // What is being removed here was brought over.
  const changed = tasks.filter(task => task.id in record.tasks && !isLeaving(task));
  for (const task of dependenciesFirst(changed)) {
    const [base, there] = [record.tasks[task.id], all.get(task.id)];
    if (base?.createdAt !== task.createdAt || !isCopy(task, there, to)) continue;
    const { edits, leftOut } = mergeTask(base, task, there, isThere);
    const fields = new Set<LeftOutField>(leftOut);
    for (const edit of edits) {
      const wallMs = Math.max(task.updatedAt, there.updatedAt);
      const update = { ...noChange, status: null, result: null, ...edit.change };
      const retry = retryOf(task, [...edit.fields, edit.change.status].join(" "));
      const where = { project: to.project, wallMs, retry };
      const isTaken = await takes(to.log, { ...update, ...where, type: "task_update", task: task.id });
      if (!isTaken) for (const field of edit.fields) fields.add(field);
    }
    if (fields.size === 0) continue;
    const kept: string[] = [];
    for (const [field, text] of textsOf(task, all.get(task.id) ?? there, fields)) {
      const key = `task/${numberOf(there)}/${field}`;
      kept.push(await keepText(to, { key, text, wallMs: task.updatedAt }, aside));
    }
    const row = { task: task.id, number: numberOf(there), fields: [...fields] };
    rows.push(kept.length === 0 ? row : { ...row, kept });
  }
  return rows;
}

/** Returns the texts of here that the fields left out, if there is another one there. */
function textsOf(
  here: Task,
  there: Task,
  leftOut: ReadonlySet<LeftOutField>,
): readonly (readonly [LeftOutField, string])[] {
  const result = leftOut.has("status") || leftOut.has("result") ? resultOf(here.state) : null;
  const isMissing = result !== null && result !== "" && result !== resultOf(there.state);
  return [
    ...(leftOut.has("description") ? [["description", here.description] as const] : []),
    ...(isMissing ? [["result", result] as const] : []),
  ];
}

/** Returns the record with what it says that the store had, and the store does not have now. */
export function withGone(record: ProjectRecord, from: Place, to: Place): ProjectRecord {
  const { tasks, context } = contentsOf(from);
  const { gone = { tasks: [], keys: [] } } = record;
  const lost = tasks.filter(
    ({ id, createdAt }) => record.tasks[id]?.createdAt === createdAt && !to.log.state.tasks.all.has(id),
  );
  const keys = context.filter(
    ({ key }) => key in record.keys && contextAt(to.log.state, to.project, key, to.log.now) === undefined,
  );
  const all = {
    tasks: [...new Set([...gone.tasks, ...lost.map(({ id }) => id)])],
    keys: [...new Set([...gone.keys, ...keys.map(({ key }) => key)])],
  };
  const isSame = all.tasks.length === gone.tasks.length && all.keys.length === gone.keys.length;
  return isSame ? record : { ...record, gone: all };
}

/** Returns what of the record's was gone from the store, and is there again. */
export function returnsOf({ gone }: ProjectRecord, to: Place): readonly ReturnRow[] {
  const { tasks = [], keys = [] } = gone ?? {};
  return [
    ...tasks.flatMap(id => {
      const there = to.log.state.tasks.all.get(id);
      return there === undefined ? [] : [{ task: id, number: numberOf(there) }];
    }),
    ...keys.map(key => ({ key })),
  ];
}

/** Returns which of two values under a key counts, by how the key was when this machine left. */
export function replacing({ keys }: ProjectRecord): Replaces {
  return (mine, theirs) => {
    const was = keys[mine.key];
    if (was === undefined) return null;
    if (digestOf(mine.value) === was) return "theirs";
    return digestOf(theirs.value) === was ? "mine" : null;
  };
}

/**
 * Claims again what a session works on here, and nobody there. A claim that is older than what happened there counts only if
 * the project was left meanwhile. While the project is shared, its sessions speak to the other log.
 */
export async function claimAgain(
  to: Place,
  tasks: readonly Task[],
  actorIn: (actor: Actor) => Actor | null,
  record: ProjectRecord | null,
): Promise<void> {
  for (const task of tasks) {
    const there = to.log.state.tasks.all.get(task.id);
    const claimer = claimerOf(task);
    const actor = claimer === null ? null : actorIn(claimer);
    if (actor === null || there?.state.status !== "pending" || !isCopy(task, there, to)) continue;
    const wasLeft = record !== null && task.id in record.tasks;
    if (!wasLeft && there.updatedAt > task.updatedAt) continue;
    const wallMs = Math.max(task.updatedAt, there.updatedAt);
    const claim = { actor, task: task.id, labels: [], project: to.project, cwd: "", wallMs };
    await takes(to.log, { type: "task_claim", ...claim, retry: retryOf(task, "claim") });
  }
}

/** What a run that broke off entered is not entered again. */
function retryOf({ id, updatedAt }: Task, what: string): Retry {
  return { by: "store share", requestId: `${id} ${updatedAt} ${what}`, digest: "" };
}

/** Returns those of the tasks that a session worked on here, and that it does not have, or did not do, there. */
export function releasedOf(
  to: Place,
  claims: ReadonlyMap<string, Actor>,
  actorIn: (actor: Actor) => Actor | null,
): readonly string[] {
  return [...claims].flatMap(([id, claimer]) => {
    const [there, meant] = [to.log.state.tasks.all.get(id), actorIn(claimer)];
    if (there === undefined || (there.state.status === "done" && meant === null)) return [];
    const { state } = there;
    const now = state.status === "done" && state.by !== null ? asActor(state.by) : claimerOf(there);
    const isTheirs = now !== null && now.session === meant?.session && now.agent === meant.agent;
    return isTheirs ? [] : [id];
  });
}

function asActor({ id: session, agent }: { readonly id: string; readonly agent: string | null }) {
  return { session, agent };
}

/** Returns the claims of these tasks. */
export function claimsIn(tasks: readonly Task[]): ReadonlyMap<string, Actor> {
  return new Map(
    tasks.flatMap(task => {
      const claimer = claimerOf(task);
      return claimer === null ? [] : [[task.id, claimer] as const];
    }),
  );
}

/** Refusals of a store that does not take commands now. */
const isAway: ReadonlySet<string> = new Set(["unknown_node", "outcome_unknown", "node_twice", "restarting"]);

/** Whether the log takes the command. Rejects if it takes none now. */
async function takes(log: CopyLog, command: Command): Promise<boolean> {
  const reply = await log.submitAndWait(command);
  if (!reply.ok && (isAway.has(reply.code) || reply.code.startsWith("store_"))) throw new CopyRefused(reply);
  return reply.ok;
}
