import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { encodeLine, LineDecoder } from "../../protocol/wire.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Sends requests on a connection of their own and resolves with the replies; throws at the first refusal. */
export async function ask(path: string, requests: readonly Fields[]): Promise<readonly Fields[]> {
  const socket = connect(path);
  const decoder = new LineDecoder();
  const replies: Fields[] = [];
  socket.write(requests.map(encodeLine).join(""));
  while (replies.length < requests.length) {
    const [chunk]: [Buffer] = (await once(socket, "data")) as [Buffer];
    for (const line of decoder.push(chunk)) if ("text" in line) replies.push(JSON.parse(line.text));
  }
  socket.destroy();
  const refused = replies.find(reply => reply["ok"] !== true);
  if (refused !== undefined) throw new Error(`refused: ${JSON.stringify(refused)}`);
  return replies;
}

/** A connection to speak on for longer. */
export class Conversation {
  readonly #socket: Socket;
  #count = 0;
  #last = "";
  #wanted = Number.POSITIVE_INFINITY;
  #enough: () => void = () => {};

  private constructor(socket: Socket) {
    const decoder = new LineDecoder();
    this.#socket = socket;
    socket.on("data", chunk => {
      for (const line of decoder.push(chunk)) {
        this.#count += 1;
        if ("text" in line) this.#last = line.text;
      }
      if (this.#count >= this.#wanted) this.#enough();
    });
  }

  static async at(path: string): Promise<Conversation> {
    const socket = connect(path);
    await once(socket, "connect");
    return new Conversation(socket);
  }

  send(request: Fields): void {
    this.#socket.write(encodeLine(request));
  }

  /** Resolves when `count` more lines have come. */
  replies(count: number): Promise<void> {
    return new Promise(resolve => {
      this.#wanted = this.#count + count;
      this.#enough = resolve;
    });
  }

  /** Sends a request and resolves with the line that comes next, its reply. */
  async ask(request: Fields): Promise<Fields> {
    this.send(request);
    await this.replies(1);
    return JSON.parse(this.#last);
  }

  close(): void {
    this.#socket.end();
  }
}
