import { createServer, type Server, type Socket } from "node:net";
import { type KitePaths, kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

export type Message = Readonly<Record<string, unknown>>;

/** What a fake daemon answers: an object, or nothing for now. */
export type Script = (message: Message, socket: Socket) => object | undefined;

export const helloReply = { ok: true, protocol: 1, version: "0.1.0", pid: 4711, storeId: "store", epoch: 1 };

/** A temporary home and what is to be done away with when a test ends. */
export class Stage {
  readonly paths: KitePaths;
  readonly #daemons: FakeDaemon[] = [];
  readonly #after: (() => void)[] = [];
  readonly folder: string;

  constructor() {
    this.folder = temporaryFolder("kite-client-");
    this.paths = kitePaths({ KITE_HOME: this.folder });
  }

  async daemon(script: Script = () => undefined): Promise<FakeDaemon> {
    const daemon = await FakeDaemon.listen(this.paths.socket, script);
    this.#daemons.push(daemon);
    return daemon;
  }

  after(cleanUp: () => void): void {
    this.#after.push(cleanUp);
  }

  async clear(): Promise<void> {
    for (const cleanUp of this.#after) cleanUp();
    for (const daemon of this.#daemons) await daemon.stop();
  }
}

/** Says hello, notes what it gets, and answers as its script has it; `rid` is echoed. */
export class FakeDaemon {
  readonly received: Message[] = [];
  readonly sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #script: Script;
  #waiting: { readonly type: string; readonly found: (message: Message) => void }[] = [];
  #seen = 0;

  static listen(path: string, script: Script): Promise<FakeDaemon> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      const daemon = new FakeDaemon(server, script);
      server.once("error", reject);
      server.listen(path, () => resolve(daemon));
    });
  }

  private constructor(server: Server, script: Script) {
    this.#server = server;
    this.#script = script;
    server.on("connection", socket => this.#serve(socket));
  }

  get types(): unknown[] {
    return this.received.map(message => message["type"]);
  }

  /** The next request of this type, one that nobody was given yet. */
  next(type: string): Promise<Message> {
    for (let i = this.#seen; i < this.received.length; i++) {
      const message = this.received[i];
      if (message?.["type"] !== type) continue;
      this.#seen = i + 1;
      return Promise.resolve(message);
    }
    return new Promise(found => this.#waiting.push({ type, found }));
  }

  /** Writes to every connection. */
  say(...messages: object[]): void {
    const lines = messages.map(message => `${JSON.stringify(message)}\n`).join("");
    for (const socket of this.sockets) socket.write(lines);
  }

  /** Drops every connection and leaves no socket. */
  stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return new Promise(resolve => {
      if (!this.#server.listening) resolve();
      else this.#server.close(() => resolve());
    });
  }

  #serve(socket: Socket): void {
    this.sockets.add(socket);
    let text = "";
    socket.setEncoding("utf8");
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: string) => {
      const lines = (text + chunk).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.#take(JSON.parse(line), socket);
    });
  }

  #take(message: Message, socket: Socket): void {
    this.received.push(message);
    const answer = this.#script(message, socket) ?? (message["type"] === "hello" ? helloReply : undefined);
    if (answer !== undefined) socket.write(`${JSON.stringify({ rid: message["rid"], ...answer })}\n`);
    const waiter = this.#waiting.find(({ type }) => type === message["type"]);
    if (waiter === undefined) return;
    this.#waiting = this.#waiting.filter(other => other !== waiter);
    this.#seen = this.received.length;
    waiter.found(message);
  }
}
