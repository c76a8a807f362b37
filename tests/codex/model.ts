import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as z from "zod";

/** What the model answers to one request: words end its turn, a call goes on. A patch is the text that it applies. */
export type Turn =
  | { readonly say: string }
  | { readonly id: string; readonly patch: string }
  | { readonly id: string; readonly line: string };

/** A turn may be a promise: the model thinks until it is there. */
export type Script = readonly (Turn | Promise<Turn>)[];

const output = z.object({ call_id: z.string(), output: z.unknown() });
const message = z.object({ role: z.string(), content: z.array(z.object({ text: z.string().default("") })) });
const request = z.object({ input: z.array(z.unknown()).default([]) });

/** A model on loopback that plays a script: enough of the Responses API for one session of the real client. */
export class ScriptedModel {
  /** What hooks added for the model to read, in order. */
  readonly notes: string[] = [];
  /** What went beyond the script. */
  readonly surprises: string[] = [];
  readonly #server: Server;
  readonly #script: Script;
  readonly #results = new Map<string, string>();
  readonly #waits: {
    readonly count: number;
    readonly resolve: () => void;
    readonly reject: (e: Error) => void;
  }[] = [];
  #asked = 0;
  #over: Error | null = null;

  static async start(script: Script): Promise<ScriptedModel> {
    const model = new ScriptedModel(script);
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor(script: Script) {
    this.#script = script;
    this.#server = createServer((asked, response) => {
      this.#serve(asked, response).catch((error: unknown) => {
        this.surprises.push(String(error));
        response.destroy();
      });
    });
    // It is the client's proxy, too, and refuses.
    this.#server.on("connect", (_asked, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the model does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Resolves when the model has been asked `count` times: the results of its first `count - 1` turns are there. */
  async asked(count: number): Promise<void> {
    if (this.#asked >= count) return;
    if (this.#over !== null) throw this.#over;
    await new Promise<void>((resolve, reject) => this.#waits.push({ count, resolve, reject }));
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
    if (asked.method !== "POST" || asked.url?.endsWith("/responses") !== true) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    this.#hear(request.parse(JSON.parse(body)).input);
    this.#asked += 1;
    const count = this.#asked;
    for (const wait of this.#waits.filter(one => one.count <= count)) wait.resolve();
    const scripted = this.#script[count - 1];
    if (scripted === undefined) this.surprises.push(`asked for turn ${count}, the script has fewer`);
    stream(response, count, (await scripted) ?? { say: "The script is over." });
  }

  #hear(input: readonly unknown[]): void {
    for (const item of input) {
      const told = output.safeParse(item).data;
      if (told !== undefined)
        this.#results.set(
          told.call_id,
          typeof told.output === "string" ? told.output : JSON.stringify(told.output),
        );
      const said = message.safeParse(item).data;
      if (said?.role !== "developer") continue;
      const text = said.content.map(part => part.text).join("\n");
      if (text.startsWith("Kite") && !this.notes.includes(text)) this.notes.push(text);
    }
  }
}

function stream(response: ServerResponse, n: number, turn: Turn): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event: { readonly type: string }) =>
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const usage = {
    ...{ input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null },
    total_tokens: 2,
  };
  send({ type: "response.created", ...{ response: { id: `resp_${n}` } } });
  send({ type: "response.output_item.done", ...{ output_index: 0, item: itemOf(n, turn) } });
  send({ type: "response.completed", ...{ response: { id: `resp_${n}`, usage } } });
  response.end();
}

function itemOf(n: number, turn: Turn): object {
  if ("say" in turn) {
    const content = [{ type: "output_text", text: turn.say }];
    return { type: "message", role: "assistant", id: `msg_${n}`, content };
  }
  if ("patch" in turn) {
    const call = { call_id: turn.id, name: "apply_patch", input: turn.patch, status: "completed" };
    return { type: "custom_tool_call", id: `ctc_${n}`, ...call };
  }
  const call = { call_id: turn.id, name: "exec_command", arguments: JSON.stringify({ cmd: turn.line }) };
  return { type: "function_call", id: `fc_${n}`, ...call };
}
