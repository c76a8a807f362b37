import type { GuardedCommand } from "../../protocol/guard.ts";
import type { Value } from "../shell/variables.ts";
import type { Arguments } from "./options.ts";

/** What a git command may touch, wherever it runs. */
export interface Reach extends Omit<GuardedCommand, "dir" | "isBelow" | "gitDir" | "workTree" | "elsewhere"> {
  /** It is limited to paths that only the shell knows: it counts as reaching everything. */
  readonly unclear?: true;
  /** Its paths begin at the top of the worktree. */
  readonly fromTop?: true;
  /** It works on the worktree of this name, not on the one it is called in. */
  readonly elsewhere?: Value;
  /** What the same command touches besides. */
  readonly also?: Reach;
}

/** Whether git refuses the command where it would overwrite uncommitted work. */
export function isGentle(changes: Reach["changes"]): boolean {
  return changes !== undefined && changes.loses !== "tracked";
}

/** What a command is given besides its words. */
export interface Given {
  /** What it reads, with holes; null: not known. */
  readonly input: string | null;
  /** What the line has written as a patch that takes out what is uncommitted: of these paths; null: it has not. */
  readonly reversed: Paths | null;
}

/** Reads the words after a command's name; null where it touches neither files nor index. */
export type Rule = (args: readonly Value[], given: Given) => Reach | null;

export function tree(name: string, paths: Paths = all, untracked = false): Reach {
  return { name: `git ${name}`, reach: "tree", commits: false, ...paths, untracked };
}

/** `untracked`: also what git does not know yet. */
export function takeAll(name: string, paths: Paths = all, commits = false, untracked = false): Reach {
  return { name: `git ${name}`, reach: "take_all", commits, ...paths, untracked };
}

export function index(name: string, paths: Paths = all, commits = false): Reach {
  return { name: `git ${name}`, reach: "index", commits, ...paths, untracked: false };
}

export type Paths = Pick<Reach, "paths" | "unclear">;

export const all: Paths = { paths: null };

/** Pathspecs as they are given. One that is not known, or takes paths away, may stand for any. */
export function only(values: readonly Value[]): Paths {
  if (values.some(({ known }) => !known)) return { paths: null, unclear: true };
  const paths = values.map(({ text }) => text);
  return paths.some(path => path.startsWith(":") || path === "") ? all : { paths };
}

/** The same; everything where none is given. */
export function onlyOrAll(values: readonly Value[]): Paths {
  return values.length === 0 ? all : only(values);
}

/** Every word that is no option, on both sides of `--`. */
export function operands({ words, after }: Arguments): readonly Value[] {
  return [...words, ...(after ?? [])];
}
