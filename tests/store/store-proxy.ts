/** A TCP proxy on loopback that cuts, holds and refuses what passes between a journal and its store. */
import { connect, createServer, type Server, type Socket } from "node:net";

/** One connection through the proxy. What is held in one direction waits there, also when its sender is gone. */
class Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly #held: { readonly to: Socket; readonly bytes: Buffer }[] = [];

  constructor(client: Socket, server: Socket, proxy: StoreProxy) {
    this.client = client;
    this.server = server;
    const pass = (to: Socket, isHeld: () => boolean) => (bytes: Buffer) => {
      proxy.bytes += bytes.length;
      if (isHeld() || this.#held.some(one => one.to === to)) this.#held.push({ to, bytes });
      else to.write(bytes);
    };
    const request = pass(server, () => proxy.holdsRequests);
    client.on("data", bytes => {
      if (proxy.holdsAnswersTo !== null && bytes.includes(proxy.holdsAnswersTo)) proxy.holdsAnswers = true;
      request(proxy.passesListen ? bytes : withoutListen(bytes));
    });
    server.on(
      "data",
      pass(client, () => proxy.holdsAnswers),
    );
    // A journal that gave up a connection may have sent something before.
    client.on("close", () => {
      if (!this.#held.some(one => one.to === server)) server.destroy();
    });
    server.on("close", () => client.destroy());
    for (const socket of [client, server]) socket.on("error", () => socket.destroy());
  }

  release(): void {
    for (const { to, bytes } of this.#held.splice(0)) to.write(bytes);
    if (this.client.destroyed) this.server.end();
  }

  cut(): void {
    this.client.destroy();
    this.server.destroy();
  }
}

function withoutListen(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString("latin1").replace('LISTEN "', 'LISTEM "'), "latin1");
}

export class StoreProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #port = 0;
  /** Connections end as soon as they come. */
  refuses = false;
  holdsRequests = false;
  holdsAnswers = false;
  /** A request with this text passes, and from then on answers are held. */
  holdsAnswersTo: string | null = null;
  /** False: the server understands no request to be notified. */
  passesListen = true;
  /** What has passed so far. */
  bytes = 0;

  private constructor(target: number) {
    this.#server = createServer(client => {
      if (this.refuses) {
        client.destroy();
        return;
      }
      const pair = new Pair(client, connect(target, "127.0.0.1"), this);
      this.#pairs.add(pair);
      pair.server.on("close", () => this.#pairs.delete(pair));
    });
  }

  static async start(target: number): Promise<StoreProxy> {
    const proxy = new StoreProxy(target);
    await new Promise<void>(resolve => proxy.#server.listen(0, "127.0.0.1", resolve));
    const address = proxy.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    proxy.#port = address.port;
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** Ends all connections, in the middle of whatever passes. */
  cut(): void {
    for (const pair of this.#pairs) pair.cut();
  }

  /** Holds nothing any more, and passes on what was held. */
  release(): void {
    this.holdsRequests = false;
    this.holdsAnswers = false;
    for (const pair of this.#pairs) pair.release();
  }

  end(): void {
    this.cut();
    this.#server.close();
  }
}
