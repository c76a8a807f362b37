/** The client library's connection: requests, events, and reconnecting. */

import { setTimeout as delay } from "node:timers/promises";
import { mountsHere } from "../hooks/client/mounts.ts";
import { type Refusal, refuse } from "../protocol/codes.ts";
import type { EventLine } from "../protocol/events.ts";
import { limits } from "../protocol/limits.ts";
import type { KitePaths } from "../protocol/paths.ts";
import { isRepeatable } from "../protocol/repeatable.ts";
import type {
  Answer,
  ParamsOf,
  protocolVersion,
  ReplyOf,
  RequestType,
} from "../protocol/schemas/requests.ts";
import { encodeLine } from "../protocol/wire.ts";
import { ConnectionClosed, HelloRefused, LocalError, NotRunning, TimedOut } from "./errors.ts";
import { type Message, Transport } from "./transport.ts";

// Requests that wait for their answers.

interface Outstanding {
  readonly type: RequestType;
  readonly request: Message;
  readonly line: string;
  /** True if the client sends the request again on the next connection. */
  readonly again: boolean;
  /** Until then it is sent again if a shared store has not told its outcome, as `performance.now()` counts. */
  readonly repeatUntil: number;
  /** The next time; its end ends with the request. */
  repeat?: NodeJS.Timeout;
  readonly resolve: (answer: Message) => void;
  readonly reject: (reason: unknown) => void;
}

/** Requests that a log which machines share may get. */
const sharedWrite = /^(task|message|context|debate)_|^broadcast$/;

/** Returns the wait that a request asks for, in milliseconds. */
function waitOf(type: RequestType, params: object): number {
  if (type !== "file_lock") return 0;
  return "waitMs" in params && typeof params.waitMs === "number" ? params.waitMs : limits.waitMs;
}

/**
 * Returns how long a request of a shared log waits for its answer, and for how long of this it is repeated, in
 * milliseconds. A bound that the caller gave holds. A repeat that could not be answered within it is not sent, and the
 * caller hears that the outcome is not known.
 */
function repeatsOf(waitMs: number, isGiven: boolean): { readonly waitMs: number; readonly forMs: number } {
  const { storeRepeatMs, storeAnswerMs } = limits;
  if (!isGiven) return { waitMs: waitMs + storeRepeatMs, forMs: storeRepeatMs };
  return { waitMs, forMs: Math.min(storeRepeatMs, waitMs - storeAnswerMs) };
}

/** Returns a promise, and what settles it. */
function withResolvers<T>() {
  let settle: Pick<Outstanding, "reject"> & { resolve: (value: T) => void } = { resolve() {}, reject() {} };
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

// State that a client restores on a new connection.

/**
 * The requests that a client repeats on a new connection: its registered sessions, its bound locks and merges, and the
 * cursor of its event stream. It records only requests that succeeded.
 */
class Remembered {
  readonly #registered = new Map<unknown, Message>();
  readonly #runners = new Map<unknown, Message>();
  readonly #bound = new Map<string, Bound>();
  #subscription: Message | null = null;
  #cursor: unknown;

  /** Records a request and its success reply. */
  note(type: RequestType, request: Message, reply: Message): void {
    if (type === "register") this.#registered.set(request["id"], request);
    else if (type === "deregister") this.#forget(request["id"]);
    else if (type === "file_lock" && request["bind"] === true) this.#hold(request, reply);
    else if (type === "merge_attach") this.#runners.set(request["runner"], request);
    else if (type === "file_unlock") this.#release(request);
    else if (type === "subscribe") {
      this.#subscription = request;
      this.saw(reply["cursor"]);
    }
  }

  /** Records an event's cursor: a resumed stream begins after it. Volatile events have no cursor. */
  saw(cursor: unknown): void {
    if (typeof cursor === "string") this.#cursor = cursor;
  }

  /** Sessions come first, because the other requests refer to them. */
  registrations(): Message[] {
    return [...this.#registered.values()];
  }

  /** Requests for the bound locks without a wait; a holder that kept its lock gets the same token. */
  locks(): Bound[] {
    return [...this.#bound.values()];
  }

  /** Requests that tie the merges of this client's runners to the connection. */
  runners(): Message[] {
    return [...this.#runners.values()];
  }

  subscription(): Message | null {
    return this.#subscription && { ...this.#subscription, cursor: this.#cursor };
  }

  /** Forgets a lock that changed, so that the client does not request it again. */
  drop(bound: Bound): void {
    this.#bound.delete(keyOf(bound.request));
  }

  #hold(request: Message, reply: Message): void {
    const { requestId: _, ...rest } = request;
    this.#bound.set(keyOf(request), { request: { ...rest, waitMs: 0 }, token: reply["token"] });
  }

  #forget(id: unknown): void {
    this.#registered.delete(id);
    for (const bound of this.#bound.values()) if (bound.request["id"] === id) this.drop(bound);
  }

  /**
   * Compares names as spelled. Restoring a released lock would be worse than losing a held one. So an unlock that names
   * anything but whole requests makes this forget every lock of its session.
   */
  #release(request: Message): void {
    const key = keyOf(request);
    if (this.#bound.delete(key)) return;
    for (const bound of this.#bound.values()) {
      if (request["id"] === undefined || bound.request["id"] === request["id"]) this.drop(bound);
    }
  }
}

interface Bound {
  readonly request: Message;
  readonly token: unknown;
}

function keyOf(request: Message): string {
  const { id, agent, command, file, files, resource } = request;
  return JSON.stringify([id, agent, command, file ?? files, resource]);
}

/** The compiler checks this value against the table's own; importing that file would bring the schemas along. */
const spoken: typeof protocolVersion = 1;

/** A cursor that no daemon ever issued, so the daemon answers it with `lagged`. */
const foreignCursor = "-";

export interface ConnectOptions {
  readonly paths: KitePaths;
  /** This client's name in `hello`. */
  readonly name?: string;
  /** A person's token: what this client asks without a session's id is a person's. */
  readonly person?: string;
  /** This client only looks on: for it alone the daemon does not stay. */
  readonly onlooker?: true;
  /** Bound in milliseconds for connecting, and for each answer beyond a lock request's wait; `limits.requestMs`. */
  readonly timeoutMs?: number;
  /** Reconnect after a lost connection or `restarting`, and restore sessions, locks and subscription. */
  readonly reconnect?: boolean;
  /** How long an absence may last, in milliseconds; `limits.reconnectMs`. */
  readonly reconnectMs?: number;
}

export interface RequestOptions {
  /** Replaces the client's own bound: milliseconds from the call to the answer, absences included. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** False: throws `ConnectionClosed` if the daemon is or goes away, instead of waiting for it. */
  readonly again?: boolean;
}

/** A bound lock that did not survive an absence: refused, or granted again with another token. */
export interface LockLost {
  readonly request: Message;
  readonly answer: Answer<"file_lock">;
}

/**
 * One program's connection to the daemon. It is `open`; or, with `reconnect`, `away` between a lost connection and
 * the next one, which gets the requests made meanwhile; or `closed`, for good. A refusal is a value; methods throw
 * only a `LocalError`.
 */
export class KiteClient {
  readonly #options: ConnectOptions;
  readonly #outstanding = new Map<string, Outstanding>();
  readonly #remembered = new Remembered();
  readonly #onEvent = new Set<(event: EventLine) => void>();
  readonly #onLagged = new Set<() => void>();
  readonly #onLockLost = new Set<(lost: LockLost) => void>();
  readonly #ending = new AbortController();
  /** This client's part of the ids of its requests: its process and time. Loading what makes random ids takes longer. */
  readonly #id = `${process.pid}.${process.hrtime.bigint().toString(36)}`;
  #count = 0;
  #state: "open" | "away" | "closed" = "open";
  #transport: Transport | null = null;
  #daemon: ReplyOf<"hello"> | null = null;
  #openedAt = 0;
  #pauseMs: number = limits.retryFirstMs;
  /** When the daemon announced its restart. */
  #announcedAt = Number.NEGATIVE_INFINITY;
  #comingBack: Promise<void> = Promise.resolve();
  #tryNow: () => void = () => {};
  #ended: (reason: LocalError) => void = () => {};

  /** Resolves with the reason when the connection has ended for good; after `close` too. */
  readonly closed: Promise<LocalError>;

  /**
   * Connects and sends `hello`. Throws `NotRunning`, `WrongOwner`, `TimedOut`, `HelloRefused` or
   * `ConnectionClosed`; never retries the first connection.
   */
  static async connect(options: ConnectOptions): Promise<KiteClient> {
    const client = new KiteClient(options);
    await client.#open(client.#timeoutMs);
    return client;
  }

  private constructor(options: ConnectOptions) {
    this.#options = options;
    this.closed = new Promise(resolve => {
      this.#ended = resolve;
    });
  }

  /** The daemon's data from the latest `hello`. */
  get daemon(): ReplyOf<"hello"> {
    if (this.#daemon === null) throw new Error("asked for the daemon before hello");
    return this.#daemon;
  }

  /**
   * Why the daemon is away: `restarting` if it announced a restart just now, `gone` if it may not return. Null if it
   * is not away.
   */
  get absence(): "restarting" | "gone" | null {
    if (this.#state !== "away") return null;
    return performance.now() - this.#announcedAt < this.#reconnectMs ? "restarting" : "gone";
  }

  /** Reconnects at once; resolves when this client is open again, or closed for good. */
  async comeBackNow(): Promise<void> {
    this.#tryNow();
    await this.#comingBack;
  }

  /**
   * Sends one request and waits for its answer. Throws `TimedOut`, `ConnectionClosed`, or the signal's reason: the
   * daemon may still apply the request then, and `file_unlock` gives a lock's queue position up.
   */
  async request<T extends RequestType>(
    type: T,
    params: ParamsOf<T>,
    options: RequestOptions = {},
  ): Promise<Answer<T>> {
    options.signal?.throwIfAborted();
    if (this.#state === "closed") throw new ConnectionClosed("this client was closed; connect again");
    const again = this.#options.reconnect === true && type !== "shutdown" && options.again !== false;
    if (this.#state === "away" && !again)
      throw new ConnectionClosed(`the daemon is away; ${type} was not sent`);
    const { timeoutMs, signal } = options;
    const waitMs = timeoutMs ?? this.#timeoutMs + waitOf(type, params);
    const isGiven = timeoutMs !== undefined;
    const answer = await this.#ask(type, { ...params }, { again, waitMs, isGiven, signal });
    return taken<Answer<T>>(answer);
  }

  /** Subscribes to events from now on; after an absence the stream continues behind its last event. */
  async subscribe(params: ParamsOf<"subscribe"> = {}): Promise<Answer<"subscribe">> {
    return this.request("subscribe", params);
  }

  /** Calls back for every event; returns a function that ends it. */
  onEvent(callback: (event: EventLine) => void): () => void {
    return listen(this.#onEvent, callback);
  }

  /** Calls back if this client missed events, by an absence or by reading too slowly: query again. */
  onLagged(callback: () => void): () => void {
    return listen(this.#onLagged, callback);
  }

  /** Calls back when a bound lock did not survive an absence. */
  onLockLost(callback: (lost: LockLost) => void): () => void {
    return listen(this.#onLockLost, callback);
  }

  /** Ends the connection; unanswered requests throw `ConnectionClosed`. Harmless when repeated. */
  close(): void {
    this.#end(new ConnectionClosed("this client was closed"));
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? limits.requestMs;
  }

  get #reconnectMs(): number {
    return this.#options.reconnectMs ?? limits.reconnectMs;
  }

  async #open(timeoutMs: number): Promise<void> {
    const transport: Transport = await Transport.open(this.#options.paths, timeoutMs, {
      message: message => this.#take(message),
      closed: (reason, broken) => {
        if (this.#transport === transport) this.#lost(reason, broken);
      },
    });
    this.#transport = transport;
    try {
      const { name = `kite-client-${process.pid}`, person, onlooker } = this.#options;
      const flags = {
        ...(person === undefined ? {} : { person }),
        ...(onlooker === true ? { onlooker } : {}),
      };
      const mounts = mountsHere(this.#options.paths.home, process.env["KITE_MOUNTS"]);
      const where = mounts === null ? {} : { mounts };
      const hello = { protocol: spoken, client: name, ...flags, ...where };
      const answer = await this.#ask("hello", hello, { again: false, waitMs: timeoutMs });
      if (answer["ok"] !== true) throw new HelloRefused(taken<Refusal>(answer));
      const before = this.#daemon;
      this.#daemon = taken<ReplyOf<"hello">>(answer);
      // Cursors of another store are invalid here, even if they look alike.
      if (before !== null && before.storeId !== this.#daemon.storeId) this.#remembered.saw(foreignCursor);
      this.#openedAt = performance.now();
    } catch (error) {
      this.#transport = null;
      transport.close();
      throw error;
    }
  }

  #ask(
    type: RequestType,
    params: Message,
    how: { again: boolean; waitMs: number; isGiven?: boolean; signal?: AbortSignal | undefined },
  ): Promise<Message> {
    const { again, signal, isGiven = false } = how;
    const rid = `${++this.#count}`;
    const isShared = this.#daemon?.sharedStoreId !== undefined && sharedWrite.test(type);
    const isOnce = (again || isShared) && !isRepeatable(type);
    const requestId = isOnce && { requestId: `${this.#id}.${rid}` };
    const { waitMs, forMs } = isShared ? repeatsOf(how.waitMs, isGiven) : { waitMs: how.waitMs, forMs: 0 };
    const line = encodeLine({ type, ...requestId, ...params, rid });
    const bound = type === "hook" ? limits.hookLineBytes : limits.lineBytes;
    if (Buffer.byteLength(line) > bound + 1) {
      return Promise.resolve(
        refuse("line_too_long", `a ${type} request has at most ${bound} bytes; send less`),
      );
    }
    const { promise, resolve, reject } = withResolvers<Message>();
    const timer = setTimeout(() => {
      reject(new TimedOut(`no answer to ${type} within ${waitMs / 1000} s; see \`kite doctor\``));
    }, waitMs);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const repeatUntil = performance.now() + forMs;
    const outstanding: Outstanding = { type, request: params, line, again, repeatUntil, resolve, reject };
    this.#outstanding.set(rid, outstanding);
    if (this.#state === "open" || !again) this.#transport?.send(line);
    return promise.finally(() => {
      clearTimeout(timer);
      // Who gave up does not want it done.
      clearTimeout(outstanding.repeat);
      signal?.removeEventListener("abort", abort);
      this.#outstanding.delete(rid);
    });
  }

  #take(message: Message): void {
    if (message["type"] === "event") {
      this.#remembered.saw(message["cursor"]);
      const { event } = message;
      if (event === "lagged") for (const callback of this.#onLagged) callback();
      // A bookmark carries only a cursor.
      else if (event !== "bookmark")
        for (const callback of this.#onEvent) callback(taken<EventLine>(message));
      return;
    }
    const rid = message["rid"];
    const outstanding = typeof rid === "string" ? this.#outstanding.get(rid) : undefined;
    if (outstanding !== undefined) this.#answer(outstanding, message);
    else if (rid === undefined) this.#lost(new ConnectionClosed(complaint(message)), true);
    // Else the answer came after its time-out, and no caller waits for it.
  }

  #answer(outstanding: Outstanding, message: Message): void {
    if (message["code"] === "restarting" && this.#options.reconnect && outstanding.type !== "shutdown") {
      this.#announcedAt = performance.now();
      this.#lost(new ConnectionClosed("the daemon restarts"), false);
      return;
    }
    if (message["code"] === "outcome_unknown" && performance.now() < outstanding.repeatUntil) {
      outstanding.repeat = setTimeout(
        () => this.#transport?.send(outstanding.line),
        limits.storeRepeatPauseMs,
      );
      return;
    }
    const { rid: _, ...answer } = message;
    if (answer["ok"] === true) this.#remembered.note(outstanding.type, outstanding.request, answer);
    outstanding.resolve(answer);
  }

  #lost(reason: ConnectionClosed, broken: boolean): void {
    this.#transport?.close();
    this.#transport = null;
    if (broken || !this.#options.reconnect) {
      this.#end(reason);
      return;
    }
    for (const outstanding of this.#outstanding.values()) if (!outstanding.again) outstanding.reject(reason);
    if (this.#state !== "open" || this.#daemon === null) return;
    this.#state = "away";
    this.#comingBack = this.#comeBack();
  }

  /** Leaves `away`: to `open`, or after `reconnectMs` to `closed`. No other method does. */
  async #comeBack(): Promise<void> {
    const left = performance.now();
    const forMs = this.#reconnectMs;
    if (left - this.#openedAt > limits.soundConnectionMs) this.#pauseMs = limits.retryFirstMs;
    try {
      for (;;) {
        const now = new Promise<void>(resolve => {
          this.#tryNow = resolve;
        });
        await Promise.race([delay(this.#pauseMs, undefined, { signal: this.#ending.signal }), now]);
        this.#pauseMs = Math.min(this.#pauseMs * 2, limits.retryPauseMaxMs);
        const goneMs = performance.now() - left;
        try {
          await this.#open(Math.max(forMs - goneMs, limits.retryPauseMaxMs));
          break;
        } catch (error) {
          if (goneMs >= forMs || !passes(error)) throw error;
        }
      }
      this.#resume();
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      if (!(error instanceof LocalError)) throw error;
      this.#end(error);
    }
  }

  #resume(): void {
    if (this.#state === "closed") return;
    this.#state = "open";
    const tell = (type: RequestType, params: Message) =>
      this.#ask(type, params, { again: false, waitMs: this.#timeoutMs });
    // If the connection is lost again meanwhile, the next one repeats all of this.
    const lostAgain = () => {};
    // If a registration is refused, the daemon refuses that session's requests, too.
    for (const params of this.#remembered.registrations()) tell("register", params).catch(lostAgain);
    for (const params of this.#remembered.runners()) tell("merge_attach", params).catch(lostAgain);
    for (const bound of this.#remembered.locks()) {
      tell("file_lock", bound.request).then(answer => this.#rebound(bound, answer), lostAgain);
    }
    const subscription = this.#remembered.subscription();
    if (subscription !== null) {
      tell("subscribe", subscription).then(answer => {
        if (answer["lagged"] === true) for (const callback of this.#onLagged) callback();
      }, lostAgain);
    }
    for (const outstanding of this.#outstanding.values())
      if (outstanding.again) this.#transport?.send(outstanding.line);
  }

  #rebound(bound: Bound, answer: Message): void {
    if (answer["ok"] !== true) this.#remembered.drop(bound);
    else if (answer["token"] === bound.token) return;
    else this.#remembered.note("file_lock", bound.request, answer);
    const lost = { request: bound.request, answer: taken<Answer<"file_lock">>(answer) };
    for (const callback of this.#onLockLost) callback(lost);
  }

  #end(reason: LocalError): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#ending.abort();
    this.#transport?.close();
    this.#transport = null;
    for (const outstanding of this.#outstanding.values()) outstanding.reject(reason);
    this.#ended(reason);
  }
}

function listen<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** Trusts the form of the daemon's message, because one table defines both sides. */
function taken<T>(message: Message): T {
  return message as T;
}

/** Returns the daemon's error about a line that it could not match to a request. */
function complaint(message: Message): string {
  const detail = typeof message["error"] === "string" ? message["error"] : JSON.stringify(message);
  return `the daemon could not read a request: ${detail}`;
}

/** Returns true if an attempt to reconnect failed for a temporary reason. */
function passes(error: unknown): boolean {
  const isAway =
    error instanceof NotRunning || error instanceof ConnectionClosed || error instanceof TimedOut;
  return isAway || (error instanceof HelloRefused && error.refusal.code === "restarting");
}
