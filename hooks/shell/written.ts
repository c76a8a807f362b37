/**
 * The files that a shell line writes, moves or removes, by the words of its programs and by its redirections. What the line
 * does not show (scripts, interpreters, variables set elsewhere) is left out.
 */
import { limits } from "../../protocol/limits.ts";
import { programOf } from "./launchers.ts";
import { readShell } from "./parser.ts";
import { walkShell } from "./simple.ts";
import type { Value, Where } from "./variables.ts";
import { wholeBudget } from "./walk.ts";

/** Which words of a program name files that it changes. */
type Change = (words: readonly Value[]) => readonly Value[];

const each: Change = operands;
const last: Change = words => operands(words).slice(-1);

const changes: ReadonlyMap<string, Change> = new Map<string, Change>([
  ...["chgrp", "chmod", "chown", "mv", "rm", "rmdir", "shred", "tee", "touch", "truncate", "unlink"].map(
    name => [name, each] as const,
  ),
  ...["cp", "install", "ln", "rsync"].map(name => [name, intoTarget] as const),
  ["sed", words => (has(words, /^(?:-[a-zA-Z]*i|--in-place)/) ? operands(words) : [])],
  ["perl", words => (has(words, /^-[a-zA-Z0-9]*i/) ? operands(words) : [])],
  ["dd", words => words.flatMap(word => behind(word, "of="))],
  ["find", words => (has(words, /^-(?:delete|exec)/) ? words.slice(0, firstOption(words)) : [])],
]);

/**
 * Returns the absolute names of those files that are in a folder of this name, at most `limits.ownWritesMax`. If only a
 * part of a word is known, it returns the folder that the word's beginning names. The line begins in `dir`; `env` are
 * the known variables of its shell.
 */
export function filesWritten(
  line: string,
  dir: string,
  folder: string,
  env: ReadonlyMap<string, string>,
): readonly string[] {
  const found = new Set<string>();
  const take = (file: Value, where: Where): void => {
    const path = pathOf(file, where);
    if (path?.split("/").includes(folder) === true && found.size < limits.ownWritesMax) found.add(path);
  };
  walkShell(
    readShell(line).node,
    dir,
    invocation => {
      if (invocation.isGuess) return;
      const change = changes.get(programOf(invocation.values) ?? "");
      for (const file of change?.(invocation.values.slice(1)) ?? []) take(file, invocation);
    },
    null,
    wholeBudget(),
    env,
    written => take(written.file, written),
  );
  return [...found];
}

/** Returns null for a name that is relative to a folder that only the shell knows. */
function pathOf({ text, known }: Value, { dir }: Where): string | null {
  const named = known ? text : text.slice(0, text.lastIndexOf("/") + 1);
  if (named === "" || (dir === null && !named.startsWith("/"))) return null;
  return normal(named.startsWith("/") ? named : `${dir}/${named}`);
}

/** Takes `.` and `..` out of an absolute path. */
function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

function operands(words: readonly Value[]): readonly Value[] {
  const end = words.findIndex(({ whole }) => whole === "--");
  const before = end === -1 ? words : words.slice(0, end);
  const named = before.filter(({ text }) => !text.startsWith("-"));
  return end === -1 ? named : [...named, ...words.slice(end + 1)];
}

/** The last operand, or the folder of `-t`. */
function intoTarget(words: readonly Value[]): readonly Value[] {
  const at = words.findIndex(({ whole }) => whole === "-t" || whole === "--target-directory");
  const named = at === -1 ? [] : words.slice(at + 1, at + 2);
  return [...named, ...words.flatMap(word => behind(word, "--target-directory=")), ...last(words)];
}

/** The rest of a word that begins so. */
function behind({ text, known, whole }: Value, begin: string): readonly Value[] {
  if (!text.startsWith(begin)) return [];
  return [{ text: text.slice(begin.length), known, whole: whole.slice(begin.length) }];
}

function has(words: readonly Value[], option: RegExp): boolean {
  return words.some(({ text }) => option.test(text));
}

function firstOption(words: readonly Value[]): number {
  const at = words.findIndex(({ text }) => text.startsWith("-"));
  return at === -1 ? words.length : at;
}
