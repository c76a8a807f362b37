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
}

/** The form in which a client speaks to its model. */
export interface Wire {
  /** Whether a request with this path asks for a turn of the conversation. */
  isTurn(path: string): boolean;
  read(body: unknown): Heard;
  write(response: ServerResponse, turn: Turn): void;
}

/** A model on loopback that plays a script for one session of a real client. */
export class ScriptedModel {
  /** What went beyond the script. */
  readonly surprises: string[] = [];
  readonly #server: Server;
  readonly #wire: Wire;
  readonly #script: Script;
  readonly #calls: string[] = [];
  readonly #results = new Map<string, string>();
  readonly #waits: {
    readonly count: number;
    readonly resolve: () => void;
    readonly reject: (e: Error) => void;
  }[] = [];
  #asked = 0;
  #text = "";
  #over: Error | null = null;

  static async start(wire: Wire, script: Script): Promise<ScriptedModel> {
    const model = new ScriptedModel(wire, script);
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor(wire: Wire, script: Script) {
    this.#wire = wire;
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

  /** All that the model was given to read at its last turn. */
  get text(): string {
    return this.#text;
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
    if (asked.method !== "POST" || !this.#wire.isTurn(asked.url ?? "")) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const { results, text } = this.#wire.read(JSON.parse(body));
    this.#text = text;
    // The client may give calls ids of its own, but keeps their order.
    results.forEach((result, nth) => {
      const id = this.#calls.includes(result.id) ? result.id : this.#calls[nth];
      if (id !== undefined) this.#results.set(id, result.text);
    });
    this.#asked += 1;
    const count = this.#asked;
    for (const wait of this.#waits.filter(one => one.count <= count)) wait.resolve();
    const scripted = this.#script[count - 1];
    if (scripted === undefined) this.surprises.push(`asked for turn ${count}, the script has fewer`);
    const turn = (await scripted) ?? { say: "The script is over." };
    if ("calls" in turn) this.#calls.push(...turn.calls.map(({ id }) => id));
    this.#wire.write(response, turn);
  }
}
