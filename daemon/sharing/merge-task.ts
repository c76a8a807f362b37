/**
 * What a task that both logs have gets in the store, by what changed here and what changed there since this machine left.
 *
 * Invariants: a field that changed on one side alone counts. If a field changed on both sides, the store's stays, and the
 * field is named. Labels and dependencies are sets: what was added or removed here is added or removed there. A task that
 * somebody works on there, or did there, keeps its status.
 */
import { limits } from "../../protocol/limits.ts";
import type { LeftOutField } from "../../protocol/schemas/store.ts";
import type { TaskUpdate } from "../core/tables/tasks.ts";
import { resultOf, type Task } from "../core/tables/tasks.ts";
import { digestOf, type TaskBase } from "./leave-records.ts";

/** One change of the task there; a log that refuses it leaves its fields out. */
export interface Edit {
  readonly fields: readonly LeftOutField[];
  readonly change: Partial<TaskUpdate>;
}

export interface TaskMerge {
  readonly edits: readonly Edit[];
  readonly leftOut: readonly LeftOutField[];
}

/** `isThere`: whether the other log has a task of this id, so that one may depend on it. */
export function mergeTask(
  base: TaskBase,
  here: Task,
  there: Task,
  isThere: (id: string) => boolean,
): TaskMerge {
  const leftOut: LeftOutField[] = [];
  const edits: Edit[] = [];
  const text: { description?: string; priority?: Task["priority"]; labels?: readonly string[] } = {};
  const isMine = (field: LeftOutField, [was, mine, theirs]: readonly (string | undefined)[]) => {
    if (mine === theirs || mine === was) return false;
    if (theirs !== was) leftOut.push(field);
    return theirs === was;
  };
  const digests = [base.description, digestOf(here.description), digestOf(there.description)];
  if (isMine("description", digests)) text.description = here.description;
  if (isMine("priority", [base.priority, here.priority, there.priority])) text.priority = here.priority;
  const labels = mergeSets(base.labels, here.labels, there.labels);
  if (labels.length > limits.taskLabelsMax) leftOut.push("labels");
  else if (!isSameSet(labels, there.labels)) text.labels = labels;
  const fields = Object.keys(text) as LeftOutField[];
  if (fields.length > 0) edits.push({ fields, change: text });
  const [risk, riskThere] = [here.risk ?? "green", there.risk ?? "green"];
  if (isMine("risk", [base.risk, risk, riskThere])) edits.push({ fields: ["risk"], change: { risk } });
  const needs = mergeSets(base.dependsOn, here.dependsOn, there.dependsOn).filter(isThere);
  if (needs.length > limits.taskDependenciesMax) leftOut.push("needs");
  else if (here.state.status !== "done" && !isSameSet(needs, there.dependsOn))
    edits.push({ fields: ["needs"], change: { dependsOn: needs } });
  const statuses = statusesOf(base, here, there);
  if (typeof statuses === "string") leftOut.push(statuses);
  else
    for (const change of statuses)
      edits.push({ fields: [change.status === null ? "result" : "status"], change });
  return { edits, leftOut };
}

type StatusChange = Pick<TaskUpdate, "status" | "result">;

/** Returns the changes by which the task gets its status of here, if it does, or what is left out of it. */
function statusesOf(
  { status: was = "pending", result: digest }: TaskBase,
  here: Task,
  there: Task,
): readonly StatusChange[] | "status" | "result" {
  const [mine, theirs] = [here.state.status, there.state.status];
  const result = resultOf(here.state);
  const isSaidAnew = digestOf(resultOf(there.state)) !== digest;
  if (mine === was && (result === null || digestOf(result) === digest)) return [];
  if (mine === theirs || mine === was) {
    if (result === resultOf(there.state)) return [];
    return mine === was && theirs === was && !isSaidAnew ? [{ status: null, result }] : "result";
  }
  const reopened: StatusChange = { status: "pending", result: null };
  const isUntouched = theirs === was && theirs === "failed" && !isSaidAnew;
  // A claim is made anew after this.
  if (mine === "pending" || mine === "active") return isUntouched ? [reopened] : [];
  const end: StatusChange = { status: mine, result };
  if (theirs === "pending") return [end];
  return isUntouched ? [reopened, end] : "status";
}

/** Returns the set of there with what was added and taken out here. `was` is undefined: nothing counts as taken out. */
function mergeSets(
  was: readonly string[] | undefined,
  mine: readonly string[],
  theirs: readonly string[],
): readonly string[] {
  const [before, now] = [new Set(was), new Set(mine)];
  const kept = theirs.filter(one => now.has(one) || !before.has(one));
  return [...new Set([...kept, ...mine.filter(one => !before.has(one))])];
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  const all = new Set(b);
  return a.length === b.length && a.every(one => all.has(one));
}
