/** One request in progress: its reply, and the command that it proposes. */

import { createHash } from "node:crypto";
import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestType } from "../../protocol/schemas/requests.ts";
import type { Retry } from "../core/frame/actors.ts";
import type { Command, CoreEvent, Grant, Reply } from "../core/tables/entries.ts";
import type { Caller } from "../engine/answers.ts";
import type { Log } from "../engine/engine.ts";
import type { Connection, Slot } from "./connection.ts";

// Lets long replies take turns with each other and with all other work. Each turn of the event loop makes a piece of one
// reply, then of the next.
//
// Invariants: the steps of one turn of the event loop cost `limits.turnBytes` together, and at most one step more. A
// job that had its turn goes to the end of the queue. A closed connection's job is dropped.

/**
 * Work that can be interrupted after each step. A step yields its cost, in bytes of text or equal effort. It gets back
 * whether other work ran since: the state may have changed then.
 */
export type Steps<T> = Generator<number, T, boolean | undefined>;

interface Job {
  readonly connection: Pick<Connection, "isClosed">;
  /** Makes one step; returns its cost, or null when the job has ended. */
  readonly step: (interrupted: boolean) => number | null;
  /** Called when the connection is closed. */
  readonly drop: () => void;
  interrupted: boolean;
}

export class Turns {
  readonly #soon: (task: () => void) => void;
  readonly #jobs = new Set<Job>();
  #left: number = limits.turnBytes;
  #scheduled = false;

  /** `soon` calls back in the next turn of the event loop. */
  constructor(soon: (task: () => void) => void = task => void setImmediate(task)) {
    this.#soon = soon;
  }

  /** Runs the steps; resolves with their result, or with null if the connection closes first. */
  make<T>(connection: Job["connection"], steps: Steps<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const step = (interrupted: boolean) => {
        try {
          const { done, value } = steps.next(interrupted);
          if (done !== true) return value;
          resolve(value);
        } catch (error) {
          reject(error);
        }
        return null;
      };
      this.#jobs.add({ connection, step, drop: () => resolve(null), interrupted: false });
      // No other job waits: a short reply is made at once.
      if (this.#jobs.size === 1) this.#run();
      this.#schedule();
    });
  }

  /** Runs a task in the next turn of the event loop. */
  later(task: () => void): void {
    this.#soon(task);
  }

  #run(): void {
    for (const job of this.#jobs) {
      if (this.#left <= 0) return;
      this.#jobs.delete(job);
      if (this.#piece(job)) this.#jobs.add(job);
    }
  }

  /** Runs steps until the job or this turn ends; false if the job ended. */
  #piece(job: Job): boolean {
    if (job.connection.isClosed) {
      job.drop();
      return false;
    }
    while (this.#left > 0) {
      const cost = job.step(job.interrupted);
      job.interrupted = false;
      if (cost === null) return false;
      this.#left -= cost;
    }
    job.interrupted = true;
    return true;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      this.#left = limits.turnBytes;
      this.#run();
      if (this.#jobs.size > 0) this.#schedule();
    });
  }
}

/** The parts of the daemon that a call uses to reply. */
export interface CallServices {
  readonly engine: Log;
  readonly turns: Turns;
  readonly counters: { refused: number };
}

export class Call {
  readonly connection: Connection;
  readonly type: RequestType;
  /** As of when what it reads is, by wall time in milliseconds, or null: not known; its reply says so. Null: as of now. */
  stale: { readonly asOfMs: number | null } | null = null;
  readonly #services: CallServices;
  readonly #slot: Slot;

  readonly #onBug: (call: Call, error: unknown) => void;
  #wasParked = false;

  /** `onBug` replies for a handler that threw. */
  constructor(
    services: CallServices,
    connection: Connection,
    slot: Slot,
    type: RequestType,
    onBug: (call: Call, error: unknown) => void,
  ) {
    this.#services = services;
    this.connection = connection;
    this.#slot = slot;
    this.type = type;
    this.#onBug = onBug;
  }

  /** Sends the reply. `delivered` is called with whether a live client received it. */
  reply(reply: Reply | object, delivered: ((ok: boolean) => void) | null = null): void {
    if ("ok" in reply && reply.ok === false) this.#services.counters.refused += 1;
    const { view } = this.connection;
    const all = this.stale === null ? reply : { ...reply, storeAsOf: this.stale.asOfMs };
    this.connection.reply(this.#slot, view === null ? all : view.outwardAll(all), delivered);
  }

  /** Replies with bytes instead of a line, and ends the connection. */
  replyRaw(text: string, delivered: ((ok: boolean) => void) | null): void {
    this.connection.replyText(this.#slot, text, delivered);
    this.connection.end();
  }

  /**
   * Sends the reply that `make` builds from the state, step by step. Each step waits until the client has read earlier
   * replies and the connection has its turn. `make` returns the reply as JSON text or as an object, and is called again if
   * the state of any log was rebuilt meanwhile.
   */
  async replyLong(make: () => Steps<string | Reply>): Promise<void> {
    const { connection } = this;
    const { engine, turns } = this.#services;
    await connection.room();
    for (;;) {
      await engine.upToDate();
      const { logs } = engine;
      const states = logs.map(({ state }) => state);
      const reply = await turns.make(connection, make());
      if (reply === null) return;
      await engine.outputReleased();
      // A reply that was built from an old state is dropped.
      if (logs.some(({ state }, i) => state !== states[i])) continue;
      const { view } = connection;
      if (typeof reply === "string" && view === null && this.stale === null)
        connection.replyJson(this.#slot, reply);
      else if (typeof reply === "string") this.reply(JSON.parse(reply));
      else this.reply(reply);
      return;
    }
  }

  /**
   * Does work of this effort, in bytes of a long reply, when the connection has its turn. Resolves with null if the
   * connection closes first.
   */
  inTurn<T>(work: () => T, effort: number): Promise<T | null> {
    function* steps(): Steps<T> {
      const done = work();
      yield effort;
      return done;
    }
    return this.#services.turns.make(this.connection, steps());
  }

  /** Lets a handler continue on its own; the connection's next requests do not wait for it. */
  alone(work: Promise<void>): void {
    work.catch(error => this.#onBug(this, error));
  }

  /** Whether the request waited for others at any time. */
  get wasParked(): boolean {
    return this.#wasParked;
  }

  park(): void {
    this.#wasParked = true;
    this.connection.park(this.#slot);
  }

  /**
   * Proposes a command whose answer is this request's reply. `shape` turns the answer into the reply; `parked` is
   * called if the request waits. A waiting lock request gives up its queue position when the connection closes.
   */
  propose(command: Command, shape: (reply: Reply) => Reply = asItIs, parked: () => void = nothing): void {
    const { engine } = this.#services;
    const pending = new PendingRequest(this, engine, command, shape, parked);
    pending.number = engine.submit(command, pending);
  }
}

/** The caller that waits for a request's command in the log. */
class PendingRequest implements Caller {
  /** The proposal's number in the engine. */
  number = 0;
  readonly #call: Call;
  readonly #engine: Log;
  readonly #lock: Grant | null;
  readonly #retry: Retry | undefined;
  readonly #shape: (reply: Reply) => Reply;
  readonly #parked: () => void;
  #untie: () => void = nothing;

  constructor(call: Call, engine: Log, command: Command, shape: (reply: Reply) => Reply, parked: () => void) {
    this.#call = call;
    this.#engine = engine;
    this.#lock = command.type === "lock_request" ? command : null;
    this.#retry = "retry" in command ? command.retry : undefined;
    this.#shape = shape;
    this.#parked = parked;
  }

  answer(reply: Reply): void {
    this.#untie();
    const undo = reply.ok ? this.#lock !== null : this.#retry !== undefined;
    this.#call.reply(this.#shape(reply), undo ? got => !got && this.#lost(reply) : null);
  }

  /** Handles an answer that no client can have read. */
  #lost(reply: Reply): void {
    const { number } = this;
    if (!reply.ok) {
      if (this.#retry !== undefined) this.#engine.unheard(number, this.#retry);
    } else if (this.#lock !== null) this.#engine.undelivered(number, this.#lock, this.#retry);
  }

  parked(): void {
    const { connection } = this.#call;
    this.#untie = connection.tie(() => this.#engine.abandon(this.number));
    if (connection.isClosed) return;
    this.#call.park();
    this.#parked();
  }

  event({ event }: CoreEvent): void {
    this.#call.connection.push(`${JSON.stringify({ type: "event", ...event })}\n`);
  }
}

function asItIs(reply: Reply): Reply {
  return reply;
}

function nothing(): void {}

/** Returns a retry's identity if the request has a `requestId`. The request's type is part of its body. */
export function retryOf(
  request: { readonly requestId?: string | undefined; readonly id?: string | undefined },
  { type, connection }: Pick<Call, "type" | "connection">,
): { readonly retry?: Retry } {
  if (request.requestId === undefined) return {};
  const { rid: _rid, requestId, ...body } = request as Record<string, unknown> & { requestId: string };
  const text = JSON.stringify({ ...body, type });
  const digest = createHash("sha256").update(text).digest("base64url").slice(0, 22);
  return { retry: { by: request.id ?? connection.client ?? "", requestId, digest } };
}

export function isRefusal(reply: object): reply is Refusal {
  return "ok" in reply && reply.ok === false;
}
