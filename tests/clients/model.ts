import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** What the model answers to one request: words end its turn, calls go on. */
export type Turn = { readonly say: string } | { readonly calls: readonly Call[] };

/** A turn may be a promise: the model thinks until it is there. */
export type Script = readonly (Turn | Promise<Turn>)[];

/** What a request of the conversation tells the model. */
export interface Heard {
  /** The results of the calls so far, in order, with the client's id of the call. */
  readonly results: readonly { readonly id: string; readonly text: string }[];
  /** All that it reads, in one text. */
  readonly text: string;
  /** The words that begin the conversation, if the client has subagents: one of them has `[[NAME]]` in its own. */
  readonly prompt?: string;
}

/** The form in which a client speaks to its model. */
export interface Wire {
  /** Whether a request with this path asks for a turn of the conversation. */
  isTurn(path: string): boolean;
  /** Null: it is no turn of a conversation, such as the request for a title. */
  read(body: unknown): Heard | null;
  write(response: ServerResponse, turn: Turn): void;
}

/** The conversation of one agent. */
interface Conversation {
  readonly script: Script;
  /** The ids of its calls so far, in order. */
  readonly calls: string[];
  asked: number;
}

/** How the session's own agent is called, beside its subagents. */
const main = "main";

/** A model on loopback that plays a script for one session of a real client, its subagents included. */
export class ScriptedModel {
  /** What went beyond the script. */
  readonly surprises: string[] = [];
  readonly #server: Server;
  readonly #wire: Wire;
  readonly #conversations: ReadonlyMap<string, Conversation>;
  readonly #results = new Map<string, string>();
  readonly #waits: {
    readonly agent: string;
    readonly count: number;
    readonly resolve: () => void;
    readonly reject: (e: Error) => void;
  }[] = [];
  #text = "";
  #over: Error | null = null;

  /** `agents`: the scripts of subagents, by the names in their prompts. */
  static async start(
    wire: Wire,
    script: Script,
    agents: Readonly<Record<string, Script>> = {},
  ): Promise<ScriptedModel> {
    const model = new ScriptedModel(wire, { ...agents, [main]: script });
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor(wire: Wire, scripts: Readonly<Record<string, Script>>) {
    this.#wire = wire;
    this.#conversations = new Map(
      Object.entries(scripts).map(([name, script]) => [name, { script, calls: [], asked: 0 }]),
    );
    this.#server = createServer((asked, response) => {
      this.#serve(asked, response).catch((error: unknown) => {
        this.surprises.push(String(error));
        response.destroy();
      });
    });
    // It is the client's proxy, too, and refuses.
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

  /** All that the model was given to read at its last turn. */
  get text(): string {
    return this.#text;
  }

  /** Resolves when the model has been asked `count` times: the results of its first `count - 1` turns are there. */
  async asked(count: number, agent = main): Promise<void> {
    if (this.#conversation(agent).asked >= count) return;
    if (this.#over !== null) throw this.#over;
    await new Promise<void>((resolve, reject) => this.#waits.push({ agent, count, resolve, reject }));
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
    if (asked.method !== "POST" || !this.#wire.isTurn(asked.url ?? "")) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const heard = this.#wire.read(JSON.parse(body));
    if (heard === null) return this.#wire.write(response, { say: "A title" });
    this.#text = heard.text;
    const [, agent = main] = /\[\[(\w+)\]\]/.exec(heard.prompt ?? "") ?? [];
    const conversation = this.#conversation(agent);
    // The client may give calls ids of its own, but keeps their order.
    heard.results.forEach((result, nth) => {
      const id = conversation.calls.includes(result.id) ? result.id : conversation.calls[nth];
      if (id !== undefined) this.#results.set(id, result.text);
    });
    conversation.asked += 1;
    const count = conversation.asked;
    for (const wait of this.#waits.filter(one => one.agent === agent && one.count <= count)) wait.resolve();
    const scripted = conversation.script[count - 1];
    if (scripted === undefined) this.surprises.push(`${agent} asked for turn ${count}, the script has fewer`);
    const turn = (await scripted) ?? { say: "The script is over." };
    if ("calls" in turn) conversation.calls.push(...turn.calls.map(({ id }) => id));
    this.#wire.write(response, turn);
  }

  #conversation(agent: string): Conversation {
    const found = this.#conversations.get(agent);
    if (found === undefined) throw new Error(`no script is for the agent ${agent}`);
    return found;
  }
}
