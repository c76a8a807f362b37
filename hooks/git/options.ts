/** The options of a git command, as git reads them: clustered letters, abbreviated names, `--`. */
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
function isNamed(given: string, name: string): boolean {
  return given === name || (/^--\w/.test(given) && !whole.has(given) && name.startsWith(given));
}
