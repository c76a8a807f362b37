import { lstatSync, type Stats } from "node:fs";
import { connect, type Socket } from "node:net";
import { limits } from "../protocol/limits.ts";
import type { KitePaths } from "../protocol/paths.ts";
import { type Line, LineDecoder } from "../protocol/wire.ts";
import { ConnectionClosed, NotRunning, TimedOut, WrongOwner } from "./errors.ts";

/** A message of the daemon, as parsed. */
export type Message = Readonly<Record<string, unknown>>;

export interface TransportEvents {
  readonly message: (message: Message) => void;
  /** Called once, as the last one. `broken`: what came was no protocol, so coming back would not help. */
  readonly closed: (reason: ConnectionClosed, broken: boolean) => void;
}

/** Lines over one Unix socket: JSON objects in and out, everything sent in one turn written at once. */
export class Transport {
  readonly #socket: Socket;
  readonly #events: TransportEvents;
  readonly #decoder = new LineDecoder(limits.hookLineBytes, limits.hookLineBytes);
  #unsent = "";
  #closed = false;

  /**
   * Connects within `timeoutMs`. Throws `NotRunning`, `WrongOwner`, or `TimedOut` where so many others connect
   * that the kernel keeps no more of them waiting.
   */
  static async open(paths: KitePaths, timeoutMs: number, events: TransportEvents): Promise<Transport> {
    checkOwner(paths);
    const deadline = performance.now() + timeoutMs;
    for (
      let pauseMs: number = limits.retryFirstMs;
      ;
      pauseMs = Math.min(pauseMs * 2, limits.retryPauseMaxMs)
    ) {
      const socket = await dial(paths.socket);
      if (socket !== null) return new Transport(socket, events);
      // The backlog is full. The kernel tells nobody when it has room again: ask once more after a pause.
      if (performance.now() + pauseMs > deadline) {
        throw new TimedOut(`the daemon at ${paths.socket} takes no more connections; see \`kite doctor\``);
      }
      await new Promise(resolve => setTimeout(resolve, pauseMs));
    }
  }

  private constructor(socket: Socket, events: TransportEvents) {
    this.#socket = socket;
    this.#events = events;
    let failure: Error | null = null;
    socket.on("data", chunk => this.#take(chunk));
    socket.on("error", error => {
      failure = error;
    });
    socket.on("close", () => {
      this.#finish(`the daemon closed the connection${failure ? ` (${failure.message})` : ""}`, false);
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends one line, its newline included; after the end it is dropped, as one that the daemon never read. */
  send(line: string): void {
    if (this.#closed) return;
    if (this.#unsent === "") queueMicrotask(() => this.#flush());
    this.#unsent += line;
  }

  /** Ends the connection once what was sent is written; `closed` is not called. */
  close(): void {
    if (this.#closed) return;
    this.#flush();
    this.#closed = true;
    this.#socket.destroySoon();
  }

  #flush(): void {
    const unsent = this.#unsent;
    this.#unsent = "";
    if (unsent !== "" && !this.#closed) this.#socket.write(unsent);
  }

  #take(chunk: Buffer): void {
    for (const line of this.#decoder.push(chunk)) {
      if (this.#closed) return;
      const message = parse(line);
      if (message === null) this.#finish("what the daemon sent cannot be read; see `kite doctor`", true);
      else this.#events.message(message);
    }
  }

  #finish(why: string, broken: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    this.#events.closed(new ConnectionClosed(why), broken);
  }
}

/** The connected socket, or null where the kernel keeps no more connections waiting for now. */
function dial(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EAGAIN") resolve(null);
      else if (error.code === "ENOENT" || error.code === "ECONNREFUSED") reject(notRunning(path));
      else reject(new ConnectionClosed(`connecting to ${path} failed: ${error.message}`));
    });
  });
}

/** Refuses to speak to a socket that another user could have put there. */
function checkOwner(paths: KitePaths): void {
  const home = lstatSync(paths.home, { throwIfNoEntry: false });
  if (home === undefined) throw notRunning(paths.socket);
  if (!home.isDirectory())
    throw new WrongOwner(`${paths.home} is not a directory; Kite follows no links there`);
  mustBeOurs(paths.home, home);
  const socket = lstatSync(paths.socket, { throwIfNoEntry: false });
  if (socket === undefined) throw notRunning(paths.socket);
  if (!socket.isSocket())
    throw new WrongOwner(`${paths.socket} is not a socket; remove it and run \`kite up\``);
  mustBeOurs(paths.socket, socket);
}

function mustBeOurs(path: string, stat: Stats): void {
  const uid = process.getuid?.();
  if (uid === undefined || stat.uid === uid) return;
  throw new WrongOwner(`${path} belongs to user ${stat.uid}, not to you (${uid}); set KITE_HOME elsewhere`);
}

function notRunning(socket: string): NotRunning {
  return new NotRunning(`no daemon listens at ${socket}; start it with \`kite up\``);
}

function parse(line: Line): Message | null {
  if (!("text" in line)) return null;
  try {
    const value: unknown = JSON.parse(line.text);
    return isMessage(value) ? value : null;
  } catch {
    return null; // Said by the caller, in words for people: the connection is of no use any more.
  }
}

/** Whether a parsed value is an object with fields. */
export function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
