/** Accepts connections and passes their requests to the handlers. */

import { closeSync, openSync } from "node:fs";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { type RequestOf, type RequestType, requests } from "../../protocol/schemas/requests.ts";
import { isObject, type Line } from "../../protocol/wire.ts";
import { confined, type Inward, type MountView, type Resolve } from "../facts/mounts.ts";
import { isOutOfDescriptors } from "../facts/prober.ts";
import { Call, type CallServices } from "./call.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import { type Parsed, parseRequest } from "./parse.ts";

// Holds file descriptors back for hooks. If a process has no descriptor left, the runtime closes each new connection at
// once. The hook at the other end then lets its tool run. So the daemon keeps some open, and closes them when it runs short.

interface ReserveOptions {
  /** Descriptors to keep; half of the free ones if those are fewer than twice as many. */
  readonly size: number;
  /** With fewer free descriptors than this, the reserve is closed; than half of the reserve, if that is not full. */
  readonly spare: number;
  /** Opens a descriptor; throws EMFILE or ENFILE when there is none. */
  readonly open?: () => number;
  readonly close?: (descriptor: number) => void;
}

export class DescriptorReserve {
  readonly #spare: number;
  readonly #open: () => number;
  readonly #close: (descriptor: number) => void;
  #kept: readonly number[] = [];
  #isGivenUp = false;
  /** How many descriptors were free when it began; it counts as far as twice its size. */
  readonly free: number;
  /** Number of descriptors in the full reserve. */
  readonly size: number;

  constructor({ size, spare, open = openNull, close = closeSync }: ReserveOptions) {
    this.#open = open;
    this.#close = close;
    const free = this.#take(2 * size);
    this.#kept = free.slice(0, Math.floor(free.length / 2));
    this.size = this.#kept.length;
    this.free = free.length;
    this.#spare = this.size < size ? Math.min(spare, Math.floor(this.size / 2)) : spare;
    this.#drop(free.slice(this.size));
  }

  /** Whether a descriptor opened now comes out of the reserve. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** Gives up the reserve if the other descriptors run short. */
  check(): void {
    if (this.#isGivenUp) return;
    const free = this.#take(this.#spare);
    this.#drop(free);
    if (free.length === this.#spare) return;
    this.#isGivenUp = true;
    this.#drop(this.#kept);
    this.#kept = [];
  }

  /** Opens the reserve again once it fits with `spare` others beside it. */
  restore(): void {
    if (!this.#isGivenUp) return;
    const wanted = this.size + this.#spare;
    const free = this.#take(wanted);
    const isEnough = free.length === wanted;
    this.#drop(isEnough ? free.slice(this.size) : free);
    if (!isEnough) return;
    this.#kept = free.slice(0, this.size);
    this.#isGivenUp = false;
  }

  close(): void {
    this.#drop(this.#kept);
    this.#kept = [];
  }

  /** Opens up to `count` descriptors. */
  #take(count: number): number[] {
    const taken: number[] = [];
    try {
      while (taken.length < count) taken.push(this.#open());
    } catch (error) {
      if (!isOutOfDescriptors(error)) {
        this.#drop(taken);
        throw error;
      }
    }
    return taken;
  }

  #drop(descriptors: readonly number[]): void {
    for (const descriptor of descriptors) this.#close(descriptor);
  }
}

function openNull(): number {
  return openSync("/dev/null", "r");
}

// Makes the paths of a request from a container those of this machine: the one place where they come in, but for hooks.

/** The fields of requests that name files, at any depth; `../../tests/unit/mounts.test.ts` compares them with the schemas. */
const named: ReadonlySet<string> = new Set(["project", "cwd", "worktree", "file", "files", "into"]);
/** Ids of processes of another namespace would be those of strangers here. */
const ofProcesses: ReadonlySet<string> = new Set(["pid", "pids", "starts"]);
/** Agents and scripts store these values, so they stay as they are. */
const stored: ReadonlySet<string> = new Set(["value"]);

/**
 * Returns the request in this machine's paths, and without the ids of processes that only the container has. Relative
 * names count from `base`, the session's working directory (a path of this machine), if it is known.
 */
export function inwardRequest<T extends RequestType>(
  view: MountView,
  request: RequestOf<T>,
  base: string | null,
  names: Inward = view,
): RequestOf<T> {
  const from = base === null ? "" : view.outwardPath(base);
  const mapped = (value: unknown, isNamed: boolean): unknown => {
    if (typeof value === "string") return isNamed ? names.inwardFrom(from, value) : value;
    if (Array.isArray(value)) return value.map(one => mapped(one, isNamed));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !view.hidesProcesses || !ofProcesses.has(key))
        .map(([key, one]) => [key, stored.has(key) ? one : mapped(one, named.has(key))]),
    );
  };
  return mapped(request, false) as RequestOf<T>;
}

/** The part of the daemon that answers requests. */
interface Answering extends CallServices {
  readonly facts: { readonly path: Resolve };
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
  /** Null before the daemon serves: what it opens itself comes first. */
  #reserve: DescriptorReserve | null = null;
  /** Connections that took a reserved descriptor, oldest first. Those that wait for no answer make room. */
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
    this.net.on("close", () => this.#reserve?.close());
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
    this.#reserve = new DescriptorReserve({
      size: limits.descriptorsReserved,
      spare: limits.descriptorsSpare,
    });
    this.checkDescriptors();
  }

  handle(connection: Connection, line: Line): Promise<void> | undefined {
    const answering = this.#answering;
    const parsed = parseRequest(line);
    const slot = connection.open(parsed.rid);
    if (this.#guests.has(connection) && !this.#mayAskAsGuest(parsed)) {
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
    const { view } = connection;
    try {
      // The plan of a hook's event has its paths.
      const answer =
        view === null || parsed.type === "hook"
          ? answering.handle(parsed.type, parsed.request, call)
          : answerInView(answering, view, parsed.request, call);
      return answer?.catch(error => this.#bug(call, error));
    } catch (error) {
      this.#bug(call, error);
      return undefined;
    }
  }

  /** Whether new connections take reserved descriptors. */
  get #isShort(): boolean {
    return this.#reserve?.isGivenUp ?? false;
  }

  get #reserved(): number {
    return this.#reserve?.size ?? limits.descriptorsReserved;
  }

  /** With fewer connections than this, descriptors are not looked at. */
  get #uncheckedMax(): number {
    return this.#reserved < limits.descriptorsReserved ? 0 : limits.connectionsUnchecked;
  }

  /** The free descriptors at the start, if those are fewer than a busy daemon needs; else null. */
  get fewDescriptors(): number | null {
    const free = this.#reserve?.free ?? limits.descriptorsWanted;
    return free < limits.descriptorsWanted ? free : null;
  }

  /** The guard's own lines, and edits that need not wait, find descriptors beside those that wait. */
  get hasRoomToWait(): boolean {
    if (!this.#isShort) return true;
    let awaited = 0;
    for (const guest of this.#guests) if (guest.isAwaited) awaited += 1;
    // The one that asks is among them.
    return awaited <= Math.floor(this.#reserved / 4);
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
    this.#reserve?.restore();
    if (this.#isShort) return;
    this.#isShortTold = false;
    this.#guests.clear();
  }

  /** Gives up the reserve of descriptors if the others run short. Cheap with few connections. */
  checkDescriptors(): void {
    const { size } = this.#connections;
    this.#roomFor = this.#uncheckedMax;
    if (size < this.#roomFor) return;
    this.#reserve?.check();
    this.#roomFor = size + limits.descriptorsSpare / 4;
    if (this.#isShort) this.#short(null);
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
    if (!this.#isShort) return;
    this.#guests.add(connection);
    const guestsMax = Math.max(1, Math.floor(this.#reserved / 4));
    let tooMany = -guestsMax;
    for (const guest of this.#guests) if (!guest.isAwaited) tooMany += 1;
    for (const oldest of this.#guests) {
      if (tooMany <= 0) break;
      if (oldest.isAwaited) continue;
      tooMany -= 1;
      this.#guests.delete(oldest);
      oldest.push(`${JSON.stringify(noRoom)}\n`);
      leave(oldest);
    }
  }

  /** The reserve is for hooks, and for requests that find out why descriptors run short or stop the daemon. */
  #mayAskAsGuest(parsed: Parsed): boolean {
    if (!parsed.ok) return true;
    return requests[parsed.type].traits.always;
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

/** Answers a client in a container: it names files by its own paths. */
async function answerInView(
  answering: Answering,
  view: MountView,
  request: RequestOf<RequestType>,
  call: Call,
): Promise<void> {
  const base = baseOf(answering, request);
  const inward = (names: Inward) => inwardRequest(view, request, base, names);
  await answering.handle(call.type, await confined(view, answering.facts.path, inward), call);
}

/** The working directory of the session that asks; null: it is not known. */
function baseOf({ engine }: Answering, request: RequestOf<RequestType>): string | null {
  const id = "id" in request ? request.id : undefined;
  return id === undefined ? null : (engine.state.sessions.live.get(id)?.cwd ?? null);
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
