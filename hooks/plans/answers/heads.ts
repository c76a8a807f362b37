/** Words where HEAD is, who moved it, and whose the operation in progress is. */

import { branchName, type HeadPlace } from "../../../protocol/heads.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain, quote, shellArgument } from "../../../protocol/text.ts";
import type { HeadMovedNote } from "../../seam/outcomes.ts";

/** Where HEAD is: `on branch "main"`, `detached at 0123456789`, `in the middle of a rebase of "main"`. */
function placeText({ ref, commit, operation, of }: HeadPlace): string {
  const name = ref === null ? null : quote(branchName(ref), limits.nameBytes);
  const at = name === null ? `detached at ${shortId(commit)}` : `on branch ${name}`;
  if (operation === null) return at;
  const whose = of === null ? "" : ` of ${quote(of, limits.nameBytes)}`;
  return `${at}, in the middle of ${article(operation)} ${operation}${whose}`;
}

function article(operation: string): string {
  return operation === "am" ? "an" : "a";
}

function shortId(commit: string | null): string {
  return commit === null ? "no commit" : commit.slice(0, limits.commitIdChars);
}

/** The short name of the branch that HEAD was on, if a line can name it. */
function branchOf({ ref }: HeadPlace): string | null {
  const name = ref?.startsWith("refs/heads/") === true ? branchName(ref) : null;
  return name !== null && plain(name, limits.nameBytes) === name ? name : null;
}

/** A note that HEAD moved: from where to where, by whom, and what to do. */
export function headMovedLine(note: HeadMovedNote, who: string): string {
  const { from, to, other, owner } = note;
  const by = other === null ? "Kite did not see who did it" : `${who} did it`;
  return `- ${moveText(note)}; ${by}. ${nextCommit(to, owner)} ${wayBack(note, from)}`;
}

type Move = Pick<HeadMovedNote, "worktree" | "from" | "to">;

function moveText({ worktree, from, to }: Move): string {
  const here = `HEAD of ${quote(worktree, limits.pathBytes)}`;
  const isSame = from.ref === to.ref && from.operation === to.operation;
  if (!isSame) return `${here} is ${placeText(to)} now, and was ${placeText(from)} before`;
  const name =
    to.ref === null ? here : `${quote(branchName(to.ref), limits.nameBytes)}, the branch of ${here},`;
  return `${name} is at ${shortId(to.commit)} now, which lacks commits of ${shortId(from.commit)}, where it was before`;
}

function nextCommit(to: HeadPlace, owner: string | undefined): string {
  const whose = owner === undefined ? "" : ` of ${quote(owner, limits.nameBytes)}`;
  if (to.operation !== null)
    return `Your next commit there would land in the middle of that ${to.operation}${whose}.`;
  return `Your next commit there lands ${to.ref === null ? "on no branch" : placeText(to)}.`;
}

/** How to go on where HEAD was before. */
function wayBack({ worktree, to }: Move, from: HeadPlace): string {
  const branch = branchOf(from);
  if (branch === null || from.ref === to.ref) return "Look before you commit: git log --oneline -5";
  const dir = worktreeFolder(worktree, branch);
  const line = `git -C ${shellArgument(worktree)} worktree add ${shellArgument(dir)} ${shellArgument(branch)}`;
  return `To commit on ${quote(branch, limits.nameBytes)}, use a worktree of its own: ${line}`;
}

/** A folder beside the worktree, named after what it is for. */
export function worktreeFolder(worktree: string, name: string): string {
  return `${worktree}-${name.replace(/[^\w.-]+/g, "-").replace(/^[.-]+|[.-]+$/g, "") || "other"}`;
}
