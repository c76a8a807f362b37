/** What a tool is, and how what it says becomes a result that models and programs can read. */
import type { CallToolResult, McpServer, ServerContext, ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { KiteClient } from "../../client/client.ts";
import { LocalError } from "../../client/errors.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";
import { Refused } from "../with-daemon.ts";
import type { Acting } from "./actor.ts";

/** What every call is given. */
export interface Call {
  readonly client: KiteClient;
  readonly acting: Acting;
  /** Its `id`, and `agent` where one acts: what requests are sent with. */
  readonly actor: { readonly id: string; readonly agent?: string };
  /** Aborted when the client takes the call back. */
  readonly signal: AbortSignal;
  /** A connection of this call alone, closed with it. */
  readonly own: () => Promise<KiteClient>;
  /** What is to happen once the client has the answer; not where it took the call back. */
  readonly after: (work: () => Promise<void>) => void;
  /** Tells a client that asked for it how far the call is; `total` where that is known. */
  readonly progress: (done: number, total: number, message: string) => void;
}

/**
 * `text` for clients that show it; others, Claude Code among them, show `data` in its place. So both say the same, and
 * in both the words of others are framed: `text` quotes them, in `data` every text passes `plain`.
 */
export interface Said {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Goes into the data as it is: somebody's value as JSON, `escaped`. */
  readonly json?: string;
}

interface Definition<I extends z.ZodObject> {
  readonly name: `kite_${string}`;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  readonly annotations: ToolAnnotations;
  readonly run: (call: Call, input: z.output<I>) => Promise<Said>;
}

/** Where tools get their call from, and how it ends. */
export interface Caller {
  readonly begin: (context: ServerContext) => Promise<{ readonly call: Call; readonly end: () => void }>;
}

export interface Tool {
  readonly name: string;
  readonly register: (server: McpServer, caller: Caller) => void;
}

/** Nothing leaves the machine. */
const local = { openWorldHint: false };
/** Looks, and changes nothing. */
export const looks: ToolAnnotations = { ...local, readOnlyHint: true };
/** Adds something; twice adds it twice. */
export const adds: ToolAnnotations = {
  ...local,
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
};
/** Brings about a state; twice is as once. */
export const puts: ToolAnnotations = {
  ...local,
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
};

export function tool<I extends z.ZodObject>(definition: Definition<I>): Tool {
  const { name, title, description, input, annotations, run } = definition;
  const inputSchema: z.ZodObject = input;
  const config = { title, description, inputSchema, annotations };
  const register = (server: McpServer, caller: Caller) => {
    server.registerTool(name, config, async (given, context): Promise<CallToolResult> => {
      let end = () => {};
      try {
        const begun = await caller.begin(context);
        end = begun.end;
        // What the schema let through is what it describes.
        return said(await run(begun.call, given as z.output<I>));
      } catch (error) {
        return failed(error);
      } finally {
        end();
      }
    });
  };
  return { name, register };
}

/** The success reply, or the refusal as an exception that becomes the tool's error. */
export function granted<R extends { readonly ok: true }>(answer: R | Refusal): R {
  if (!answer.ok) throw new Refused(answer);
  return answer;
}

function said({ text, data, json }: Said): CallToolResult {
  const exact = json === undefined ? {} : { json };
  return { content: [{ type: "text", text }], structuredContent: { ...plainFields(data), ...exact } };
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

/** What the model can do something about is an answer; a bug is thrown on, and the SDK answers for it. */
function failed(error: unknown): CallToolResult {
  if (error instanceof Refused) {
    const { ok: _, error: sentence, code, ...more } = error.refusal;
    return refusal(code, sentence, more);
  }
  if (error instanceof LocalError) return refusal(error.name, error.message, {});
  throw error;
}

function refusal(code: string, error: string, more: object): CallToolResult {
  // It may hold names and files that others chose.
  const text = `Refused (${code}): ${plain(error, limits.lineBytes)}`;
  return {
    isError: true,
    content: [{ type: "text", text }],
    structuredContent: plainFields({ code, error, ...more }),
  };
}
