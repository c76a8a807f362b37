/**
 * A verb of the command line and of the agents' tools, described once. It has its request, how each field is typed,
 * what help says, how success reads for a person, and what an agent does next.
 */

import { Argument, type Command, Option } from "commander";
import type { Refusal } from "../../protocol/codes.ts";
import type { ParamsOf, ReplyOf, RequestType } from "../../protocol/schemas/requests.ts";
import { type PersonsDeed, refuseAgent } from "../context/person.ts";
import type { Client, ProcessContext, Run } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { ask, fail, printDone, printShown, withDaemon } from "../context/with-daemon.ts";
import { subcommand } from "../entry.ts";
import type { Screen } from "../view/text.ts";
import { who } from "./messages.ts";

/**
 * A tool's answer. Models read `text`, which is complete and shorter. Clients such as Claude Code show a model `data` in its
 * place, so only programs get it, which asked for it. Both mark foreign words: `text` quotes them, and every text in
 * `data` passes `plain`.
 */
export interface ToolAnswer {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** A session's value as JSON, `escaped`; goes into the data unchanged. */
  readonly json?: string;
}

/** How a person types a field of a request. */
export interface Field<Value = unknown> {
  /** In commander's form: `<debate>`, `[text...]` (one text of several words), `--against`, `--verdict <name>`. */
  readonly form: string;
  readonly says?: string;
  /** The request needs this option. */
  readonly isNeeded?: true;
  /** The option may be given more than once; without `read`, the field is left out if it is not given. */
  readonly isList?: true;
  /** Returns the field's value for what a person typed. Throws `Misuse`. */
  readonly read?: (typed: never) => Value;
  /** What a tool says of the parameter in place of its schema. */
  readonly short?: string;
  /** What only a person does with this option; no tool has it. */
  readonly person?: PersonsDeed;
}

/** The fields that say who acts; every verb fills them in. */
type Who = "id" | "agent";

type Fields<Params> = { readonly [F in keyof Omit<Params, Who>]: Field<Params[F & keyof Params]> };

interface Words<Reply> {
  /** What help says. */
  readonly says: string;
  readonly examples: readonly string[];
  /** Nobody acts: the verb only shows something. */
  readonly isLook?: true;
  /** Returns success in a person's words. */
  forPerson(reply: Reply, screen: Screen): readonly string[];
  /** Returns success in an agent's words, with what it does next. */
  forAgent(reply: Reply): ToolAnswer;
  /** Adds to a refusal what an agent does next. */
  refusedAgent?(refusal: Refusal): Refusal;
}

/** The description of a verb that sends request `T`; `Params` and `Reply` differ from its own if it is sent page by page. */
interface Description<T extends RequestType, Params, Reply> extends Words<Reply> {
  readonly request: T;
  /** In the order of the command line. `project` comes last if it is not among them; no tool has it. */
  readonly fields: Fields<Params>;
  fetch?(client: Pick<Client, "request">, params: Params): Promise<Reply>;
}

/** A verb as the command line and a tool run it. */
export interface Verb extends Words<unknown> {
  readonly request: RequestType;
  readonly fields: Readonly<Record<string, Field>>;
  fetch?(client: Pick<Client, "request">, params: unknown): Promise<unknown>;
}

/** The verbs of a command, or of a tool, by their names. */
export type Verbs = Readonly<Record<string, Verb>>;

/** Describes a verb; the compiler holds its fields against the request's. */
export function verb<T extends RequestType, Params = ParamsOf<T>, Reply = ReplyOf<T>>(
  description: Description<T, Params, Reply>,
): Verb {
  return description;
}

/** Whose short names count; every verb has it. */
export const project: Field<string> = {
  form: "--project <project>",
  says: "another project than that of the working directory",
};

/** A field was typed in a wrong way; the message says how it is typed. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

// Runs a verb of the command line.

/** What a person typed, by the names of the request's fields. */
type Typed = Readonly<Record<string, string | readonly string[] | true | undefined>>;

interface VerbFlags {
  /** The project whose short names count; by default the working directory's. */
  readonly project?: string;
  readonly json?: boolean;
}

/** Sends the verb's request, and prints its reply. Returns the exit code. */
async function runVerb(
  world: ProcessContext,
  verb: Verb,
  typed: Typed,
  { project, json = false }: VerbFlags,
): Promise<number> {
  let fields: object;
  try {
    fields = fieldsOf(verb, typed);
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    return fail(world, json, "usage", error.message);
  }
  for (const [name, { person }] of Object.entries(verb.fields)) {
    if (person === undefined || typed[name] === undefined) continue;
    const refused = await refuseAgent(world, json, person);
    if (refused !== null) return refused;
  }
  const actor = verb.isLook
    ? { project: project ?? (await projectOf(world.cwd)) }
    : await who(world, project);
  const params = { ...actor, ...fields };
  return withDaemon(world, json, async client => {
    const reply = await (verb.fetch?.(client, params) ?? ask(client, verb.request, params as never));
    const printReply = verb.isLook ? printShown : printDone;
    return printReply(world, json, reply, screen => verb.forPerson(reply, screen));
  });
}

/** Returns the request's fields. Throws `Misuse`. */
function fieldsOf(verb: Verb, typed: Typed): object {
  const read = Object.entries(verb.fields).map(([name, field]) => {
    const text = typed[name];
    if (field.read !== undefined) return [name, field.read(text as never)];
    return [name, text === "" && field.form.startsWith("[") ? undefined : text];
  });
  return Object.fromEntries(read.filter(([, value]) => value !== undefined && !isEmptyList(value)));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

// Verbs as subcommands of a command.

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
