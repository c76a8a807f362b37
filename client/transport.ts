/** JSON lines over the daemon's socket. */
import { lstatSync, type Stats } from "node:fs";
import { connect, type Socket } from "node:net";
import { errorText } from "../protocol/errors.ts";
import { limits } from "../protocol/limits.ts";
import type { KitePaths } from "../protocol/paths.ts";
import { isObject, type Line, LineDecoder } from "../protocol/wire.ts";
import { ConnectionClosed, NotRunning, TimedOut, WrongOwner } from "./errors.ts";

/** A message of the daemon, as parsed. */
export type Message = Readonly<Record<string, unknown>>;

export interface TransportEvents {
  readonly message: (message: Message) => void;
  /** Called once, last. `broken`: the daemon's bytes broke the protocol, so reconnecting would not help. */
  readonly closed: (reason: ConnectionClosed, broken: boolean) => void;
}

/** Sends and receives JSON lines over one Unix socket; writes all lines of one turn at once. */
export class Transport {
  readonly #socket: Socket;
  readonly #events: TransportEvents;
  readonly #decoder = new LineDecoder(limits.hookLineBytes, limits.hookLineBytes);
  #unsent = "";
  #closed = false;

  /**
   * Connects within `timeoutMs`. Throws `NotRunning`, `WrongOwner`, or `TimedOut` if the kernel's queue of waiting
   * connections stays full.
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
      // The backlog is full. The kernel does not announce free room, so this retries after a pause.
      if (performance.now() + pauseMs > deadline) {
        throw new TimedOut(`the daemon at ${paths.socket} accepts no more connections; see \`kite doctor\``);
      }
      await new Promise(resolve => setTimeout(resolve, pauseMs));
    }
  }

  private constructor(socket: Socket, events: TransportEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on("data", chunk => this.#take(chunk));
    // "close" follows, and how the connection ended helps nobody.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#finish("the daemon closed the connection; try again, or see `kite doctor`", false);
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends one line, newline included. After the connection's end it drops the line, as if the daemon never read it. */
  send(line: string): void {
    if (this.#closed) return;
    if (this.#unsent === "") queueMicrotask(() => this.#flush());
    this.#unsent += line;
  }

  /** Ends the connection once all sent lines are written; does not call `closed`. */
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
      if (message === null) this.#finish("the daemon sent a line that is not valid; see `kite doctor`", true);
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

/** Returns the connected socket, or null if the kernel's queue of waiting connections is full now. */
function dial(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EAGAIN") resolve(null);
      else if (error.code === "ENOENT" || error.code === "ECONNREFUSED") reject(new NotRunning());
      else
        reject(
          new ConnectionClosed(`connecting to ${path} failed: ${errorText(Object.assign(error, { path }))}`),
        );
    });
  });
}

/** Refuses to speak to a socket that another user could have put there. */
function checkOwner(paths: KitePaths): void {
  const home = lstatSync(paths.home, { throwIfNoEntry: false });
  if (home === undefined) throw new NotRunning();
  if (!home.isDirectory())
    throw new WrongOwner(`${paths.home} is not a directory; Kite follows no links there`);
  mustBeOurs(paths.home, home);
  const socket = lstatSync(paths.socket, { throwIfNoEntry: false });
  if (socket === undefined) throw new NotRunning();
  if (!socket.isSocket())
    throw new WrongOwner(`${paths.socket} is not a socket; remove it and run \`kite up\``);
  mustBeOurs(paths.socket, socket);
}

function mustBeOurs(path: string, stat: Stats): void {
  const uid = process.getuid?.();
  if (uid === undefined || stat.uid === uid) return;
  throw new WrongOwner(`${path} belongs to user ${stat.uid}, not to you (${uid}); set KITE_HOME elsewhere`);
}

function parse(line: Line): Message | null {
  if (!("text" in line)) return null;
  try {
    const value: unknown = JSON.parse(line.text);
    return isObject(value) ? value : null;
  } catch {
    return null; // The caller reports it to the person and ends the connection.
  }
}
