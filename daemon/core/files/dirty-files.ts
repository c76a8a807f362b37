/**
 * Dirty files and their writers, from the write that the daemon saw until git reports the file clean.
 *
 * Invariants: a file has 1 to `limits.writersPerFileMax` writers, each actor once, the latest last; files are in the
 * order of their latest writes, and `limits.writesMax` evicts the oldest; git's report settles no write made after it.
 * At most `limits.settledWorkMax` settled files keep their writers, and none of them is dirty: undoing a stash or a
 * commit makes the file theirs again.
 */

import { type Actor, sameActor } from "../actor.ts";
import { assert } from "../assert.ts";
import type { BaseState, DirtyFile, Writer } from "../base-state.ts";
import { touchDeclared } from "../declarations/end.ts";
import type { Written } from "../file-ref.ts";
import { actorRow } from "../locks/replies.ts";
import { tellLater } from "../messages/notices.ts";
import type { Step } from "../outcome.ts";
import type { Handler, Meta } from "../rules.ts";
import { answererOf } from "../sessions/agent-names.ts";
import { isAlive, type Lineage, sameLineage } from "../sessions/kinship.ts";
import type { WriteNote } from "./commands.ts";
import { noteRisks } from "./merge-risk.ts";
import { addWork, makeRoom, removeWork, settledRecords } from "./table.ts";

/**
 * Records the files that a shell command changed. If another actor holds a file or has work in it, the write bypassed
 * that actor; the other files become the actor's writes.
 */
export const writesNoted: Handler<"writes_noted"> = (state, { actor, noted }, meta, step) => {
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
};

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

export const writesSettled: Handler<"writes_settled"> = (state, { settled }, _meta, step) => {
  step.reply = { ok: true };
  for (const { key, seq } of settled) {
    const work = state.writes.files.get(key);
    if (work === undefined || latestOf(work).seq !== seq) continue;
    removeWork(state.writes, work);
    settledRecords.put(state.writes, work);
  }
  settledRecords.makeRoom(state.writes, state.limits.settledWorkMax);
};

/** Makes settled files dirty again, with their old writers first and the actor that brought them back last. */
export const workReturned: Handler<"work_returned"> = (state, { actor, noted }, meta, step) => {
  step.reply = { ok: true };
  const files = noted.files.filter(({ key }) => !state.writes.files.has(key));
  for (const { key } of files) {
    const work = state.writes.settled.get(key);
    if (work === undefined) continue;
    addWork(state.writes, { ...work, writers: work.writers.map(w => ({ ...w, seq: meta.seq })) });
  }
  markDirty(state, actor, { ...noted, files }, meta);
  noteRisks(state, actor, files, step);
};

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
