/**
 * What becomes of a spawned agent when its session ends.
 *
 * Invariants: an agent whose task is done is `done`; one that was to be stopped is `stopped`; one whose session ended by
 * itself without a task is `done`, or whose process did if its client reports no ends; any other is `failed`, and the record says why.
 * Of a task in a log that machines share, this machine's daemon tells: also after the end, which it then corrects.
 */
import type { SpawnState } from "../../../../protocol/lead/spawn.ts";
import type { Step } from "../../outcome.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import { resultOf, type TaskState } from "../../tasks/table.ts";
import type { SharedTaskEnd } from "./commands.ts";
import { announceSpawn } from "./replies.ts";
import { putSpawn, type Spawn, spawnAt } from "./table.ts";
import { isFinal } from "./transitions.ts";

type End = Pick<Spawn, "result" | "reason"> & { readonly state: SpawnState };

/** Ends the agent of a session that ends for `cause`; the claims of the session have ended. */
export function endSpawn(state: State, session: string, cause: string, step: Step): void {
  const spawn = spawnAt(state.spawns, session);
  if (spawn === undefined || isFinal(spawn.state)) return;
  const at = Math.max(spawn.updatedAt, state.t);
  // A service of the client brings back a session whose process ended under it.
  const isLeft = state.rules >= 2 && spawn.backend === "background" && !isReported(cause);
  const ended = { ...endOf(state, spawn, cause), ...(isLeft ? ({ mayReturn: true } as const) : {}) };
  const next = { ...spawn, ...ended, stopping: false, updatedAt: at, endedAt: at };
  putSpawn(state.spawns, next);
  announceSpawn(step, next);
}

/** Notes how the agent's task ended in the shared log. An agent that ended meanwhile was no failure if its task is done. */
export const spawnTask: Handler<"spawn_task", State> = (state, { spawn: id, end, wallMs }, _meta, step) => {
  step.reply = { ok: true };
  const spawn = state.spawns.all.get(id);
  if (spawn === undefined || spawn.isTaskShared !== true) return;
  const { taskEnd: _before, ...rest } = spawn;
  const next: Spawn = end === null ? rest : { ...rest, taskEnd: end };
  const isLate = end?.status === "done" && spawn.state === "failed" && spawn.session !== null;
  if (!isLate) return putSpawn(state.spawns, next);
  const corrected = { ...next, state: "done", result: end.text, reason: null, updatedAt: wallMs } as const;
  putSpawn(state.spawns, corrected);
  announceSpawn(step, corrected);
};

/** Whether its client ended the session. */
function isReported(cause: string): boolean {
  return cause === "ended" || cause === "deregistered";
}

function endOf(
  { tasks, t, rules }: State,
  { task: id, isTaskShared, taskEnd, stopping, replaceUntil, result, reason, reportsEnd }: Spawn,
  cause: string,
): End {
  const own = id === null ? undefined : tasks.all.get(id)?.state;
  const isThere = isTaskShared === true && rules >= 3;
  // A machine that left the store has the task itself.
  const ended = (isThere ? taskEnd : undefined) ?? endIn(own);
  const hasTask = isThere ? id !== null && taskEnd?.status !== "removed" : own !== undefined;
  if (ended?.status === "done") return { state: "done", result: ended.text, reason };
  // Who was about to replace it may have been lost before it stopped anything.
  if (stopping && (replaceUntil === null || t < replaceUntil)) return { state: "stopped", result, reason };
  if (ended?.status === "failed")
    return { state: "failed", result, reason: `${id} failed: ${ended.text ?? "no reason given"}` };
  const isOrderly = isReported(cause) || (cause === "anchor_gone" && !reportsEnd);
  if (isOrderly && !hasTask) return { state: "done", result, reason };
  const how = isOrderly
    ? "its session ended"
    : cause === "anchor_gone"
      ? "its process ended"
      : "nothing was heard of it";
  return { state: "failed", result, reason: hasTask ? `${how}, and ${id} is not done` : how };
}

/** Returns how a task with this state ended; undefined: it is open, or there is none. */
export function endIn(now: TaskState | undefined): SharedTaskEnd | undefined {
  if (now?.status !== "done" && now?.status !== "failed") return undefined;
  return { status: now.status, text: resultOf(now) };
}
