/**
 * Gives merges to the processes that run them, and takes them back.
 *
 * Invariants: one merge of a base runs at a time, the first of its queue; the right to run ends with the runner's
 * connection, and then the merge waits at its old place for the next runner that asks; no later run of a merge takes a
 * report of an earlier one.
 */
import { limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { actorRow } from "../../locks/replies.ts";
import { boundKey } from "../../origin.ts";
import type { Step } from "../../outcome.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import { announce, mergeRow } from "./replies.ts";
import { inOrder, type Merge, putMerge, queueOf } from "./table.ts";

export const mergeTake: Handler<"merge_take", State> = (state, command, _meta, step) => {
  const { merges } = state;
  const { runner, drain, wallMs } = command;
  const left = () => merges.byRunner.get(runner.name)?.size ?? 0;
  const [first] = queueOf(merges, command);
  const isMine = first?.runner === null || first?.runner.name === runner.name;
  if (first === undefined || !isMine || (left() === 0 && !drain)) {
    step.reply = { ok: true, merge: null, ahead: first === undefined ? null : mergeRow(first), left: left() };
    return;
  }
  // Asked again over another connection, a runner goes on with what it runs.
  const runs = first.state === "running" ? first.runs : first.runs + 1;
  const begun = { ...first, state: "running" as const, runner, runs, changedAt: wallMs };
  putMerge(merges, begun);
  if (runs !== first.runs) announce(step, begun, command.by === null ? null : actorRow(state, command.by));
  step.reply = { ok: true, merge: mergeRow(begun), ahead: null, left: left() };
};

export const mergeAttach: Handler<"merge_attach", State> = (state, { runner }, _meta, step) => {
  const { merges } = state;
  const mine = inOrder(merges, merges.byRunner.get(runner.name));
  for (const merge of mine) putMerge(merges, { ...merge, runner });
  step.reply = { ok: true, left: mine.length };
};

export const mergeUnbind: Handler<"merge_unbind", State> = (state, { bound, wallMs }, _meta, step) => {
  const { merges } = state;
  for (const merge of inOrder(merges, merges.byBound.get(boundKey(bound))))
    giveBack(state, merge, wallMs, null, step);
  step.reply = { ok: true };
};

/** Leaves an open merge to the next runner that asks, at its place in the queue. */
export function giveBack(state: State, merge: Merge, wallMs: number, by: ActorRow | null, step: Step): void {
  const waiting = { ...merge, state: "queued" as const, runner: null, moving: false, changedAt: wallMs };
  putMerge(state.merges, waiting);
  // Whoever waits for its turn asks again: also if a merge that did not run has lost its runner.
  announce(step, waiting, by);
}

/** Names the time after which a runner that did not come back after a daemon's start has lost its merges. */
export function awaitRunners(state: State, node: string, step: Step): void {
  const at = state.t + limits.boundGraceMs;
  for (const ids of state.merges.byRunner.values())
    for (const { id, runner } of inOrder(state.merges, ids))
      if (runner?.bound.node === node)
        step.timers.push({ at, due: { what: "merge_runner_over", merge: id } });
}

/** Returns when the merge's runner, of an earlier start, has lost it (core time, ms); null if it is here. */
export function runnerOverAt({ runner }: Merge, { nodes }: State): number | null {
  const start = runner === null ? undefined : nodes.get(runner.bound.node);
  return start === undefined || runner?.bound.epoch === start.epoch ? null : start.at + limits.boundGraceMs;
}

/** Takes the merge from a runner that did not come back. */
export function runnerOver(state: State, merge: Merge, step: Step): void {
  giveBack(state, merge, Math.max(merge.changedAt, state.t), null, step);
}
