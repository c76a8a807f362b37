/** What a git command may reach, and the parts of which the rules make it. */
import type { GuardedCommand, TreeChange } from "../../protocol/guard.ts";
import type { Value } from "../shell/variables.ts";
import type { Arguments } from "./options.ts";

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
export interface CommandInput {
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
export type Rule = (args: readonly Value[], given: CommandInput) => Reach | null;

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

/** Pathspecs as given. An unknown one, or one that excludes paths, may stand for any path. */
export function only(values: readonly Value[]): Paths {
  if (values.some(({ known, isDefault }) => !known || isDefault)) return { paths: null, unclear: true };
  const paths = values.map(({ text }) => text);
  return paths.some(path => path.startsWith(":") || path === "") ? all : { paths };
}

/** The same; everything if none is given. */
export function onlyOrAll(values: readonly Value[]): Paths {
  return values.length === 0 ? all : only(values);
}

/** Every word that is not an option, before and after `--`. */
export function operands({ words, after }: Arguments): readonly Value[] {
  return [...words, ...(after ?? [])];
}
