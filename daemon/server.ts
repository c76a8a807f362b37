/** Accepts connections and hands their lines to the handlers. */
import { createServer, type Server as NetServer } from "node:net";
import { refuse } from "../protocol/codes.ts";
import { limits } from "../protocol/limits.ts";
import type { Line } from "../protocol/wire.ts";
import { Call } from "./call.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import { parseRequest, run } from "./dispatch.ts";
import type { Services } from "./services.ts";

export class Server implements ConnectionOwner {
  readonly net: NetServer;
  readonly #connections = new Set<Connection>();
  #services: Services | null = null;
  #count = 0;
  #unfinishedBytes = 0;
  #flushFirst: Connection[] = [];
  #flushThen: Connection[] = [];
  readonly #onTrouble: (message: string, error: unknown) => void;

  constructor(onTrouble: (message: string, error: unknown) => void) {
    this.#onTrouble = onTrouble;
    // Half-open is allowed, or who closes its sending side never gets a reply that comes later.
    this.net = createServer({ allowHalfOpen: true }, socket => {
      this.#count += 1;
      this.#connections.add(new Connection(this.#count, socket, this));
    });
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  /** Requests are answered from here on. */
  serve(services: Services): void {
    this.#services = services;
  }

  handle(connection: Connection, line: Line): Promise<void> | undefined {
    const services = this.#services;
    const parsed = parseRequest(line);
    const slot = connection.open(parsed.rid);
    if (services === null) {
      connection.reply(slot, refuse("restarting", "the daemon is not ready; connect again in a moment"));
      return undefined;
    }
    services.counters.requests += 1;
    if (!parsed.ok) {
      services.counters.refused += 1;
      connection.reply(slot, parsed.refusal);
      return undefined;
    }
    const call = new Call(services, connection, slot, parsed.type, (bad, error) => this.#bug(bad, error));
    try {
      return run(services, parsed.type, parsed.request, call)?.catch(error => this.#bug(call, error));
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
  }

  drained(connection: Connection): void {
    this.#services?.events.drained(connection);
  }

  /** Closes every connection after what was written to it. */
  endAll(): void {
    for (const connection of this.#connections) connection.end();
  }

  destroyAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /** A write wakes a process, which takes longer than a lock: grants do not wait behind it. */
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
