/** Runs a command line, and words the errors that people see. */
import { Command, CommanderError } from "commander";
import { LocalError } from "../client/errors.ts";
import { kitePaths } from "../protocol/paths.ts";
import { errorText, isSystemError } from "../protocol/system-error.ts";
import { plain } from "../protocol/text.ts";
import { fitHelp } from "./help-width.ts";
import { listIfAlone, withPresentWords } from "./old-words.ts";
import type { Invocation, ProcessContext, Run } from "./process-context.ts";
import { endQuietlyWithReader } from "./standard-output.ts";
import { version } from "./version.ts";

/** A command of `kite`. */
export interface Entry {
  /** What `kite --help` says of it. */
  readonly description: string;
  /** Loads what adds the arguments, options and action of the command. */
  readonly load: () => Promise<{ readonly add: (command: Command, run: Run, all: Commands) => void }>;
  /** The command acts for the session or agent that runs it. */
  readonly acts?: true;
  /** For programs, or shown as a part of another command; help does not show it. */
  readonly hidden?: true;
}

export type Commands = Readonly<Record<string, Entry>>;

/** Runs the command line of this process, one of `commands`, and sets its exit code. */
export async function runHere(commands: Commands): Promise<void> {
  endQuietlyWithReader();
  process.exitCode = await run(process, commands);
}

/** Runs the command line of a call, one of `commands`. Returns the exit code, 1 if a command failed; throws a bug. */
export async function run(call: Invocation, commands: Commands): Promise<number> {
  const { stdout, stderr } = call;
  const words = listIfAlone(withPresentWords(call.argv.slice(2)));
  const argv = [...call.argv.slice(0, 2), ...words];
  let { env } = call;
  let exitCode = 0;
  const inCall: Run = async work => {
    const { contextOf } = await import("./process-context.ts");
    exitCode = await work(contextOf(call, env));
  };
  if (words.length === 0 || mayBeHelp(words)) {
    const { helpOf } = await import("./help.ts");
    const text = helpOf(words, commands, stdout.columns ?? helpColumns);
    if (text !== null && words.length === 0) {
      const { statusOrHelp } = await import("./alone.ts");
      await inCall(world => statusOrHelp(world, text));
      return exitCode;
    }
    if (text !== null) {
      stdout.write(text);
      return 0;
    }
    if (commandIn(argv, commands) === undefined) {
      stderr.write(`kite: no command and no chapter is called ${plain(words[1] ?? "")}; see kite help all\n`);
      return 1;
    }
  }
  const program = new Command("kite")
    .description("Coordinates the Claude Code sessions of this machine.")
    .version(version)
    .enablePositionalOptions()
    // Ends after help or a wrong command line as after any command, so that a failure of the output is told.
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(asKite(text, pathIn(program, words))),
      writeErr: text => stderr.write(text),
      writeOut: text => stdout.write(fitHelp(text, stdout.columns ?? Number.POSITIVE_INFINITY)),
    })
    .showSuggestionAfterError();
  const called = commandIn(argv, commands) ?? "";
  const entry = commands[called];
  if (entry !== undefined) await addCommand(program, called, entry, inCall, commands);
  else
    for (const [name, { description, hidden = false }] of Object.entries(commands))
      program.command(name, { hidden }).description(description);
  try {
    if (entry?.acts && env["CLAUDECODE"] === "1") {
      await inCall(world =>
        findAgent(world, call.argv.slice(2), agent => {
          env = { ...env, KITE_AGENT: agent };
        }),
      );
      if (exitCode !== 0) return exitCode;
    }
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    if (!isForPeople(error, env)) throw error;
    stderr.write(`kite: ${errorText(error)}\n`);
    return 1;
  }
}

/** Adds a command with all that it takes. */
export async function addCommand(
  program: Command,
  name: string,
  { description, hidden, load }: Entry,
  run: Run,
  all: Commands,
): Promise<void> {
  const { add } = await load();
  add(program.command(name, { hidden: hidden === true }).description(description), run, all);
}

/**
 * Calls `found` with the agent that ran `words`, if it is not the main one: commands read KITE_AGENT, because a script
 * may set it. Returns the exit code; if nobody can tell which agent it is, says so.
 */
async function findAgent(
  world: ProcessContext,
  words: readonly string[],
  found: (agent: string) => void,
): Promise<number> {
  const { callingAgent } = await import("./calling-agent.ts");
  const { exitCodes, reported } = await import("./with-daemon.ts");
  return reported(world, words.includes("--json"), async () => {
    const agent = await callingAgent(world.env, words);
    if (agent !== null) found(agent);
    return exitCodes.done;
  });
}

/** Returns true if the person can act on the error (no daemon, no permission, a wrong setting); false for a bug. */
function isForPeople(error: unknown, env: Invocation["env"]): error is Error {
  return (
    error instanceof LocalError || isSystemError(error) || (error instanceof Error && settingIsWrong(env))
  );
}

function settingIsWrong(env: Invocation["env"]): boolean {
  try {
    kitePaths(env);
    return false;
  } catch {
    return true; // Every command that needs Kite's directory reports this error.
  }
}

/** Rewrites commander's error about a wrong command line in Kite's form; `path` is the command of that line. */
function asKite(text: string, path: string): string {
  const [first = "", ...rest] = text.replace(/^error: /, "kite: ").split("\n");
  return [`${first.replace(/\.$/, "")}; see ${path} --help`, ...rest].join("\n");
}

/** Returns the words that name the command of a line: `kite task list`. */
function pathIn(program: Command, words: readonly string[]): string {
  let path = "kite";
  let command = program;
  for (const word of words.filter(one => one !== "help" && !one.startsWith("-"))) {
    const below = command.commands.find(one => one.name() === word);
    if (below === undefined) break;
    command = below;
    path += ` ${word}`;
  }
  return path;
}

/** Columns of help in a pipe. */
const helpColumns = 80;

/** Whether the words ask for more than the help of one command: for all commands, or for what may be a chapter. */
function mayBeHelp([first = "", , ...more]: readonly string[]): boolean {
  return more.length === 0 && ["help", "--help", "-h"].includes(first);
}

/** Returns the command's name: the first word, or the second if the first is `help`. */
function commandIn(argv: readonly string[], commands: Commands): string | undefined {
  const words = argv.slice(2).filter(word => !word.startsWith("-"));
  const [first, second] = words;
  const name = first === "help" ? second : first;
  return name !== undefined && Object.hasOwn(commands, name) ? name : undefined;
}
