import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as z from "zod";

/** One call of a tool. The id comes back with its result. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/**
 * What the model answers to one request: words end its turn, calls go on. `refuse`: its service answers with this status.
 * `hangUp`: its service closes the connection.
 */
export type Turn =
  | { readonly say: string }
  | { readonly calls: readonly Call[] }
  | { readonly refuse: number }
  | { readonly hangUp: true };

/** What the model was told of one call. */
export interface Result {
  readonly text: string;
  readonly isError: boolean;
}

/** A turn may be a promise: the model thinks until it is there. */
export type Script = readonly (Turn | Promise<Turn>)[];

const text = z.object({ type: z.literal("text"), text: z.string() });
const result = z.object({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.unknown())]).default(""),
  is_error: z.boolean().default(false),
});
const message = z.object({ role: z.string(), content: z.union([z.string(), z.array(z.unknown())]) });
const request = z.object({
  model: z.string().default("scripted"),
  tools: z.array(z.object({ name: z.string() })).default([]),
  messages: z.array(message).default([]),
});
type Message = z.infer<typeof message>;

/**
 * A model on loopback that plays a script: enough of the Messages API for one session of the real client in print
 * mode, its subagents included. It is that client's proxy too, and refuses: whatever the client asks of anybody else fails, and is in
 * `strays`.
 */
export class ScriptedModel {
  /** When each request of the conversation arrived, by the monotonic clock, in milliseconds. */
  readonly askedAtMs: number[] = [];
  /** All that was said beside prompts and results, in the order in which the model read it: what hooks add. */
  readonly notes: string[] = [];
  /** What the conversation was given as its user's words, in order: prompts, and what the client puts among them. */
  readonly prompts: string[] = [];
  /** What went beyond the script or the Messages API. */
  readonly surprises: string[] = [];
  /** What the client wanted from somewhere else. */
  readonly strays: string[] = [];
  readonly #server: Server;
  readonly #script: Script;
  readonly #mates: Readonly<Record<string, Script>>;
  readonly #aside: string;
  readonly #matesAsked = new Map<string, number>();
  readonly #waits: {
    readonly mate: string | null;
    readonly count: number;
    readonly resolve: () => void;
    readonly reject: (e: Error) => void;
  }[] = [];
  readonly #results = new Map<string, Result>();
  #over: Error | null = null;

  /** A turn of the script may be a promise: the model thinks until it is there. `aside` answers what is no conversation. */
  static async start(
    script: Script,
    mates: Readonly<Record<string, Script>> = {},
    aside = "ok",
  ): Promise<ScriptedModel> {
    const model = new ScriptedModel(script, mates, aside);
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor(script: Script, mates: Readonly<Record<string, Script>>, aside: string) {
    this.#aside = aside;
    this.#script = script;
    this.#mates = mates;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.surprises.push(String(error));
        this.over(new Error("the model could not answer", { cause: error }));
        response.destroy();
      });
    });
    this.#server.on("connect", (request, socket) => {
      this.strays.push(`CONNECT ${request.url}`);
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the model does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Resolves when the model has been asked `count` times: the results of its first `count - 1` turns are there. */
  async asked(count: number, mate: string | null = null): Promise<void> {
    const asked = mate === null ? this.askedAtMs.length : (this.#matesAsked.get(mate) ?? 0);
    if (asked >= count) return;
    if (this.#over !== null) throw this.#over;
    await new Promise<void>((resolve, reject) => this.#waits.push({ mate, count, resolve, reject }));
  }

  /** What the model was told of a call; throws where it has not been. */
  result(id: string): Result {
    const found = this.#results.get(id);
    if (found === undefined)
      throw new Error(`the model has no result of ${id}, only of ${[...this.#results.keys()]}`);
    return found;
  }

  /** Nobody will ask any more: waits that are left throw `reason`. */
  over(reason: Error): void {
    this.#over ??= reason;
    for (const { reject } of this.#waits.splice(0)) reject(reason);
  }

  async close(): Promise<void> {
    this.over(new Error("the model was closed"));
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const atMs = performance.now();
    const { method = "", url = "" } = asked;
    if (!url.startsWith("/")) {
      this.strays.push(`${method} ${url}`);
      response.writeHead(403).end();
      return;
    }
    const body = await bodyOf(asked);
    const path = url.split("?")[0];
    if (method === "POST" && path === "/v1/messages") {
      await this.#answer(request.parse(JSON.parse(body)), atMs, response);
    } else if (method === "POST" && path === "/v1/messages/count_tokens") {
      json(response, 200, { input_tokens: 1 });
    } else {
      if (method !== "HEAD") this.surprises.push(`${method} ${url}`);
      json(response, 404, {
        type: "error",
        error: { type: "not_found_error", message: "not in the script" },
      });
    }
  }

  /** Only the conversation itself offers tools; what the client asks beside it (a title, say) gets a word. */
  async #answer(asked: z.infer<typeof request>, atMs: number, response: ServerResponse): Promise<void> {
    const { model, tools, messages } = asked;
    let turn: Turn = { say: this.#aside };
    if (tools.some(({ name }) => name === "Edit")) {
      this.#hear(messages);
      const mate = mateIn(messages);
      const count = mate === null ? this.askedAtMs.push(atMs) : (this.#matesAsked.get(mate) ?? 0) + 1;
      if (mate !== null) this.#matesAsked.set(mate, count);
      for (const wait of this.#waits.filter(w => w.mate === mate && w.count <= count)) wait.resolve();
      const scripted = (mate === null ? this.#script : this.#mates[mate])?.[count - 1];
      // A teammate is woken as often as its team writes to it.
      if (scripted === undefined && mate === null)
        this.surprises.push(`asked for turn ${count}, the script has fewer`);
      turn = (await scripted) ?? { say: "The script is over." };
    }
    if ("hangUp" in turn) response.destroy();
    else if ("refuse" in turn)
      json(response, turn.refuse, {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
      });
    else stream(response, model, turn);
  }

  /** Takes in what is new: all after the model's own last words. */
  #hear(messages: readonly Message[]): void {
    const fresh = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
    for (const { role, content } of fresh) {
      if (role === "system") this.notes.push(plain(content));
      if (role === "user" && plain(content).trim() !== "") this.prompts.push(plain(content));
      for (const block of typeof content === "string" ? [] : content) {
        const told = result.safeParse(block).data;
        if (told === undefined) continue;
        this.#results.set(told.tool_use_id, { text: plain(told.content), isError: told.is_error });
      }
    }
  }
}

/** The teammate whose conversation this is: its prompt begins with `[[agent:NAME]]`. */
function mateIn(messages: readonly Message[]): string | null {
  for (const { role, content } of messages) {
    const [, name] = role === "user" ? (/\[\[agent:(\w+)\]\]/.exec(plain(content)) ?? []) : [];
    if (name !== undefined) return name;
  }
  return null;
}

/** Turns into server-sent events: a message, its blocks one after the other, its end. */
function stream(
  response: ServerResponse,
  model: string,
  turn: Exclude<Turn, { readonly refuse: number } | { readonly hangUp: true }>,
): void {
  const send = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const calls = "calls" in turn;
  const blocks = calls
    ? turn.calls.map(({ id, name, input }) => ({
        start: { type: "tool_use", id, name, input: {} },
        delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
      }))
    : [{ start: { type: "text", text: "" }, delta: { type: "text_delta", text: turn.say } }];
  const usage = { input_tokens: 1, output_tokens: 1 };
  const shape = { id: `msg_${randomUUID()}`, type: "message", role: "assistant", model, content: [], usage };

  response.writeHead(200, { "content-type": "text/event-stream" });
  send("message_start", { message: { ...shape, stop_reason: null, stop_sequence: null } });
  blocks.forEach(({ start, delta }, index) => {
    send("content_block_start", { index, content_block: start });
    send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  });
  const stop_reason = calls ? "tool_use" : "end_turn";
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
  send("message_stop", {});
  response.end();
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function bodyOf(asked: IncomingMessage): Promise<string> {
  let body = "";
  asked.setEncoding("utf8");
  for await (const chunk of asked) body += chunk;
  return body;
}

/** The text of a message or a result, in one string. */
function plain(content: string | readonly unknown[]): string {
  if (typeof content === "string") return content;
  return content.map(block => text.safeParse(block).data?.text ?? "").join("\n");
}
