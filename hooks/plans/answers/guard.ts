/** Words what the git guard found in a shell line. */

import type {
  ForeignFile,
  ForeignSession,
  ForeignStash,
  GuardedCommand,
  GuardFinding,
} from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { duration, frame, nearPath, quote, shellArgument } from "../../../protocol/text.ts";
import type { Guarded } from "../../git/commands.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import { type Answer, deny, nothing, outcomeOf, tellPerson, withContext } from "./answer.ts";
import { commitTexts } from "./authors.ts";
import { headTexts } from "./heads.ts";
import { freezeOf } from "./lock.ts";
import { clearPaths, formOf, leftOut, ownForms, type TypedLine, withPath } from "./own-forms.ts";
import { sharedPlaces } from "./shared-places.ts";

// Words what the git guard found of worktrees that a shell line removes or moves while others' sessions are open there.

/** A finding about live sessions, with the command it is about. */
interface Displacing extends GuardFinding {
  readonly by: GuardedCommand;
}

/** The line names the worktree. */
function displacedDenied(found: readonly Displacing[], cwd: string): string {
  return [
    `Kite: this command line did not run: ${displacementText(found, "in it ", "would")}.`,
    displacementNotes(found, cwd),
    `What to do: leave the worktree where it is until ${displacedSessions(found).length === 1 ? "that session has" : "those sessions have"} ended, tell ${displacedPeople(found)} what you need, or ask your user.`,
  ].join("\n");
}

/** Only the shell knows which worktree it is. */
function displacedToldFirst(found: readonly Displacing[], cwd: string): string {
  return [
    `Kite: this command line did not run yet: Kite cannot tell which worktree it means, and ${displacementText(found, "in it ", "may")}.`,
    displacementNotes(found, cwd),
    "What to do: write the worktree's path out. If it is another worktree, or you mean theirs too, send exactly the same " +
      "command again: it will run.",
  ].join("\n");
}

/** The guard only warns. */
function displacedWarned(found: readonly Displacing[], cwd: string): string {
  const will = found.some(({ isSupposed }) => isSupposed) ? "may" : "will";
  return [
    `Kite: ${displacementText(found, "", will)}. The command line runs anyway.`,
    displacementNotes(found, cwd),
    `Next time: tell ${displacedPeople(found)} first.`,
  ].join("\n");
}

function displacementText(
  found: readonly Displacing[],
  where: string,
  will: "would" | "will" | "may",
): string {
  const names = unique(found.map(({ by }) => `\`${by.name}\``)).join(" and ");
  const verbs = unique(found.map(({ by }) => (by.displaces === "moves" ? "move" : "remove"))).join(" and ");
  const whose =
    displacedSessions(found).length === 1 ? "another agent's session is" : "other agents' sessions are";
  return `${names} ${where}${will} ${verbs} a worktree in which ${whose} open`;
}

function displacementNotes(found: readonly Displacing[], cwd: string): string {
  const sessions = displacedSessions(found);
  const shown = sessions.slice(0, limits.guardFilesShownMax);
  const more = sessions.length - shown.length + Math.max(...found.map(finding => finding.more));
  const texts = [
    ...shown.map(one => `${quote(one.who, limits.nameBytes)} works in ${quote(nearPath(one.worktree, cwd))}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
  const doing = shown.flatMap(({ who, doing: what }) =>
    what === null ? [] : [`What ${quote(who, limits.nameBytes)} does: ${quote(what)}.`],
  );
  return [`${frame} ${texts.join("; ")}.`, ...doing].join(" ");
}

function displacedPeople(found: readonly Displacing[]): string {
  const names = unique(displacedSessions(found).map(({ who }) => quote(who, limits.nameBytes)));
  return names.slice(0, limits.guardWaysMax).join(" or ");
}

/** The sessions of all commands, each once. */
function displacedSessions(found: readonly Displacing[]): readonly ForeignSession[] {
  const sessions = found.flatMap(({ sessions: here = [] }) => here);
  return [...new Map(sessions.map(one => [`${one.who}\n${one.worktree}`, one])).values()];
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

// Words what the git guard found of stash entries that a shell line takes and that are not its agent's own.

/** A finding about stash entries, with the command it is about and the line's commands before that one. */
interface ReachedStash extends GuardFinding {
  readonly by: GuardedCommand;
  readonly before: readonly GuardedCommand[];
}

/** The line takes entries of agents that are alive. */
function stashDenied(reached: readonly ReachedStash[], cwd: string): string {
  const whose = stashOwners(reached);
  const unseen = unseenOf(reached);
  if (unseen !== null) {
    return [
      `Kite: this command line did not run: Kite could not read the stash list, of which ${stashCommandNames(reached)} in it may take ` +
        `entries of other agents. The reading failed: ${quote(unseen)}.`,
      entries(reached),
      "What to do: send the same command again in a moment. If it is denied again, work on something else, " +
        `tell ${whose} what you need, or ask your user.`,
    ].join("\n");
  }
  return [
    `Kite: this command line did not run: ${stashCommandNames(reached)} in it would take ${count(reached)} of ${otherAgents(reached)}.`,
    entries(reached),
    `What to do: ${[...ownStashWays(reached, cwd), ...pushAlone(reached)].join("\n")}`,
    `Or tell ${whose} what you need, or ask your user.`,
  ].join("\n");
}

/** The line takes entries of ended sessions, or of the person. */
function stashToldFirst(reached: readonly ReachedStash[], cwd: string): string {
  return [
    `Kite: this command line did not run yet: ${stashCommandNames(reached)} in it would take ${count(reached)} that ${be(reached)} not yours.`,
    entries(reached),
    `What to do: ${[...ownStashWays(reached, cwd), ...pushAlone(reached), ...lookFirst(reached)].join("\n")}`,
    `If you mean ${isOne(reached) ? "that entry" : "those entries"}, send exactly the same command again: it will run.`,
  ].join("\n");
}

/** The guard only warns. */
function stashWarned(reached: readonly ReachedStash[], cwd: string): string {
  return [
    `Kite: ${stashCommandNames(reached)} will take ${count(reached)} that ${be(reached)} not yours. The command line runs anyway.`,
    entries(reached),
    `Next time: ${[...ownStashWays(reached, cwd), ...pushAlone(reached)].join("\n")}`,
  ].join("\n");
}

function stashCommandNames(reached: readonly ReachedStash[]): string {
  return unique(reached.map(({ by }) => `\`${by.name}\``)).join(" and ");
}

/** The entries of all commands, each once. */
function stashesIn(reached: readonly ReachedStash[]): readonly ForeignStash[] {
  const all = reached.flatMap(({ stashes = [] }) => stashes);
  return [...new Map(all.map(stash => [stash.commit, stash])).values()];
}

function isOne(reached: readonly ReachedStash[]): boolean {
  return stashesIn(reached).length === 1 && reached.every(({ more }) => more === 0);
}

function count(reached: readonly ReachedStash[]): string {
  return isOne(reached) ? "a stash entry" : "stash entries";
}

function be(reached: readonly ReachedStash[]): string {
  return isOne(reached) ? "is" : "are";
}

function otherAgents(reached: readonly ReachedStash[]): string {
  return isOne(reached) ? "another agent" : "other agents";
}

function entries(reached: readonly ReachedStash[]): string {
  const all = stashesIn(reached);
  const shown = all.slice(0, limits.stashesShownMax);
  const more = all.length - shown.length + Math.max(...reached.map(finding => finding.more));
  return `${frame} ${[...shown.map(madeBy), ...(more > 0 ? [`and ${more} more`] : [])].join("; ")}.`;
}

function madeBy(stash: ForeignStash): string {
  const { who, isLive, madeMs } = stash;
  const made = `${nameOf(stash)} was made`;
  const ago = `${duration(madeMs)} ago`;
  if (who === null) return `${made} ${ago}, and Kite did not see by whom: it counts as your user's`;
  return `${made} by ${quote(who, limits.nameBytes)}${isLive ? "" : " (session ended)"} ${ago}`;
}

function nameOf({ position, commit }: ForeignStash): string {
  return position === null ? `commit ${commit.slice(0, limits.commitIdChars)}` : `stash@{${position}}`;
}

/** The same for entries of the agent's own. */
function ownStashWays(reached: readonly ReachedStash[], cwd: string): readonly string[] {
  return unique(reached.map(one => ownStashWay(one, cwd))).slice(0, limits.guardWaysMax);
}

function ownStashWay({ by, ownStashes = [], worktree }: ReachedStash, cwd: string): string {
  const git = by.dir === cwd ? "git" : `git -C ${shellArgument(worktree)}`;
  const [first] = ownStashes;
  if (first === undefined) return "leave it where it is: no entry in the list is yours.";
  if (by.name === "git stash branch") return `name your own: ${git} stash branch NAME stash@{${first}}`;
  if (/^git stash (?:pop|apply|drop)$/.test(by.name))
    return `name your own: ${by.name.replace("git", git)} stash@{${first}}`;
  // Each one that goes changes the positions of those below it.
  const drops = ownStashes.toSorted((a, b) => b - a).map(n => `${git} stash drop stash@{${n}}`);
  return `drop only your own: ${drops.join(" && ")}`;
}

/** An earlier command of the line was to make the entry, and may find nothing to put away. */
function pushAlone(reached: readonly ReachedStash[]): readonly string[] {
  const push = reached.flatMap(({ before }) => before).find(({ stash }) => stash?.does === "make");
  if (push === undefined) return [];
  return [
    `Kite cannot tell whether \`${push.name}\` before it puts anything away: send that one in a line of its own first.`,
  ];
}

function lookFirst(reached: readonly ReachedStash[]): readonly string[] {
  const [first] = stashesIn(reached);
  return first === undefined
    ? []
    : [`To look at it first: git stash show -p ${first.position === null ? first.commit : nameOf(first)}`];
}

/** The live makers, whom the agent can ask. */
function stashOwners(reached: readonly ReachedStash[]): string {
  const living = stashesIn(reached).flatMap(({ who, isLive }) => (isLive && who !== null ? [who] : []));
  return unique(living)
    .slice(0, limits.guardWaysMax)
    .map(who => quote(who, limits.nameBytes))
    .join(" or ");
}

function unseenOf(reached: readonly ReachedStash[]): string | null {
  return reached.find(({ unseen }) => unseen !== undefined)?.unseen ?? null;
}

/**
 * The shell line of the event. `waitMs` is the longest wait for an index, in milliseconds; texts name files as seen from its
 * directory.
 */
interface GuardedLine extends TypedLine {
  readonly commands: readonly Guarded[];
  readonly waitMs: number;
}

type Refused = Extract<HookOutcome, { ok: false }>;

/** A finding with the command it is about. */
interface Reached extends GuardFinding {
  readonly by: GuardedCommand & Partial<Pick<Guarded, "unclear">>;
}

/** What an agent is told before its shell line runs. A line runs whole or not at all. */
export function guardAnswer(line: GuardedLine, outcomes: readonly HookOutcome[]): Answer {
  const looked = outcomeOf(outcomes, "guard");
  const refused = outcomes.findLast(o => !o.ok);
  if (looked === undefined || looked.verdict === "allow") {
    if (refused !== undefined) return refusedAnswer(line, refused);
    const unchecked = looked?.unchecked ?? null;
    return unchecked === null
      ? nothing
      : tellPerson(`Kite let a git command run without checking it: ${quote(unchecked)}`);
  }
  const commands = [...line.commands, ...looked.aliased];
  const all = looked.findings.flatMap(finding => {
    const by = commands[finding.command];
    return by === undefined ? [] : [{ ...finding, by, before: commands.slice(0, finding.command) }];
  });
  const { cwd } = line;
  const isDenied = looked.verdict === "deny" && all.some(({ verdict }) => verdict === "deny");
  const reportable = isDenied
    ? all.filter(
        ({ verdict, head, commits: of }) => verdict === "deny" || head !== undefined || of !== undefined,
      )
    : all;
  const reached = reportable.filter(
    ({ stashes, sessions, head, commits, shared }) =>
      stashes === undefined &&
      sessions === undefined &&
      head === undefined &&
      commits === undefined &&
      shared === undefined,
  );
  const heads = reportable.filter(({ head }) => head !== undefined);
  const stashes = reportable.filter(one => one.stashes !== undefined);
  const displacing = reportable.filter(one => one.sessions !== undefined);
  const authored = reportable.filter(one => one.commits !== undefined);
  type Files = typeof warned;
  type Mode = Parameters<typeof headTexts>[2];
  const places = sharedPlaces(reportable, looked.verdict !== "allow_with_note", cwd);
  const words = (files: Files, entries: typeof stashWarned, displaced: typeof displacedWarned, mode: Mode) =>
    [
      ...(reached.length === 0 ? [] : [files(reached, line)]),
      ...(stashes.length === 0 ? [] : [entries(stashes, cwd)]),
      ...(displacing.length === 0 ? [] : [displaced(displacing, cwd)]),
      ...(heads.length === 0 ? [] : [headTexts(heads, cwd, mode)]),
      ...(authored.length === 0
        ? []
        : [commitTexts(authored, cwd, mode, authored.length < reportable.length)]),
      ...places,
    ].join("\n");
  if (looked.verdict === "allow_with_note")
    return withContext(nothing, words(warned, stashWarned, displacedWarned, "warned"));
  return deny(
    isDenied
      ? words(denied, stashDenied, displacedDenied, "denied")
      : words(toldFirst, stashToldFirst, displacedToldFirst, "first"),
  );
}

/** The reached files are not known, only that others have work there. */
function notSeen(reached: readonly Reached[], { cwd }: GuardedLine): string {
  return [
    `Kite: this command line did not run: Kite could not check in time which files ${commandNames(reached)} in it would reach. ` +
      `They may hold uncommitted work of ${otherWriters(reached)}. The check failed: ${whyUnseen(reached)}.`,
    fileNotes(reached, cwd),
    "What to do: send the same command again in a moment. If it is denied again, work on something else, " +
      `tell ${fileOwners(reached)} what you need, or ask your user.`,
  ].join("\n");
}

function whyUnseen(reached: readonly Reached[]): string {
  return quote(reached.find(({ unseen }) => unseen !== undefined)?.unseen ?? "");
}

function denied(wiping: readonly Reached[], line: GuardedLine): string {
  const reached = wiping.filter(({ unseen }) => unseen === undefined);
  if (reached.length === 0) return notSeen(wiping, line);
  return [
    `Kite: this command line did not run: ${commandNames(reached)} in it ${loss(reached)}.`,
    fileNotes(reached, line.cwd),
    `What to do: ${ownFileWays(reached, line).join("\n")}`,
    `Or tell ${fileOwners(reached)} what you need, or ask your user.`,
  ].join("\n");
}

function toldFirst(reached: readonly Reached[], line: GuardedLine): string {
  return [
    reached.every(({ unseen }) => unseen !== undefined)
      ? `Kite: this command line did not run yet: Kite could not check in time which files ${commandNames(reached)} in it would ` +
        `include or wipe. They may hold work of ${otherWriters(reached)}. The check failed: ${whyUnseen(reached)}.`
      : `Kite: this command line did not run yet: ${effectTexts(reached, "would include", "in it ").join(", ")}.`,
    fileNotes(reached, line.cwd),
    `What to do: ${[...ownFileWays(reached, line), ...keepLeft(reached)].join("\n")}`,
    "If you mean their files too, send exactly the same command again: it will run.",
  ].join("\n");
}

function warned(reached: readonly Reached[], line: GuardedLine): string {
  return [
    `Kite: ${effectTexts(reached, "will include", "").join(", ")}. The command line runs anyway.`,
    fileNotes(reached, line.cwd),
    `Next time: ${[...ownFileWays(reached, line), ...keepLeft(reached)].join("\n")}`,
  ].join("\n");
}

/** What the commands do to others' work; those that may wipe it come first. */
function effectTexts(reached: readonly Reached[], takes: string, where: string): readonly string[] {
  const wiping = reached.filter(isWiping);
  const taking = reached.filter(one => !isWiping(one));
  return [
    ...(wiping.length === 0 ? [] : [`${commandNames(wiping)} ${where}${loss(wiping)}`]),
    ...(taking.length === 0
      ? []
      : [`${commandNames(taking)} ${where}${takes} work of ${otherWriters(taking)}`]),
  ];
}

function isWiping({ by }: Reached): boolean {
  return by.reach === "tree";
}

/** An ended session cannot be asked about its work, so the agent is to keep it. */
function keepLeft(reached: readonly Reached[]): readonly string[] {
  const left = reached.some(({ foreign }) => foreign.some(({ leftMs }) => leftMs !== null));
  return left
    ? ["Check what the ended session left (git diff, git status) and commit what is worth keeping."]
    : [];
}

function commandNames(reached: readonly Reached[]): string {
  const all = unique(reached.map(({ by }) => by.name));
  return all.map(name => `\`${name}\``).join(" and ");
}

function otherWriters(reached: readonly Reached[]): string {
  return othersOf(
    reached.flatMap(({ foreign }) => foreign),
    moreOf(reached),
  );
}

function loss(reached: readonly Reached[]): string {
  const files = reached.flatMap(({ foreign, worktree }) =>
    foreign.map(one => [`${worktree}/${one.file}`, one] as const),
  );
  return lossOf([...new Map(files).values()], moreOf(reached), {
    wipe: "may wipe",
    change: "may change or remove",
  });
}

function moreOf(reached: readonly Reached[]): number {
  return Math.max(0, ...reached.map(({ more }) => more));
}

/** What is lost: uncommitted work, or the files that others hold if nothing in them is uncommitted. */
export function lossOf(
  files: readonly Pick<ForeignFile, "who" | "leftMs" | "isOnlyHeld">[],
  more: number,
  verbs: { readonly wipe: string; readonly change: string },
): string {
  const work = files.filter(({ isOnlyHeld }) => !isOnlyHeld);
  if (work.length > 0) return `${verbs.wipe} uncommitted work of ${othersOf(work, more)}`;
  const what = files.length + more === 1 ? "a file" : "files";
  const who = othersOf(files, more);
  return `${verbs.change} ${what} that ${who} ${who === "another agent" ? "holds" : "hold"}`;
}

/** The files' owners, without names. */
function othersOf(files: readonly Pick<ForeignFile, "who" | "leftMs">[], more: number): string {
  const isOne = more === 0 && unique(files.map(({ who }) => who)).length === 1;
  if (files.every(({ leftMs }) => leftMs !== null))
    return isOne ? "a session that has ended" : "sessions that have ended";
  return isOne ? "another agent" : "other agents";
}

/** The reached files and their owners. */
function fileNotes(reached: readonly Reached[], cwd: string): string {
  const files = new Map<string, ForeignFile>();
  for (const { foreign, worktree } of reached) {
    for (const file of foreign) files.set(nearPath(`${worktree}/${file.file}`, cwd), file);
  }
  const shown = [...files].slice(0, limits.guardFilesShownMax);
  const more = files.size - shown.length + moreOf(reached);
  const isSeen = reached.some(({ unseen }) => unseen === undefined);
  const texts = [
    ...shown.map(([name, file]) => owned(name, file, isSeen)),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
  return [`${frame} ${texts.join("; ")}.`, ...doing(shown.map(([, file]) => file))].join(" ");
}

/** Whose work is in a file. */
export function owned(
  path: string,
  { who, answerer, held, yours, leftMs, isLead }: Omit<ForeignFile, "file">,
  isSeen: boolean,
): string {
  const role = answerer !== undefined ? " (ended)" : isLead === true ? ", for whom you work," : "";
  const name = `${quote(who, limits.nameBytes)}${role}`;
  const both = yours ? " and of you" : "";
  if (leftMs !== null) {
    return `${quote(path)} has uncommitted changes of ${name} (session ended)${both}, written ${duration(leftMs)} ago`;
  }
  if (held) return `${quote(path)} is held by ${name}${yours ? ", and you have changes in it" : ""}`;
  if (!isSeen) return `${quote(path)} was written by ${name}${yours ? ", and by you" : ""}`;
  return `${quote(path)} has uncommitted changes of ${name}${both}`;
}

/** What each owner works on, once for each. */
export function doing(files: readonly Pick<ForeignFile, "who" | "doing">[]): readonly string[] {
  const all = new Map(files.flatMap(({ who, doing: what }) => (what === null ? [] : [[who, what] as const])));
  return [...all].map(([who, what]) => `What ${quote(who, limits.nameBytes)} does: ${quote(what)}.`);
}

/** What to do for the agent's own part of the line: a command for each form, or a sentence for a command that has none. */
function ownFileWays(reached: readonly Reached[], line: GuardedLine): readonly string[] {
  const ways = new Map<ReturnType<typeof formOf>, Reached[]>();
  for (const one of reached.map(withPath)) {
    const form = isPlaced(one) ? formOf(one.by) : null;
    ways.set(form, [...(ways.get(form) ?? []), one]);
  }
  const texts = [...ways].flatMap(([form, group]) =>
    form === null ? group.map(one => otherFileWay(one, line)) : ownForms(form, group, line),
  );
  return unique(texts).slice(0, limits.guardWaysMax);
}

/** Whether Kite knows where the command works, and on which files. */
function isPlaced({ by, isSupposed }: Reached): boolean {
  return isSupposed !== true && by.unclear !== true && by.needsIndex !== false;
}

/** Of a command without a form of Kite's own, or one of which Kite cannot tell where it works. */
function otherFileWay(reached: Reached, { cwd }: GuardedLine): string {
  const { by, isSupposed, worktree } = reached;
  const where = isSupposed
    ? `Kite cannot tell where \`${by.name}\` runs. It may be in ${quote(worktree, limits.pathBytes)}: write the folder out; `
    : "";
  const hint = where + (by.unclear ? "only the shell knows its paths, so write them out; " : "");
  if (by.needsIndex === false) return hint + otherWay(by.name);
  const words = stagedWords(by.name);
  if (hint !== "" && formOf(by) !== null) return `${hint}Kite then names the command for your own part.`;
  if (words === null) return `${hint}\`${by.name}\` cannot be limited to your own files.`;
  const form = gitForm(words, reached, cwd);
  return `${hint}${form ?? "it reaches none of your own uncommitted files."}`;
}

/** Git commands that take files whole, and can be limited to some: `git reset -- a b`. */
function stagedWords(name: string): string | null {
  switch (name) {
    case "git rm":
    case "git rm --cached":
    case "git reset":
    case "git restore --staged":
      return name.replace("git ", "");
    default:
      return null;
  }
}

function gitForm(words: string, { own, worktree, by }: Reached, cwd: string): string | null {
  const shown = clearPaths(own);
  if (shown.length === 0) return null;
  const isHere = by.dir === cwd && cwd === worktree && by.gitDir === null && by.workTree === null;
  const where = isHere ? "" : ` -C ${shellArgument(worktree)}`;
  const isLiteral = shown.some(path => /[*?[\\]|^:/.test(path));
  const more = leftOut(own.length - shown.length);
  const options = isLiteral ? " --literal-pathspecs" : "";
  return `run it on your own files only: git${where}${options} ${words} -- ${shown.map(shellArgument).join(" ")}${more}`;
}

/** What to do in place of a program that overwrites files. */
function otherWay(name: string): string {
  if (name.startsWith("patch")) return "take back a patch of your own files only.";
  return name === "tar -x"
    ? "unpack it in another folder, or name your own files."
    : "write to another file.";
}

/** Whom the agent can ask: the owners that are alive, and the main agents of those that have ended. */
function fileOwners(reached: readonly Reached[]): string {
  const living = reached.flatMap(({ foreign }) => foreign.filter(({ leftMs }) => leftMs === null));
  const all = unique(living.map(({ who, answerer = who }) => answerer)).slice(0, limits.guardWaysMax);
  return all.map(who => quote(who, limits.nameBytes)).join(" or ");
}

/** Denies the line if another agent writes the index or froze edits. Else Kite failed, and the line runs. */
function refusedAnswer({ waitMs, cwd }: GuardedLine, { verdict, refusal, holder }: Refused): Answer {
  if (verdict !== "deny") {
    return tellPerson(`Kite did not check a git command: ${quote(refusal.error)}`);
  }
  if (refusal.code === "edits_held") {
    return deny(
      "Kite: this command line did not run: edits of this repository are frozen. You can still read it.\n" +
        `${freezeOf(refusal, "its files")}\n` +
        "What to do: work on something else and try again later. Your user can end the freeze: kite thaw",
    );
  }
  const named = holder?.holder ?? refusal["locked_by_name"];
  const who = typeof named === "string" ? quote(named, limits.nameBytes) : "another agent";
  const waited = refusal.code === "lock_timeout" ? ` You waited ${duration(waitMs)}.` : "";
  if (holder !== null && !holder.file.endsWith("/index")) {
    return deny(
      `Kite: this command line did not run: another agent holds the directory of the repository.${waited}\n` +
        `${frame} ${quote(nearPath(holder.file, cwd), limits.pathBytes)} is held by ${who}, for ${duration(holder.heldMs)} now.\n` +
        `What to do: work on something else and try again later, tell ${who} what you need, or ask your user.`,
    );
  }
  return deny(
    `Kite: this command line did not run: another agent is writing the repository's index.${waited}\n` +
      `${frame} ${who} runs a git command such as add or commit there.\n` +
      "What to do: send the same command again in a moment.",
  );
}
