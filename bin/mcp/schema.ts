/** What tools/list says of a tool's parameters. Every session's model reads it at its start. */
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { z } from "zod";

/** Keywords that no model needs: who breaks a bound is told the bound. */
const left = new Set([
  "$schema",
  "additionalProperties",
  "maxItems",
  "maxLength",
  "maximum",
  "minItems",
  "minLength",
  "minimum",
  "pattern",
]);

/**
 * Metadata for a parameter whose description says in a few words what its schema says at length: tools/list has the
 * description, calls are checked by the schema.
 */
export function inWords(description: string): { readonly description: string; readonly isTold: true } {
  return { description, isTold: true };
}

/**
 * Returns a schema whose JSON form names parameters, types and required ones only. It lets every call pass: the tool checks
 * its parameters itself, in words of its own.
 */
export function shortSchema(input: z.ZodObject): StandardSchemaWithJSON {
  const { jsonSchema, ...standard } = input["~standard"];
  return {
    "~standard": {
      ...standard,
      validate: value => ({ value }),
      jsonSchema: {
        input: options => withoutBounds(jsonSchema.input(options)),
        output: options => withoutBounds(jsonSchema.output(options)),
      },
    },
  };
}

function withoutBounds(schema: object): Record<string, unknown> {
  if ("isTold" in schema && "type" in schema && "description" in schema) {
    return { type: schema.type, description: schema.description };
  }
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !left.has(keyword))
      .map(([keyword, value]) => [keyword, keyword === "properties" ? eachProperty(value) : within(value)]),
  );
}

/** The names of properties are no keywords: a parameter may be called `pattern`. */
function eachProperty(properties: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, within(value)]));
}

function within(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(within);
  return typeof value === "object" && value !== null ? withoutBounds(value) : value;
}
