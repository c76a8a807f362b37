/** Defines tools, and turns their answers into results that models and programs can read. */

import type {
  CallToolResult,
  McpServer,
  ServerContext,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { KiteClient } from "../../client/client.ts";
import { LocalError } from "../../client/errors.ts";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { nearest, nearPathsIn, plain } from "../../protocol/text.ts";
import { callParameter } from "../../protocol/tool-call.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ToolAnswer } from "../agents/verb.ts";
import { numbersIn } from "../context/task-numbers.ts";
import { Refused } from "../context/with-daemon.ts";
import { refusalText, toolWords } from "../refusal-text.ts";
import { staleText } from "../view/store.ts";
import { inNumbers } from "../view/task-names.ts";
import type { Acting } from "./actor.ts";

// Checks a tool's parameters, and words what is wrong with them: by their own names, as the tool's list has them.

/** Wrong parameters that one refusal names. */
const namedMax = 5;

type RawIssue = z.core.$ZodRawIssue;

/** A call's parameters are not those of its tool. Its message says which, and what to give. */
export class WrongInput extends Error {
  override readonly name = "WrongInput";
  /** The first parameter that is wrong; null: they are wrong together. */
  readonly path: string | null;

  constructor(message: string, path: string | null) {
    super(message);
    this.path = path;
  }
}

/** Returns the parameters as `input` reads them. Throws `WrongInput`. */
function checkedInput<I extends z.ZodObject>(tool: string, input: I, raw: unknown): z.output<I> {
  const unknown = unknownNames(tool, input, raw);
  const parsed = input.safeParse(raw, { error: issueText });
  const issues = parsed.error?.issues ?? [];
  const all = [...new Set([...unknown, ...issues.map(({ path, message }) => placed(place(path), message))])];
  if (parsed.success && all.length === 0) return parsed.data;
  const [first] = issues;
  throw new WrongInput(
    all.slice(0, namedMax).join("; "),
    first === undefined ? null : place(first.path) || null,
  );
}

/** A parameter that a tool does not have would change nothing, and whoever gave it would not know. */
function unknownNames(tool: string, { shape }: z.ZodObject, raw: unknown): string[] {
  const names = Object.keys(shape);
  if (typeof raw !== "object" || raw === null) return [];
  const unknown = Object.keys(raw).filter(name => !names.includes(name));
  return unknown.map(name => {
    const near = nearest(name, names);
    const has = names.length === 0 ? "it takes none" : `it takes ${names.join(", ")}`;
    return `${tool} has no parameter ${name}; ${near === null ? has : `did you mean ${near}?`}`;
  });
}

/** Names a place as code does: `codeView[0].file`. */
function place(path: readonly PropertyKey[]): string {
  return path.reduce<string>((before, key) => {
    if (typeof key === "number") return `${before}[${key}]`;
    return before === "" ? String(key) : `${before}.${String(key)}`;
  }, "");
}

function placed(at: string, message: string): string {
  if (at === "") return message;
  return message.startsWith(itself) ? `${at} ${message.slice(itself.length)}` : `${at}: ${message}`;
}

/** A sentence that begins so has the parameter's name there. */
const itself = "it ";

/** What a parameter has to be; undefined: the schema's own sentence says it. */
function issueText(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type": {
      const wanted = typeWords[issue.expected] ?? `a value of the type ${issue.expected}`;
      return issue.input === undefined
        ? `it is missing; give ${wanted}`
        : `give ${wanted}, not ${typeOf(issue.input)}`;
    }
    case "too_small":
      return bound(issue.origin, Number(issue.minimum), "at least");
    case "too_big":
      return bound(issue.origin, Number(issue.maximum), "at most");
    case "invalid_value":
      return `give one of ${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `there is no ${issue.keys.join(", ")} here; leave it out`;
    case "invalid_union":
      return "it has none of the forms that it may have";
    case "custom":
      return undefined;
    default:
      return "it has not the form that it must have";
  }
}

const typeWords: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  nonoptional: "a value",
};

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  const words: Readonly<Record<string, string>> = { ...typeWords, boolean: String(value) };
  return words[typeof value] ?? "that";
}

function bound(origin: string, number: number, how: "at least" | "at most"): string {
  if (origin === "string")
    return how === "at least" && number <= 1 ? "it must not be empty" : `give ${how} ${number} characters`;
  if (origin === "array") return `give ${how} ${number} ${number === 1 ? "item" : "items"}`;
  return `give ${how} ${number}`;
}

// What tools/list says of a tool's parameters. Every session's model reads it at its start.

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
 * Metadata for a parameter whose description says in a few words what its schema says at length. `tools/list` has the
 * description; the schema checks calls.
 */
export function inWords(description: string): { readonly description: string; readonly isTold: true } {
  return { description, isTold: true };
}

/**
 * Returns a schema whose JSON form names parameters, types and required ones only. It lets every call pass: the tool checks
 * its parameters itself, in words of its own.
 */
function shortSchema(input: z.ZodObject): StandardSchemaWithJSON {
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

/** The context of a call. */
export interface Call {
  readonly client: KiteClient;
  readonly acting: Acting;
  /** The actor's `id`, and `agent` if an agent acts, as requests need them. */
  readonly actor: { readonly id: string; readonly agent?: string };
  /** The oldest `storeAsOf` of the replies that the call got; undefined: none had one. */
  readonly storeAsOf: () => number | null | undefined;
  /** Aborts when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Opens a connection for this call, which ends with the call. */
  readonly own: () => Promise<KiteClient>;
  /** Registers work for after the client has the answer; a cancelled call drops it. */
  readonly after: (work: () => Promise<void>) => void;
  /** Sends progress to a client that requested it; `total` if it is known. */
  readonly progress: (done: number, total: number, message: string) => void;
}

interface Definition<I extends z.ZodObject> {
  readonly name: `kite_${string}`;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  /** Of tools that only look; without, a client takes the tool for one that changes something. */
  readonly annotations?: ToolAnnotations;
  readonly run: (call: Call, input: z.output<I>) => Promise<ToolAnswer>;
}

/** Creates the context of a call, and ends it. */
export interface Caller {
  /** Whether the client is a program that declared the experimental capability `dataCapability`. */
  readonly wantsData: (context: ServerContext) => boolean;
  /** `callId`: as the client's plugin named the call; null: it named none. */
  readonly begin: (
    context: ServerContext,
    callId: string | null,
  ) => Promise<{ readonly call: Call; readonly end: () => void }>;
}

/** A client that declares it among its `experimental` capabilities gets the data of an answer beside its text. */
export const dataCapability = "kite/data";

export interface Tool {
  readonly name: string;
  readonly register: (server: McpServer, caller: Caller) => void;
}

/** Annotation: the tool changes nothing. */
export const looks: ToolAnnotations = { readOnlyHint: true };

export function tool<I extends z.ZodObject>(definition: Definition<I>): Tool {
  const { name, title, description, input, annotations, run } = definition;
  const hints = annotations === undefined ? {} : { annotations };
  const config = { title, description, inputSchema: shortSchema(input), ...hints };
  const register = (server: McpServer, caller: Caller) => {
    server.registerTool(name, config, async (raw, context): Promise<CallToolResult> => {
      let end = () => {};
      let call: Call | null = null;
      const wantsData = caller.wantsData(context);
      try {
        const { callId, rest } = withoutCallId(raw);
        const checked = checkedInput(name, input, rest);
        const begun = await caller.begin(context, callId);
        ({ call, end } = begun);
        return forClient(wantsData, withStale(resultOf(await run(call, checked)), call));
      } catch (error) {
        return forClient(wantsData, withStale(await failed(call, error), call));
      } finally {
        end();
      }
    });
  };
  return { name, register };
}

function withoutCallId(raw: unknown): { readonly callId: string | null; readonly rest: unknown } {
  if (!isObject(raw) || typeof raw[callParameter] !== "string") return { callId: null, rest: raw };
  const { [callParameter]: callId, ...rest } = raw;
  return { callId: String(callId), rest };
}

function forClient(wantsData: boolean, result: CallToolResult): CallToolResult {
  if (wantsData) return result;
  const { structuredContent: _, ...alone } = result;
  return alone;
}

function resultOf({ text, data, json }: ToolAnswer): CallToolResult {
  const exact = json === undefined ? {} : { json };
  return { content: [{ type: "text", text }], structuredContent: { ...plainFields(data), ...exact } };
}

/** Says below an answer as of when it is, where the shared store is away. A refusal has said already that nothing is known. */
function withStale(result: CallToolResult, call: Call | null): CallToolResult {
  const asOf = call?.storeAsOf();
  if (asOf === undefined || (asOf === null && result.isError === true)) return result;
  return { ...result, content: [...result.content, { type: "text", text: staleText(asOf, Date.now()) }] };
}

function plainFields(data: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [plain(name, limits.pathBytes), plainly(value)]),
  );
}

function plainly(value: unknown): unknown {
  if (typeof value === "string") return plain(value, limits.lineBytes);
  if (Array.isArray(value)) return value.map(plainly);
  return typeof value === "object" && value !== null ? plainFields(value) : value;
}

/**
 * Turns an error that the model can act on into an answer, with files below the agent's directory named from there.
 * Rethrows a bug, which the SDK answers.
 */
async function failed(call: Call | null, error: unknown): Promise<CallToolResult> {
  const cwd = call?.acting.cwd ?? "/";
  if (error instanceof Refused) {
    const { ok: _, error: _sentence, code, ...more } = error.refusal;
    const text = nearPathsIn(refusalText(error.refusal, "tools"), cwd);
    return refusal(code, await numberedIn(call, text), more);
  }
  if (error instanceof WrongInput) return refusal("invalid_request", error.message, { path: error.path });
  if (error instanceof LocalError)
    return refusal(codeOf(error), nearPathsIn(toolWords(error.message), cwd), {});
  if (isSystemError(error)) return refusal("system_error", systemErrorText(error), {});
  throw error;
}

/** Returns an error's name as codes are written: `not_running`. */
function codeOf({ name }: LocalError): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}

/** Returns a refusal's sentence with the numbers of the tasks that it names. */
async function numberedIn(call: Call | null, text: string): Promise<string> {
  if (call === null) return text;
  const { client, acting } = call;
  // The refusal is what the agent needs to read, also if the connection is lost meanwhile.
  return numbersIn(client, acting.project, text).then(
    numbers => inNumbers(text, numbers),
    () => text,
  );
}

function refusal(code: string, error: string, more: object): CallToolResult {
  // The error may contain names and files that other sessions chose.
  const text = `Refused (${code}): ${plain(error, limits.lineBytes)}`;
  return {
    isError: true,
    content: [{ type: "text", text }],
    structuredContent: plainFields({ code, error, ...more }),
  };
}
