/** Accepts connections and passes their requests to the handlers. */
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { requestTraits } from "../../protocol/request-traits.ts";
import type { RequestOf, RequestType } from "../../protocol/requests.ts";
import type { Line } from "../../protocol/wire.ts";
import { Call, type CallServices } from "./call.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import { DescriptorReserve } from "./descriptor-reserve.ts";
import { type Parsed, parseRequest } from "./parse.ts";

/** The part of the daemon that answers requests. */
export interface Answering extends CallServices {
  readonly counters: { requests: number; refused: number };
  /** Answers one request, now or later; returns a promise if the connection's next line has to wait for it. */
  handle<T extends RequestType>(type: T, request: RequestOf<T>, call: Call): Promise<void> | undefined;
  /** Called when the connection's client has read its output. */
  drained(connection: Connection): void;
}

export class Server implements ConnectionOwner {
  readonly net: NetServer;
  readonly #connections = new Set<Connection>();
  #answering: Answering | null = null;
  #count = 0;
  #unfinishedBytes = 0;
  #flushFirst: Connection[] = [];
  #flushThen: Connection[] = [];
  readonly #onTrouble: (message: string, error: unknown) => void;
  readonly #reserve = new DescriptorReserve({
    size: limits.descriptorsReserved,
    spare: limits.descriptorsSpare,
  });
  /** Connections that took a reserved descriptor and have carried no hook yet, oldest first. */
  readonly #guests = new Set<Connection>();
  #isShortTold = false;
  /** Up to this many connections, the descriptors are checked only once a second. */
  #roomFor: number = limits.connectionsUnchecked;

  constructor(onTrouble: (message: string, error: unknown) => void) {
    this.#onTrouble = onTrouble;
    // Half-open: a client that closes its sending side still gets later replies.
    this.net = createServer({ allowHalfOpen: true }, socket => this.#accept(socket));
    // Without descriptors or memory, accepting fails: the client is accepted later, or connects again.
    this.net.on("error", error => this.#short(error));
    this.net.on("close", () => this.#reserve.close());
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  /** Whether the connection of this number is open. Looks at all of them: for rare questions. */
  isOpen(number: number): boolean {
    for (const connection of this.#connections) if (connection.number === number) return true;
    return false;
  }

  /** Starts to answer requests. */
  serve(answering: Answering): void {
    this.#answering = answering;
  }

  handle(connection: Connection, line: Line): Promise<void> | undefined {
    const answering = this.#answering;
    const parsed = parseRequest(line);
    const slot = connection.open(parsed.rid);
    if (this.#guests.has(connection) && !this.#mayAskAsGuest(parsed, connection)) {
      connection.reply(slot, noRoom);
      leave(connection);
      return undefined;
    }
    if (answering === null) {
      connection.reply(slot, refuse("restarting", "the daemon is not ready; connect again in a moment"));
      return undefined;
    }
    answering.counters.requests += 1;
    if (!parsed.ok) {
      answering.counters.refused += 1;
      connection.reply(slot, parsed.refusal);
      return undefined;
    }
    const call = new Call(answering, connection, slot, parsed.type, (bad, error) => this.#bug(bad, error));
    try {
      return answering.handle(parsed.type, parsed.request, call)?.catch(error => this.#bug(call, error));
    } catch (error) {
      this.#bug(call, error);
      return undefined;
    }
  }

  unfinished(bytes: number): boolean {
    this.#unfinishedBytes += bytes;
    return this.#unfinishedBytes > limits.unfinishedBytes;
  }

  flushSoon(connection: Connection, first: boolean): void {
    if (this.#flushFirst.length === 0 && this.#flushThen.length === 0) queueMicrotask(() => this.#flushAll());
    (first ? this.#flushFirst : this.#flushThen).push(connection);
  }

  closed(connection: Connection): void {
    this.#connections.delete(connection);
    this.#guests.delete(connection);
    this.#reserve.restore();
    if (!this.#reserve.isGivenUp) this.#isShortTold = false;
  }

  /** Gives up the reserve of descriptors if the others run short. Cheap with few connections. */
  checkDescriptors(): void {
    const { size } = this.#connections;
    this.#roomFor = limits.connectionsUnchecked;
    if (size < this.#roomFor) return;
    this.#reserve.check();
    this.#roomFor = size + limits.descriptorsSpare / 2;
    if (this.#reserve.isGivenUp) this.#short(null);
  }

  drained(connection: Connection): void {
    this.#answering?.drained(connection);
  }

  /** Closes every connection after its pending output. */
  endAll(): void {
    for (const connection of this.#connections) connection.end();
  }

  destroyAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  #accept(socket: Socket): void {
    this.#count += 1;
    const connection = new Connection(this.#count, socket, this);
    this.#connections.add(connection);
    if (this.#connections.size >= this.#roomFor) this.checkDescriptors();
    if (!this.#reserve.isGivenUp) return;
    this.#guests.add(connection);
    const guestsMax = Math.max(1, Math.floor(this.#reserve.size / 4));
    for (const oldest of this.#guests) {
      if (this.#guests.size <= guestsMax) break;
      this.#guests.delete(oldest);
      oldest.push(`${JSON.stringify(noRoom)}\n`);
      leave(oldest);
    }
  }

  /** The reserve is for hooks, and for requests that find out why descriptors run short or stop the daemon. */
  #mayAskAsGuest(parsed: Parsed, connection: Connection): boolean {
    if (!parsed.ok) return true;
    if (parsed.type === "hook") this.#guests.delete(connection);
    return requestTraits[parsed.type].always;
  }

  #short(error: unknown): void {
    if (this.#isShortTold) return;
    this.#isShortTold = true;
    this.#onTrouble(`file descriptors run short with ${this.#connections.size} connections`, error);
  }

  /** Flushes connections with a grant first: a write wakes a process and takes longer than a grant. */
  #flushAll(): void {
    const all = [...this.#flushFirst, ...this.#flushThen];
    this.#flushFirst = [];
    this.#flushThen = [];
    for (const connection of all) connection.flush();
  }

  #bug(call: Call, error: unknown): void {
    this.#onTrouble(`the handler of ${call.type} threw`, error);
    call.reply(refuse("internal_error", "a bug in Kite; see the log, and report it with what you did"));
  }
}

const noRoom = refuse(
  "too_many_connections",
  "the daemon has as many connections as its open files allow; close some, or start it with a higher ulimit -n",
);

/** Ends the connection after its pending output, without waiting for the client to close its side. */
function leave(connection: Connection): void {
  connection.end();
  connection.destroy();
}
