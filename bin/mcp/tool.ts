/** Defines tools, and turns their answers into results that models and programs can read. */
import type { CallToolResult, McpServer, ServerContext, ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { KiteClient } from "../../client/client.ts";
import { LocalError } from "../../client/errors.ts";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { nearPathsIn, plain } from "../../protocol/text.ts";
import { callParameter } from "../../protocol/tool-call.ts";
import { isObject } from "../../protocol/wire.ts";
import { refusalText, toolWords } from "../refusal-text.ts";
import { numbersIn } from "../tasks/numbering.ts";
import { inNumbers } from "../tasks/numbers.ts";
import { staleText } from "../view/store.ts";
import { Refused } from "../with-daemon.ts";
import type { Acting } from "./actor.ts";
import { checkedInput, WrongInput } from "./input.ts";
import { shortSchema } from "./schema.ts";

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

/**
 * An answer. Models read `text`, which is complete and shorter. Clients such as Claude Code show a model `data` in its
 * place, so only programs get it, which asked for it. Both mark foreign words: `text` quotes them, and every text in
 * `data` passes `plain`.
 */
export interface ToolAnswer {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** A session's value as JSON, `escaped`; goes into the data unchanged. */
  readonly json?: string;
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
    server.registerTool(name, config, async (given, context): Promise<CallToolResult> => {
      let end = () => {};
      let call: Call | null = null;
      const wantsData = caller.wantsData(context);
      try {
        const { callId, rest } = withoutCallId(given);
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

function withoutCallId(given: unknown): { readonly callId: string | null; readonly rest: unknown } {
  if (!isObject(given) || typeof given[callParameter] !== "string") return { callId: null, rest: given };
  const { [callParameter]: callId, ...rest } = given;
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
 * Turns an error that the model can act on into an answer, with files below the agent's directory named from there; throws a
 * bug on, which the SDK answers.
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
