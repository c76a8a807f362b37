/** Parses the command line of a call. */
import { Command, CommanderError } from "commander";
import { type Commands, commandIn, type Entry } from "./entry.ts";
import { fitHelp } from "./help-width.ts";
import type { Invocation, Run } from "./process-context.ts";
import { reportFailure } from "./report-failure.ts";
import { version } from "./version.ts";
import { wrongLine } from "./wrong-line.ts";

/**
 * Parses a command line, one of `commands`, and runs its action in `run`. Returns null, or the exit code of a call that
 * runs nothing: it is wrong, or asks for help.
 */
export async function parse(
  { stdout, stderr }: Pick<Invocation, "stdout" | "stderr">,
  argv: readonly string[],
  commands: Commands,
  run: Run,
): Promise<number | null> {
  const name = commandIn(argv, commands);
  const words = argv.slice(2);
  const program = new Command("kite")
    .description("Coordinates the coding agents of this machine.")
    .version(version)
    .enablePositionalOptions()
    // Ends after help or a wrong command line as after any command, so that a failure of the output is told.
    .exitOverride()
    .configureOutput({
      outputError: text => {
        const error = wrongLine(text, { program, words, commands });
        reportFailure({ stdout, stderr }, words, { code: "usage", error });
      },
      writeErr: text => stderr.write(text),
      writeOut: text => stdout.write(fitHelp(text, stdout.columns ?? Number.POSITIVE_INFINITY)),
    })
    .showSuggestionAfterError();
  const entry = commands[name ?? ""];
  if (name !== undefined && entry !== undefined) await addCommand(program, name, entry, run, commands);
  else
    for (const [one, { description, hidden = false }] of Object.entries(commands))
      program.command(one, { hidden }).description(description);
  try {
    await program.parseAsync(argv);
    return null;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
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
