/** Programs that run another one, named in their own words, and shells with a line of their own. */

import { limits } from "../../protocol/limits.ts";
import { type Option, type OptionNames, readOptions } from "./options.ts";
import { wordsIn } from "./split.ts";
import { asValue, enter, exportTo, hole, type State, unset, type Value } from "./variables.ts";

interface Wrapper extends OptionNames {
  /** Words before the program's own. */
  readonly words?: number;
  /** It takes assignments before the program. */
  readonly assigns?: true;
  /** It runs the program as another user, with another home. */
  readonly leavesHome?: true;
  /** With one of these options it runs nothing. */
  readonly idle?: RegExp;
  /** If its first word is this, the program comes after `--`; without that it runs nothing. */
  readonly dashes?: string;
}

const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ["command", { short: "", idle: /^-[vV]$/ }],
  ["builtin", { short: "" }],
  ["exec", { short: "a" }],
  ["noglob", { short: "" }],
  ["nocorrect", { short: "" }],
  ["env", { short: "uCS", long: ["--unset", "--chdir", "--split-string"], assigns: true }],
  [
    "sudo",
    {
      short: "ugpChrtTUDR",
      long: ["--user", "--group", "--chdir", "--prompt", "--host", "--role", "--type", "--chroot"],
      assigns: true,
      leavesHome: true,
      idle: /^(?:-[lKkVv]|--(?:list|validate|version))$/,
    },
  ],
  ["doas", { short: "uC", leavesHome: true }],
  ["runuser", { short: "ugG", long: ["--user", "--group"], leavesHome: true }],
  ["nice", { short: "n", long: ["--adjustment"] }],
  ["ionice", { short: "cnpPu", long: ["--class", "--classdata"] }],
  ["chrt", { short: "TPD", words: 1 }],
  ["taskset", { short: "", words: 1 }],
  ["nohup", { short: "" }],
  ["setsid", { short: "" }],
  ["time", { short: "fo", long: ["--format", "--output"] }],
  ["timeout", { short: "ks", long: ["--kill-after", "--signal"], words: 1 }],
  ["gtimeout", { short: "ks", long: ["--kill-after", "--signal"], words: 1 }],
  ["stdbuf", { short: "ioe", long: ["--input", "--output", "--error"] }],
  ["unbuffer", { short: "" }],
  ["chronic", { short: "" }],
  ["caffeinate", { short: "tw" }],
  ["strace", { short: "aeIoOpPsSuUXE" }],
  ["busybox", { short: "" }],
  ["toybox", { short: "" }],
  ["flock", { short: "wE", long: ["--timeout", "--wait", "--conflict-exit-code"], words: 1 }],
  ["kite", { short: "", dashes: "lock" }],
]);

export interface Run {
  readonly values: readonly Value[];
  readonly state: State;
  /** The names of the programs that run it, the outermost first. */
  readonly via?: readonly string[];
  /** If nothing runs: the words of Kite itself. */
  readonly own?: readonly Value[];
}

/**
 * The program itself with its words, its directory and its variables. Empty if nothing runs; null if the programs are
 * nested too deeply.
 */
export function unwrapped(values: readonly Value[], state: State): Run | null {
  let run: Run = { values, state };
  const via: string[] = [];
  for (let n = 0; n <= limits.shellDepthMax; n += 1) {
    const name = programOf(run.values) ?? "";
    const wrapper = wrappers.get(name);
    if (wrapper === undefined) return { ...run, via };
    const own = wrapper.dashes === undefined ? [] : run.values;
    run = inside(wrapper, run);
    if (run.values.length === 0 && own.length > 0) return { ...run, via, own };
    via.push(name);
  }
  return null;
}

/** A program's name without its directory, which may be unknown. */
export function programOf([first]: readonly Value[]): string | null {
  const name = first?.whole.slice(first.whole.lastIndexOf("/") + 1);
  if (name === undefined || name.includes(hole)) return null;
  // In zsh `=git` is the path of git.
  return /^=\w/.test(first?.whole ?? "") ? name.slice(1) : name;
}

function inside(wrapper: Wrapper, { values, state: outer }: Run): Run {
  const state = wrapper.leavesHome ? exportTo(outer, "HOME", hole) : outer;
  const nothing = { values: [], state };
  const given = values.slice(1);
  if (wrapper.dashes !== undefined) {
    const at = given[0]?.text === wrapper.dashes ? given.findIndex(({ whole }) => whole === "--") : -1;
    return at === -1 ? nothing : { values: given.slice(at + 1), state };
  }
  const { options, rest } = readOptions(given, wrapper);
  if (options.some(({ name }) => wrapper.idle?.test(name))) return nothing;
  const next = options.reduce((now, option) => applyOption(wrapper, option, now), state);
  if (wrapper.assigns) return assigned(options, rest, next);
  const behind = rest.slice(wrapper.words ?? 0);
  const isLine = wrapper.words !== undefined && behind[0]?.whole === "-c";
  return { values: isLine ? [asValue("sh"), ...behind] : behind, state: next };
}

/** `env` and programs like it: variables come before the program. */
function assigned(options: readonly Option[], rest: readonly Value[], state: State): Run {
  const split = options.find(({ name }) => name === "-S" || name === "--split-string")?.value;
  let words = split ? [...splitString(split), ...rest] : rest;
  let next = state;
  // `env -` is `env -i`.
  if (words[0]?.whole === "-") {
    next = { ...next, exported: new Map() };
    words = words.slice(1);
  }
  for (let [first] = words; first !== undefined; [first] = words) {
    const [whole, name] = /^([A-Za-z_]\w*)=/.exec(first.text) ?? [];
    if (whole === undefined || name === undefined) break;
    next = exportTo(next, name, first.whole.slice(whole.length));
    words = words.slice(1);
  }
  return { values: words, state: next };
}

/** Applies an option that sets the directory or the variables of the program. */
function applyOption({ assigns }: Wrapper, { name, value }: Option, state: State): State {
  if (value !== null && /^(?:-C|-D|--chdir)$/.test(name)) return { ...state, ...enter(state, value) };
  if (!assigns) return state;
  if (name === "-i" || name === "--ignore-environment") return { ...state, exported: new Map() };
  return value !== null && /^(?:-u|--unset)$/.test(name) ? unset(state, value.text) : state;
}

/** `env -S` quotes by rules of its own, which match a shell's as far as they matter here. */
function splitString({ whole }: Value): readonly Value[] {
  return (wordsIn(whole) ?? []).map(asValue);
}

const shells = /^(?:r?ba|da|z|m?k|a|fi)?sh$/;

export function isShell(name: string | null): boolean {
  return name !== null && shells.test(name);
}

/** What a shell runs. */
export interface Script {
  /** Its text, with holes; null: not known, or in the file. */
  readonly text: string | null;
  readonly file: Value | null;
  /** `$0`, and `$1` and so on. */
  readonly zero: string;
  readonly args: readonly string[];
}

/** The line that a shell runs; null if the program is not a shell. `input` is its standard input. */
export function scriptOf(name: string | null, args: readonly Value[], input: string | null): Script | null {
  if (name === "su" || name === "script" || name === "watch") return lineOf(name, args);
  if (name === null || !isShell(name)) return null;
  const plus = args.map(each => (each.text.startsWith("+") ? asValue(`-${each.whole.slice(1)}`) : each));
  const { options, rest } = readOptions(plus, { short: "oO", long: ["--rcfile", "--init-file"] });
  // A single dash ends the options, too.
  const words = rest[0]?.whole === "-" ? rest.slice(1) : rest;
  const [first, ...others] = words.map(({ whole }) => whole);
  if (options.some(option => option.name === "-c")) {
    return { text: first ?? null, file: null, zero: others[0] ?? name, args: others.slice(1) };
  }
  const isRead = first === undefined || options.some(option => option.name === "-s");
  if (isRead) return { text: input, file: null, zero: name, args: words.map(({ whole }) => whole) };
  return { text: null, file: words[0] ?? null, zero: first, args: others };
}

const watching = { short: "n", long: ["--interval"] };

/** Programs with a line in an option; the words of `watch` are one line. */
function lineOf(name: "su" | "script" | "watch", args: readonly Value[]): Script {
  const texts = args.map(({ whole }) => whole);
  const at = texts.findIndex(text => /^(?:-\w*c|--command)$/.test(text));
  const text = at === -1 ? null : (texts[at + 1] ?? null);
  const words = readOptions(args, watching).rest.map(({ whole }) => whole);
  return { text: name === "watch" ? words.join(" ") : text, file: null, zero: name, args: [] };
}
