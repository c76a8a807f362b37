/** Words where HEAD is, who moved it, and whose the operation in progress is. */

import {
  type AtWork,
  branchName,
  type GuardedCommand,
  type GuardFinding,
  type HeadFinding,
  type HeadPlace,
  type HeadWay,
  worktreeFolder,
} from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { duration, frame, plain, quote, shellArgument } from "../../../protocol/text.ts";
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

// Words what the guard found of HEAD and of operations in a shell line.

/** A finding about HEAD, with the command it is about. */
export interface OfHead extends GuardFinding {
  readonly by: GuardedCommand;
}

/** The line is held back: `first`: the same line runs when it is sent again; `denied`: something else denies it; `warned`: it runs. */
type Mode = "denied" | "first" | "warned";

/** What stands against the line because of HEAD: a paragraph for each finding. */
export function headTexts(found: readonly OfHead[], cwd: string, mode: Mode): string {
  return found
    .flatMap(one =>
      one.head === undefined ? [] : paragraph(one, one.head, cwd, modeOf(one, mode)).join("\n"),
    )
    .join("\n");
}

/** A finding of a denied line that only tells runs when the line does. */
function modeOf({ verdict }: OfHead, mode: Mode): Mode | "also" {
  return mode === "denied" && verdict === "tell_first" ? "also" : mode;
}

function paragraph(one: OfHead, head: HeadFinding, cwd: string, mode: Mode | "also"): readonly string[] {
  if (head.is === "moves") return movesText(one, head, cwd, mode);
  return head.is === "moved" ? movedText(one, head, mode) : interferesText(one, head, mode);
}

const begins: { readonly [M in Mode | "also"]: string } = {
  denied: "Kite: this command line did not run:",
  first: "Kite: this command line did not run yet:",
  also: "Besides,",
  warned: "Kite:",
};

const ends: { readonly [M in Mode | "also"]: (what: string) => readonly string[] } = {
  denied: () => [],
  first: what => [`If you mean ${what}, send exactly the same command again: it will run.`],
  also: () => ["When the line may run, you are not asked about this again."],
  warned: () => ["The command line runs anyway."],
};

type Of<W extends HeadFinding["is"]> = Extract<HeadFinding, { is: W }>;

function movesText(one: OfHead, head: Of<"moves">, cwd: string, mode: Mode | "also"): readonly string[] {
  const { at, to, others, more } = head;
  const count = others.length + more;
  const who = count === 1 ? "another agent is" : "other agents are";
  const their = count === 1 ? "its" : "their";
  const would = mode === "warned" ? "will" : "would";
  const what =
    to === null
      ? `${would} put ${branchWords(at)} on a commit that lacks commits it has now`
      : `${would} move HEAD from ${placeWords(at)} to ${to.replace(/^branch (.*)$/, (_, name) => `branch ${quote(name, limits.nameBytes)}`)}`;
  return [
    `${begins[mode]} \`${one.by.name}\` in it ${what}, and ${who} at work in this checkout on ${placeWords(at)}. HEAD is one for all who work in it: ${their} next commit would land there.`,
    `${frame} ${[...others.map(atWorkText), ...(more > 0 ? [`and ${more} more`] : [])].join("; ")}.`,
    `What to do: ${wayText(one, head, cwd)}`,
    ...ends[mode]("to move it for all"),
  ];
}

function branchWords({ ref }: HeadPlace): string {
  return ref === null ? "HEAD" : `branch ${quote(branchName(ref), limits.nameBytes)}`;
}

function placeWords(at: HeadPlace): string {
  return at.ref === null ? `no branch (detached at ${shortId(at.commit)})` : branchWords(at);
}

function atWorkText({ who, doing, files }: AtWork): string {
  const names = files.map(file => quote(file)).join(", ");
  const work = names === "" ? "is in a turn" : `has uncommitted work in ${names}`;
  return `${quote(who, limits.nameBytes)} ${work}${doing === null ? "" : ` and ${quote(doing)}`}`;
}

/** The line that does the agent's part in a place of its own. */
function wayText({ worktree }: OfHead, { way, hasOwn, at }: Of<"moves">, cwd: string): string {
  if (way.is === "there")
    return `${quote(way.branch, limits.nameBytes)} is checked out in a worktree already, work there: cd ${shellArgument(way.dir)}`;
  if (way.is === "copy")
    return `take a copy of ${branchWords(at)} with your uncommitted work to a worktree of your own, and run the line there: kite move`;
  const line = worktreeLine(way, worktree, cwd);
  const on = way.branch === null ? "" : ` on ${quote(way.branch, limits.nameBytes)}`;
  const own = !hasOwn
    ? []
    : way.words[0] === "-b" && way.branch !== null
      ? [`Or, to take your uncommitted work along: kite move --branch ${shellArgument(way.branch)}`]
      : ["Your uncommitted work goes to a worktree and branch of its own with: kite move"];
  return [`work${on} in a worktree of your own: ${line}`, ...own].join("\n");
}

function worktreeLine(
  { words, orphan }: Extract<HeadWay, { is: "worktree" }>,
  worktree: string,
  cwd: string,
): string {
  const isHere = cwd === worktree || cwd.startsWith(`${worktree}/`);
  const git = isHere ? "git" : `git -C ${shellArgument(worktree)}`;
  const add = `${git} worktree add ${words.map(shellArgument).join(" ")}`;
  if (orphan === undefined) return add;
  return `${add} && git -C ${shellArgument(orphan.dir)} checkout --orphan ${shellArgument(orphan.name)}`;
}

function movedText(
  { by, worktree }: OfHead,
  { from, to, by: who, hasOwn }: Of<"moved">,
  mode: Mode | "also",
): readonly string[] {
  const whose = who === null ? "Kite did not see who moved it" : "another agent moved it";
  const move = { worktree, from, to };
  const own = hasOwn
    ? ["Your uncommitted work goes to a worktree and branch of its own with: kite move"]
    : [];
  return [
    `${begins[mode]} HEAD of this checkout is ${placeText(to)} now, where \`${by.name}\` ${mode === "warned" ? "will" : "would"} act, and ${whose}.`,
    `${frame} ${moveText(move)}${who === null ? "" : `; ${quote(who, limits.nameBytes)} did it`}.`,
    `What to do: ${wayBack(move, from)}`,
    ...own,
    ...ends[mode](`to go on ${placeText(to)}`),
  ];
}

function interferesText(
  { by }: OfHead,
  { kind, of, who, state, sinceMs }: Of<"interferes">,
  mode: Mode | "also",
): readonly string[] {
  const name = who === null ? "" : quote(who, limits.nameBytes);
  const branch = of === null ? "" : ` of ${quote(of, limits.nameBytes)}`;
  const what = `${article(kind)} ${kind}${branch}`;
  const owners = {
    "at work": "",
    idle: ", whose turn is over",
    ended: ", whose session has ended",
    unseen: "",
  };
  const whose =
    who === null
      ? "Kite did not see who began it"
      : `${name}${owners[state]}${owners[state] === "" ? "" : ","} began it ${duration(sinceMs)} ago`;
  const wait =
    state === "at work"
      ? `wait until ${name} has ended it, or tell it what you need: kite message send ${shellArgument(who ?? "")} TEXT`
      : state === "idle"
        ? `ask ${name} to end it first: kite message send ${shellArgument(who ?? "")} TEXT`
        : "look first at what it has done: git status";
  return [
    `${begins[mode]} ${what} is in progress in this checkout that is not yours, and \`${by.name}\` in it ${mode === "warned" ? "will" : "would"} interfere with it.`,
    `${frame} ${whose}.`,
    `What to do: ${wait}`,
    "To go on meanwhile in a worktree of your own, with your uncommitted work: kite move",
    ...ends[mode](`to act on that ${kind}`),
  ];
}
