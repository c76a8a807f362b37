/**
 * Merge risks: one path of a repository has uncommitted work in two worktrees, so a merge conflict is likely.
 *
 * Invariants: a pair of worktrees has at most one risk per file, and each side gets its notice once; the sides are
 * sorted by worktree; the writer of each side is alive; `limits.mergeRisksMax` evicts the oldest.
 */

import type { MergeSideRow } from "../../../protocol/work.ts";
import { type Actor, sameActor } from "../actor.ts";
import type { BaseState, MergeRisk, MergeSide } from "../base-state.ts";
import type { Written } from "../file-ref.ts";
import { actorRow } from "../locks/replies.ts";
import type { Step } from "../outcome.ts";
import { isAlive } from "../sessions/kinship.ts";
import { fileKey, riskKey, riskRecords } from "./table.ts";

/** Tells the actor that wrote these files, and actors with work in the same files of another worktree, of the risk. */
export function noteRisks(state: BaseState, actor: Actor, files: readonly Written[], step: Step): void {
  // The end of a write may arrive after the end of its session.
  if (!isAlive(state, actor)) return;
  for (const { project, worktree, file } of files) {
    for (const key of state.writes.byFile.get(fileKey(project, file)) ?? []) {
      const work = state.writes.files.get(key);
      if (work === undefined || work.worktree === worktree) continue;
      const other = work.writers.findLast(w => isAlive(state, w.actor) && !sameActor(w.actor, actor));
      if (other === undefined) continue;
      const mine = { worktree, actor };
      const theirs = { worktree: work.worktree, actor: other.actor };
      tell(state, { project, file, sides: inOrder(mine, theirs), told: [] }, step);
    }
  }
}

/** Removes the risks of a session that ended: the other side is alone. */
export function forgetRisks(state: BaseState, session: string): void {
  riskRecords.dropAll(state, state.risksOf.get(session));
}

/** Moves a session's risks to the id under which its process goes on. */
export function renameRisks(state: BaseState, from: string, to: string): void {
  const renamed = (side: MergeSide): MergeSide =>
    side.actor.session === from ? { ...side, actor: { ...side.actor, session: to, incarnation: 0 } } : side;
  for (const id of [...(state.risksOf.get(from) ?? [])]) {
    const risk = state.risks.get(id);
    if (risk === undefined) continue;
    const [a, b] = risk.sides;
    const told = risk.told.map(session => (session === from ? to : session));
    riskRecords.put(state, { ...risk, sides: [renamed(a), renamed(b)], told });
  }
}

/** Whether both sides still have uncommitted work in the file, by git's latest report. */
export function isOpen(state: BaseState, { project, file, sides }: MergeRisk): boolean {
  const keys = [...(state.writes.byFile.get(fileKey(project, file)) ?? [])];
  const worktrees = keys.map(key => state.writes.files.get(key)?.worktree);
  return sides.every(({ worktree }) => worktrees.includes(worktree));
}

/** Returns a side for people to read; with its branch if this is the session's own worktree. */
export function sideRow(state: BaseState, { worktree, actor }: MergeSide): MergeSideRow {
  const session = state.sessions.live.get(actor.session);
  const branch = session?.worktree === worktree ? session.branch : null;
  return { ...actorRow(state, actor), worktree, branch };
}

function tell(state: BaseState, risk: MergeRisk, step: Step): void {
  const { project, file, sides } = risk;
  const [a, b] = sides;
  if (state.risks.has(riskKey(risk))) return;
  riskRecords.put(state, risk);
  riskRecords.makeRoom(state, state.limits.mergeRisksMax);
  const rows = [sideRow(state, a), sideRow(state, b)] as const;
  const about = [...new Set(rows.map(row => row.id))];
  step.events.push({ event: { event: "merge_risk", project, file, sides: rows }, about, project });
}

function inOrder(a: MergeSide, b: MergeSide): readonly [MergeSide, MergeSide] {
  return a.worktree < b.worktree ? [a, b] : [b, a];
}
