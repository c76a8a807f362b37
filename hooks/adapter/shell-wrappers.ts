/** Programs that run another one, named further along in their own words. */
import { directory, exportTo, type State, unknown, type Value } from "./shell-state.ts";

interface Wrapper {
  /** Short options with a value of their own, which may be the next word. */
  readonly short: string;
  /** Long ones whose value is the next word. */
  readonly long?: readonly string[];
  /** Words that stand before the program's. */
  readonly words?: number;
  /** It takes assignments before the program. */
  readonly assigns?: true;
  /** With one of these it runs nothing. */
  readonly idle?: RegExp;
}

const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ["command", { short: "", idle: /^-\w*[vV]/ }],
  ["builtin", { short: "" }],
  ["exec", { short: "a" }],
  ["noglob", { short: "" }],
  ["nocorrect", { short: "" }],
  ["env", { short: "uC", long: ["--unset", "--chdir"], assigns: true, idle: /^(?:-\w*S|--split-string)/ }],
  ["sudo", { short: "ugpChrtTUD", long: ["--user", "--group", "--chdir"], assigns: true }],
  ["doas", { short: "uC" }],
  ["nice", { short: "n", long: ["--adjustment"] }],
  ["ionice", { short: "cn", long: ["--class", "--classdata"] }],
  ["nohup", { short: "" }],
  ["setsid", { short: "" }],
  ["time", { short: "fo", long: ["--format", "--output"] }],
  ["timeout", { short: "ks", long: ["--kill-after", "--signal"], words: 1 }],
  ["gtimeout", { short: "ks", long: ["--kill-after", "--signal"], words: 1 }],
  ["stdbuf", { short: "ioe", long: ["--input", "--output", "--error"] }],
  [
    "xargs",
    {
      short: "EILPadns",
      long: ["--arg-file", "--delimiter", "--max-args", "--max-chars", "--max-lines", "--max-procs"],
    },
  ],
]);

export interface Run {
  readonly values: readonly Value[];
  readonly state: State;
}

/** The program itself with its words, and what it is told of directory and variables. Empty where nothing runs. */
export function unwrapped(values: readonly Value[], state: State): Run {
  let run: Run = { values, state };
  for (let name = programOf(run.values); ; name = programOf(run.values)) {
    const wrapper = name === null ? undefined : wrappers.get(name);
    if (name === null || wrapper === undefined) return run;
    run = inside(name, wrapper, run);
  }
}

/** What a program is called, without its directory. */
export function programOf([first]: readonly Value[]): string | null {
  return first?.known ? first.text.slice(first.text.lastIndexOf("/") + 1) : null;
}

function inside(name: string, wrapper: Wrapper, { values, state }: Run): Run {
  const rest = values.slice(1);
  let next = state;
  let left = wrapper.words ?? 0;
  let replaced: string | null = null;
  let isPastOptions = false;
  for (let value = rest[0]; value !== undefined; value = rest[0]) {
    const option = !isPastOptions && /^-./.test(value.text) ? value.text : null;
    const assigned = wrapper.assigns ? /^([A-Za-z_]\w*)=/.exec(value.text) : null;
    if (option !== null && wrapper.idle?.test(option)) return { values: [], state };
    if (option === "--") {
      rest.shift();
      break;
    }
    if (option !== null) {
      const { letter, given } = optionOf(wrapper, option, value, rest);
      if (given !== null && /^(?:C|D|--chdir)$/.test(letter)) next = chdir(next, given);
      if (name === "xargs" && letter === "I") replaced = given?.text ?? null;
    } else if (assigned?.[1] !== undefined) {
      const text = value.known ? value.text.slice(assigned[0].length) : null;
      next = exportTo(next, assigned[1], text);
      isPastOptions = true;
    } else if (value.text === "-" && name === "env") {
      next = { ...next, exported: new Map() };
    } else if (left > 0) left -= 1;
    else break;
    rest.shift();
  }
  if (name === "xargs") return { values: fed(rest, replaced), state: next };
  return { values: rest, state: next };
}

/** The value of an option, which it takes from the words that follow where it has to. */
function optionOf(
  { short, long = [] }: Wrapper,
  option: string,
  value: Value,
  rest: Value[],
): { readonly letter: string; readonly given: Value | null } {
  const next = (): Value => {
    const [, given = unknown] = rest;
    rest.splice(1, 1);
    return given;
  };
  if (option.startsWith("--")) {
    const equals = option.indexOf("=");
    if (equals !== -1) {
      return { letter: option.slice(0, equals), given: { ...value, text: option.slice(equals + 1) } };
    }
    return long.includes(option) ? { letter: option, given: next() } : { letter: option, given: null };
  }
  const at = [...option].findIndex((c, i) => i > 0 && short.includes(c));
  if (at === -1) return { letter: option, given: null };
  const attached = option.slice(at + 1);
  return { letter: option.charAt(at), given: attached === "" ? next() : { ...value, text: attached } };
}

function chdir(state: State, to: Value): State {
  return { ...state, dir: directory(state.dir, to) };
}

/** What xargs puts in from elsewhere is not known. */
function fed(values: readonly Value[], replaced: string | null): readonly Value[] {
  if (replaced === null || replaced === "") return [...values, unknown];
  return values.map(value =>
    value.text.includes(replaced)
      ? { text: value.text.slice(0, value.text.indexOf(replaced)), known: false }
      : value,
  );
}
