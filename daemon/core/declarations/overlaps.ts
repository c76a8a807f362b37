/**
 * Files that two agents declared.
 *
 * Invariants: both sides of a new overlap get a notice of it; agents that work for each other do not overlap; a step
 * reports at most `limits.overlapsMax` of them, and costs what it finds.
 */

import type { Overlap } from "../../../protocol/declaration.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Actor } from "../actor.ts";
import { actorRow } from "../locks/replies.ts";
import { tellLater } from "../messages/notices.ts";
import type { Step } from "../outcome.ts";
import type { State } from "../state.ts";
import type { Declaration, DeclaredFile } from "./table.ts";

/** Returns where other agents declared the same files, or folders with or around them. */
export function overlapsOf(
  state: State,
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
  state: State,
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
    const row = actorRow(state, { ...other, incarnation: 0 });
    const what = "overlap";
    tellLater(state, actor, { what, file: file.path, other: row.name, will: file.will });
    tellLater(state, other, { what, file: own.path, other: by.name, will: own.will });
    const paths = [own.path, file.path] as const;
    const wills = [own.will, file.will] as const;
    const event = { event: "declarations_overlap" as const, sides: [by, row] as const, paths, wills };
    step.events.push({ event, about: [actor.session, other.session], project: mine.project });
  }
}

/** Yields each overlapping pair: the other's file, the other's declaration, the own file. */
function* others(
  { declarations }: State,
  mine: Declaration,
  files: readonly DeclaredFile[],
): Generator<readonly [DeclaredFile, Declaration, DeclaredFile], void> {
  for (const own of files) {
    for (const key of declarations.paths.overlapping(own.key, own.dir)) {
      for (const id of declarations.byFile.get(key) ?? []) {
        const other = declarations.live.get(id);
        const file = other?.files.find(one => one.key === key);
        if (other !== undefined && file !== undefined && !isApart(mine, other)) yield [file, other, own];
      }
    }
  }
}

/** Whether no overlap counts: between an agent and itself, those it works with, and agents of other projects. */
function isApart(a: Declaration, b: Declaration): boolean {
  if (a.session !== b.session) return a.project !== b.project;
  return a.agent === b.agent || a.ancestors.includes(b.agent) || b.ancestors.includes(a.agent);
}
