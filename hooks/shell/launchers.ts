/** Programs that run another one, named in their own words, and shells with a line of their own. */

import { limits } from "../../protocol/limits.ts";
import {
  asValue,
  enter,
  exportTo,
  hole,
  type Option,
  type OptionNames,
  readOptions,
  type State,
  unknown,
  unset,
  type Value,
} from "./variables.ts";

// Splits a text as `xargs` and `env -S` do: at blanks, unless quotes or a backslash keep the words together.

const piece = /'([^']*)'|"([^"]*)"|\\(.)|([^'"\\\s]+)|(\s+)/gsy;

/** With `keepsBlanks` the text is one word. null: a quote has no end. */
function wordsIn(text: string, keepsBlanks = false): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let at = 0;
  for (const [all, single, double, escaped, plain, blank] of text.matchAll(piece)) {
    at += all.length;
    if (blank === undefined || keepsBlanks) {
      word = (word ?? "") + (single ?? double ?? escaped ?? plain ?? blank ?? "");
    } else if (word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (word !== null) words.push(word);
  return at === text.length ? words : null;
}

interface Wrapper extends OptionNames {
  /** Words before the program's own. */
  readonly words?: number;
  /** It takes assignments before the program. */
  readonly assigns?: true;
  /** It runs the program as another user, with another home. */
  readonly leavesHome?: true;
  /** With one of these options it runs nothing. */
  readonly idle?: RegExp;
  /** After one of these as its first word, the program comes after `--`; without that it runs nothing. */
  readonly dashes?: readonly string[];
  /** After this word it runs the program in a folder that only the program knows. */
  readonly elsewhere?: string;
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
  ["kite", { short: "", dashes: ["lock", "try"], elsewhere: "try" }],
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
  const args = values.slice(1);
  if (wrapper.dashes !== undefined) {
    const word = args[0]?.text ?? "";
    const at = wrapper.dashes.includes(word) ? args.findIndex(({ whole }) => whole === "--") : -1;
    const where = word === wrapper.elsewhere ? { ...state, ...enter(state, unknown) } : state;
    return at === -1 ? nothing : { values: args.slice(at + 1), state: where };
  }
  const { options, rest } = readOptions(args, wrapper);
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
interface Script {
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

// Programs that run others: with words that they read (`xargs`) or files that they find (`find -exec`).

/** Commands that a program starts, each with its words. */
interface Launched {
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

// Which programs run a project's tests or build it: by their names and words. What is not listed passes.

/** These do nothing else. */
const always: ReadonlySet<string> = new Set(
  (
    "ant ava bats ctest gmake gradle gradlew jasmine jest karma make mocha mvn mvnw ninja nose2 nox phpunit py.test " +
    "pytest rake rspec sbt tap tox tsc vitest webpack xcodebuild"
  ).split(" "),
);

/** These do if their first word is one of these. */
const byVerb: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    bazel: "build coverage run test",
    bun: "build test",
    cargo: "b bench build c check clippy nextest r run t test",
    cmake: "--build",
    cypress: "open run",
    deno: "bench check compile test",
    dotnet: "build msbuild publish run test",
    flutter: "build test",
    go: "build generate install run test vet",
    meson: "compile test",
    mix: "compile test",
    node: "--test",
    npm: "t test tst",
    pipenv: "check",
    playwright: "test",
    pnpm: "t test tst",
    poetry: "build",
    rollup: "-c --config",
    stack: "bench build test",
    swift: "build run test",
    vite: "build",
    yarn: "build compile test",
    zig: "build test",
  }).map(([name, verbs]) => [name, new Set(verbs.split(" "))]),
);

/** These run a script of the project by its name, behind `run`. */
const scripts: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn", "bun"]);
const scriptName =
  /(?:^|[:_-])(?:build|bundle|check|compile|coverage|e2e|spec|specs|test|tests|typecheck)(?:$|[:_-])/;

/** These run the program that their next words name, behind options and these words. */
const launchers: ReadonlyMap<string, readonly string[]> = new Map([
  ["npx", []],
  ["bunx", []],
  ["bundle", ["exec"]],
  ["npm", ["exec", "--"]],
  ["pnpm", ["exec", "dlx"]],
  ["yarn", ["exec", "dlx"]],
  ["poetry", ["run"]],
  ["pipenv", ["run"]],
  ["uv", ["run"]],
  ["uvx", []],
]);

/** Modules of Python that run tests or builds. */
const modules: ReadonlySet<string> = new Set(["build", "nose2", "nox", "pytest", "tox", "unittest"]);

/** Launchers in launchers. */
const depthMax = 3;

/** Returns the program and the words that show it, such as `npm test`; null: it runs no tests and no build, or nobody can tell. */
export function runsProject(values: readonly Value[], depth = 0): string | null {
  const program = programOf(values);
  if (program === null || depth > depthMax) return null;
  const words = values.slice(1).map(({ known, whole }) => (known ? whole : null));
  if (always.has(program)) return isAsking(words) ? null : program;
  if (/^python(?:\d(?:\.\d+)?)?$/.test(program)) {
    const at = words.indexOf("-m");
    const module = at === -1 ? null : (words[at + 1] ?? null);
    return module !== null && modules.has(module) ? `${program} -m ${module}` : null;
  }
  const [first = null] = words.filter(
    word => word === null || !word.startsWith("-") || isVerb(program, word),
  );
  if (first !== null && isVerb(program, first)) return `${program} ${first}`;
  if (scripts.has(program) && (first === "run" || first === "run-script")) {
    const script = words.slice(words.indexOf(first) + 1).find(word => word === null || !word.startsWith("-"));
    return typeof script === "string" && scriptName.test(script) ? `${program} run ${script}` : null;
  }
  return projectThroughLauncher(program, values, depth);
}

function isVerb(program: string, word: string): boolean {
  return byVerb.get(program)?.has(word) === true;
}

/** What `npx vitest` and its like run. */
function projectThroughLauncher(program: string, values: readonly Value[], depth: number): string | null {
  const behind = behindLauncher(program, values.slice(1));
  const inner = behind === null ? null : runsProject(behind, depth + 1);
  return inner === null ? null : `${program} ${inner}`;
}

/** The program that `npx` and its like run, with its words; null: `program` is not one of these, or runs none. */
export function behindLauncher(program: string, args: readonly Value[]): readonly Value[] | null {
  const own = launchers.get(program);
  if (own === undefined) return null;
  const isOwn = (word: Value | undefined) =>
    word?.known === true && (own.includes(word.whole) || word.whole.startsWith("-"));
  const at = args.findIndex(word => !isOwn(word));
  const isMissing = own.length > 0 && !args.slice(0, Math.max(at, 0)).some(word => own.includes(word.whole));
  return at === -1 || isMissing ? null : args.slice(at);
}

/** Only the version or help is asked for. */
function isAsking(words: readonly (string | null)[]): boolean {
  return words.length === 1 && /^(?:-h|--help|-V|-v|--version)$/.test(words[0] ?? "");
}

// Programs that may run another one though it is not known that they do: the command or the lines in their words.

/** These use git's name as a text, a file or a program elsewhere: the shell's own commands, printers, searchers. */
const idle: ReadonlySet<string> = new Set(
  (
    ": true false test [ cd chdir pushd popd dirs pwd echo printf cat tee which type hash whereis whatis apropos man info " +
    "help tldr export declare typeset readonly local let unset set shift read mapfile readarray trap shopt alias unalias " +
    "wait sleep exit return break continue history bind enable complete compgen compopt getopts jobs kill ulimit umask " +
    "grep egrep fgrep rg ag ack zgrep pgrep pkill killall ps ls cp mv rm ln mkdir rmdir touch chmod chown stat file du " +
    "basename dirname realpath readlink head tail less more wc sort uniq cut tr sed awk gawk mawk jq diff cmp comm " +
    "paste column fold nl seq say logger notify-send make gmake ninja just ssh mosh scp rsync docker podman nerdctl " +
    "docker-compose kubectl vagrant multipass lxc apt apt-get dnf yum apk pacman brew port snap"
  ).split(" "),
);

/** Words of these may be lines for a shell: every word, or the word after such an option. */
const liners: ReadonlyMap<string, RegExp | null> = new Map([
  ["tmux", null],
  ["screen", null],
  ["parallel", null],
  ["sem", null],
  ["hyperfine", null],
  ["concurrently", null],
  ["entr", /^-\w*s$/],
  ["nix-shell", /^--(?:run|command)$/],
  ["npx", /^(?:-c|--call)$/],
  ["npm", /^(?:-c|--call)$/],
]);

/** These put files behind a command without `{}`. */
const feeders: ReadonlySet<string> = new Set(["parallel", "fd", "fdfind"]);

interface Behind {
  /** A call of git, or of a shell with its line, among the words. */
  readonly command: readonly Value[] | null;
  /** Words that a shell may get as its line. */
  readonly lines: readonly Value[];
}

/** What a program called `name` may run; null: only the shell knows the name, or there is none. */
export function behind(name: string | null, args: readonly Value[]): Behind {
  if (name !== null && (idle.has(name) || /^git(?:-|$)/.test(name))) return { command: null, lines: [] };
  const at = args.findIndex((first, i) => isCall(first, args[i + 1]));
  const option = name === null ? undefined : liners.get(name);
  const isLine = (i: number) => option === null || option?.test(args[i - 1]?.text ?? "") === true;
  const lines = args.filter(({ whole }, i) => /\bgit\s/.test(whole) && isLine(i)).map(withHoles);
  return { command: at === -1 ? null : filledCommand(name, args.slice(at)), lines };
}

/** The command with what the program puts into it: files for `{}`, and words behind it. */
function filledCommand(name: string | null, command: readonly Value[]): readonly Value[] {
  const end = command.findIndex(({ text }) => text.startsWith(":::"));
  const words = end === -1 ? command : command.slice(0, end);
  const opened = words.map(withHoles);
  const isOpen = opened.some((word, i) => word !== words[i]);
  // `parallel` puts the words after its `:::` behind the command, in its own way.
  return end !== -1 || (name !== null && feeders.has(name) && !isOpen) ? [...opened, unknown] : opened;
}

/** Many programs put a file in place of `{}`, or a part of its name in place of `{.}`; git writes `@{1}` itself. */
function withHoles(word: Value): Value {
  const whole = word.whole.replace(/(?<!@)\{[\d./#%]*\}/g, hole);
  return whole === word.whole ? word : asValue(whole);
}

function isCall(first: Value, second: Value | undefined): boolean {
  if (!first.known || second === undefined) return false;
  const name = programOf([first]);
  return name === "git" || (isShell(name) && /^-\w*c$/.test(second.text));
}
