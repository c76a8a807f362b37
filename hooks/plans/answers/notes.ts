/** Words the notes on an agent's files: what happened, and what to do about it. */

import { limits } from "../../../protocol/limits.ts";
import { duration, nearPath, plain, quote, shellArgument } from "../../../protocol/text.ts";
import type {
  LeaseNote,
  OverlapNote,
  PastLockNote,
  StashTakenNote,
  TakenNote,
  WipedNote,
} from "../../seam/outcomes.ts";
import type { FileNote } from "../../seam/slices.ts";
import { howToWrite, type Reader } from "./answer.ts";
import { headMovedLine } from "./heads.ts";

// Knows the words in which an adapter says which lines a tool changed: `line 2`, `lines 10-40, 52 and more`.

/** Whether an adapter made the text: then it needs no quotes. */
export function isChangedLines(text: string): boolean {
  return /^lines? \d+(?:-\d+)?(?:, \d+(?:-\d+)?)*(?: and more)?$/.test(text);
}

/** Words one kind of note; `who` is the other agent. */
export type NoteLine<N> = Words<N>["line"];

interface Words<N> {
  // A method, so that a line for one kind of note fits where any kind may come.
  line(note: N, who: string, reader: Reader): string;
}

/** What the notes of some kinds have in common, in a few words. */
export type Heading = readonly [words: string, ...whats: readonly FileNote["what"][]];

export const baseHeadings: readonly Heading[] = [
  ["git commands of other agents committed or removed uncommitted work of yours", "committed", "discarded"],
  ["uncommitted work was wiped or overwritten, and Kite kept it", "wiped"],
  ["another agent took stash entries of yours", "stash_taken"],
  ["HEAD of a checkout in which you work has moved", "head_moved"],
  ["agents wrote files without holding their locks", "bypassed", "lost_update"],
  ["the time of a lock of yours is over", "lease_over"],
  ["another agent plans to change the same files as you", "overlap"],
  ["another agent changed a file that you wrote", "conflict"],
];

function conflictLine({ file, lines = "" }: PastLockNote, who: string, { cwd }: Reader): string {
  const where = isChangedLines(lines) ? `${lines} of ` : "";
  return `- ${who} changed ${where}${quote(nearPath(file, cwd))} after your last write of it: read it again before your next one.`;
}

function bypassedLine({ file, mine }: PastLockNote, who: string, { cwd }: Reader): string {
  const it = quote(nearPath(file, cwd));
  return mine
    ? `- ${it}, in which ${who} has work, changed while your shell command ran: if your command changed it, tell ${who}, and do not edit the file through the shell.`
    : `- ${it}, in which you have work, changed while a shell command of ${who} ran: read it again before you go on.`;
}

function lostLine({ file, mine, other }: PastLockNote, who: string, { cwd }: Reader): string {
  const it = quote(nearPath(file, cwd));
  if (!mine) return `- ${who} wrote ${it} after the lock had passed to you: read it again before you go on.`;
  const undone =
    other === null ? "other agents may have written it in between" : `${who} held the file by then`;
  return `- your write of ${it} came after your lock had ended, and ${undone}: read it again, and restore what your write undid.`;
}

function leaseLine({ file }: LeaseNote): string {
  const time = duration(limits.resourceLeaseMs);
  return `- your lock of ${file} ended: Kite keeps one for ${time} without a request. Another agent may use ${file} now: lock it again before you go on with it.`;
}

function overlapLine({ file, will }: OverlapNote, who: string, reader: Reader): string {
  const what = will === "" ? "" : ` and will: ${quote(will)}`;
  return `- ${who} declared ${quote(nearPath(file, reader.cwd))}, too${what}. Agree with ${who} who changes it (${howToWrite(reader)}) before you edit it.`;
}

function takenLine({ what, files, more, command, commit }: TakenNote, who: string, { cwd }: Reader): string {
  const rest = more === 0 ? [] : [`${more} more`];
  const all = [...files.map(file => quote(nearPath(file, cwd))), ...rest].join(", ");
  const by = `\`${command}\` of ${who}`;
  if (what === "committed") {
    const where = commit === null ? "" : ` as ${commit}`;
    const look = commit === null ? "git log -1" : `git show ${commit}`;
    return `- ${by} committed your uncommitted work in ${all}${where}: check it (${look}) before you go on, and do not commit it again.`;
  }
  if (commit !== null)
    return `- a hook of ${by} put your uncommitted work into a stash entry and left it there: ${all}. Read the files again before you go on. What they lack is in the entry: git stash show --include-untracked -p ${commit}`;
  const stashed = command.startsWith("git stash") ? " It may be in a stash: git stash list." : "";
  return `- ${by} removed your uncommitted work from the working tree: ${all}. Read the files again before you go on, and ask ${who} for the work.${stashed}`;
}

function wipedLine(note: WipedNote, who: string, { cwd }: Reader): string {
  const { mine, other, command, files, more, lines } = note;
  const [first = ""] = files;
  const names = [...files.map(file => quote(nearPath(file, cwd))), ...(more === 0 ? [] : [`${more} more`])];
  const count = lines === null ? "" : `${lines} ${lines === 1 ? "line" : "lines"} of `;
  const what = `${count}${names.join(", ")}`;
  const line = restoreLine(note, first, cwd);
  const did = plain(command, limits.nameBytes);
  if (mine) {
    const whose = other === null ? "your uncommitted work" : `uncommitted work of ${who}`;
    return `- \`${did}\`, which you ran, wiped ${whose}: ${what}. If you did not mean that, bring it back: ${line}`;
  }
  if (other === null)
    return `- your uncommitted work changed outside Kite (an editor, a build or a person's own command), and this is gone: ${what}. A person may have meant that: ask before you bring it back: ${line}`;
  return `- your uncommitted work was wiped while \`${did}\` of ${who} ran: ${what}. Tell ${who}, and bring it back: ${line}`;
}

/** The command that brings the files back; without their names where it brings back nothing else, or where a name is odd. */
function restoreLine({ wipe, files, more, isAll }: WipedNote, first: string, cwd: string): string {
  const name = nearPath(first, cwd);
  const isOne = files.length === 1 && more === 0 && plain(name) === name;
  return `kite rescue restore ${wipe}${isAll || !isOne ? "" : ` ${shellArgument(name)}`}`;
}

function stashTakenLine({ commits, more, command }: StashTakenNote, who: string): string {
  const ids = commits.map(commit => commit.slice(0, limits.commitIdChars));
  const all = [...ids, ...(more === 0 ? [] : [`${more} more`])].join(", ");
  const what =
    commits.length + more === 1 ? `a stash entry of yours (${all})` : `stash entries of yours (${all})`;
  const back = `git stash apply ${ids[0] ?? ""}`;
  return `- \`${command}\` of ${who} took ${what}: ask ${who} for the work. As long as git keeps a taken commit, you can apply it: ${back}`;
}

export const baseLines = {
  conflict: conflictLine,
  bypassed: bypassedLine,
  lost_update: lostLine,
  committed: takenLine,
  discarded: takenLine,
  wiped: wipedLine,
  stash_taken: stashTakenLine,
  head_moved: headMovedLine,
  overlap: overlapLine,
  lease_over: leaseLine,
} satisfies { readonly [W in FileNote["what"]]?: NoteLine<FileNote> };
