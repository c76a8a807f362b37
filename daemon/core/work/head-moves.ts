/**
 * Tells the actors of a worktree that HEAD moved there.
 * Invariant: an actor has one such notice of a worktree. It says where HEAD was when the actor last knew, and where it is now.
 */

import type { FileNote } from "../../../hooks/seam/slices.ts";
import type { HeadPlace } from "../../../protocol/guard.ts";
import type { BaseState, Meta, Rules } from "../tables/base-state.ts";
import { type CommandOf, type Commands, passing, type Step } from "../tables/entries.ts";
import { addHead, headRecords } from "../tables/heads.ts";
import type { Whose } from "../tables/messages.ts";
import { correct, tellLater } from "../tables/notices.ts";

function headMoved(state: BaseState, command: CommandOf<"head_moved">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const { row, tell, by } = command;
  const { worktree, head, operation } = row;
  const before = state.heads.rows.get(worktree);
  if (head === null && operation === null) {
    if (before !== undefined) headRecords.drop(state.heads, before);
    return;
  }
  addHead(state.heads, row);
  const from = before?.head ?? null;
  if (head === null || from === null) return;
  for (const whose of tell) {
    const note = { what: "head_moved", worktree, from, to: head, other: by } as const;
    const owner = operation?.name ?? null;
    tellMove(state, whose, owner === null ? note : { ...note, owner });
  }
}

type MoveNote = Extract<FileNote, { what: "head_moved" }>;

/** The first place of a notice that did not reach its reader stays; if HEAD is there again, the matter is over. */
function tellMove(state: BaseState, whose: Whose, note: MoveNote): void {
  let isMerged = false;
  correct(state, whose, known => {
    if (known.what !== "head_moved" || known.worktree !== note.worktree) return known;
    isMerged = true;
    return isSamePlace(known.from, note.to) ? null : { ...note, from: known.from };
  });
  if (!isMerged) tellLater(state, whose, note);
}

/** Whether a commit would land on the same branch, and on the same commit. */
export function isSamePlace(a: HeadPlace, b: HeadPlace): boolean {
  return a.ref === b.ref && a.commit === b.commit && a.operation === b.operation;
}

export const headRules: Rules<Pick<Commands, "head_moved">> = {
  commands: { head_moved: passing(headMoved) },
};
