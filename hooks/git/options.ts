/** The options of a git command, as git reads them: clustered letters, abbreviated names, `--`. */

import type { GuardedCommand, TreeChange } from "../../protocol/guard.ts";
import type { Value } from "../shell/variables.ts";

/** Options of one git command that matter for reading it. */
export interface Options {
  /** Letters that take a value, from the same word or the next one. */
  readonly short?: string;
  /** Letters that take a value from the same word alone. */
  readonly attached?: string;
  /** Names that take a value, after `=` or from the next word. */
  readonly long?: readonly string[];
}

/** A git command's words, sorted. */
export interface Arguments {
  /** Words before `--` that are not options. */
  readonly words: readonly Value[];
  /** Words after `--`; null without it. */
  readonly after: readonly Value[] | null;
  /** Options in the order they came: `-x` or `--name`, with their values. */
  readonly options: readonly { readonly name: string; readonly value: Value | null }[];
}

export function readArguments(args: readonly Value[], options: Options): Arguments {
  const found: { name: string; value: Value | null }[] = [];
  const words: Value[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i];
    if (arg === undefined) break;
    if (arg.known && arg.text === "--") return { words, after: args.slice(i + 1), options: found };
    if (arg.known && arg.text === "--end-of-options") {
      words.push(...args.slice(i + 1));
      break;
    }
    if (arg.text.startsWith("--")) {
      const { name, value } = longOption(arg, args[i + 1], options);
      if (value !== null && value === args[i + 1]) i += 1;
      found.push({ name, value });
    } else if (/^-./.test(arg.text)) {
      const last = shortOptions(arg, options, found);
      if (last !== null) {
        found.push({ name: last, value: args[i + 1] ?? null });
        i += 1;
      }
    } else words.push(arg);
  }
  return { words, after: null, options: found };
}

function longOption(arg: Value, next: Value | undefined, { long = [] }: Options) {
  const equals = arg.text.indexOf("=");
  if (equals !== -1) {
    return { name: arg.text.slice(0, equals), value: { ...arg, text: arg.text.slice(equals + 1) } };
  }
  const takes = long.some(name => isNamed(arg.text, name));
  return { name: arg.text, value: takes && next !== undefined ? next : null };
}

/** Puts every letter of a cluster into `found`; returns the letter that takes the next word, or null. */
function shortOptions(
  arg: Value,
  { short = "", attached = "" }: Options,
  found: { name: string; value: Value | null }[],
): string | null {
  const letters = arg.text.slice(1);
  for (const [i, letter] of [...letters].entries()) {
    const name = `-${letter}`;
    const rest = letters.slice(i + 1);
    const isWhole = rest === "" && arg.known;
    if (short.includes(letter) && isWhole) return name;
    if (short.includes(letter) || (attached.includes(letter) && !isWhole)) {
      found.push({ name, value: { ...arg, text: rest } });
      return null;
    }
    found.push({ name, value: null });
  }
  return null;
}

/** Whether one of the options was given. Names may be abbreviated as git allows, letters not. */
export function has({ options }: Arguments, ...names: readonly string[]): boolean {
  return options.some(option => names.some(name => isNamed(option.name, name)));
}

/** Full names that are the beginning of other names. */
const whole: ReadonlySet<string> = new Set(["--force"]);

/** `--har` is `--hard`, and so is `--h`. Git itself refuses an ambiguous abbreviation. */
function isNamed(option: string, name: string): boolean {
  return option === name || (/^--\w/.test(option) && !whole.has(option) && name.startsWith(option));
}

// What a git command may reach, and the parts of which the rules make it.

/** What a git command may reach, wherever it runs. */
export interface Reach extends Omit<GuardedCommand, "dir" | "isBelow" | "gitDir" | "workTree" | "elsewhere"> {
  /** Only the shell knows its paths: it counts as reaching everything. */
  readonly unclear?: true;
  /** Its paths begin at the top of the worktree. */
  readonly fromTop?: true;
  /** It works on the worktree of this name, not on the one in which it is called. */
  readonly elsewhere?: Value;
  /** What else the same command reaches. */
  readonly also?: Reach;
}

/** Whether git refuses to overwrite uncommitted work by the command. */
export function isGentle(changes: Reach["changes"]): boolean {
  return changes !== undefined && changes.loses !== "tracked";
}

/** What a command gets besides its words. */
interface CommandInput {
  /** The text of its standard input, with holes; null: not known. */
  readonly input: string | null;
  /** A patch by the line that removes uncommitted work; null: there is none. */
  readonly reversed: Patch | null;
  /** The patch on its standard input, if another call of the line writes it where this one runs. */
  readonly patch: Patch | null;
}

/** A patch that git writes. Taken back, it takes uncommitted work only from these files. */
export interface Patch extends Paths {
  /** It is one between commits, which holds no uncommitted work. */
  readonly changes?: TreeChange;
  /** It takes back what it shows. */
  readonly isReversed: boolean;
}

/** Reads the words after a command's name; null if it reaches neither files nor index. */
export type Rule = (args: readonly Value[], input: CommandInput) => Reach | null;

export function tree(name: string, paths: Paths = all, untracked = false): Reach {
  return { name: `git ${name}`, reach: "tree", commits: false, ...paths, untracked };
}

/** `untracked`: files that git does not know, too. */
export function takeAll(name: string, paths: Paths = all, commits = false, untracked = false): Reach {
  return { name: `git ${name}`, reach: "take_all", commits, ...paths, untracked };
}

export function index(name: string, paths: Paths = all, commits = false): Reach {
  return { name: `git ${name}`, reach: "index", commits, ...paths, untracked: false };
}

export type Paths = Pick<Reach, "paths" | "unclear">;

export const all: Paths = { paths: null };

/** Returns the pathspecs as given. An unknown one, or one that excludes paths, may stand for any path. */
export function pathsOf(values: readonly Value[]): Paths {
  if (values.some(({ known, isDefault }) => !known || isDefault)) return { paths: null, unclear: true };
  const paths = values.map(({ text }) => text);
  return paths.some(path => path.startsWith(":") || path === "") ? all : { paths };
}

/** As `pathsOf`; without a pathspec the command reaches everything. */
export function pathsOrAll(values: readonly Value[]): Paths {
  return values.length === 0 ? all : pathsOf(values);
}

/** Every word that is not an option, before and after `--`. */
export function operands({ words, after }: Arguments): readonly Value[] {
  return [...words, ...(after ?? [])];
}

// Which files a patch concerns: by its text, or by the call of git that writes it.

/** The patch that a call of git writes; null: none, or one that may concern any file. */
export function patchBy(name: string, args: readonly Value[]): Patch | null {
  const isDiff = /^diff(?:-files|-index)?$/.test(name);
  if (!isDiff && name !== "show") return null;
  const parsedArgs = readArguments(args, { short: "SGOlUn", attached: "BMC" });
  const isReversed = has(parsedArgs, "-R");
  const paths = pathsOrAll(parsedArgs.after ?? []);
  if (!isDiff) return { ...paths, ...between("commits", shown(parsedArgs)), isReversed };
  if (has(parsedArgs, "--no-index")) return null;
  // A word with the ending of a file name is not a branch.
  const isNamed =
    parsedArgs.after === null && parsedArgs.words.some(({ text }) => /^(?!.*\.\.).*\.[a-z]\w*$/i.test(text));
  if (isNamed) return { ...pathsOrAll(parsedArgs.words), isReversed };
  return { ...paths, ...betweenEnds(parsedArgs), isReversed };
}

/**
 * Whether applying the patch takes something back that may be uncommitted: applied backwards any may, or what it shows
 * is reversed already. Forwards a patch between commits is an edit.
 */
export function reverses({ isReversed, changes }: Patch, isBack: boolean): boolean {
  return isReversed !== isBack && (isBack || changes === undefined);
}

/** Null: a word is not a revision, or only the shell knows it. */
function shown({ words }: Arguments): readonly string[] | null {
  if (words.length === 0) return ["HEAD"];
  return words.every(({ text, known }) => known && !text.includes(":"))
    ? words.map(({ text }) => text)
    : null;
}

/** The commits of a diff between commits; nothing if it is one of the working tree, or if only the shell knows. */
function betweenEnds({ words, after }: Arguments): Pick<Patch, "changes"> {
  const texts = words.flatMap(({ text, known }) => (known && !text.includes(":") ? [text] : []));
  const [first = "", second = ""] = texts;
  if (texts.length !== words.length || texts.length === 0 || texts.length > 2) return {};
  const [, from, to] = /^(.*[^.])\.\.([^.].*)$/.exec(first) ?? [];
  // What differs was changed on one side or on the other.
  if (second === "") return from === undefined ? {} : between("commits", [`${from}...${to}`]);
  const isSure = after !== null || texts.every(text => /^(?:HEAD|@)|[~^]|^[\da-f]{7,64}$/.test(text));
  return isSure ? between("commits", [`${first}...${second}`]) : between("target", texts);
}

function between(by: "commits" | "target", revisions: readonly string[] | null): Pick<Patch, "changes"> {
  if (revisions === null) return {};
  // A word that is no revision may be a path.
  const orPath = by === "target";
  return { changes: { by, revisions, orPath, loses: "nothing", isForced: true, during: [], stashes: [] } };
}

/** Files that lose lines, without the first `strip` folders of their names; null: any file may. */
export function filesLost(text: string, strip: number): readonly string[] | null {
  const found = new Set<string>();
  let file: string | null = null;
  for (const line of text.split("\n")) {
    const [, named] = /^(?:--- |rename from )(.*)$/.exec(line) ?? [];
    if (named !== undefined) {
      // A quoted name has escapes of its own.
      if (named.startsWith('"')) return null;
      file = named.replace(/\t.*$/, "");
      const isWhole = line.startsWith("rename");
      if (isWhole) found.add(file);
      else file = file.split("/").slice(strip).join("/");
    } else if (line.startsWith("-") && file !== null) found.add(file);
  }
  return [...found];
}
