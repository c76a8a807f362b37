/** The options before a program's words: clustered letters, `--name=value`, `--`. */
import { asValue, type Value } from "./variables.ts";

export interface OptionNames {
  /** Letters that take a value, from the same word or the next one. */
  readonly short: string;
  /** Letters that take a value from the same word alone. */
  readonly attached?: string;
  /** Names whose value may be the next word. */
  readonly long?: readonly string[];
}

export interface Option {
  /** `-x` or `--name`. */
  readonly name: string;
  readonly value: Value | null;
}

export interface Options {
  readonly options: readonly Option[];
  /** The words after the options. */
  readonly rest: readonly Value[];
}

export function readOptions(args: readonly Value[], names: OptionNames): Options {
  const options: Option[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i];
    if (arg === undefined || !/^-./.test(arg.text)) return { options, rest: args.slice(i) };
    if (arg.known && arg.text === "--") return { options, rest: args.slice(i + 1) };
    const last = arg.text.startsWith("--") ? long(arg, names, options) : letters(arg, names, options);
    if (last === null) continue;
    i += 1;
    options.push({ name: last, value: args[i] ?? null });
  }
  return { options, rest: [] };
}

/** Reads a long option; returns its name if the next word is its value, else null. */
function long(arg: Value, names: OptionNames, options: Option[]): string | null {
  const equals = arg.whole.indexOf("=");
  const name = equals === -1 ? arg.whole : arg.whole.slice(0, equals);
  if (equals === -1 && names.long?.includes(name)) return name;
  options.push({ name, value: equals === -1 ? null : asValue(arg.whole.slice(equals + 1)) });
  return null;
}

function letters(arg: Value, { short, attached = "" }: OptionNames, options: Option[]): string | null {
  for (let i = 1; i < arg.whole.length; i += 1) {
    const letter = arg.whole.charAt(i);
    const rest = arg.whole.slice(i + 1);
    if (short.includes(letter) && rest === "") return `-${letter}`;
    if ((short + attached).includes(letter)) {
      options.push({ name: `-${letter}`, value: rest === "" ? null : asValue(rest) });
      return null;
    }
    options.push({ name: `-${letter}`, value: null });
  }
  return null;
}
