/** `kite complete` lists the words that complete a command line. */

import { relative } from "node:path";
import { Command, type Option } from "commander";
import { LocalError } from "../../client/errors.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { plain } from "../../protocol/text.ts";
import { type ProcessContext, print, type Run } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { Refused, rowsOf } from "../context/with-daemon.ts";
import { type Commands, withPresentWords } from "../entry.ts";
import { addCommand } from "../parser.ts";

// What the command line says before the word that is being completed.

/** A command line up to the cursor, read with the definitions of its command. */
interface TypedLine {
  /** The command with its subcommand (`task claim`); empty if the word is the command itself. */
  readonly path: string;
  /** The definition of the last command of the path; null at the start. */
  readonly command: Command | null;
  /** How many arguments stand before the word. */
  readonly position: number;
  /** The option whose value the word is. */
  readonly option: Option | null;
  /** Everything behind `--` belongs to another program. */
  readonly isForeign: boolean;
}

/** Reads the words before the cursor, without `kite` itself. Null if they name no command. */
async function readLine(before: readonly string[], commands: Commands): Promise<TypedLine | null> {
  const start: TypedLine = { path: "", command: null, position: 0, option: null, isForeign: false };
  const [name, ...words] = withPresentWords(before);
  if (name === undefined || name === "help") return start;
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) return null;
  const program = new Command("kite");
  // Only the definition is read; nothing runs.
  await addCommand(program, name, entry, async () => {}, commands);
  let command = named(program, name);
  let path = name;
  let position = 0;
  let option: Option | null = null;
  for (const word of words) {
    if (option !== null) {
      option = null;
      continue;
    }
    if (word === "--") return { path, command, position, option: null, isForeign: true };
    if (word.startsWith("-")) {
      option = takesNext(command, word);
      continue;
    }
    const below = position === 0 ? named(command, word) : null;
    if (below === null) position += 1;
    else [command, path] = [below, `${path} ${word}`];
  }
  return { path, command, position, option, isForeign: false };
}

function named(command: Command | null, name: string): Command | null {
  return command?.commands.find(one => one.name() === name || one.aliases().includes(name)) ?? null;
}

/** Returns the option if its value is the next word. */
function takesNext(command: Command | null, word: string): Option | null {
  const found = command?.options.find(({ short, long }) => word === short || word === long);
  return found?.required === true ? found : null;
}

// Names that only the daemon knows: sessions, tasks, locked files.

/** One completion, and what the shell shows beside it. */
interface Candidate {
  readonly value: string;
  readonly says: string;
}

/** What an argument names. */
type NameKind = "agent" | "task" | "active_task" | "ready_task" | "finished_task" | "locked_file";

/** How long a person waits for a completion at most. */
const answerMs = 1_000;
const rowsMax = 200;

/**
 * Returns the names of these kinds, those of this project first; none without a daemon, which this starts not. Tasks have
 * their numbers, or ids if `typed` begins one.
 */
async function liveNames(
  world: ProcessContext,
  kinds: readonly NameKind[],
  typed: string,
): Promise<Candidate[]> {
  const client = await world.connect({ name: "kite completion", timeoutMs: answerMs });
  try {
    const project = await projectOf(world.cwd);
    const isHere = (row: { readonly project: string }) => row.project === project;
    const found: Candidate[] = [];
    for (const kind of kinds) {
      if (kind === "agent") {
        const rows = await rowsOf(client, "sessions", {}, rowsMax);
        for (const { name, worktree, agents } of [...rows.filter(isHere), ...rows.filter(r => !isHere(r))]) {
          found.push({ value: name, says: worktree });
          found.push(...agents.map(agent => ({ value: `${name}/${agent.name}`, says: worktree })));
        }
      } else if (kind === "locked_file") {
        const rows = await rowsOf(client, "locks", {}, rowsMax);
        for (const { path, holder } of rows.filter(isHere)) {
          found.push({ value: nearest(path, world.cwd), says: holder?.name ?? "waited for" });
        }
      } else {
        const rows = (await rowsOf(client, "tasks", { project }, rowsMax)).filter(taskFilters[kind]);
        const nameOf = ({ id, number }: TaskRow) => (typed.startsWith("t-") ? id : `${number}`);
        found.push(...rows.map(row => ({ value: nameOf(row), says: row.description })));
      }
    }
    return found;
  } finally {
    client.close();
  }
}

const taskFilters: Readonly<Record<Exclude<NameKind, "agent" | "locked_file">, (row: TaskRow) => boolean>> = {
  task: () => true,
  active_task: ({ status }) => status === "active",
  ready_task: ({ status, blockedBy }) => status === "pending" && blockedBy.length === 0,
  finished_task: ({ status }) => status === "done" || status === "failed",
};

function nearest(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near === "" || near.startsWith("..") ? path : near;
}

// The words that may stand at the cursor.

/** What the arguments of a command name; the last entry stands for all further ones if the command takes several. */
const argumentKinds: Readonly<Record<string, readonly (readonly NameKind[])[]>> = {
  agent: [["agent"]],
  "agents attach": [["agent"]],
  "agents replace": [["agent"]],
  "agents stop": [["agent"]],
  diff: [["agent", "locked_file"]],
  explain: [["locked_file", "agent", "task"]],
  go: [["agent"]],
  "message send": [["agent"]],
  release: [["agent", "locked_file"]],
  role: [["agent"]],
  "task approve": [["task"]],
  "task claim": [["ready_task"]],
  "task done": [["active_task"]],
  "task edit": [["task"]],
  "task fail": [["active_task"]],
  "task release": [["active_task"]],
  "task retry": [["finished_task"]],
  "task rm": [["finished_task"]],
  "task show": [["task"]],
  unlock: [["locked_file"]],
  whose: [["locked_file"]],
};

/** What the values of options name. */
const optionKinds: Readonly<Record<string, readonly NameKind[]>> = {
  "--session": ["agent"],
  "--by": ["agent"],
  "--needs": ["task"],
};

/**
 * Returns what fits the last word of `words`, which begin behind `kite`. Empty if the shell shall offer files. Never throws
 * for the lack of a daemon: a completion is no place for an error.
 */
async function candidates(
  world: ProcessContext,
  words: readonly string[],
  commands: Commands,
): Promise<Candidate[]> {
  const typed = words.at(-1) ?? "";
  const line = await readLine(words.slice(0, -1), commands);
  if (line === null || line.isForeign) return [];
  const found = await allOf(world, line, typed, commands);
  const fitting = found.filter(({ value }) => value.startsWith(typed));
  return [...new Map(fitting.map(one => [one.value, one])).values()];
}

async function allOf(
  world: ProcessContext,
  line: TypedLine,
  typed: string,
  commands: Commands,
): Promise<Candidate[]> {
  const { command, path, position, option } = line;
  if (command === null) {
    const shown = Object.entries(commands).filter(([, { hidden }]) => hidden !== true);
    return shown.map(([value, { description }]) => ({ value, says: description }));
  }
  if (option !== null) return await ofOption(world, option, typed);
  if (typed.startsWith("-")) return optionsOf(command.options);
  const below = position === 0 ? command.commands : [];
  if (below.length > 0) return below.map(one => ({ value: one.name(), says: one.description() }));
  const argument = command.registeredArguments[position] ?? command.registeredArguments.at(-1);
  if (argument === undefined || (position >= command.registeredArguments.length && !argument.variadic))
    return [];
  const kinds =
    argumentKinds[path]?.[position] ?? (argument.variadic ? argumentKinds[path]?.at(-1) : undefined);
  if (kinds !== undefined) return await known(world, kinds, typed);
  return (argument.argChoices ?? []).map(value => ({ value, says: "" }));
}

async function ofOption(
  world: ProcessContext,
  { long, argChoices }: Option,
  typed: string,
): Promise<Candidate[]> {
  if (argChoices !== undefined) return argChoices.map(value => ({ value, says: "" }));
  return await known(world, optionKinds[long ?? ""] ?? [], typed);
}

function optionsOf(options: readonly Option[]): Candidate[] {
  const shown = options.filter(({ hidden, long }) => !hidden && long != null);
  return [...shown.map(({ long, description }) => ({ value: long ?? "", says: description })), help];
}

const help: Candidate = { value: "--help", says: "show help" };

async function known(world: ProcessContext, kinds: readonly NameKind[], typed: string): Promise<Candidate[]> {
  if (kinds.length === 0) return [];
  try {
    return await liveNames(world, kinds, typed);
  } catch (error) {
    if (error instanceof LocalError || error instanceof Refused) return [];
    throw error;
  }
}

const helpComplete = `
The scripts of kite completion call it. Prints a line for each word that may stand at the cursor: the word, a tab, what it is.

Example:
  $ kite complete -- task cl
  claim	claim the most urgent ready task that your role takes, or the named one`;

export function add(command: Command, run: Run, all: Commands): void {
  command
    .argument("[words...]", "the words behind kite; the last one is being completed")
    .addHelpText("after", helpComplete)
    .action((words: readonly string[]) => run(world => complete(world, words, all)));
}

async function complete(world: ProcessContext, words: readonly string[], all: Commands): Promise<number> {
  const found = await candidates(world, words, all);
  // A name with a control character cannot be typed.
  const typeable = found.filter(({ value }) => plain(value) === value);
  print(
    world,
    typeable.map(({ value, says }) => `${value}\t${plain(says, 80)}`),
  );
  return 0;
}
