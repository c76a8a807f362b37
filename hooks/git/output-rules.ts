/** Git commands that only tell something, but may write that over a file. */
import type { Value } from "../shell/variables.ts";
import { has, readArguments } from "./options.ts";
import { only, operands, type Reach, type Rule, tree } from "./reach.ts";

/** The command writes into the file that its option names. */
function writing(name: string, short: string, ...options: readonly string[]): Rule {
  return args => {
    const given = readArguments(args, { short, long: options });
    const isFile = (option: string) =>
      has({ ...given, options: [{ name: option, value: null }] }, ...options);
    return over(name, given.options.findLast(option => isFile(option.name))?.value ?? null);
  };
}

/** A file that only the shell knows is hardly another one's. */
function over(name: string, file: Value | null): Reach | null {
  return file?.known ? { ...tree(name, only([file]), true), needsIndex: false } : null;
}

const bundle: Rule = args => {
  const [sub, file = null] = operands(readArguments(args, { long: ["--version"] }));
  return sub?.text === "create" ? over("bundle create", file) : null;
};

const showing = [
  "diff",
  "diff-files",
  "diff-index",
  "diff-tree",
  "format-patch",
  "log",
  "show",
  "whatchanged",
];

export const outputRules: ReadonlyMap<string, Rule> = new Map([
  ...showing.map(name => [name, writing(`${name} --output`, "", "--output")] as const),
  ["archive", writing("archive --output", "o", "-o", "--output")],
  ["bundle", bundle],
]);
