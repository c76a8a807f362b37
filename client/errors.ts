/** The errors of the client library, each with what to do next. */

import type { Refusal } from "../protocol/codes.ts";

/**
 * Errors on the client's side of the wire. A refusal by the daemon is a value and no such error, unless it belongs to
 * no request. `message` says what happened and what to do next.
 */
export abstract class LocalError extends Error {
  abstract override readonly name: string;
}

/** No daemon listens on the socket. Every program says so in these words; `and` is what else keeps it from starting. */
export class NotRunning extends LocalError {
  override readonly name = "NotRunning";

  constructor(and: string | null = null) {
    super(`Kite is not running${and === null ? "" : `, and ${and}`}. Start it: kite up`);
  }
}

/** The daemon did not answer in time; it may still apply the request. */
export class TimedOut extends LocalError {
  override readonly name = "TimedOut";
}

/** The connection ended before the answer came; the daemon may have applied the request. */
export class ConnectionClosed extends LocalError {
  override readonly name = "ConnectionClosed";
}

/** Another user owns the directory or the socket, or it is a link: connecting is not safe. */
export class WrongOwner extends LocalError {
  override readonly name = "WrongOwner";
}

/** The daemon refused `hello`, for example because it has another version of the protocol. */
export class HelloRefused extends LocalError {
  override readonly name = "HelloRefused";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.error);
    this.refusal = refusal;
  }
}

/** A daemon was started and ended before it was ready. */
export class StartFailed extends LocalError {
  override readonly name = "StartFailed";
}
