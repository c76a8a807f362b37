/**
 * Whether a git command that is limited to some paths reaches a file. The pathspecs are plain, without the magic that
 * begins with a colon. They are matched step by step: agents write them, and a regular expression made of one could
 * block the daemon.
 */

import { posix } from "node:path";
import type { GuardedCommand } from "../../protocol/guard.ts";
import { type Changed, everythingOf } from "../facts/git/changes.ts";
import type { GitPlace } from "../facts/git/process.ts";
import type { FileState } from "../facts/git/status.ts";
import type { Services } from "../options.ts";

/**
 * `file` and `base` (where the command runs) are relative to the worktree; `paths` are relative to `base`, or absolute
 * below `top`. `base` null: the command may run in any folder of the worktree.
 */
export function isWithin(file: string, paths: readonly string[], base: string | null, top: string): boolean {
  if (base !== null) return paths.some(path => matches(file, path, base, top));
  const folders = ["", ...above(file)];
  return paths.some(path => {
    if (posix.isAbsolute(path)) return matches(file, path, "", top);
    // A path that leads out of an unknown folder leads into another unknown one.
    const [outwards = ""] = /^(?:\.\.?(?:\/|$))*/.exec(posix.normalize(path)) ?? [];
    const inwards = posix.normalize(path).slice(outwards.length);
    return inwards === "" || folders.some(folder => matches(file, inwards, folder, top));
  });
}

/** The folders of a file, the outermost first. */
function above(file: string): readonly string[] {
  const names = file.split("/").slice(0, -1);
  return names.map((_, i) => names.slice(0, i + 1).join("/"));
}

function matches(file: string, path: string, base: string, top: string): boolean {
  const whole = posix.isAbsolute(path) ? posix.relative(top, posix.normalize(path)) : posix.join(base, path);
  const spec = whole.replace(/\/+$/, "").replace(/^\.$/, "");
  if (spec === "" || file === spec || file.startsWith(`${spec}/`)) return true;
  if (!/[*?[\\]/.test(spec)) return false;
  const matched = extentOf(file, partsOf(spec));
  // With a slash at its end a pattern matches no file, but the shell makes folders of it.
  return matched === "below" || (matched === "itself" && !/\/\.{0,2}$/.test(path));
}

/**
 * At one character of a pattern: where the pattern may go on after a character of the text. `many`: a `*`, which also
 * matches slashes, as in git.
 */
type Part = "many" | ((character: string) => readonly number[]);

/**
 * A set like `[id]` may also be the name of a folder. The shell has removed the quotes around it, or the folder in which the
 * command runs has it in its name.
 */
function partsOf(spec: string): readonly Part[] {
  const characters = [...spec];
  const parts = characters.map((character, i): Part => {
    if (character === "*") return "many";
    if (character === "?") return () => [i + 1];
    const isEscape = character === "\\" && i + 1 < characters.length;
    const [literal, next] = isEscape ? [characters[i + 1], i + 2] : [character, i + 1];
    return c => (c === literal ? [next] : []);
  });
  for (let i = 0; i < characters.length; i += 1) {
    if (characters[i] === "\\") i += 1;
    if (characters[i] !== "[" || characters[i - 1] === "\\") continue;
    const end = endOfSet(characters, i);
    const inside = characters.slice(i + 1, end ?? characters.length);
    // In git a set without an end matches nothing; here it matches anything, as does one with a pattern inside.
    if (end === null || inside.includes("*") || inside.includes("[")) {
      parts.fill("many", i, end === null ? parts.length : end + 1);
      i = end ?? parts.length;
      continue;
    }
    const isMember = setOf(inside);
    parts[i] = c => [...(c === "[" ? [i + 1] : []), ...(isMember(c) ? [end + 1] : [])];
  }
  return parts;
}

/** The place of the bracket that ends the set which begins at `start`; null: none does. */
function endOfSet(characters: readonly string[], start: number): number | null {
  let at = start + (/[!^]/.test(characters[start + 1] ?? "") ? 2 : 1);
  // At its beginning a bracket is a member.
  if (characters[at] === "]") at += 1;
  while (at < characters.length && characters[at] !== "]") {
    // A class like `[:alpha:]`.
    const isClass = characters[at] === "[" && characters[at + 1] === ":";
    const end = isClass ? characters.indexOf("]", at) : -1;
    if (end !== -1 && characters[end - 1] === ":") at = end + 1;
    else at += characters[at] === "\\" ? 2 : 1;
  }
  return at < characters.length ? at : null;
}

/** Reads the inside of `[...]`. */
function setOf(inside: readonly string[]): (character: string) => boolean {
  const isNegated = inside[0] === "!" || inside[0] === "^";
  const members = isNegated ? inside.slice(1) : inside;
  if (members.includes("\\")) return () => true;
  const ranges: (readonly [string, string])[] = [];
  for (let i = 0; i < members.length; i += 1) {
    const from = members[i] ?? "";
    const isRange = members[i + 1] === "-" && i + 2 < members.length;
    ranges.push([from, isRange ? (members[i + 2] ?? "") : from]);
    if (isRange) i += 2;
  }
  return character => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

/**
 * Whether a pattern matches a path itself, or a folder above it. Takes at most text times pattern steps. It follows all ways
 * through the pattern at once, and each way leads through every star that one of them has reached.
 */
function extentOf(text: string, parts: readonly Part[]): "itself" | "below" | null {
  const reached = new Int32Array(parts.length + 1).fill(-1);
  let star = 0;
  let now: number[] = [];
  const enter = (next: number[], part: number, at: number) => {
    for (let to = part; reached[to] !== at; to += 1) {
      reached[to] = at;
      next.push(to);
      if (parts[to] !== "many") break;
      star = Math.max(star, to);
    }
  };
  enter(now, 0, 0);
  let at = 0;
  for (const character of text) {
    if (character === "/" && reached[parts.length] === at) return "below";
    at += 1;
    const next: number[] = [];
    for (const from of now) {
      const part = parts[from];
      // From the last star it gets as far.
      if (part === undefined || from < star) continue;
      for (const to of part === "many" ? [from] : part(character)) enter(next, to, at);
    }
    now = next;
  }
  return reached[parts.length] === at ? "itself" : null;
}

// Whether a git command takes or wipes the uncommitted work in a file.

/** Whether the command leaves all uncommitted work alone, but perhaps in ignored files: git refuses to overwrite the rest. */
export function sparesWork({ reach, changes }: GuardedCommand): boolean {
  return touchesNoFile(reach) || changes?.loses === "ignored";
}

function touchesNoFile(reach: GuardedCommand["reach"]): boolean {
  return reach === "stash" || reach === "place" || reach === "refs";
}

/** `held`: another agent holds the file, which counts as written. `state` null: a directory that is held. */
export function reaches(command: GuardedCommand, state: FileState | null, held: boolean): boolean {
  if (sparesWork(command)) return !touchesNoFile(command.reach) && state?.ignored === true;
  if (state === null) return command.reach === "tree";
  const { staged, changed, untracked, ignored } = state;
  if (ignored) return command.ignored ?? false;
  if (command.reach === "tree") {
    // It removes files that git does not know, and no others; with -X it keeps those that are not ignored.
    if (command.name.startsWith("git clean")) return untracked && command.untracked;
    if (held) return true;
    if (command.name === "git sparse-checkout") return false;
    return untracked ? command.untracked : staged || changed;
  }
  if (command.reach === "take_all") {
    return untracked ? command.untracked : changed || (staged && command.commits);
  }
  if (!command.commits) return false;
  // Named paths are committed as they are in the working tree, whatever is staged.
  return command.paths === null ? staged : staged || changed;
}

// Limits commands that put other commits into the working tree to the files that they would change.

interface Placed {
  readonly command: GuardedCommand;
  readonly place: GitPlace;
  readonly base: string | null;
  readonly blind?: string;
  readonly changed?: Changed;
}

/**
 * The same commands, each with the files of others that it would change. A command that could not be checked in time
 * counts as changing all of them, and `unseen` says why.
 */
export async function narrowed<P extends Placed>(
  { facts }: Services,
  placed: readonly P[],
  foreignOf: (one: P) => { readonly files: readonly string[]; readonly states: States },
): Promise<{ readonly placed: readonly P[]; readonly unseen: string | null }> {
  let unseen: string | null = null;
  const all: P[] = [];
  for (const one of placed) {
    const { changes } = one.command;
    const { files: foreign, states } = foreignOf(one);
    const files = foreign.filter(file => isAsked(changes?.loses, states.get(file)));
    if (changes === undefined || one.blind !== undefined || files.length === 0) {
      all.push(one);
      continue;
    }
    const changed = await facts.change(one.place, changes, files);
    if ("unreachable" in changed) {
      unseen ??= changed.unreachable;
      all.push({ ...one, changed: everythingOf(files) });
    } else all.push({ ...one, changed });
  }
  return { placed: all, unseen };
}

type States = ReadonlyMap<string, FileState>;

/**
 * Whether it matters if the command changes the file. A command that loses `tracked` files takes all that it reaches, so
 * only files that git may not know matter.
 */
function isAsked(loses: Changed["loses"] | undefined, state: FileState | undefined): boolean {
  if (loses === "ignored") return state?.ignored === true;
  return loses !== "tracked" || mayBeUnknown(state);
}

/** Whether git may not know the file, or may ignore it. */
function mayBeUnknown(state: FileState | undefined): boolean {
  return state === undefined || state.untracked || state.ignored;
}

/**
 * Whether the command takes uncommitted work in a file, or changes the file under its holder. `state` undefined: the
 * file was not checked and may be in any state; null: a directory that is held. Git overwrites ignored files without a
 * word, and unknown ones if forced.
 */
export function wouldChange(
  { command, changed, place, base }: Placed & { readonly changed: Changed },
  { file, held }: { readonly file: string; readonly held: boolean },
  state: FileState | null | undefined,
): boolean {
  const { names, paths, loses } = changed;
  const isUncommitted = state === undefined || held || Object.values(state ?? {}).some(Boolean);
  if (!isUncommitted) return false;
  const isNamed = names.some(
    name => name === file || file === "" || name.startsWith(`${file}/`) || file.startsWith(`${name}/`),
  );
  if (loses === "ignored") return isNamed && state?.ignored === true;
  const isOver = isNamed && (!state?.untracked || state.staged || held || command.changes?.isForced === true);
  if (loses === "tracked")
    return (
      state === undefined || reaches(command, state, held) || (mayBeUnknown(state ?? undefined) && isOver)
    );
  if (loses === "staged" && (state === undefined || state?.staged)) return true;
  // A command with paths takes these files back from the index.
  const isKnown = state === undefined || held || state?.staged || state?.changed;
  if (isKnown && isWithin(file, paths, base, place.worktree)) return true;
  return isOver;
}
