/** One connection of the daemon over a real socket, with the server's part in the test's hand. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { Connection, type ConnectionOwner } from "../../daemon/server/connection.ts";
import type { Line } from "../../protocol/wire.ts";
import { temporaryFolder } from "../temporary-folder.ts";

type Handler = (connection: Connection, text: string) => Promise<void> | undefined;

/** A connected pair: the daemon's end, and the client's socket. */
export interface Pair {
  readonly connection: Connection;
  readonly client: Socket;
}

/** Hands each line to `handle`, sends what there is to send at once, and counts what the connections tell it. */
export class ConnectionWorld implements ConnectionOwner {
  /** Bytes that wait for their newline or their turn, as the connections tell it. */
  unfinishedBytes = 0;
  readonly hasRoomToWait = true;
  /** More of them are too many. */
  unfinishedMax = Number.POSITIVE_INFINITY;
  readonly texts: string[] = [];
  handleText: Handler = () => undefined;
  readonly #folder = temporaryFolder("kite-connection-");
  readonly #server: Server;
  readonly #clients: Socket[] = [];
  readonly #closed = new Map<Connection, () => void>();
  #taken: (connection: Connection) => void = () => {};

  constructor() {
    this.#server = createServer({ allowHalfOpen: true }, socket =>
      this.#taken(new Connection(this.#clients.length, socket, this)),
    );
  }

  async pair(): Promise<Pair> {
    const path = join(this.#folder, "s");
    if (!this.#server.listening) await once(this.#server.listen(path), "listening");
    const taken = new Promise<Connection>(resolve => {
      this.#taken = resolve;
    });
    const client = connect({ path, allowHalfOpen: true });
    // How a client ends is what the tests are about.
    client.on("error", () => {});
    this.#clients.push(client);
    return { connection: await taken, client };
  }

  /** Resolves when the connection has told that it is closed. */
  gone(connection: Connection): Promise<void> {
    if (connection.isClosed) return Promise.resolve();
    return new Promise(resolve => this.#closed.set(connection, resolve));
  }

  async end(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  handle(connection: Connection, line: Line): Promise<void> | undefined {
    const text = "text" in line ? line.text : line.fault;
    this.texts.push(text);
    return this.handleText(connection, text);
  }

  unfinished(bytes: number): boolean {
    this.unfinishedBytes += bytes;
    return this.unfinishedBytes > this.unfinishedMax;
  }

  closed(connection: Connection): void {
    this.#closed.get(connection)?.();
  }

  flushSoon(connection: Connection): void {
    queueMicrotask(() => connection.flush());
  }

  drained(): void {}
}
