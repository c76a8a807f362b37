/** What `kite` knows of a command before it loads it. */

import type { Command } from "commander";
import { errorText } from "../protocol/errors.ts";
import { escaped } from "../protocol/text.ts";
import type { Invocation, Run, Work } from "./context/process-context.ts";

/** A command of `kite`. */
export interface Entry {
  /** What `kite --help` says of it. */
  readonly description: string;
  readonly load: () => Promise<LoadedCommand>;
  /** The command acts for the session or agent that runs it. */
  readonly acts?: true;
  /** It acts for nobody, but says something else to the session that KITE_SESSION means. */
  readonly readsSession?: true;
  /** For programs, or shown as a part of another command; help does not show it. */
  readonly hidden?: true;
}

export type Commands = Readonly<Record<string, Entry>>;

/** What the file of a command exports. */
interface LoadedCommand {
  /** Adds the arguments, options and action of the command. */
  readonly add: (command: Command, run: Run, all: Commands) => void;
  /**
   * Returns what the words behind the command's name ask for, or null if only the parser can tell. The parser takes a
   * fifth of the time of a frequent command, which most often has words without options.
   */
  readonly plain?: (words: readonly string[]) => Work | null;
}

/** Returns the command's name: the first word, or the second if the first is `help`. */
export function commandIn(argv: readonly string[], commands: Commands): string | undefined {
  const words = argv.slice(2).filter(word => !word.startsWith("-"));
  const [first, second] = words;
  const name = first === "help" ? second : first;
  return name !== undefined && Object.hasOwn(commands, name) ? name : undefined;
}

/**
 * Words that people type for a command of another name: its earlier word, or the word that other programs use. Each stands for
 * the words of the command; what follows them stays. Help, the manual page and completion do not show them.
 */
const oldWords: ReadonlyMap<string, readonly string[]> = new Map([
  // Commands that are part of another one now.
  ["attach", ["agents", "attach"]],
  ["broadcast", ["message", "send", "--all"]],
  ["locks", ["status", "--locks"]],
  ["replace", ["agents", "replace"]],
  ["sessions", ["status", "--sessions"]],
  ["stop", ["agents", "stop"]],
  ["trust", ["check", "--trust"]],
  // Earlier names.
  ["hold", ["freeze"]],
  ["resume", ["thaw"]],
  // What one types first.
  ["claim", ["task", "claim"]],
  ["inbox", ["message", "inbox"]],
  ["init", ["install"]],
  ["ls", ["status"]],
  ["ps", ["status", "--sessions"]],
  ["recover", ["rescue"]],
  ["restore", ["rescue", "restore"]],
  ["revert", ["undo"]],
  ["setup", ["install"]],
  ["start", ["up"]],
  ["version", ["--version"]],
  ["who", ["status", "--sessions"]],
  ["-v", ["--version"]],
]);

/** What a command that has only subcommands does without one. */
const lists: ReadonlyMap<string, string> = new Map([
  ["context", "list"],
  ["debate", "list"],
  ["message", "inbox"],
  ["task", "list"],
]);

/** Returns the words behind `kite` with an old word replaced by those that it stands for; `help` may be in front of it. */
export function withPresentWords(words: readonly string[]): readonly string[] {
  const at = words[0] === "help" ? 1 : 0;
  const present = oldWords.get(words[at] ?? "");
  return present === undefined ? words : [...words.slice(0, at), ...present, ...words.slice(at + 1)];
}

/** Returns the words behind `kite`; a command that has only subcommands lists if none is named, and `lock` alone lists the locks. */
export function listIfAlone(words: readonly string[]): readonly string[] {
  const [word = "", next = "-"] = words;
  if (word === "lock" && words.slice(1).every(more => more === "--json"))
    return ["status", "--locks", ...words.slice(1)];
  const list = lists.get(word);
  const isAlone = next.startsWith("-") && next !== "--help" && next !== "-h";
  return list !== undefined && isAlone ? [word, list, ...words.slice(1)] : words;
}

/** Every old word with those that it stands for. */
export function allOldWords(): ReadonlyMap<string, readonly string[]> {
  return oldWords;
}

// Reports what keeps a command from running at all: a wrong command line, or an error that only a person can end.

/** A failure in words, with the code that programs read. */
interface Failure {
  readonly code: string;
  readonly error: string;
}

/** Writes the failure for the reader of these words behind `kite`: in a sentence, or with `--json` as the command's refusals. */
export function reportFailure(
  { stdout, stderr }: Pick<Invocation, "stdout" | "stderr">,
  words: readonly string[],
  { code, error }: Failure,
): void {
  const end = words.indexOf("--");
  const isJson = (end === -1 ? words : words.slice(0, end)).includes("--json");
  if (!isJson) stderr.write(`kite: ${error}\n`);
  // Standard output belongs to the command that runs under the lock.
  else if (words[0] === "lock") stderr.write(`${line({ is: "refused", code, error })}\n`);
  else stdout.write(`${line({ ok: false, code, error })}\n`);
}

function line(value: object): string {
  return escaped(JSON.stringify(value));
}

// What becomes of a program whose output cannot be written.

/**
 * Exits quietly if the reader has closed the pipe, as in `kite log | head`. Any other failure of the output (a full disk)
 * is told on standard error, if that still works.
 */
export function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    process.stderr.write(`kite: the output cannot be written: ${outputProblem(error)}\n`);
    process.exit(1);
  });
  // Without standard error nobody can be told; the exit code still says how the command ended.
  process.stderr.on("error", () => process.exit(1));
}

function outputProblem(error: Error): string {
  return errorText(error).replace("the disk of the file", "its disk").replace("the file", "it");
}

/** Returns the fields that have a value: a request takes no field that is there without one. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Adds a command below `parent`, with `--json` and examples. */
export function subcommand(
  parent: Command,
  name: string,
  says: string,
  examples: readonly string[],
): Command {
  const noun = examples.length === 1 ? "Example" : "Examples";
  return parent
    .command(name)
    .description(says)
    .option("--json", "print one JSON object")
    .addHelpText("after", `\n${noun}:\n${examples.map(example => `  ${example}`).join("\n")}`);
}
