/**
 * What becomes of a spawned agent when its session ends.
 *
 * Invariants: an agent whose task is done is `done`; one that was to be stopped is `stopped`; one whose session ended by
 * itself without a task is `done`, or whose process did if its client reports no ends; any other is `failed`, and the record says why.
 */
import type { SpawnState } from "../../../../protocol/lead/spawn.ts";
import type { Step } from "../../outcome.ts";
import type { State } from "../../state.ts";
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

/** Whether its client ended the session. */
function isReported(cause: string): boolean {
  return cause === "ended" || cause === "deregistered";
}

function endOf(
  { tasks, t }: State,
  { task: id, stopping, replaceUntil, result, reason, reportsEnd }: Spawn,
  cause: string,
): End {
  const task = id === null ? undefined : tasks.all.get(id);
  const now = task?.state;
  if (now?.status === "done") return { state: "done", result: now.result, reason };
  // Who was about to replace it may have been lost before it stopped anything.
  if (stopping && (replaceUntil === null || t < replaceUntil)) return { state: "stopped", result, reason };
  if (now?.status === "failed")
    return { state: "failed", result, reason: `${id} failed: ${now.reason ?? "no reason given"}` };
  const isOrderly = isReported(cause) || (cause === "anchor_gone" && !reportsEnd);
  if (isOrderly && task === undefined) return { state: "done", result, reason };
  const how = isOrderly
    ? "its session ended"
    : cause === "anchor_gone"
      ? "its process ended"
      : "nothing was heard of it";
  return { state: "failed", result, reason: task === undefined ? how : `${how}, and ${id} is not done` };
}
