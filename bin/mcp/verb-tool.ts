/** Verbs as one tool of an agent. */

import * as z from "zod";
import { requests } from "../../protocol/schemas/requests.ts";
import type { Field, Verb, Verbs } from "../agents/verb.ts";
import { ask, Refused } from "../context/with-daemon.ts";
import { inWords, type Tool, tool, WrongInput } from "./tool.ts";

interface Definition {
  readonly name: `kite_${string}`;
  readonly title: string;
  readonly description: string;
  readonly verbs: Verbs;
}

type ToolInput = Readonly<Record<string, unknown>>;

/** Returns a tool whose parameter `verb` names one of `verbs`; the others are the fields of them all. */
export function verbTool({ verbs, ...definition }: Definition): Tool {
  return tool({
    ...definition,
    input: inputOf(verbs),
    run: async ({ client, actor }, input: ToolInput) => {
      const name = String(input["verb"]);
      const verb = verbs[name];
      if (verb === undefined) throw new Error(`${definition.name} has no verb ${name}`);
      const params = { ...actor, ...fieldsOf(verb, name, input) };
      try {
        const asking = verb.fetch?.(client, params) ?? ask(client, verb.request, params as never);
        return verb.forAgent(await asking);
      } catch (error) {
        throw error instanceof Refused
          ? new Refused(verb.refusedAgent?.(error.refusal) ?? error.refusal)
          : error;
      }
    },
  });
}

/** Returns the verb's fields. Throws `WrongInput` if one is missing: which ones a verb needs, the schema cannot say. */
function fieldsOf(verb: Verb, name: string, input: ToolInput): ToolInput {
  const own = toolFields(verb);
  const needed = own
    .filter(([, field]) => field.isNeeded || field.form.startsWith("<"))
    .map(([field]) => field);
  const missing = needed.filter(field => input[field] === undefined);
  if (missing.length > 0) {
    const error = `verb ${name} needs ${needed.join(", ")}; missing: ${missing.join(", ")}`;
    throw new WrongInput(error, missing[0] ?? null);
  }
  const present = own.filter(([field]) => input[field] !== undefined);
  return Object.fromEntries(present.map(([field]) => [field, input[field]]));
}

function inputOf(verbs: Verbs): z.ZodObject {
  const names: string[] = [];
  const shape: Record<string, z.ZodType> = {};
  for (const verb of Object.values(verbs)) {
    // From the last one on: a new field goes before the field that follows it in this verb.
    let next = names.length;
    for (const [name, { short }] of toolFields(verb).reverse()) {
      const at = names.indexOf(name);
      if (at === -1) names.splice(next, 0, name);
      else next = at;
      shape[name] ??= parameter(verb, name, short);
    }
  }
  const ordered = names.map(name => [name, shape[name] as z.ZodType]);
  return z.object({ verb: z.enum(Object.keys(verbs)), ...Object.fromEntries(ordered) });
}

function parameter({ request }: Verb, name: string, short: string | undefined): z.ZodType {
  const { params }: { readonly params: z.ZodType } = requests[request];
  const schema: unknown = params instanceof z.ZodObject ? params.shape[name] : undefined;
  if (!(schema instanceof z.ZodType)) throw new Error(`${request} has no field ${name}`);
  const optional = schema instanceof z.ZodOptional ? schema : schema.optional();
  return short === undefined ? optional : optional.meta(inWords(short));
}

function toolFields({ fields }: Verb): [string, Field][] {
  return Object.entries(fields).filter(([name, { person }]) => name !== "project" && person === undefined);
}
