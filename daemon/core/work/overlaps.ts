/**
 * Files that two agents declared.
 *
 * Invariants: both sides of a new overlap get a notice of it. They lose it again if the overlap is over before it reached
 * them. Agents that work for each other do not overlap. A step reports at most `limits.overlapsMax` overlaps, and looks at
 * no more than `limits.overlapsLookedAtMax` declared files. If there are more, a notice of an overlap that is over may stay.
 * In a shared project only agents of different machines overlap: those of one do so in its own log.
 */

import type { FileNote } from "../../../hooks/seam/slices.ts";
import { limits } from "../../../protocol/limits.ts";
import type { DeclarationRow, Overlap } from "../../../protocol/schemas/declaration.ts";
import type { DeclaredBrief } from "../../../protocol/schemas/session.ts";
import type { Actor } from "../frame/actors.ts";
import type { BaseState } from "../tables/base-state.ts";
import type { Declaration, DeclaredFile } from "../tables/declarations.ts";
import type { Step } from "../tables/entries.ts";
import { noteKey, type Whose } from "../tables/messages.ts";
import { actorRow } from "../tables/naming.ts";
import { takeBack, tellLater } from "../tables/notices.ts";

/** Returns where other agents declared the same files, or folders with or around them. */
export function overlapsOf(
  state: BaseState,
  mine: Declaration,
  files: readonly DeclaredFile[] = mine.files,
): Overlap[] {
  const found: Overlap[] = [];
  for (const [file, other] of others(state, mine, files)) {
    if (found.length === limits.overlapsMax) break;
    const row = actorRow(state, { ...other, incarnation: 0 });
    found.push({ path: file.path, with: row, will: file.will });
  }
  return found;
}

/** Tells the actor and the other agents of the overlaps of these files, which are new in its code view. */
export function tellOverlaps(
  state: BaseState,
  actor: Actor,
  mine: Declaration,
  files: readonly DeclaredFile[],
  step: Step,
): void {
  const by = actorRow(state, actor);
  let count = 0;
  for (const [file, other, own] of others(state, mine, files)) {
    if (count === limits.overlapsMax) return;
    count += 1;
    // The name as declared: by it the notice is found when it is to be taken back.
    const row = { id: other.session, agent: other.agent, name: other.name };
    const what = "overlap";
    tellLater(state, actor, { what, file: file.path, other: row.name, will: file.will });
    tellLater(state, other, { what, file: own.path, other: by.name, will: own.will });
    const paths = [own.path, file.path] as const;
    const wills = [own.will, file.will] as const;
    const event = { event: "declarations_overlap" as const, sides: [by, row] as const, paths, wills };
    step.events.push({ event, about: [actor.session, other.session], project: mine.project });
  }
}

/**
 * Takes back the notices of overlaps that are over. The agent struck these files off, its declaration ended, or it counts
 * for another project or name. `left` is what it still declares beside them.
 */
export function takeBackOverlaps(
  state: BaseState,
  mine: Declaration,
  struck: readonly DeclaredFile[],
  left: readonly DeclaredFile[] = [],
): void {
  for (const [file, other, own] of others(state, mine, struck)) {
    takeBack(state, other, note => isOverlap(note, own.path, mine.name));
    if (left.some(one => overlaps(one, file))) continue;
    takeBack(state, mine, note => isOverlap(note, file.path, other.name));
  }
}

function isOverlap(note: FileNote, path: string, other: string): boolean {
  return note.what === "overlap" && note.file === path && note.other === other;
}

/** Whether the two are one file, or one of them is a folder with the other. */
function overlaps(a: DeclaredFile, b: DeclaredFile): boolean {
  return (
    a.key === b.key || (a.dir && b.key.startsWith(`${a.key}/`)) || (b.dir && a.key.startsWith(`${b.key}/`))
  );
}

/** Yields each overlapping pair: the other's file, the other's declaration, the own file. */
function* others(
  state: BaseState,
  mine: Declaration,
  files: readonly DeclaredFile[],
): Generator<readonly [DeclaredFile, Declaration, DeclaredFile], void> {
  const { declarations } = state;
  let left: number = limits.overlapsLookedAtMax;
  for (const own of files) {
    for (const key of declarations.paths.overlapping(own.key, own.dir)) {
      for (const id of declarations.byFile.get(key) ?? []) {
        if (left === 0) return;
        left -= 1;
        const other = declarations.live.get(id);
        const file = other?.files.find(one => one.key === key);
        if (other !== undefined && file !== undefined && !isApart(state, mine, other))
          yield [file, other, own];
      }
    }
  }
}

/**
 * Whether no overlap counts: between an agent and itself, those it works with, and agents of other projects. In a shared
 * project, nor between agents of one machine.
 */
function isApart({ isShared, sessions }: BaseState, a: Declaration, b: Declaration): boolean {
  const nodeOf = ({ session }: Declaration) => sessions.live.get(session)?.node;
  if (isShared && nodeOf(a) === nodeOf(b)) return true;
  if (a.session !== b.session) return a.project !== b.project;
  return a.agent === b.agent || a.ancestors.includes(b.agent) || b.ancestors.includes(a.agent);
}

/** Returns a declaration as the wire shows it at `now` (core time, ms). */
export function declarationRow(declaration: Declaration, now: number): DeclarationRow {
  const { session: id, ancestors: _ancestors, files, endedAt, ...same } = declaration;
  return {
    id,
    ...same,
    files: files.map(({ key: _key, within: _within, ...file }) => file),
    endedMs: endedAt === null ? null : Math.max(0, now - endedAt),
  };
}

/** Returns what the agent declared, in short, as a field of its row; no field if it declared nothing. */
export function declaredField(
  { declarations }: BaseState,
  whose: Whose,
): { readonly declared?: DeclaredBrief } {
  const declaration = declarations.live.get(noteKey(whose));
  if (declaration === undefined) return {};
  const { role, task, mismatches } = declaration;
  const differs = mismatches.length > 0 ? ({ mismatched: true } as const) : {};
  return { declared: { role, task: task.slice(0, limits.quoteChars), ...differs } };
}
