/** Programs that run others: with words that they read (`xargs`) or files that they find (`find -exec`). */

import { limits } from "../../protocol/limits.ts";
import { type Option, readOptions } from "./options.ts";
import { wordsIn } from "./split.ts";
import { asValue, hole, type Value } from "./variables.ts";

/** Commands that a program starts, each with its words. */
export interface Launched {
  readonly commands: readonly (readonly Value[])[];
  /** They run in or below one of these folders, and only the program knows where; null: where the program runs. */
  readonly below: readonly Value[] | null;
}

/**
 * Returns null if the program starts nothing. `input` is its standard input, `textOf` the content of a file that it
 * names; both are null if the line does not tell.
 */
export function launched(
  name: string | null,
  args: readonly Value[],
  input: string | null,
  textOf: (file: Value) => string | null,
): Launched | null {
  if (name === "find" || name === "gfind") return found(args);
  return name === "xargs" || name === "gxargs" ? fed(args, input, textOf) : null;
}

/** Every `-exec` with its words; the files found are not known. */
function found(args: readonly Value[]): Launched {
  const commands: Value[][] = [];
  let isBelow = false;
  let isBegun = false;
  const folders: Value[] = [];
  let current: Value[] | null = null;
  for (const arg of args) {
    if (current === null) {
      isBegun ||= /^(?:[(!)]|-(?![HLP]$|O\d?$))/.test(arg.text);
      if (!isBegun && !/^-[HLPO]/.test(arg.text)) folders.push(arg);
      if (!/^-(?:exec|ok)(?:dir)?$/.test(arg.text)) continue;
      isBelow ||= arg.text.endsWith("dir");
      current = [];
    } else if (arg.known && (arg.text === ";" || (arg.text === "+" && current.at(-1)?.whole === hole))) {
      commands.push(current);
      current = null;
    } else current.push(asValue(arg.whole.replaceAll("{}", hole)));
  }
  return { commands, below: isBelow ? (folders.length === 0 ? [asValue(".")] : folders) : null };
}

const names = {
  short: "EILPadns",
  attached: "eil",
  long: ["--arg-file", "--delimiter", "--max-args", "--max-chars", "--max-procs", "--process-slot-var"],
};

function fed(args: readonly Value[], input: string | null, textOf: (file: Value) => string | null): Launched {
  const { options, rest } = readOptions(args, names);
  const command = rest.length === 0 ? [asValue("echo")] : rest;
  const last = (...of: readonly string[]) => options.findLast(({ name }) => of.includes(name));
  const file = last("-a", "--arg-file")?.value;
  const text = file ? textOf(file) : input;
  const replaced = marker(last("-I", "-i", "--replace"));
  const isUnclear = last("-E", "-e", "--eof") !== undefined;
  const commands = text === null || isUnclear ? null : each(command, text, options, replaced);
  const any = replaced === null ? [...command, asValue(hole)] : filled(command, replaced, hole);
  return { commands: commands ?? [any], below: null };
}

/** The text that stands for a line: `{}` unless an option sets it; null if none does. */
function marker(option: Option | undefined): string | null {
  if (option === undefined) return null;
  return option.value === null || !option.value.known ? "{}" : option.value.text;
}

function filled(command: readonly Value[], replaced: string, text: string): readonly Value[] {
  return replaced === "" ? command : command.map(({ whole }) => asValue(filledWord(whole, replaced, text)));
}

/** Whether the command with all texts filled in would exceed the bound. */
function isLong(command: readonly Value[], replaced: string, texts: readonly string[]): boolean {
  if (replaced === "") return false;
  const places = command.reduce((sum, { whole }) => sum + whole.split(replaced).length - 1, 0);
  const chars = command.reduce((sum, { whole }) => sum + whole.length, 0);
  return texts.reduce((sum, text) => sum + chars + places * text.length, 0) > limits.shellTextChars;
}

/** Fills in the text; a hole if the result would be longer than any line. */
function filledWord(whole: string, replaced: string, text: string): string {
  const parts = whole.split(replaced);
  const length = whole.length + (parts.length - 1) * (text.length - replaced.length);
  return length > limits.shellLineChars ? hole : parts.join(text);
}

/** The commands for a known text; null if they are too many or not known. */
function each(
  command: readonly Value[],
  text: string,
  options: readonly Option[],
  replaced: string | null,
): readonly (readonly Value[])[] | null {
  const last = (...of: readonly string[]) => options.findLast(({ name }) => of.includes(name));
  const delimiter = last("-0", "--null") ? "\\0" : (last("-d", "--delimiter")?.value?.text ?? null);
  const lines = wordsOf(text, delimiter, replaced !== null);
  if (lines === null) return null;
  if (replaced !== null) {
    const texts = lines.map(line => line.join(" "));
    if (lines.length > limits.shellRoundsMax || isLong(command, replaced, texts)) return null;
    return texts.map(text => filled(command, replaced, text));
  }
  const words = lines.flat();
  const isIdle = words.length === 0 && last("-r", "--no-run-if-empty") !== undefined;
  if (isIdle) return [];
  const size = Number(last("-n", "--max-args")?.value?.text ?? 0);
  const perLine = last("-L", "-l", "--max-lines");
  const groups =
    perLine !== undefined
      ? chunks(lines, Number(perLine.value?.text ?? 1)).map(chunk => chunk.flat())
      : size > 0
        ? chunks(words, size)
        : [words];
  if (groups.length > limits.shellRoundsMax) return null;
  return groups.map(group => [...command, ...group.map(asValue)]);
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  const step = Math.max(1, Math.floor(size) || 1);
  const found: T[][] = [];
  for (let at = 0; at < all.length; at += step) found.push(all.slice(at, at + step));
  return found;
}

/** The words, in a list for each line; with `isWhole` a line is one word. null: a quote has no end. */
function wordsOf(text: string, delimiter: string | null, isWhole: boolean): string[][] | null {
  if (delimiter !== null) {
    // A text of the line cannot hold zero bytes, so the text between them is not known.
    if (/^\\(?:0|x0)/.test(delimiter)) return text === "" ? [] : null;
    const character = delimiter === "\\n" ? "\n" : delimiter === "\\t" ? "\t" : delimiter.charAt(0);
    const parts = text.split(character);
    if (parts.at(-1) === "") parts.pop();
    return parts.map(part => [part]);
  }
  const lines: string[][] = [];
  for (const line of text.split("\n")) {
    const words = isWhole ? wordsIn(line.replace(/^[ \t]+/, ""), true) : wordsIn(line);
    if (words === null) return null;
    if (words.length > 0) lines.push(words);
  }
  return lines;
}
