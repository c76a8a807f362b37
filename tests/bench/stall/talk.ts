/** Connections of the measurement `stall`: many requests at a time, and pings one after the other. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { encodeLine, LineDecoder } from "../../../protocol/wire.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** A connection on which many requests may wait for their replies. */
export class Talk {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (reply: Fields) => void>();
  #count = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const decoder = new LineDecoder();
    socket.on("data", chunk => {
      for (const line of decoder.push(chunk)) if ("text" in line) this.#take(JSON.parse(line.text));
    });
    // The daemon's end is the end of the measurement, which notices it by itself.
    socket.on("error", () => {});
  }

  static async at(path: string): Promise<Talk> {
    const socket = connect(path);
    await once(socket, "connect");
    return new Talk(socket);
  }

  /** Sends a request and resolves with its reply, a refusal too. */
  try(request: Fields): Promise<Fields> {
    this.#count += 1;
    const rid = this.#count;
    this.#socket.write(encodeLine({ ...request, rid }));
    return new Promise(resolve => this.#waiting.set(rid, resolve));
  }

  /** Sends a request and resolves with its reply; rejects at a refusal whose code is none of `codes`. */
  async ask(request: Fields, codes: readonly string[] = []): Promise<Fields> {
    const reply = await this.try(request);
    if (reply["ok"] === true || codes.includes(String(reply["code"]))) return reply;
    throw new Error(`${JSON.stringify(request).slice(0, 200)}: ${JSON.stringify(reply).slice(0, 500)}`);
  }

  /** Sends many requests, at most 200 at a time. */
  async all(requests: Iterable<Fields>, codes: readonly string[] = []): Promise<Fields[]> {
    const replies: Fields[] = [];
    let batch: Promise<Fields>[] = [];
    for (const request of requests) {
      if (batch.push(this.ask(request, codes)) < 200) continue;
      replies.push(...(await Promise.all(batch)));
      batch = [];
    }
    return [...replies, ...(await Promise.all(batch))];
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(line: Fields): void {
    if (line["type"] === "event") return;
    const rid = Number(line["rid"]);
    this.#waiting.get(rid)?.(line);
    this.#waiting.delete(rid);
  }
}

/** Pings, one after the other, until told to end. */
export class Pings {
  #longestMs = 0;
  #ended = false;
  readonly #running: Promise<void>;

  constructor(talk: Talk) {
    this.#running = this.#run(talk);
  }

  /** The longest time from a ping to its answer, in milliseconds. */
  async end(): Promise<number> {
    this.#ended = true;
    await this.#running;
    return this.#longestMs;
  }

  async #run(talk: Talk): Promise<void> {
    while (!this.#ended) {
      const began = performance.now();
      await talk.ask({ type: "ping" });
      this.#longestMs = Math.max(this.#longestMs, performance.now() - began);
    }
  }
}
