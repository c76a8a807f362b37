/**
 * Tells whose uncommitted work was wiped or overwritten, and who did it, with what brings it back.
 * Invariant: an agent hears of a file once: this notice takes the place of one that only says that the file changed.
 */
import type { FileNote } from "../../../hooks/seam/slices.ts";
import { limits } from "../../../protocol/limits.ts";
import { actorKey, sameActor } from "../actor.ts";
import { actorRow } from "../locks/replies.ts";
import { correct, tellLater } from "../messages/notices.ts";
import type { Handler } from "../rules.ts";
import { isAlive, type Lineage, sameLineage } from "../sessions/kinship.ts";
import type { WipedWork } from "./commands.ts";

interface Loser {
  readonly writer: Lineage;
  readonly works: WipedWork[];
}

export const workWiped: Handler<"work_wiped"> = (state, command, _meta, step) => {
  const { wipe, project, doer, command: name, files, others } = command;
  step.reply = { ok: true };
  const losers = new Map<string, Loser>();
  const lost: WipedWork[] = [];
  for (const work of files) {
    const foreign = work.writers.filter(writer => doer === null || !sameLineage(doer, writer));
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
  const [foreign] = lost.flatMap(({ writers }) => writers).filter(writer => !sameLineage(doer, writer));
  const other = foreign === undefined || sameActor(foreign.actor, doer.actor) ? null : foreign.actor;
  const { shown, counts } = named(lost);
  const whose = other === null ? null : actorRow(state, other).name;
  correct(state, doer.actor, note => withoutFiles(note, null, lost));
  const what = { what: "wiped", wipe, mine: true, other: whose, command: name } as const;
  tellLater(state, doer.actor, { ...what, files: shown, ...counts, isAll: lost.length === all });
};

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
