/**
 * The command that does exactly an agent's part of a git line that was refused because of others. It stands in the refusal
 * complete, with its directory and its quotes: an agent that runs it word for word changes no byte of others.
 */

import type { GuardedCommand, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { nearPath, quote, shellArgument, shellWord } from "../../../protocol/text.ts";

/** A finding with the command that it is about. */
export interface FoundIn extends GuardFinding {
  readonly by: GuardedCommand & { readonly unclear?: boolean };
}

/** The line as its agent typed it, in its directory. */
export interface TypedLine {
  readonly typed: string;
  readonly cwd: string;
  readonly commands: readonly GuardedCommand[];
}

/** What an agent is to read about the commands of one place that have the same form. */
type Form = "commit" | "undo" | "stash" | "move";

const forms: ReadonlyMap<string, Form> = new Map([
  ["git add", "commit"],
  ["git add -A", "commit"],
  ["git add -u", "commit"],
  ["git commit", "commit"],
  ["git commit -a", "commit"],
  ["git commit -i", "commit"],
  ["git restore", "undo"],
  ["git reset --hard", "undo"],
  ["git clean", "undo"],
  ["git checkout-index -f", "undo"],
  ["git stash push", "stash"],
  ["git stash save", "stash"],
  ["git switch", "move"],
  ["git rebase", "move"],
  ["git merge", "move"],
  ["git pull", "move"],
  ["git cherry-pick", "move"],
  ["git revert", "move"],
  ["git am", "move"],
  ["git reset --merge", "move"],
  ["git reset --keep", "move"],
]);

/** Null: the command has no form of Kite's own. */
export function formOf({ name, paths, unclear = false }: FoundIn["by"]): Form | null {
  // Without paths it goes to another branch.
  if (name === "git checkout") return paths === null && !unclear ? "move" : "undo";
  return forms.get(name) ?? null;
}

/**
 * `git checkout WORD` takes a path if no revision has that name. Where all files of others in its reach lie at that path,
 * it does: then it reaches only the agent's own part there.
 */
export function withPath<One extends FoundIn>(one: One): One {
  const { by, foreign, part = [], worktree } = one;
  const [word] = by.changes?.revisions ?? [];
  if (by.name !== "git checkout" || by.paths !== null || by.changes?.orPath !== true) return one;
  if (typeof word !== "string" || by.dir === null || foreign.length === 0) return one;
  const { dir } = by;
  const path = word.replace(/\/+$/, "");
  const isThere = (file: string) => `${nearPath(`${worktree}/${file}`, dir)}/`.startsWith(`${path}/`);
  if (!foreign.every(({ file }) => isThere(file))) return one;
  return { ...one, part: part.filter(isThere), partMore: 0, by: { ...by, paths: [word] } };
}

/** What to do for these findings, which have the same form; one text for each place. */
export function ownForms(form: Form, found: readonly FoundIn[], line: TypedLine): readonly string[] {
  const places = new Map<string, FoundIn[]>();
  for (const one of found) places.set(one.worktree, [...(places.get(one.worktree) ?? []), one]);
  return [...places.values()].map(here => textOf(form, here, line));
}

function textOf(form: Form, here: readonly FoundIn[], line: TypedLine): string {
  if (form === "move") return moveText(here, line);
  const files = partOf(here);
  if (files.length === 0) return `${namesOf(here)} reaches no uncommitted lines of yours: leave it out.`;
  switch (form) {
    case "commit":
      return `to commit your own lines alone: ${command(here, line, ["kite", "commit", ...messageOf(line)], files)}`;
    case "undo":
      return `to take back your own lines alone: ${command(here, line, ["kite", "undo", "--all"], files)}`;
    case "stash":
      return stashText(here, line, files);
  }
}

/** A line that stashes, runs a command and brings the entry back is a try; else its agent drops its work, or takes it elsewhere. */
function stashText(here: readonly FoundIn[], line: TypedLine, files: readonly string[]): string {
  const tried = triedIn(line);
  if (tried !== null)
    return `to run it on the last commit with your own lines alone: ${inPlace(here, line, `kite try -- ${tried}`)}`;
  return [
    `to put your own lines into a worktree of their own: ${inPlace(here, line, "kite move")}`,
    `To drop your own lines: ${command(here, line, ["kite", "undo", "--all"], files)}`,
  ].join("\n");
}

function moveText(here: readonly FoundIn[], line: TypedLine): string {
  return `to take your own lines into a worktree of your own, where you may run it: ${inPlace(here, line, "kite move")}`;
}

/** The command between a `git stash` and the command that brings its entry back; null: the line is another one. */
function triedIn({ typed, commands }: TypedLine): string | null {
  const make = commands.findIndex(({ stash }) => stash?.does === "make");
  const isBack = commands.slice(make + 1).some(({ stash }) => stash?.does === "take");
  if (make === -1 || !isBack) return null;
  const between =
    /(?:^|[\s;&(])git\s+stash(?:\s+(?:push|save)\b)?[^;&|\n]*(?:;|&&|\n)\s*([\s\S]+?)\s*(?:;|&&|\|\||\n)\s*git\s+stash\s+(?:pop|apply)\b/;
  const [, text = ""] = between.exec(typed) ?? [];
  if (text === "" || text.length > limits.ownMessageChars || /\bgit\s+stash\b/.test(text)) return null;
  return /^[\w@%+=:,./ -]+$/.test(text) ? text : `sh -c ${shellWord(text)}`;
}

/** The message of the line's own commit, as words of a command; the agent's to write if the line makes none. */
function messageOf({ commands }: TypedLine): readonly string[] {
  return commands.find(({ message }) => message !== undefined)?.message ?? ["-m", "MESSAGE"];
}

/** The agent's own files in reach of the commands, each once. */
function partOf(here: readonly FoundIn[]): readonly string[] {
  return [...new Set(here.flatMap(({ part = [] }) => part))];
}

/** The command for these files, in its place. A text behind it says how many files of the agent it leaves out. */
function command(
  here: readonly FoundIn[],
  line: TypedLine,
  words: readonly string[],
  files: readonly string[],
): string {
  const [first] = here;
  const isHere = isInPlace(here, line);
  const names = files.map(file => (isHere ? nearPath(`${first?.worktree}/${file}`, line.cwd) : file));
  const shown = clearPaths(names);
  const left = files.length - shown.length + Math.max(...here.map(({ partMore = 0 }) => partMore));
  const dashes = shown.some(name => name.startsWith("-")) ? ["--"] : [];
  // Without a file the command would take all of the agent's.
  const paths = shown.length === 0 ? ["FILE"] : shown;
  const text = [...words, ...dashes, ...paths].map(shellArgument).join(" ");
  return `${inPlace(here, line, text)}${shown.length === 0 ? namesHidden(left) : leftOut(left)}`;
}

/** Says that the command before names not all files of the agent; a line of its own, so that the command runs as it stands. */
export function leftOut(files: number): string {
  if (files === 0) return "";
  return `\nThat leaves out ${files} more ${files === 1 ? "file" : "files"} of yours: name ${files === 1 ? "it" : "them"} as well.`;
}

function namesHidden(files: number): string {
  return `\nFILE stands for ${files} ${files === 1 ? "file" : "files"} of yours with a name that Kite does not repeat here.`;
}

/** The names that a text shows unchanged, as many as an agent wants to read. */
export function clearPaths(paths: readonly string[]): readonly string[] {
  let room = limits.ownPathsChars;
  return paths.filter(path => {
    const isClear = !/[<>"]/.test(path) && quote(path, limits.pathBytes) === `"${path}"`;
    if (isClear) room -= path.length;
    return isClear && room >= 0;
  });
}

/** The command runs in the agent's own directory, unless the line's commands work elsewhere. */
function inPlace(here: readonly FoundIn[], line: TypedLine, text: string): string {
  return isInPlace(here, line) ? text : `(cd ${shellArgument(here[0]?.worktree ?? "")} && ${text})`;
}

function isInPlace(here: readonly FoundIn[], { cwd }: TypedLine): boolean {
  return here.every(
    ({ by, isSupposed }) =>
      by.dir === cwd && by.isBelow !== true && by.gitDir === null && by.workTree === null && !isSupposed,
  );
}

function namesOf(here: readonly FoundIn[]): string {
  return [...new Set(here.map(({ by }) => `\`${by.name}\``))].join(" and ");
}
