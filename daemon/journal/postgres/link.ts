/** Keeps one connection to the store, and makes a new one when it ends. */
import type { Connection } from "../../store/connection.ts";
import { errorMessage, StoreAway } from "../../store/errors.ts";

/** Since when the store cannot be reached, and why; what all connections of a journal know together. */
export class Reach {
  /** Hears each time that the store does not answer any more, and that it answers again. */
  onChange: () => void = () => {};
  #awaySinceMs: number | null = null;
  /** The same by the clock that never goes back. */
  #failedMs = 0;
  #reason = "";

  /** Wall time of the first failure after the last answer, in milliseconds; null: the store answers. */
  get awaySinceMs(): number | null {
    return this.#awaySinceMs;
  }

  /** How long it has been away, in milliseconds; null: the store answers. */
  get awayForMs(): number | null {
    return this.#awaySinceMs === null ? null : performance.now() - this.#failedMs;
  }

  /** What the last failure was. */
  get reason(): string {
    return this.#reason;
  }

  answered(): void {
    if (this.#awaySinceMs === null) return;
    this.#awaySinceMs = null;
    this.onChange();
  }

  failed(error: unknown): void {
    this.#reason = errorMessage(error);
    if (this.#awaySinceMs !== null) return;
    this.#awaySinceMs = Date.now();
    this.#failedMs = performance.now();
    this.onChange();
  }
}

export interface LinkOptions {
  /** Makes a connection that is ready for use. */
  readonly open: () => Promise<Connection>;
  readonly reach: Reach;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** A try to connect failed. */
  readonly onFailed: () => void;
}

/**
 * Invariants: at most one connection is there, and at most one is being made. Tries follow
 * each other with pauses that double, up to `retryMaxMs`, with a random part: many nodes lose a store at the same time.
 */
export class Link {
  readonly #options: LinkOptions;
  #connection: Connection | null = null;
  #opening: Promise<Connection> | null = null;
  #pauseMs: number;
  #endPause: () => void = () => {};
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#pauseMs = options.retryMinMs;
  }

  /** The connection if there is one; else the next one, however long that takes. Rejects with `StoreAway` after `close`. */
  connection(): Promise<Connection> {
    if (this.#closed) return Promise.reject(closedError());
    if (this.#connection !== null) return Promise.resolve(this.#connection);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** Ends the connection in the middle of whatever runs. */
  drop(): void {
    this.#connection?.destroy();
  }

  /** Makes no further connection; statements go on over the one that is there. */
  stop(): void {
    this.#closed = true;
    this.#endPause();
  }

  /** Ends the connection, and makes no further one. A statement that runs is cut off. */
  async close(): Promise<void> {
    this.stop();
    await this.#opening?.catch(() => {});
    await this.#connection?.end();
  }

  async #open(): Promise<Connection> {
    const { open, reach, onFailed } = this.#options;
    for (;;) {
      if (this.#closed) throw closedError();
      try {
        const connection = await open();
        if (this.#closed) {
          await connection.end();
          throw closedError();
        }
        reach.answered();
        this.#pauseMs = this.#options.retryMinMs;
        this.#connection = connection;
        connection.onLost(error => {
          this.#connection = null;
          if (!this.#closed) reach.failed(error);
        });
        return connection;
      } catch (error) {
        if (this.#closed) throw closedError();
        reach.failed(error);
        onFailed();
      }
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    if (this.#closed) return;
    const ms = this.#pauseMs * (0.5 + Math.random() / 2);
    this.#pauseMs = Math.min(2 * this.#pauseMs, this.#options.retryMaxMs);
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function closedError(): StoreAway {
  return new StoreAway("the journal is closed");
}
