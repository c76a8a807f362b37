/**
 * Tells actors that another actor's git command took their uncommitted work.
 * Invariant: a writer hears only of its own files, and only of writes from before the command began.
 */

import type { FileNote } from "../../../hooks/seam/slices.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Actor, actorKey, sameActor } from "../frame/actors.ts";
import type { BaseState, DirtyFile, Meta, Rules, Writer } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { type Commands, passing } from "../tables/entries.ts";
import { actorRow, isAlive, type Lineage, sameLineage } from "../tables/naming.ts";
import { correct, tellLater } from "../tables/notices.ts";
import { addStash, type StashEntry, stashKey, type WipedWork } from "../tables/uncommitted.ts";
import { pathOfWork } from "./dirty-files.ts";

interface Taken {
  readonly writer: Writer;
  readonly works: DirtyFile[];
}

/** Whether the agent works for the other one: its session's main agent, or an agent in between. */
function worksFor({ actor, ancestors }: Lineage, other: Actor): boolean {
  const isSame = actor.session === other.session && actor.incarnation === other.incarnation;
  return isSame && actor.agent !== other.agent && ancestors.includes(other.agent);
}

export function workTaken(state: BaseState, command: CommandOf<"work_taken">, _meta: Meta, step: Step): void {
  const { actor, ancestors, how, commit, files } = command;
  step.reply = { ok: true };
  const owners = new Map<string, Taken>();
  for (const { key, seq } of files) {
    const work = state.writes.files.get(key);
    for (const writer of work?.writers ?? []) {
      const isOthers = !sameLineage({ actor, ancestors }, writer);
      const isTold =
        writer.seq <= seq &&
        isAlive(state, writer.actor) &&
        (isOthers || (how === "discarded" && worksFor({ actor, ancestors }, writer.actor)));
      if (work === undefined || !isTold) continue;
      const owner = actorKey(writer.actor);
      const taken = owners.get(owner) ?? { writer, works: [] };
      taken.works.push(work);
      owners.set(owner, taken);
    }
  }
  const by = { ...actorRow(state, actor), name: command.name };
  for (const { writer, works } of owners.values()) {
    const shown = works.slice(0, limits.guardFilesMax);
    const more = works.length - shown.length;
    const paths = shown.map(pathOfWork);
    const lists = { files: shown.map(({ file }) => file), paths, ...(more === 0 ? {} : { more }) };
    const owner = actorRow(state, writer.actor);
    step.events.push({
      event: { event: "work_taken", how, command: command.command, commit, ...lists, by, owner },
      about: [...new Set([actor.session, writer.actor.session])],
      project: works[0]?.project ?? "",
    });
    const note = { what: how, files: paths, more, other: by.name, command: command.command, commit } as const;
    tellLater(state, writer.actor, note);
  }
}

// Tells whose uncommitted work was wiped or overwritten, and who did it, with what brings it back.
// Invariant: an agent hears of a file once: this notice takes the place of one that only says that the file changed.

interface Loser {
  readonly writer: Lineage;
  readonly works: WipedWork[];
}

export function workWiped(state: BaseState, command: CommandOf<"work_wiped">, _meta: Meta, step: Step): void {
  const { wipe, project, doer, command: name, files, others } = command;
  step.reply = { ok: true };
  const losers = new Map<string, Loser>();
  const lost: WipedWork[] = [];
  for (const work of files) {
    const foreign = work.writers.filter(
      writer => doer === null || !sameLineage(doer, writer) || worksFor(doer, writer.actor),
    );
    if (foreign.length > 0 || doer?.isUnaware === true) lost.push(work);
    for (const writer of foreign) {
      if (!isAlive(state, writer.actor)) continue;
      const key = actorKey(writer.actor);
      const loser = losers.get(key) ?? { writer, works: [] };
      loser.works.push(work);
      losers.set(key, loser);
    }
  }
  const all = files.length + others;
  const by = doer === null ? null : { ...actorRow(state, doer.actor), name: doer.name };
  for (const { writer, works } of losers.values()) {
    const owner = actorRow(state, writer.actor);
    const { shown, lists, counts } = named(works);
    const { lines } = counts;
    step.events.push({
      event: { event: "work_wiped", wipe, command: name, lines, ...lists, by, owner },
      about: [...new Set([...(by === null ? [] : [by.id]), writer.actor.session])],
      project,
    });
    const other = by?.name ?? null;
    if (other !== null) correct(state, writer.actor, note => withoutFiles(note, other, works));
    const what = { what: "wiped", wipe, mine: false, other, command: name } as const;
    tellLater(state, writer.actor, { ...what, files: shown, ...counts, isAll: works.length === all });
  }
  if (doer === null || lost.length === 0 || !isAlive(state, doer.actor)) return;
  const [foreign] = lost
    .flatMap(({ writers }) => writers)
    .filter(writer => !sameLineage(doer, writer) || worksFor(doer, writer.actor));
  const other = foreign === undefined || sameActor(foreign.actor, doer.actor) ? null : foreign.actor;
  const { shown, counts } = named(lost);
  const whose = other === null ? null : actorRow(state, other).name;
  correct(state, doer.actor, note => withoutFiles(note, null, lost));
  const what = { what: "wiped", wipe, mine: true, other: whose, command: name } as const;
  tellLater(state, doer.actor, { ...what, files: shown, ...counts, isAll: lost.length === all });
}

/** The files as a notice and an event have them. */
function named(works: readonly WipedWork[]) {
  const cut = works.slice(0, limits.guardFilesMax);
  const shown = cut.map(({ path }) => path);
  const more = works.length - cut.length;
  const counted = works.every(({ lines }) => lines !== null);
  const lines = counted ? works.reduce((sum, work) => sum + (work.lines ?? 0), 0) : null;
  const lists = { files: cut.map(({ file }) => file), paths: shown, ...(more === 0 ? {} : { more }) };
  return { shown, lists, counts: { more, lines } };
}

/** The notice without these files; null if it has no others. `by`: who changed the reader's work; null: the reader changed others'. */
function withoutFiles(note: FileNote, by: string | null, works: readonly WipedWork[]): FileNote | null {
  const isOne = (path: string) => works.some(work => work.path === path);
  const isMine = by === null;
  if (note.what === "bypassed")
    return note.mine === isMine && (isMine || note.other === by) && isOne(note.file) ? null : note;
  if (note.what !== "discarded" || note.other !== by || note.more > 0) return note;
  const files = note.files.filter(path => !isOne(path));
  if (files.length === note.files.length) return note;
  return files.length === 0 ? null : { ...note, files };
}

// Notes who made stash entries, and tells their makers who took them.
// Invariant: a session hears only of its own entries, and never of one that it took itself.

function stashesNoted(state: BaseState, command: CommandOf<"stashes_noted">, meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const { actor, project, made, gone, takenBy, wallMs } = command;
  const { entries } = state.stashes;
  const taken = new Map<string, string[]>();
  for (const commit of gone) {
    const entry = entries.get(stashKey({ project, commit }));
    if (entry === undefined) continue;
    entries.delete(stashKey(entry));
    const { session } = entry.actor;
    if (!isOwnStash(state, actor, entry)) taken.set(session, [...(taken.get(session) ?? []), commit]);
  }
  const { name } = actorRow(state, actor);
  for (const [session, commits] of taken) {
    if (takenBy === null) break;
    const shown = commits.slice(0, state.limits.stashesShownMax);
    const more = commits.length - shown.length;
    const note = { what: "stash_taken", commits: shown, more, other: name, command: takenBy } as const;
    // A session's agents share their entries, and the one that made it may have ended.
    tellLater(state, { session, agent: null }, note);
  }
  for (const commit of made) {
    if (entries.has(stashKey({ project, commit }))) continue;
    addStash(state.stashes, { project, commit, actor, name, wallMs, seq: meta.seq });
  }
}

/**
 * Whether the entry is the actor's session's own. Two terminals that have the session open each have entries of their own.
 */
export function isOwnStash(
  state: BaseState,
  actor: Actor,
  { actor: maker }: Pick<StashEntry, "actor">,
): boolean {
  if (actor.session !== maker.session) return false;
  return actor.incarnation === maker.incarnation || !isAlive(state, maker);
}

export const stashRules: Rules<Pick<Commands, "stashes_noted">> = {
  commands: { stashes_noted: passing(stashesNoted) },
};
