import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as z from "zod";

/** One call of a tool. The id comes back with its result. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** What the model answers to one request: words end its turn, calls go on. */
export type Turn = { readonly say: string } | { readonly calls: readonly Call[] };

/** A turn may be a promise: the model thinks until it is there. */
export type Script = readonly (Turn | Promise<Turn>)[];

const content = z.union([z.string(), z.array(z.object({ text: z.string().default("") }))]).nullish();
const message = z.object({ role: z.string(), content, tool_call_id: z.string().optional() });
const request = z.object({ messages: z.array(message), tools: z.array(z.unknown()).default([]) });
type Message = z.infer<typeof message>;

/** The prompt that begins the script of a subagent: `[[NAME]]`. */
const subagent = /\[\[(\w+)\]\]/;

/**
 * A model on loopback that plays a script: enough of the Chat Completions API for one session of the real client, its
 * subagents included. It is that client's proxy too, and refuses.
 */
export class ScriptedModel {
  /** What the model read as its user's words, in order, each text once. */
  readonly prompts: string[] = [];
  /** What went beyond the script. */
  readonly surprises: string[] = [];
  readonly #server: Server;
  readonly #scripts: Readonly<Record<string, Script>>;
  readonly #asked = new Map<string, number>();
  readonly #results = new Map<string, string>();
  readonly #waits: {
    readonly mate: string;
    readonly count: number;
    readonly resolve: () => void;
    readonly reject: (e: Error) => void;
  }[] = [];
  #over: Error | null = null;

  /** `mates`: the scripts of subagents, by the names in their prompts. */
  static async start(script: Script, mates: Readonly<Record<string, Script>> = {}): Promise<ScriptedModel> {
    const model = new ScriptedModel({ ...mates, main: script });
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor(scripts: Readonly<Record<string, Script>>) {
    this.#scripts = scripts;
    this.#server = createServer((asked, response) => {
      this.#serve(asked, response).catch((error: unknown) => {
        this.surprises.push(String(error));
        response.destroy();
      });
    });
    this.#server.on("connect", (_asked, socket) => {
      // The client may have gone before it reads the refusal.
      socket.on("error", () => {});
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the model does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Resolves when the model of the agent has been asked `count` times. */
  async asked(count: number, mate = "main"): Promise<void> {
    if ((this.#asked.get(mate) ?? 0) >= count) return;
    if (this.#over !== null) throw this.#over;
    await new Promise<void>((resolve, reject) => this.#waits.push({ mate, count, resolve, reject }));
  }

  /** What the model was told of a call; throws where it has not been. */
  result(id: string): string {
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
    let body = "";
    asked.setEncoding("utf8");
    for await (const chunk of asked) body += chunk;
    if (asked.method !== "POST" || asked.url?.endsWith("/chat/completions") !== true) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const { messages, tools } = request.parse(JSON.parse(body));
    for (const one of messages) this.#hear(one);
    // A request without tools is the one for a title.
    if (tools.length === 0) return stream(response, "title", { say: "A title" });
    const name = this.#nameOf(messages);
    const count = (this.#asked.get(name) ?? 0) + 1;
    this.#asked.set(name, count);
    for (const wait of this.#waits.filter(one => one.mate === name && one.count <= count)) wait.resolve();
    const scripted = this.#scripts[name]?.[count - 1];
    if (scripted === undefined) this.surprises.push(`${name} asked for turn ${count}, the script has fewer`);
    stream(response, `${name}-${count}`, (await scripted) ?? { say: "The script is over." });
  }

  #nameOf(messages: readonly Message[]): string {
    const first = messages.find(({ role }) => role === "user");
    const name = subagent.exec(textOf(first))?.[1];
    return name !== undefined && Object.hasOwn(this.#scripts, name) ? name : "main";
  }

  #hear(one: Message): void {
    const text = textOf(one);
    if (one.tool_call_id !== undefined) this.#results.set(one.tool_call_id, text);
    if (one.role === "user" && !this.prompts.includes(text)) this.prompts.push(text);
  }
}

function textOf(one: Message | undefined): string {
  const { content: said } = one ?? {};
  return typeof said === "string" ? said : (said ?? []).map(({ text }) => text).join("\n");
}

function stream(response: ServerResponse, id: string, turn: Turn): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: object, finish_reason: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason }];
    const chunk = { id, object: "chat.completion.chunk", created: 1, model: "scripted", choices };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  if ("say" in turn) {
    send({ role: "assistant", content: turn.say });
    send({}, "stop");
  } else {
    const calls = turn.calls.map(({ id: call, name, input }, index) => ({
      ...{ index, id: call, type: "function", function: { name, arguments: JSON.stringify(input) } },
    }));
    send({ role: "assistant", tool_calls: calls });
    send({}, "tool_calls");
  }
  response.end("data: [DONE]\n\n");
}
