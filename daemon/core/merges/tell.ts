/**
 * Hands a merge that came back to its author: the tasks become pending, and a message says why. For a spawned agent that
 * has ended, the message goes to the agent that spawned it.
 *
 * Invariants: only tasks of the author change, and none that an active task builds on; no merge fails to come back
 * because a message cannot be sent.
 */
import type { ActorRow } from "../../../protocol/lock.ts";
import type { Actor } from "../actor.ts";
import { bytesOf } from "../debates/tell.ts";
import { postNotice } from "../messages/send.ts";
import type { Step } from "../outcome.ts";
import { spawnAt } from "../spawns/table.ts";
import type { State } from "../state.ts";
import { giveBack } from "../tasks/leave.ts";
import { assigneeOf } from "../tasks/replies.ts";
import { type Task, taskOf } from "../tasks/table.ts";
import { shortName } from "./replies.ts";
import type { Merge } from "./table.ts";

/** Makes the author's tasks pending again, and returns their ids. */
export function returnTasks(
  state: State,
  merge: Merge,
  by: Actor | null,
  wallMs: number,
  step: Step,
): readonly string[] {
  const cause = `the merge ${merge.id} came back: ${merge.reason?.text ?? ""}`;
  return merge.tasks.filter(id => {
    const task = state.tasks.all.get(id);
    if (task === undefined || !isReturnable(state, task, merge)) return false;
    giveBack(state, task, cause, { by, wallMs, attempts: task.attempts }, step);
    return true;
  });
}

function isReturnable(state: State, task: Task, { author }: Merge): boolean {
  const { status } = task.state;
  if (author === null || assigneeOf(state, task)?.id !== author.id) return false;
  if (status === "active") return true;
  const dependents = [...(state.tasks.dependents.get(task.id) ?? [])];
  return status === "done" && dependents.every(id => taskOf(state.tasks, id).state.status !== "active");
}

/** Writes to the author, or to who spawned it if it has ended; not to who ran the merge itself. */
export function tellAuthor(
  state: State,
  merge: Merge,
  tasks: readonly string[],
  by: Actor | null,
  step: Step,
): void {
  const { author, project, changedAt: wallMs } = merge;
  if (author === null) return;
  const isHere = isAliveIn(state, author, project);
  const reader = isHere ? author : (spawnAt(state.spawns, author.id)?.parent ?? null);
  if (reader === null || (reader.id === by?.session && reader.agent === by.agent)) return;
  if (!isAliveIn(state, reader, project)) return;
  const text = wordsFor(merge, tasks, isHere ? null : author.name);
  postNotice(state, { actor: by, project, text, bytes: bytesOf(text), wallMs }, [reader], step);
}

function isAliveIn({ sessions }: State, { id, agent }: ActorRow, project: string): boolean {
  const session = sessions.live.get(id);
  return session?.project === project && (agent === null || session.agents.has(agent));
}

/** `ended`: the name of its author, which the reader spawned; null: the reader is its author. */
function wordsFor(
  { id, branch, base, reason }: Merge,
  tasks: readonly string[],
  ended: string | null,
): string {
  const { text = "", files = [], more = 0, output = null } = reason ?? {};
  const named = [...files, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const which = named === "" ? "" : ` Files: ${named}.`;
  const claim = ended === null ? ", claim it first" : "";
  const again = tasks.length === 0 ? "" : ` Pending again${claim}: ${tasks.join(", ")}.`;
  // No line to run with the names in it: git allows `$(...)` in the name of a branch.
  const next =
    ended === null
      ? "Mend it on your branch, commit, and have it merged again (kite merge)."
      : `${ended}, which you spawned, has ended. Have it mended on that branch, by you or by another agent (kite spawn), and merged again (kite merge).`;
  const end = output === null || output === "" ? "" : ` The end of its output: ${output}`;
  return `${shortName(branch)} was not merged into ${shortName(base)} (${id}): ${text}.${which}${again} ${next}${end}`;
}
