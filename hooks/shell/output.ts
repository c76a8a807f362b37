/** The output of simple programs, as far as their words and their input tell. */

import { topFolder } from "../../protocol/guard.ts";
import { asValue, bounded, enter, hole, type State, textOf, type Value, type Where } from "./variables.ts";

// What backslashes stand for in texts as C has them.

/** As in `echo -e` and `printf`. */
const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
};

/** Replaces each backslash sequence by what it stands for: `\\n`, `\\x41`. */
function unescapedC(quoted: string): string {
  const code = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,6})|([0-7]{1,3})|([\s\S]))/g;
  return quoted.replace(code, (whole, x, u, long, octal, c) => {
    const hex: string | undefined = x ?? u ?? long;
    if (hex !== undefined) return character(Number.parseInt(hex, 16));
    if (octal !== undefined) return character(Number.parseInt(octal, 8) & 0xff);
    return /['"\\?]/.test(c) ? c : (escapes[c] ?? whole);
  });
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}

// Output that only a program knows, as a text that names the program. Whoever reads it behind a pipe may know what it
// is; to everybody else it is a hole.

/** A program whose output is read. */
interface Source {
  /** Its name, and its words. */
  readonly values: readonly Value[];
  /** Where it ran; null: only the shell knows. */
  readonly dir: string | null;
}

/** The text for the output of a program. Between two holes it has neither blanks nor quotes. */
function outputBy(words: readonly string[], { dir, isBelow }: Where): string {
  const named = encodeURIComponent(JSON.stringify([isBelow ? null : dir, ...words]));
  const plain = named.replace(/[!'()*~]/g, character => `%${character.charCodeAt(0).toString(16)}`);
  return hole + plain + hole;
}

/** The program of which the text is the whole output; null: it is another text, or a part. */
export function sourceOf(text: string | null): Source | null {
  const [, named] = /^\0([^\0]+)\0\n?$/.exec(text ?? "") ?? [];
  // The number of a text of the line stands between two holes, too.
  if (named === undefined || /^\d+$/.test(named)) return null;
  const [dir, ...words]: [string | null, ...string[]] = JSON.parse(decodeURIComponent(named));
  return { values: words.map(asValue), dir };
}

/** The output, with holes for what is not known. */
export function outputOf(name: string | null, args: readonly Value[], state: State): string {
  const write = name === null ? undefined : writers.get(name);
  return write === undefined
    ? hole
    : bounded(
        write(
          args.map(({ whole }) => whole),
          state,
        ),
      );
}

type Writer = (args: readonly string[], state: State) => string;

const silent: Writer = () => "";

const writers: ReadonlyMap<string, Writer> = new Map<string, Writer>([
  ["echo", echo],
  ["printf", printf],
  [
    "cat",
    (args, { input }) => (args.every(arg => arg === "-" || arg === "/dev/stdin") ? (input ?? hole) : hole),
  ],
  ["tee", (_, { input }) => input ?? hole],
  ["pwd", (_, state) => `${textOf(state)}\n`],
  ["dirname", dirname],
  ["realpath", realPath],
  ["readlink", (args, state) => (/^-[fem]$/.test(args[0] ?? "") ? realPath(args, state) : hole)],
  ["mktemp", madeFolder],
  [
    "git",
    (args, state) => (isElsewhere(state) ? hole : (topOf(args, state) ?? outputBy(["git", ...args], state))),
  ],
  // A program's directory is not known, but its name is.
  ["command", args => args.filter(arg => !arg.startsWith("-")).join("\n")],
  ["which", args => args.filter(arg => !arg.startsWith("-")).join("\n")],
  ["type", args => (/^-[pP]$/.test(args[0] ?? "") ? args.slice(1).join("\n") : hole)],
  ...[
    ":",
    "true",
    "false",
    "test",
    "[",
    "cd",
    "export",
    "unset",
    "set",
    "shift",
    "read",
    "trap",
    "shopt",
    "alias",
    "unalias",
    "wait",
    "sleep",
    "exec",
    "exit",
    "return",
    "local",
    "mkdir",
    "touch",
  ].map(name => [name, silent] as const),
]);

/** A hole may stand for further folders. */
function dirname([path, ...others]: readonly string[]): string {
  if (path === undefined || others.length > 0 || path.startsWith("-")) return hole;
  const at = path.indexOf(hole);
  const known = at === -1 ? path.replace(/\/+$/, "") : path.slice(0, at);
  const folder = known.slice(0, known.lastIndexOf("/") + 1);
  if (at !== -1) return folder === "" ? hole : folder + hole;
  return folder === "" ? "." : folder.replace(/(?<=.)\/+$/, "");
}

/** Symbolic links in it are resolved when the daemon looks at the path. */
function realPath(args: readonly string[], state: State): string {
  const [path, ...others] = args.filter(arg => !/^-[a-zA-Z]$/.test(arg));
  return path === undefined || others.length > 0 ? hole : textOf(enter(state, asValue(path)));
}

/** A new folder holds no work. Nor does the path returned for it: nothing can lie below a file. */
function madeFolder(args: readonly string[]): string {
  const [, ...template] = args;
  const isNew = /^(?:-d|--directory)$/.test(args[0] ?? "") && (template.length === 0 || template[0] === "-t");
  return isNew ? "/dev/null/new" : hole;
}

function isElsewhere({ exported }: State): boolean {
  return exported.has("GIT_DIR") || exported.has("GIT_WORK_TREE");
}

/** `git [-C DIR] rev-parse --show-toplevel`; null: another command, or not known. */
function topOf(args: readonly string[], state: State): string | null {
  const at = args.findIndex((arg, i) => arg !== "-C" && args[i - 1] !== "-C");
  const [name, option, ...others] = args.slice(at);
  if (name !== "rev-parse" || option !== "--show-toplevel" || others.length > 0) return null;
  const folders = args.slice(0, at).filter((_, i) => i % 2 === 1);
  const { dir, isBelow } = folders.reduce<Where>((from, to) => enter(from, asValue(to)), state);
  return dir === null || isBelow ? null : `${dir}/${topFolder}\n`;
}

function echo(args: readonly string[]): string {
  const words = args.findIndex(arg => !/^-[neE]+$/.test(arg));
  const options = (words === -1 ? args : args.slice(0, words)).join("");
  const text = words === -1 ? "" : args.slice(words).join(" ");
  const isEscaped = options.lastIndexOf("e") > options.lastIndexOf("E");
  return (isEscaped ? unescapedC(text) : text) + (options.includes("n") ? "" : "\n");
}

const directive = /%(?:%|[-+ 0#]*\d*(?:\.\d*)?([sdiuxXobcq]))/g;

/** Repeats the format as long as words are left. */
function printf(args: readonly string[]): string {
  const [format, ...words] = args[0] === "--" ? args.slice(1) : args;
  if (format === undefined || format.startsWith("-")) return hole;
  const plain = unescapedC(format);
  let text = "";
  let at = 0;
  do {
    const from = at;
    text += plain.replace(directive, (whole, kind: string | undefined) => {
      if (kind === undefined) return "%";
      const word = words[at++] ?? "";
      if (whole.length > 2 || kind === "q") return hole;
      return kind === "b" ? unescapedC(word) : kind === "c" ? word.charAt(0) : word;
    });
    // A format without directives is written once.
    if (at === from) break;
    text = bounded(text);
  } while (at < words.length && text !== hole);
  return text;
}
