import type { ForeignFile, GuardedCommand, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { duration, frame, nearPath, quote } from "../../../protocol/text.ts";
import type { Guarded } from "../../git/commands.ts";
import { leftOut, ownForm } from "../../git/own-paths.ts";
import type { HookOutcome } from "../../seam/plan.ts";
import { contested, holdOf } from "./lock.ts";
import { context, deny, nothing, type Output, tellPerson } from "./output.ts";

/** The shell line that asks. `waitMs` is how long it may have waited for an index. */
export interface GuardedLine {
  readonly commands: readonly Guarded[];
  readonly waitMs: number;
  /** Where it runs, and its agent reads the answer. */
  readonly cwd: string;
}

type Looked = Extract<HookOutcome, { did: "guard"; ok: true }>;
type Refused = Extract<HookOutcome, { ok: false }>;

/** A finding with the command it is about. */
interface Reached extends GuardFinding {
  readonly by: GuardedCommand & Partial<Pick<Guarded, "unclear">>;
}

/** What a shell command is told before it runs. A line runs whole or not at all. */
export function guardAnswer(line: GuardedLine, outcomes: readonly HookOutcome[]): Output {
  const looked = outcomes.find((o): o is Looked => o.did === "guard" && o.ok);
  const refused = outcomes.findLast(o => !o.ok);
  // A session that could not be registered is no reason to wipe others' work.
  if (refused !== undefined && (looked?.findings.length ?? 0) === 0) return refusedAnswer(line, refused);
  if (looked === undefined || looked.mode === "off") return nothing;
  const commands = [...line.commands, ...looked.aliased];
  const reached = looked.findings.flatMap(finding => {
    const by = commands[finding.command];
    return by === undefined ? [] : [{ ...finding, by }];
  });
  if (reached.length === 0) {
    return looked.unchecked === null
      ? nothing
      : tellPerson(`Kite let a git command run without looking: ${quote(looked.unchecked)}`);
  }
  const { cwd } = line;
  if (looked.mode === "warn") return context("PreToolUse", warned(reached, cwd));
  const wiping = reached.filter(({ verdict }) => verdict === "deny");
  if (wiping.length === 0) return deny(toldFirst(reached, cwd));
  const seen = wiping.filter(({ unseen }) => unseen === undefined);
  return deny(seen.length > 0 ? denied(seen, cwd) : notSeen(wiping, cwd));
}

/** What is in reach is not known, only that others have work there. */
function notSeen(reached: readonly Reached[], cwd: string): string {
  return [
    `Kite: this command line did not run: Kite could not look in time at what ${names(reached)} in it would reach, ` +
      `and ${others(reached)} may have uncommitted work there. The look: ${whyUnseen(reached)}.`,
    notes(reached, cwd),
    "What to do: send the same command again in a moment. If this comes again, work on something else, " +
      `tell ${people(reached)} what you need, or ask your user.`,
  ].join("\n");
}

function whyUnseen(reached: readonly Reached[]): string {
  return quote(reached.find(({ unseen }) => unseen !== undefined)?.unseen ?? "");
}

function denied(reached: readonly Reached[], cwd: string): string {
  return [
    `Kite: this command line did not run: ${names(reached)} in it may wipe uncommitted work of ${others(reached)}.`,
    notes(reached, cwd),
    `What to do: ${[...ownWay(reached), ...commitOwn(reached)].join("\n")}`,
    `Or do it in a worktree of your own (git worktree add), tell ${people(reached)} what you need, or ask your user.`,
  ].join("\n");
}

function toldFirst(reached: readonly Reached[], cwd: string): string {
  return [
    reached.every(({ unseen }) => unseen !== undefined)
      ? `Kite: this command line did not run yet: Kite could not look in time at what ${names(reached)} in it would ` +
        `take in or wipe, it may be work of ${others(reached)}. The look: ${whyUnseen(reached)}.`
      : `Kite: this command line did not run yet: ${effects(reached, "would take in", "in it ").join(", ")}.`,
    notes(reached, cwd),
    `What to do: ${[...ownWay(reached), ...keepLeft(reached)].join("\n")}`,
    "If you mean theirs too, send the same command again, word for word: it will run.",
  ].join("\n");
}

function warned(reached: readonly Reached[], cwd: string): string {
  return [
    `Kite: ${effects(reached, "takes in", "").join(", ")}, and runs all the same.`,
    notes(reached, cwd),
    `Next time: ${[...ownWay(reached), ...keepLeft(reached)].join("\n")}`,
  ].join("\n");
}

/** What the commands do to others' work, those that may wipe it first. */
function effects(reached: readonly Reached[], takes: string, where: string): readonly string[] {
  const wiping = reached.filter(isWiping);
  const taking = reached.filter(one => !isWiping(one));
  return [
    ...(wiping.length === 0
      ? []
      : [`${names(wiping)} ${where}may wipe uncommitted work of ${others(wiping)}`]),
    ...(taking.length === 0 ? [] : [`${names(taking)} ${where}${takes} work of ${others(taking)}`]),
  ];
}

function isWiping({ by }: Reached): boolean {
  return by.reach === "tree";
}

/** Nobody is there to ask for what the ended left: it is the reader's to keep. */
function keepLeft(reached: readonly Reached[]): readonly string[] {
  const left = reached.some(({ foreign }) => foreign.some(({ leftMs }) => leftMs !== null));
  return left
    ? ["Look at what the ended session left (git diff, git status) and commit what is worth it."]
    : [];
}

function names(reached: readonly Reached[]): string {
  const all = unique(reached.map(({ by }) => by.name));
  return all.map(name => `\`${name}\``).join(" and ");
}

function others(reached: readonly Reached[]): string {
  const isOne = peopleOf(reached).length === 1 && reached.every(({ more }) => more === 0);
  const files = reached.flatMap(({ foreign }) => foreign);
  if (files.every(({ leftMs }) => leftMs !== null))
    return isOne ? "a session that has ended" : "sessions that have ended";
  return isOne ? "another agent" : "other agents";
}

/** Which files, and whose they are. */
function notes(reached: readonly Reached[], cwd: string): string {
  const files = new Map<string, ForeignFile>();
  for (const { foreign, worktree } of reached) {
    for (const file of foreign) files.set(nearPath(`${worktree}/${file.file}`, cwd), file);
  }
  const shown = [...files].slice(0, limits.guardFilesShownMax);
  const more = files.size - shown.length + Math.max(...reached.map(finding => finding.more));
  const isSeen = reached.some(({ unseen }) => unseen === undefined);
  const texts = [
    ...shown.map(([name, file]) => owned(name, file, isSeen)),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
  return [`${frame} ${texts.join("; ")}.`, ...doing(shown.map(([, file]) => file))].join(" ");
}

function owned(path: string, { who, held, yours, leftMs }: ForeignFile, isSeen: boolean): string {
  const name = quote(who, limits.nameBytes);
  const both = yours ? ", and of you," : "";
  if (leftMs !== null) {
    return `${quote(path)} has changes of ${name}${both} that are not committed, written ${duration(leftMs)} ago by a session that has ended`;
  }
  if (held) return `${quote(path)} is held by ${name}${yours ? ", and you have changes in it" : ""}`;
  if (!isSeen) return `${quote(path)} was written by ${name}${yours ? ", and by you" : ""}`;
  return `${quote(path)} has changes of ${name}${both} that are not committed`;
}

/** What each of them does, once. */
function doing(files: readonly ForeignFile[]): readonly string[] {
  const all = new Map(files.flatMap(({ who, doing: what }) => (what === null ? [] : [[who, what] as const])));
  return [...all].map(([who, what]) => `What ${quote(who, limits.nameBytes)} does: ${quote(what)}.`);
}

/** The same command for the agent's own files alone, in its words; a sentence for a command that has no such form. */
function ownWay(reached: readonly Reached[]): readonly string[] {
  const ways = unique(reached.map(ownWayOf));
  return ways.slice(0, limits.guardWaysMax);
}

function ownWayOf(reached: Reached): string {
  const { by, own, isSupposed, worktree } = reached;
  const words = ownWords(by);
  const where = isSupposed
    ? `where \`${by.name}\` runs cannot be told, it may be in ${quote(worktree, limits.pathBytes)}: write the folder out; `
    : "";
  const hint = where + (by.unclear ? "its paths are known to the shell alone, so write them out; " : "");
  if (words === null) return `${hint}\`${by.name}\` cannot leave out their files.`;
  const form = ownCommand(words, reached);
  if (form === null) return `${hint}${noForm(reached)}`;
  const rest = leftOut(own);
  const more = rest === 0 ? "" : ` (and ${rest} more ${rest === 1 ? "file" : "files"} of yours)`;
  return `${hint}for your own files alone: ${form}${more}`;
}

/** Why there is no form for the agent's own files. */
function noForm({ foreign }: Reached): string {
  return foreign.some(({ yours }) => yours)
    ? "every file of yours in its reach has their changes in it too: agree with them first."
    : "none of your own uncommitted files is in its reach.";
}

/** What is new has to be added before it can be committed by name. */
function ownCommand(words: string, { by, own, worktree }: Reached): string | null {
  const isAsWritten = by.gitDir === null && by.workTree === null && by.isBelow !== true;
  const at = { own, worktree, dir: isAsWritten ? by.dir : null };
  const form = ownForm(words, at);
  return form !== null && words.startsWith("commit") ? `${ownForm("add", at)} && ${form}` : form;
}

/** null: the command has no form that is limited to paths, or one that would mean something else. */
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

/** What is committed cannot be wiped; told where the command itself has no form for one's own files. */
function commitOwn(reached: readonly Reached[]): readonly string[] {
  const [moving] = reached.filter(({ by }) => ownWords(by) === null);
  const form = moving === undefined ? null : ownCommand("commit -m MESSAGE", moving);
  return form === null ? [] : [`To keep your own work, commit it: ${form}`];
}

/** Those who are there to be asked. */
function people(reached: readonly Reached[]): string {
  const living = reached.map(one => ({
    ...one,
    foreign: one.foreign.filter(({ leftMs }) => leftMs === null),
  }));
  const all = peopleOf(living).slice(0, limits.guardWaysMax);
  return all.map(who => quote(who, limits.nameBytes)).join(" or ");
}

function peopleOf(reached: readonly Reached[]): readonly string[] {
  return unique(reached.flatMap(({ foreign }) => foreign.map(({ who }) => who)));
}

/** Somebody else writes the index, so the line must not run. Every other failure is Kite's own and lets it run. */
function refusedAnswer({ waitMs, cwd }: GuardedLine, { did, refusal, holder }: Refused): Output {
  if (did !== "guard" || !contested.has(refusal.code)) {
    return tellPerson(`Kite did not look at a git command: ${quote(refusal.error)}`);
  }
  if (refusal.code === "edits_held") {
    return deny(
      "Kite: this command line did not run, edits of this repository are on hold. Reading is not.\n" +
        `${frame} ${holdOf(refusal, "its files")}\n` +
        "What to do: work on something else and try again later. Your user can end the hold: kite resume",
    );
  }
  const named = holder?.holder ?? refusal["locked_by_name"];
  const who = typeof named === "string" ? quote(named, limits.nameBytes) : "another agent";
  const waited = refusal.code === "lock_timeout" ? `, and you waited ${duration(waitMs)}` : "";
  if (holder !== null && !holder.file.endsWith("/index")) {
    return deny(
      `Kite: this command line did not run, another agent holds the directory of the repository${waited}.\n` +
        `${frame} ${quote(nearPath(holder.file, cwd), limits.pathBytes)} is held by ${who}, for ${duration(holder.heldMs)} now.\n` +
        `What to do: work on something else and try again later, tell ${who} what you need, or ask your user.`,
    );
  }
  return deny(
    `Kite: this command line did not run, another agent writes the repository's index${waited}.\n` +
      `${frame} ${who} runs a git command such as add or commit there.\n` +
      "What to do: send the same command again in a moment.",
  );
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
