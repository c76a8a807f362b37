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
import type { BaseState, DirtyFile, Writer, Writes } from "../base-state.ts";
import { touchDeclared } from "../declarations/end.ts";
import type { Written } from "../file-ref.ts";
import type { Handler, Meta } from "../handler.ts";
import { actorRow } from "../locks/replies.ts";
import { tellLater } from "../messages/notices.ts";
import { dropOldest } from "../oldest.ts";
import type { Step } from "../outcome.ts";
import { isAlive, type Lineage, sameLineage } from "../sessions/kinship.ts";
import { addToSet, removeFromSet, type Sets } from "../sets.ts";
import type { WriteNote } from "./commands.ts";
import { fileKey, noteRisks } from "./merge-risk.ts";

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
  tellLater(state, actor, { what: "bypassed", file: path, mine: true, other: holder.name });
  tellLater(state, owner, { what: "bypassed", file: path, mine: false, other: writer.name });
}

export const writesSettled: Handler<"writes_settled"> = (state, { settled }, _meta, step) => {
  step.reply = { ok: true };
  for (const { key, seq } of settled) {
    const work = state.writes.files.get(key);
    if (work === undefined || latestOf(work).seq !== seq) continue;
    removeWork(state.writes, work);
    addSettled(state.writes, work);
  }
  const { writes, limits } = state;
  dropOldest(writes.settled, limits.settledWorkMax, (_key, oldest) => removeSettled(writes, oldest));
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
  dropOldest(state.writes.files, state.limits.writesMax, (_key, oldest) => removeWork(state.writes, oldest));
}

/** Adds a dirty file, or replaces the one of the same key. */
export function addWork(writes: Writes, work: DirtyFile): void {
  const before = writes.files.get(work.key);
  if (before !== undefined) unlist(writes, before);
  const settled = writes.settled.get(work.key);
  if (settled !== undefined) removeSettled(writes, settled);
  writes.files.set(work.key, work);
  for (const [index, at] of indexesOf(writes, work)) addToSet(index, at, work.key);
  for (const { actor } of work.writers) writes.revisions.changed(actor.session);
}

function removeWork(writes: Writes, work: DirtyFile): void {
  writes.files.delete(work.key);
  unlist(writes, work);
}

function unlist(writes: Writes, work: DirtyFile): void {
  for (const [index, at] of indexesOf(writes, work)) removeFromSet(index, at, work.key);
  for (const { actor } of work.writers) writes.revisions.changed(actor.session);
}

/** Adds a file whose work git reported committed or gone. */
export function addSettled(writes: Writes, work: DirtyFile): void {
  writes.settled.set(work.key, work);
  addToSet(writes.settledIn, work.worktree, work.key);
  for (const { actor } of work.writers) addToSet(writes.settledBy, actor.session, work.key);
}

function removeSettled(writes: Writes, work: DirtyFile): void {
  writes.settled.delete(work.key);
  unlistSettled(writes, work);
}

function unlistSettled(writes: Writes, { key, worktree, writers }: DirtyFile): void {
  removeFromSet(writes.settledIn, worktree, key);
  for (const { actor } of writers) removeFromSet(writes.settledBy, actor.session, key);
}

function* indexesOf(
  { byWorktree, byFile, byWriter }: Writes,
  { worktree, project, file, writers }: DirtyFile,
): Generator<readonly [Sets<string, string>, string], void> {
  yield [byWorktree, worktree];
  yield [byFile, fileKey(project, file)];
  for (const { actor } of writers) yield [byWriter, actor.session];
}

/** Moves a session's work to the id under which its process goes on, what has settled too: git may bring it back. */
export function renameWriters({ writes }: BaseState, from: string, to: string): void {
  const renamed = (work: DirtyFile): DirtyFile => {
    const writers = work.writers.map(w =>
      w.actor.session === from ? { ...w, actor: { ...w.actor, session: to, incarnation: 0 } } : w,
    );
    return { ...work, writers: onceEach(writers) };
  };
  for (const key of [...(writes.byWriter.get(from) ?? [])]) {
    const work = writes.files.get(key);
    if (work !== undefined) addWork(writes, renamed(work));
  }
  for (const key of [...(writes.settledBy.get(from) ?? [])]) {
    const work = writes.settled.get(key);
    if (work === undefined) continue;
    unlistSettled(writes, work);
    addSettled(writes, renamed(work));
  }
}

/** Keeps the latest write of each actor, since a rename may have merged two incarnations into one actor. */
function onceEach(writers: readonly Writer[]): Writer[] {
  return writers.filter((w, i) => !writers.slice(i + 1).some(later => sameActor(later.actor, w.actor)));
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
