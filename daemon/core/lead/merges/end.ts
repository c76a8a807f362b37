/**
 * Ends merges: what their runners report, and cancels.
 *
 * Invariants: only the runner of the present run reports; a merge that comes back makes its author's tasks pending in the
 * same step; one that others wait for takes them along if it is not merged; while the base moves, nobody cancels.
 */

import type { MergeReason } from "../../../../protocol/lead/merge.ts";
import { limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import type { Actor } from "../../actor.ts";
import { actorRow } from "../../locks/replies.ts";
import type { Step } from "../../outcome.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import { announce, findMerge, isMerge, mergeRow, shortName, stateRefusal } from "./replies.ts";
import { giveBack } from "./run.ts";
import { inOrder, isOpen, type Merge, mergeOf, putMerge } from "./table.ts";
import { returnTasks, tellAuthor } from "./tell.ts";

export const mergeReport: Handler<"merge_report", State> = (state, command, _meta, step) => {
  const { merges } = state;
  const { by, outcome, runner, wallMs } = command;
  const merge = findMerge(merges, command.merge, null);
  if (!isMerge(merge)) {
    step.reply = merge;
    return;
  }
  const isRunner = merge.runner?.name === runner.name && merge.runs === command.run;
  if (merge.state !== "running" || !isRunner) {
    step.reply = stateRefusal(merge, `run ${command.run} of it no longer counts; leave the base as it is`);
    return;
  }
  const row = by === null ? null : actorRow(state, by);
  if (outcome.is === "queued") giveBack(state, merge, wallMs, row, step);
  else if (outcome.is === "moving")
    putMerge(merges, { ...merge, moving: true, commit: outcome.commit, changedAt: wallMs });
  else {
    const { is, ...end } = outcome;
    const ended = endMerge(state, { ...merge, ...end, state: is }, { row, wallMs }, step);
    // A trial is its caller's alone.
    if (ended.state === "returned" && !ended.checkOnly) {
      const tasks = returnTasks(state, ended, command, step);
      tellAuthor(state, ended, tasks, by, step);
    }
  }
  step.reply = { ok: true, merge: mergeRow(mergeOf(merges, merge.id)) };
};

export const mergeCancel: Handler<"merge_cancel", State> = (state, command, _meta, step) => {
  const { merges } = state;
  const found = command.merge === null ? null : findMerge(merges, command.merge, command.project ?? null);
  if (found !== null && !isMerge(found)) {
    step.reply = found;
    return;
  }
  if (found !== null && (!isOpen(found) || found.moving)) {
    const hint = found.moving
      ? "its runner moves the base now; wait until it is merged"
      : "there is nothing left to cancel";
    step.reply = stateRefusal(found, hint);
    return;
  }
  const mine = found === null ? inOrder(merges, merges.byRunner.get(command.runner)) : [found];
  const ended = { row: rowOf(state, command.by), wallMs: command.wallMs };
  const cancelled: string[] = [];
  for (const { id } of mine) {
    const merge = mergeOf(merges, id);
    // An earlier one may have taken it along; what moves the base goes on.
    if (!isOpen(merge) || merge.moving) continue;
    endMerge(state, { ...merge, state: "cancelled", reason: command.reason }, ended, step);
    cancelled.push(id);
  }
  step.reply = { ok: true, cancelled };
};

interface Ending {
  readonly row: ActorRow | null;
  readonly wallMs: number;
}

/** Ends a merge, and those that wait for it if it is not merged. */
function endMerge(state: State, merge: Merge, { row, wallMs }: Ending, step: Step): Merge {
  const { merges } = state;
  const ended = { ...merge, runner: null, moving: false, changedAt: wallMs };
  const waiting = inOrder(merges, merges.waitFor.get(merge.id));
  putMerge(merges, ended);
  announce(step, ended, row);
  if (ended.state === "merged" || ended.state === "checked") return ended;
  for (const one of waiting) {
    if (!isOpen(mergeOf(merges, one.id))) continue;
    const reason = dependencyReason(ended);
    endMerge(state, { ...one, state: "cancelled", reason }, { row, wallMs }, step);
  }
  return ended;
}

function dependencyReason({ id, branch, state }: Merge): MergeReason {
  const text = `its work builds on ${shortName(branch)}, which was ${state} (${id})`;
  return {
    code: "dependency",
    text: text.slice(0, limits.mergeReasonChars),
    files: [],
    more: 0,
    output: null,
  };
}

function rowOf(state: State, by: Actor | null): ActorRow | null {
  return by === null ? null : actorRow(state, by);
}
