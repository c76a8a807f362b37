/**
 * Dirty files and their writers, from the write that the daemon saw until git reports the file clean.
 *
 * Invariants: a file has 1 to `limits.writersPerFileMax` writers, each actor once, the latest last. Files are in the order
 * of their latest writes, and `limits.writesMax` evicts the oldest. Git's report settles no write made after it. At most
 * `limits.settledWorkMax` settled files keep their writers, and none of them is dirty: undoing a stash or a commit makes the
 * file theirs again.
 */

import type { MergeSideRow } from "../../../protocol/work.ts";
import { type Actor, sameActor, type Written } from "../frame/actors.ts";
import { assert } from "../frame/collections.ts";
import type { BaseState, DirtyFile, MergeRisk, MergeSide, Meta, Writer } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { actorRow, answererOf, isAlive, type Lineage, sameLineage } from "../tables/naming.ts";
import { tellLater } from "../tables/notices.ts";
import {
  addWork,
  fileKey,
  makeRoom,
  removeWork,
  riskKey,
  riskRecords,
  settledRecords,
  type WriteNote,
} from "../tables/uncommitted.ts";
import { touchDeclared } from "./declared-ends.ts";

// Merge risks: one path of a repository has uncommitted work in two worktrees, so a merge conflict is likely.
//
// Invariants: a pair of worktrees has at most one risk per file, and each side gets its notice once. The sides are sorted by
// worktree, and the writer of each side is alive. `limits.mergeRisksMax` evicts the oldest.

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
    const sessionsTold = risk.told.map(session => (session === from ? to : session));
    riskRecords.put(state, { ...risk, sides: [renamed(a), renamed(b)], told: sessionsTold });
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

/**
 * Records the files that a shell command changed. If another actor holds a file or has work in it, the write bypassed
 * that actor; the other files become the actor's writes.
 */
export function writesNoted(
  state: BaseState,
  { actor, noted }: CommandOf<"writes_noted">,
  meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const me = { actor, ancestors: noted.ancestors };
  const own: Written[] = [];
  for (const file of noted.files) {
    const other = otherOwner(state, me, file.key);
    if (other === null) own.push(file);
    else bypass(state, file, actor, other, step);
  }
  markDirty(state, actor, { ...noted, files: own }, meta);
  noteRisks(state, actor, own, step);
}

function bypass(state: BaseState, written: Written, actor: Actor, { actor: owner, held }: Owner, step: Step) {
  const { file, project } = written;
  const path = pathOfWork(written);
  const [writer, holder] = [actorRow(state, actor), actorRow(state, owner)];
  step.events.push({
    event: { event: "bypassed", file, path, writer, holder, held },
    about: [actor.session, owner.session],
    project,
  });
  const other = actorRow(state, answererOf(state, owner)).name;
  tellLater(state, actor, { what: "bypassed", file: path, mine: true, other });
  tellLater(state, owner, { what: "bypassed", file: path, mine: false, other: writer.name });
}

export function writesSettled(
  state: BaseState,
  { settled }: CommandOf<"writes_settled">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  for (const { key, seq, writers } of settled) {
    const work = state.writes.files.get(key);
    if (writers !== undefined) {
      const isGone = (writer: Writer) =>
        writer.seq <= seq && writers.some(actor => sameActor(actor, writer.actor));
      if (work !== undefined) forgetWriters(state, work, isGone);
      continue;
    }
    if (work === undefined || latestOf(work).seq !== seq) continue;
    removeWork(state.writes, work);
    settledRecords.put(state.writes, work);
  }
  settledRecords.makeRoom(state.writes, state.limits.settledWorkMax);
}

/** Takes writers off a file that stays dirty. One whose writers all go settles. */
function forgetWriters(state: BaseState, work: DirtyFile, isGone: (writer: Writer) => boolean): void {
  const left = work.writers.filter(writer => !isGone(writer));
  if (left.length === work.writers.length) return;
  if (left.length === 0) {
    removeWork(state.writes, work);
    settledRecords.put(state.writes, work);
    settledRecords.makeRoom(state.writes, state.limits.settledWorkMax);
    return;
  }
  const rest = { ...work, writers: left };
  addWork(state.writes, rest);
  if (latestOf(rest).seq === latestOf(work).seq) return;
  // Its latest write is an earlier one now: the files of later ones come behind it again.
  const later = [...state.writes.files.values()].filter(one => latestOf(one).seq > latestOf(rest).seq);
  for (const one of later) {
    removeWork(state.writes, one);
    addWork(state.writes, one);
  }
}

/** Makes settled files dirty again, with their old writers first and the actor that brought them back last. */
export function workReturned(
  state: BaseState,
  { actor, noted }: CommandOf<"work_returned">,
  meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const files = noted.files.filter(({ key }) => !state.writes.files.has(key));
  for (const { key } of files) {
    const work = state.writes.settled.get(key);
    if (work === undefined) continue;
    addWork(state.writes, { ...work, writers: work.writers.map(w => ({ ...w, seq: meta.seq })) });
  }
  markDirty(state, actor, { ...noted, files }, meta);
  noteRisks(state, actor, files, step);
}

/** Records the actor as the latest writer of these files. */
export function markDirty(
  state: BaseState,
  actor: Actor,
  { files, by, ancestors, wallMs }: WriteNote,
  meta: Meta,
): void {
  const { name } = actorRow(state, actor);
  touchDeclared(
    state,
    actor,
    ancestors,
    files.map(({ key }) => key),
  );
  for (const { key, file, worktree, project } of files) {
    const before = state.writes.files.get(key);
    if (before !== undefined) removeWork(state.writes, before);
    const writer: Writer = { actor, name, ancestors, by, wallMs, seq: meta.seq };
    const others = before?.writers.filter(w => !sameActor(w.actor, actor)) ?? [];
    const writers = [...others.slice(1 - state.limits.writersPerFileMax), writer];
    addWork(state.writes, { key, file, worktree, project, writers });
  }
  makeRoom(state.writes, state.limits.writesMax);
}

/** Returns the file's absolute path, unfolded. */
export function pathOfWork({ worktree, file }: Pick<DirtyFile, "worktree" | "file">): string {
  return worktree === "/" ? `/${file}` : `${worktree}/${file}`;
}

export function latestOf(work: DirtyFile): Writer {
  const latest = work.writers.at(-1);
  assert(latest !== undefined, () => `${work.key} has no writer`);
  return latest;
}

interface Owner {
  readonly actor: Actor;
  readonly held: boolean;
}

/** Returns another actor that holds the file, or is alive and has work in it; null if `me` or its kin do. */
function otherOwner(state: BaseState, me: Lineage, key: string): Owner | null {
  const hold = state.locks.holds.get(key);
  if (hold !== undefined) return sameLineage(me, hold) ? null : { actor: hold.actor, held: true };
  const writers = state.writes.files.get(key)?.writers ?? [];
  if (writers.some(w => sameLineage(me, w))) return null;
  const other = writers.findLast(w => isAlive(state, w.actor));
  return other === undefined ? null : { actor: other.actor, held: false };
}
