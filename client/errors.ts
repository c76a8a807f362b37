import type { Refusal } from "../protocol/codes.ts";

/**
 * What can go wrong on this side of the wire. A refusal by the daemon is a value, never one of these, except
 * where there is no request to hand it to. `message` says what happened and what to do next.
 */
export abstract class LocalError extends Error {
  abstract override readonly name: string;
}

/** Nobody listens on the socket. */
export class NotRunning extends LocalError {
  override readonly name = "NotRunning";
}

/** No answer in time; what was asked for may still happen. */
export class TimedOut extends LocalError {
  override readonly name = "TimedOut";
}

/** The connection ended, or was broken off, before the answer came; what was asked for may have happened. */
export class ConnectionClosed extends LocalError {
  override readonly name = "ConnectionClosed";
}

/** The directory or the socket is somebody else's, or a link: talking to it is not safe. */
export class WrongOwner extends LocalError {
  override readonly name = "WrongOwner";
}

/** The daemon refused `hello`: it speaks another version of the protocol, say. */
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
