/** Words what the git guard found in a shell line. */
import type { ForeignFile, GuardedCommand, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { duration, frame, nearPath, quote } from "../../../protocol/text.ts";
import type { Guarded } from "../../git/commands.ts";
import { leftOut, ownForm } from "../../git/own-paths.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import { type Answer, deny, nothing, tellPerson, withContext } from "./answer.ts";
import { displacedDenied, displacedToldFirst, displacedWarned } from "./displaced.ts";
import { freezeOf } from "./lock.ts";
import { outcomeOf } from "./outcome.ts";
import { stashDenied, stashToldFirst, stashWarned } from "./stash.ts";

/** The shell line of the event. `waitMs` is the longest wait for an index, in milliseconds. */
export interface GuardedLine {
  readonly commands: readonly Guarded[];
  readonly waitMs: number;
  /** The line's directory; texts name files as seen from there. */
  readonly cwd: string;
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
  const told = isDenied ? all.filter(({ verdict }) => verdict === "deny") : all;
  const reached = told.filter(({ stashes, sessions }) => stashes === undefined && sessions === undefined);
  const stashes = told.filter(one => one.stashes !== undefined);
  const displacing = told.filter(one => one.sessions !== undefined);
  const words = (files: typeof warned, entries: typeof stashWarned, displaced: typeof displacedWarned) =>
    [
      ...(reached.length === 0 ? [] : [files(reached, cwd)]),
      ...(stashes.length === 0 ? [] : [entries(stashes, cwd)]),
      ...(displacing.length === 0 ? [] : [displaced(displacing, cwd)]),
    ].join("\n");
  if (looked.verdict === "allow_with_note")
    return withContext(nothing, words(warned, stashWarned, displacedWarned));
  return deny(
    isDenied
      ? words(denied, stashDenied, displacedDenied)
      : words(toldFirst, stashToldFirst, displacedToldFirst),
  );
}

/** The reached files are not known, only that others have work there. */
function notSeen(reached: readonly Reached[], cwd: string): string {
  return [
    `Kite: this command line did not run: Kite could not check in time which files ${names(reached)} in it would reach. ` +
      `They may hold uncommitted work of ${others(reached)}. The check failed: ${whyUnseen(reached)}.`,
    notes(reached, cwd),
    "What to do: send the same command again in a moment. If it is denied again, work on something else, " +
      `tell ${people(reached)} what you need, or ask your user.`,
  ].join("\n");
}

function whyUnseen(reached: readonly Reached[]): string {
  return quote(reached.find(({ unseen }) => unseen !== undefined)?.unseen ?? "");
}

function denied(wiping: readonly Reached[], cwd: string): string {
  const reached = wiping.filter(({ unseen }) => unseen === undefined);
  if (reached.length === 0) return notSeen(wiping, cwd);
  return [
    `Kite: this command line did not run: ${names(reached)} in it ${loss(reached)}.`,
    notes(reached, cwd),
    `What to do: ${[...ownWay(reached), ...commitOwn(reached)].join("\n")}`,
    `Or do it in a worktree of your own (git worktree add), tell ${people(reached)} what you need, or ask your user.`,
  ].join("\n");
}

function toldFirst(reached: readonly Reached[], cwd: string): string {
  return [
    reached.every(({ unseen }) => unseen !== undefined)
      ? `Kite: this command line did not run yet: Kite could not check in time which files ${names(reached)} in it would ` +
        `include or wipe. They may hold work of ${others(reached)}. The check failed: ${whyUnseen(reached)}.`
      : `Kite: this command line did not run yet: ${effects(reached, "would include", "in it ").join(", ")}.`,
    notes(reached, cwd),
    `What to do: ${[...ownWay(reached), ...keepLeft(reached)].join("\n")}`,
    "If you mean their files too, send exactly the same command again: it will run.",
  ].join("\n");
}

function warned(reached: readonly Reached[], cwd: string): string {
  return [
    `Kite: ${effects(reached, "will include", "").join(", ")}. The command line runs anyway.`,
    notes(reached, cwd),
    `Next time: ${[...ownWay(reached), ...keepLeft(reached)].join("\n")}`,
  ].join("\n");
}

/** What the commands do to others' work; those that may wipe it come first. */
function effects(reached: readonly Reached[], takes: string, where: string): readonly string[] {
  const wiping = reached.filter(isWiping);
  const taking = reached.filter(one => !isWiping(one));
  return [
    ...(wiping.length === 0 ? [] : [`${names(wiping)} ${where}${loss(wiping)}`]),
    ...(taking.length === 0 ? [] : [`${names(taking)} ${where}${takes} work of ${others(taking)}`]),
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

function names(reached: readonly Reached[]): string {
  const all = unique(reached.map(({ by }) => by.name));
  return all.map(name => `\`${name}\``).join(" and ");
}

function others(reached: readonly Reached[]): string {
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
function notes(reached: readonly Reached[], cwd: string): string {
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
  { who, answerer, held, yours, leftMs }: Omit<ForeignFile, "file">,
  isSeen: boolean,
): string {
  const name = `${quote(who, limits.nameBytes)}${answerer === undefined ? "" : " (ended)"}`;
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

/** The same commands for the agent's own files only; a sentence for a command that has no such form. */
function ownWay(reached: readonly Reached[]): readonly string[] {
  const ways = unique(reached.map(ownWayOf));
  return ways.slice(0, limits.guardWaysMax);
}

function ownWayOf(reached: Reached): string {
  const { by, own, isSupposed, worktree } = reached;
  const words = ownWords(by);
  const where = isSupposed
    ? `Kite cannot tell where \`${by.name}\` runs. It may be in ${quote(worktree, limits.pathBytes)}: write the folder out; `
    : "";
  const hint = where + (by.unclear ? "only the shell knows its paths, so write them out; " : "");
  if (by.needsIndex === false) return hint + otherWay(by.name);
  if (words === null) return `${hint}\`${by.name}\` cannot be limited to your own files.`;
  const form = ownCommand(words, reached);
  if (form === null) return `${hint}${noForm(reached)}`;
  const rest = leftOut(own);
  const more = rest === 0 ? "" : ` (and ${rest} more ${rest === 1 ? "file" : "files"} of yours)`;
  return `${hint}run it on your own files only: ${form}${more}`;
}

/** What to do in place of a program that overwrites files. */
function otherWay(name: string): string {
  if (name.startsWith("patch")) return "take back a patch of your own files only.";
  return name === "tar -x"
    ? "unpack it in another folder, or name your own files."
    : "write to another file.";
}

/** Why there is no command for the agent's own files. */
function noForm({ foreign }: Reached): string {
  return foreign.some(({ yours }) => yours)
    ? "each of your files that it reaches also has their changes: agree with them first."
    : "it reaches none of your own uncommitted files.";
}

/** Adds new files first: a commit by name refuses files that git does not know. */
function ownCommand(words: string, { by, own, worktree }: Reached): string | null {
  const isAsWritten = by.gitDir === null && by.workTree === null && by.isBelow !== true;
  const at = { own, worktree, dir: isAsWritten ? by.dir : null };
  const form = ownForm(words, at);
  return form !== null && words.startsWith("commit") ? `${ownForm("add", at)} && ${form}` : form;
}

/** Returns null if the command cannot be limited to paths, or would mean something else with them. */
function ownWords({ name, paths, untracked, unclear }: Reached["by"]): string | null {
  switch (name) {
    case "git stash push":
    case "git stash save":
      return untracked ? "stash push -u" : "stash push";
    case "git checkout":
      // Without paths it goes to another branch.
      return paths === null && !unclear ? null : "checkout";
    case "git restore":
      return "restore";
    case "git reset --hard":
      return "checkout HEAD";
    case "git clean":
      return "clean -f";
    case "git rm":
      return "rm";
    case "git add":
    case "git add -A":
    case "git add -u":
      return "add";
    case "git commit":
    case "git commit -a":
    case "git commit -i":
      return "commit -m MESSAGE";
    default:
      return null;
  }
}

/** Committed work cannot be wiped. Only for commands that cannot be limited to the agent's own files. */
function commitOwn(reached: readonly Reached[]): readonly string[] {
  const [moving] = reached.filter(({ by }) => by.needsIndex !== false && ownWords(by) === null);
  const form = moving === undefined ? null : ownCommand("commit -m MESSAGE", moving);
  return form === null ? [] : [`To keep your own work, commit it: ${form}`];
}

/** Whom the agent can ask: the owners that are alive, and the main agents of those that have ended. */
function people(reached: readonly Reached[]): string {
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

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
