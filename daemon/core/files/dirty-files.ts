/**
 * Whose work is in a file, from the write that was seen until git says that it is committed or gone.
 *
 * Invariants: a file has at least one writer and at most `limits.writersPerFileMax`, each actor once, the latest last;
 * the files stand in the order of their latest writes, at most `limits.writesMax`, and the oldest are forgotten; what
 * changed after it was looked at is not settled by that look.
 */

import { limits } from "../../../protocol/limits.ts";
import { type Actor, sameActor } from "../actor.ts";
import type { WriteNote } from "../commands.ts";
import type { Written } from "../file-ref.ts";
import type { Handler, Meta } from "../handler.ts";
import { actorRow } from "../locks/replies.ts";
import { tellLater } from "../messages/notices.ts";
import type { Step } from "../outcome.ts";
import { isAlive, type Lineage, sameLineage } from "../sessions/kinship.ts";
import { addToSet, removeFromSet, type Sets } from "../sets.ts";
import type { DirtyFile, State, Writer, Writes } from "../state.ts";
import { fileKey, noteRisks } from "./merge-risk.ts";

/**
 * A shell command ended and these files are not what they were before it. What somebody else holds or has work in was
 * bypassed; the rest are writes of the actor.
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

function bypass(state: State, written: Written, actor: Actor, { actor: owner, held }: Owner, step: Step) {
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
    if (work !== undefined && latestOf(work).seq === seq) removeWork(state.writes, work);
  }
};

/** The actor wrote these files. */
export function markDirty(
  state: State,
  actor: Actor,
  { files, by, ancestors, wallMs }: WriteNote,
  meta: Meta,
): void {
  const { name } = actorRow(state, actor);
  for (const { key, file, worktree, project } of files) {
    const before = state.writes.files.get(key);
    if (before !== undefined) removeWork(state.writes, before);
    const writer: Writer = { actor, name, ancestors, by, wallMs, seq: meta.seq };
    const others = before?.writers.filter(w => !sameActor(w.actor, actor)) ?? [];
    const writers = [...others.slice(1 - limits.writersPerFileMax), writer];
    addWork(state.writes, { key, file, worktree, project, writers });
  }
  for (const oldest of state.writes.files.values()) {
    if (state.writes.files.size <= limits.writesMax) break;
    removeWork(state.writes, oldest);
  }
}

/** Adds a file, or puts it in the place of what was known of it. */
export function addWork(writes: Writes, work: DirtyFile): void {
  const before = writes.files.get(work.key);
  if (before !== undefined) unlist(writes, before);
  writes.files.set(work.key, work);
  for (const [index, at] of indexesOf(writes, work)) addToSet(index, at, work.key);
}

function removeWork(writes: Writes, work: DirtyFile): void {
  writes.files.delete(work.key);
  unlist(writes, work);
}

function unlist(writes: Writes, work: DirtyFile): void {
  for (const [index, at] of indexesOf(writes, work)) removeFromSet(index, at, work.key);
}

function* indexesOf(
  { byWorktree, byFile, byWriter }: Writes,
  { worktree, project, file, writers }: DirtyFile,
): Generator<readonly [Sets<string, string>, string], void> {
  yield [byWorktree, worktree];
  yield [byFile, fileKey(project, file)];
  for (const { actor } of writers) yield [byWriter, actor.session];
}

/** The session's process goes on under another id: its work is that one's. */
export function renameWriters(state: State, from: string, to: string): void {
  for (const key of [...(state.writes.byWriter.get(from) ?? [])]) {
    const work = state.writes.files.get(key);
    if (work === undefined) continue;
    const writers = work.writers.map(w =>
      w.actor.session === from ? { ...w, actor: { ...w.actor, session: to, incarnation: 0 } } : w,
    );
    addWork(state.writes, { ...work, writers: onceEach(writers) });
  }
}

/** Two incarnations may have become one actor: its latest write counts. */
function onceEach(writers: readonly Writer[]): Writer[] {
  return writers.filter((w, i) => !writers.slice(i + 1).some(later => sameActor(later.actor, w.actor)));
}

/** Absolute, as it is spelled. */
export function pathOfWork({ worktree, file }: Pick<DirtyFile, "worktree" | "file">): string {
  return worktree === "/" ? `/${file}` : `${worktree}/${file}`;
}

export function latestOf(work: DirtyFile): Writer {
  const latest = work.writers.at(-1);
  if (latest === undefined) throw new Error(`${work.key} has no writer`);
  return latest;
}

interface Owner {
  readonly actor: Actor;
  readonly held: boolean;
}

/** Who else holds the file, or has work in it and is alive. */
export function otherOwner(state: State, me: Lineage, key: string): Owner | null {
  const hold = state.locks.holds.get(key);
  if (hold !== undefined) return sameLineage(me, hold) ? null : { actor: hold.actor, held: true };
  const writers = state.writes.files.get(key)?.writers ?? [];
  if (writers.some(w => sameLineage(me, w))) return null;
  const other = writers.findLast(w => isAlive(state, w.actor));
  return other === undefined ? null : { actor: other.actor, held: false };
}
