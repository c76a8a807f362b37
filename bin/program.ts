/** Runs a command line, and words the errors that people see. */
import { Command, CommanderError } from "commander";
import { LocalError } from "../client/errors.ts";
import { kitePaths } from "../protocol/paths.ts";
import { errorText, isSystemError } from "../protocol/system-error.ts";
import { fitHelp } from "./help-width.ts";
import { version } from "./version.ts";

/** A command of `kite`. */
export interface Entry {
  readonly description: string;
  readonly load: () => Promise<{ readonly add: (program: Command, all: Commands) => void }>;
  /** The command acts for the session or agent that runs it. */
  readonly acts?: true;
  /** For programs; help does not show it. */
  readonly hidden?: true;
}

export type Commands = Readonly<Record<string, Entry>>;

/** Earlier names of commands. They still work, but help does not show them. */
const oldNames: ReadonlyMap<string, string> = new Map([
  ["hold", "freeze"],
  ["resume", "thaw"],
]);

/** Runs the command line `typed`, one of `commands`. Sets exit code 1 if a command failed; a bug shows its stack. */
export async function run(typed: readonly string[], commands: Commands): Promise<void> {
  const nameIn = (argv: readonly string[]) => commandIn(argv, commands);
  const argv = withNewName(typed);
  endQuietlyWithReader();
  const program = new Command("kite")
    .description("Coordinates the Claude Code sessions of this machine.")
    .version(version)
    .enablePositionalOptions()
    // Ends after help or a wrong command line as after any command, so that a failure of the output is told.
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(asKite(text, nameIn(argv))),
      writeOut: text =>
        process.stdout.write(fitHelp(text, process.stdout.columns ?? Number.POSITIVE_INFINITY)),
    })
    .showSuggestionAfterError();
  const entry = commands[nameIn(argv) ?? ""];
  if (entry !== undefined) (await entry.load()).add(program, commands);
  else
    for (const [name, { description, hidden = false }] of Object.entries(commands))
      program.command(name, { hidden }).description(description);
  try {
    if (entry?.acts && !(await nameAgent(typed.slice(2)))) return;
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode;
      return;
    }
    if (!isForPeople(error)) throw error;
    process.stderr.write(`kite: ${errorText(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * Sets KITE_AGENT to the calling agent: commands read it from the environment, because a script may set it. Returns false
 * if nobody can tell which agent it is; then it has said so.
 */
async function nameAgent(words: readonly string[]): Promise<boolean> {
  if (process.env["CLAUDECODE"] !== "1") return true;
  const { callingAgent } = await import("./calling-agent.ts");
  const { exitCodes, reported } = await import("./with-daemon.ts");
  const { processWorld } = await import("./process-context.ts");
  const code = await reported(processWorld(), words.includes("--json"), async () => {
    const agent = await callingAgent(process.env, words);
    if (agent !== null) process.env["KITE_AGENT"] = agent;
    return exitCodes.done;
  });
  if (code !== exitCodes.done) process.exitCode = code;
  return code === exitCodes.done;
}

/** Returns true if the person can act on the error (no daemon, no permission, a wrong setting); false for a bug. */
function isForPeople(error: unknown): error is Error {
  return error instanceof LocalError || isSystemError(error) || (error instanceof Error && settingIsWrong());
}

function settingIsWrong(): boolean {
  try {
    kitePaths(process.env);
    return false;
  } catch {
    return true; // Every command that needs Kite's directory reports this error.
  }
}

/** Rewrites commander's error about a wrong command line in Kite's form; `name` is the command of that line. */
function asKite(text: string, name: string | undefined): string {
  const [first = "", ...rest] = text.replace(/^error: /, "kite: ").split("\n");
  const help = name === undefined ? "kite --help" : `kite ${name} --help`;
  return [`${first.replace(/\.$/, "")}; see ${help}`, ...rest].join("\n");
}

/** Returns the command line with an earlier name of a command replaced by its present one. */
function withNewName(argv: readonly string[]): readonly string[] {
  const at = argv.findIndex((word, i) => i > 1 && !word.startsWith("-") && word !== "help");
  const name = oldNames.get(argv[at] ?? "");
  return name === undefined ? argv : argv.with(at, name);
}

/** Returns the command's name: the first word, or the second if the first is `help`. */
function commandIn(argv: readonly string[], commands: Commands): string | undefined {
  const words = argv.slice(2).filter(word => !word.startsWith("-"));
  const [first, second] = words;
  const name = first === "help" ? second : first;
  return name !== undefined && Object.hasOwn(commands, name) ? name : undefined;
}

/**
 * Exits quietly if the reader has closed the pipe, as in `kite log | head`. Any other failure of the output (a full disk)
 * is told on standard error, if that still works.
 */
function endQuietlyWithReader(): void {
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
