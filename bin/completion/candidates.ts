/** The words that may stand at the cursor. */
import type { Option } from "commander";
import { LocalError } from "../../client/errors.ts";
import type { Commands } from "../entry.ts";
import type { ProcessContext } from "../process-context.ts";
import { Refused } from "../with-daemon.ts";
import { readLine, type TypedLine } from "./line.ts";
import { type Candidate, liveNames, type NameKind } from "./live.ts";

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
export async function candidates(
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
