/** Verbs as subcommands of a command. */
import { Argument, type Command, Option } from "commander";
import type { Run } from "../process-context.ts";
import { subcommand } from "../subcommand.ts";
import { runVerb, type VerbFlags } from "./run.ts";
import { project, type Verb, type Verbs } from "./verb.ts";

/** Adds each verb below `parent`. */
export function addVerbs(parent: Command, run: Run, verbs: Verbs): void {
  for (const [name, verb] of Object.entries(verbs)) addVerb(parent, run, name, verb);
}

function addVerb(parent: Command, run: Run, name: string, verb: Verb): void {
  const { says, examples, fields } = verb;
  const all = fields["project"] === undefined ? { ...fields, project } : fields;
  const command = subcommand(parent, name, says, examples);
  const argumentNames: string[] = [];
  const optionNames: (readonly [field: string, option: string])[] = [];
  for (const [field, { form, says: about, isNeeded, isList }] of Object.entries(all)) {
    if (!form.startsWith("-")) {
      command.addArgument(new Argument(form, about));
      argumentNames.push(field);
      continue;
    }
    const option = new Option(form, about);
    if (isList) option.default([]).argParser(collect);
    command.addOption(option.makeOptionMandatory(isNeeded === true && isList !== true));
    optionNames.push([field, option.attributeName()]);
  }
  command.action(async () => {
    const flags = command.opts<VerbFlags & Readonly<Record<string, string | readonly string[] | true>>>();
    const words = command.processedArgs.map(word => (Array.isArray(word) ? word.join(" ") : word));
    const typed = Object.fromEntries([
      ...argumentNames.map((field, i) => [field, words[i]]),
      ...optionNames.map(([field, option]) => [field, flags[option]]),
    ]);
    await run(world => runVerb(world, verb, typed, flags));
  });
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
