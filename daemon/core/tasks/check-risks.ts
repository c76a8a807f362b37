/** The invariants of risks; part of `check`. */
import { isGrave } from "../../../protocol/risk.ts";
import type { BaseState } from "../base-state.ts";
import { riskOf } from "./risk.ts";

/** Yields one sentence per broken invariant. */
export function* checkTaskRisks({ tasks }: BaseState): Generator<string> {
  const running = new Map<string, string>();
  for (const task of tasks.all.values()) {
    const { id, project, approved, state } = task;
    const risk = riskOf(task);
    if (approved === true && !isGrave(risk)) yield `${id} is ${risk} and has a yes`;
    if (approved === true && (state.status === "done" || state.status === "failed"))
      yield `${id} is ${state.status} and has a yes`;
    if (!isGrave(risk) || state.status !== "active") continue;
    const other = running.get(project);
    if (other !== undefined) yield `${id} (${risk}) runs beside ${other}`;
    running.set(project, id);
    if (risk === "critical" && approved !== true) yield `${id} is critical and runs without a yes`;
  }
}
