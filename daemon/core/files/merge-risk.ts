/**
 * The same path of a repository with uncommitted work in two worktrees: nothing is overwritten, but somebody will have
 * to merge.
 *
 * Invariants: a pair of worktrees has at most one risk a file, told once; the sides stand in the order of their
 * worktrees; the writer named on each side is alive; at most `limits.mergeRisksMax`, the oldest are forgotten.
 */

import { limits } from "../../../protocol/limits.ts";
import type { MergeSideRow } from "../../../protocol/write.ts";
import { type Actor, sameActor } from "../actor.ts";
import type { Written } from "../file-ref.ts";
import { actorRow } from "../locks/replies.ts";
import type { Step } from "../outcome.ts";
import { isAlive } from "../sessions/kinship.ts";
import { addToSet, removeFromSet } from "../sets.ts";
import type { MergeRisk, MergeSide, State } from "../state.ts";

/** The actor wrote these files: whoever has work in the same ones of another worktree is told, as the actor is. */
export function noteRisks(state: State, actor: Actor, files: readonly Written[], step: Step): void {
  // The end of a write may come after its session's.
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

/** The session has ended: whoever goes on alone has nothing to look out for. */
export function forgetRisks(state: State, session: string): void {
  for (const id of [...(state.risksOf.get(session) ?? [])]) removeRisk(state, id);
}

/** The session's process goes on under another id. */
export function renameRisks(state: State, from: string, to: string): void {
  const renamed = (side: MergeSide): MergeSide =>
    side.actor.session === from ? { ...side, actor: { ...side.actor, session: to, incarnation: 0 } } : side;
  for (const id of [...(state.risksOf.get(from) ?? [])]) {
    const risk = state.risks.get(id);
    if (risk === undefined) continue;
    const [a, b] = risk.sides;
    const told = risk.told.map(session => (session === from ? to : session));
    addRisk(state, id, { ...risk, sides: [renamed(a), renamed(b)], told });
  }
}

/** Adds a risk, or puts it in the place of the one that is there. */
export function addRisk(state: Pick<State, "risks" | "risksOf">, id: string, risk: MergeRisk): void {
  for (const { actor } of state.risks.get(id)?.sides ?? []) removeFromSet(state.risksOf, actor.session, id);
  state.risks.set(id, risk);
  for (const { actor } of risk.sides) addToSet(state.risksOf, actor.session, id);
}

function removeRisk(state: State, id: string): void {
  for (const { actor } of state.risks.get(id)?.sides ?? []) removeFromSet(state.risksOf, actor.session, id);
  state.risks.delete(id);
}

/** Whether both sides still have uncommitted work in the file, as far as git was asked. */
export function isOpen(state: State, { project, file, sides }: MergeRisk): boolean {
  const keys = [...(state.writes.byFile.get(fileKey(project, file)) ?? [])];
  const worktrees = keys.map(key => state.writes.files.get(key)?.worktree);
  return sides.every(({ worktree }) => worktrees.includes(worktree));
}

/** A side as people see it; its branch where the session is at home there. */
export function sideRow(state: State, { worktree, actor }: MergeSide): MergeSideRow {
  const session = state.sessions.live.get(actor.session);
  const branch = session?.worktree === worktree ? session.branch : null;
  return { ...actorRow(state, actor), worktree, branch };
}

/** What the works of one path in a repository are indexed by. */
export function fileKey(project: string, file: string): string {
  return `${project}\n${file}`;
}

function tell(state: State, risk: MergeRisk, step: Step): void {
  const { project, file, sides } = risk;
  const [a, b] = sides;
  const id = [fileKey(project, file), a.worktree, b.worktree].join("\n");
  if (state.risks.has(id)) return;
  addRisk(state, id, risk);
  for (const oldest of state.risks.keys()) {
    if (state.risks.size <= limits.mergeRisksMax) break;
    removeRisk(state, oldest);
  }
  const rows = [sideRow(state, a), sideRow(state, b)] as const;
  const about = [...new Set(rows.map(row => row.id))];
  step.events.push({ event: { event: "merge_risk", project, file, sides: rows }, about, project });
}

function inOrder(a: MergeSide, b: MergeSide): readonly [MergeSide, MergeSide] {
  return a.worktree < b.worktree ? [a, b] : [b, a];
}
