/** Requests that wait for their answers. */
import { limits } from "../protocol/limits.ts";
import type { RequestType } from "../protocol/schemas/requests.ts";
import type { Message } from "./transport.ts";

export interface Outstanding {
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
export const sharedWrite = /^(task|message|context|debate)_|^broadcast$/;

/** Returns the wait that a request asks for, in milliseconds. */
export function waitOf(type: RequestType, params: object): number {
  if (type !== "file_lock") return 0;
  return "waitMs" in params && typeof params.waitMs === "number" ? params.waitMs : limits.waitMs;
}

/**
 * Returns how long a request of a shared log waits for its answer, and for how long of this it is repeated, in milliseconds. A
 * bound that the caller gave holds; a repeat that could not be answered within it is not sent, and the caller hears that the
 * outcome is not known.
 */
export function repeatsOf(
  waitMs: number,
  isGiven: boolean,
): { readonly waitMs: number; readonly forMs: number } {
  const { storeRepeatMs, storeAnswerMs } = limits;
  if (!isGiven) return { waitMs: waitMs + storeRepeatMs, forMs: storeRepeatMs };
  return { waitMs, forMs: Math.min(storeRepeatMs, waitMs - storeAnswerMs) };
}

/** Returns a promise, and what settles it. */
export function withResolvers<T>() {
  let settle: Pick<Outstanding, "reject"> & { resolve: (value: T) => void } = { resolve() {}, reject() {} };
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}
