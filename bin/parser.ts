/** Parses the command line of a call. */

import { Command, CommanderError } from "commander";
import { nearest } from "../protocol/text.ts";
import type { Invocation, Run } from "./context/process-context.ts";
import { allOldWords, type Commands, commandIn, type Entry, reportFailure } from "./entry.ts";
import { fitHelp } from "./help.ts";
import { version } from "./version.ts";
import { clean } from "./view/text.ts";

// Says what is wrong with a command line: what commander found, in Kite's words, and which command shows what is right.

/** Words that people type for a subcommand of another name, by the command; an empty one stands for the command alone. */
const otherWords: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  task: {
    close: "done",
    complete: "done",
    create: "add",
    delete: "rm",
    finish: "done",
    get: "show",
    ls: "list",
    new: "add",
    remove: "rm",
    reopen: "retry",
    start: "claim",
    take: "claim",
    view: "show",
  },
  context: { delete: "rm", ls: "list", put: "set", remove: "rm", show: "get" },
  message: { list: "inbox", ls: "inbox", post: "send", read: "inbox", write: "send" },
  config: { edit: "set", get: "", list: "", ls: "", remove: "unset", rm: "unset", show: "" },
  agents: { clean: "prune", kill: "stop", list: "", ls: "", remove: "prune", rm: "prune", start: "" },
  rescue: { bring: "restore", get: "restore", list: "", ls: "", rm: "purge", show: "", undo: "restore" },
  debate: { create: "open", ls: "list", new: "open", start: "open" },
};

/** A command line as the parser leaves it. */
interface Line {
  readonly program: Command;
  /** The words behind `kite`. */
  readonly words: readonly string[];
  readonly commands: Commands;
}

/** What is wrong, and what was meant if that can be guessed. */
interface Fault {
  readonly is: string;
  readonly meant?: string | null;
}

/** Returns the sentence for an error of commander. */
function wrongLine(text: string, line: Line): string {
  const [command, path] = commandOf(line);
  const [first = "", ...rest] = text
    .replace(/^error: /, "")
    .trimEnd()
    .split("\n");
  const [, option = null] = /^\(Did you mean (?:one of )?(--?[\w-]+)/.exec(rest.join(" ")) ?? [];
  const { is, meant = null } = faultIn(first.replace(/\.$/, ""), option, command, path, line);
  return clean(
    meant === null ? `${is}; see ${path} --help` : `${is}; did you mean ${meant}? See ${path} --help`,
  );
}

/** Returns the command that a command line comes to, and the words that name it: `kite task list`. */
function commandOf({ program, words }: Line): readonly [Command, string] {
  let path = "kite";
  let command = program;
  for (const word of words.filter(one => one !== "help" && !one.startsWith("-"))) {
    const below = command.commands.find(one => one.name() === word);
    if (below === undefined) break;
    command = below;
    path += ` ${word}`;
  }
  return [command, path];
}

function faultIn(text: string, option: string | null, command: Command, path: string, line: Line): Fault {
  const [, wrong] = /^unknown command '(.*)'$/.exec(text) ?? [];
  if (wrong !== undefined) return noCommand(wrong, command, path, line);
  const [, unknown] = /^unknown option '(.*)'$/.exec(text) ?? [];
  if (unknown !== undefined)
    return { is: `${path} has no option ${unknown}`, meant: option ?? besideIt(unknown, command) };
  const [, missing] = /^missing required argument '(.*)'$/.exec(text) ?? [];
  if (missing !== undefined) return { is: `${path} needs ${missing.toUpperCase()}` };
  const [, most, count] = /^too many arguments.* Expected (\d+) arguments? but got (\d+)$/.exec(text) ?? [];
  if (most !== undefined) {
    const [first] = command.args;
    if (command.commands.length > 0 && first !== undefined) return noCommand(first, command, path, line);
    const takes = most === "0" ? "no argument" : most === "1" ? "one argument" : `${most} arguments`;
    return { is: `${path} takes ${takes}, but got ${count}` };
  }
  const [, bare] = /^option '(.*)' argument missing$/.exec(text) ?? [];
  if (bare !== undefined) return { is: `${longOf(bare)} needs ${valueIn(bare)}` };
  const [, flags, value, takes] = /^option '(.*)' argument '(.*)' is invalid\. (.*)$/.exec(text) ?? [];
  if (flags !== undefined) return { is: notTaken(longOf(flags), value ?? "", takes ?? "") };
  const [, word, name, choices] =
    /^command-argument value '(.*)' is invalid for argument '(.*)'\. (.*)$/.exec(text) ?? [];
  if (name !== undefined) return { is: notTaken(name.toUpperCase(), word ?? "", choices ?? "") };
  const [, needed] = /^required option '(.*)' not specified$/.exec(text) ?? [];
  if (needed !== undefined) return { is: `${path} needs ${longOf(needed)} ${valueIn(needed)}` };
  return { is: text };
}

function noCommand(word: string, command: Command, path: string, { program, commands }: Line): Fault {
  if (command === program) {
    const is = `there is no command ${word}`;
    const old = allOldWords();
    const near = nearest(word, [...shownIn(commands), ...old.keys()]);
    const present = near === null ? [] : (old.get(near) ?? [near]);
    return { is, meant: near === null ? null : ["kite", ...present].join(" ") };
  }
  const is = `${path} has no command ${word}`;
  if (path === "kite rescue" && /^[rv]-\d+$/.test(word)) return { is, meant: `${path} restore ${word}` };
  const others = otherWords[command.name()] ?? {};
  const other = Object.hasOwn(others, word) ? others[word] : undefined;
  if (other !== undefined) return { is, meant: `${path} ${other}`.trimEnd() };
  const near = nearest(
    word,
    command.commands.map(one => one.name()),
  );
  return { is, meant: near === null ? null : `${path} ${near}` };
}

/** Returns the command beside this one that is called as the option: `kite task ready` for `kite task list --ready`. */
function besideIt(option: string, { parent }: Command): string | null {
  const found = parent?.commands.find(one => one.name() === option.replace(/^--/, ""));
  return found === undefined || parent?.parent == null ? null : `kite ${parent.name()} ${found.name()}`;
}

function shownIn(commands: Commands): readonly string[] {
  return Object.entries(commands)
    .filter(([, { hidden }]) => hidden !== true)
    .map(([name]) => name);
}

/** The option as people type it: `--for` of `-f, --for <time>`. */
function longOf(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

/** What stands behind the option: `TIME` of `--for <time>`. */
function valueIn(flags: string): string {
  return (/<([\w-]+)/.exec(flags)?.[1] ?? "a value").toUpperCase();
}

function notTaken(name: string, value: string, says: string): string {
  const [, list] = /^Allowed choices are (.*)$/.exec(says) ?? [];
  if (list === undefined) return `${name} cannot be ${value}: ${says}`;
  return `${name} takes ${list.replace(/, ([^,]*)$/, " or $1")}, not ${value === "" ? "an empty word" : value}`;
}

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
