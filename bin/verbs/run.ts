/** Runs a verb of the command line. */
import { who } from "../messages/who.ts";
import { refuseAgent } from "../person.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { ask, fail, printDone, printShown, withDaemon } from "../with-daemon.ts";
import { Misuse, type Verb } from "./verb.ts";

/** What a person typed, by the names of the request's fields. */
export type Typed = Readonly<Record<string, string | readonly string[] | true | undefined>>;

export interface VerbFlags {
  /** The project whose short names count; by default the working directory's. */
  readonly project?: string;
  readonly json?: boolean;
}

/** Sends the verb's request, and prints its reply. Returns the exit code. */
export async function runVerb(
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
