import type { RequestType } from "../protocol/requests.ts";
import type { Message } from "./transport.ts";

/**
 * What a daemon has to be told again on a new connection: who is registered through it, which locks are bound
 * to it, and where its stream of events stood. Only what succeeded is noted.
 */
export class Remembered {
  readonly #registered = new Map<unknown, Message>();
  readonly #bound = new Map<string, Bound>();
  #subscription: Message | null = null;
  #cursor: unknown;

  /** Takes note of a request and its success reply. */
  note(type: RequestType, request: Message, reply: Message): void {
    if (type === "register") this.#registered.set(request["id"], request);
    else if (type === "deregister") this.#forget(request["id"]);
    else if (type === "file_lock" && request["bind"] === true) this.#hold(request, reply);
    else if (type === "file_unlock") this.#release(request);
    else if (type === "subscribe") {
      this.#subscription = request;
      this.saw(reply["cursor"]);
    }
  }

  /** An event went by: a resumed stream begins after it. Volatile events have no cursor. */
  saw(cursor: unknown): void {
    if (typeof cursor === "string") this.#cursor = cursor;
  }

  /** Sessions come first: the rest speaks of them. */
  registrations(): Message[] {
    return [...this.#registered.values()];
  }

  /** The bound locks, asked for again without waiting: their holder gets the token it had. */
  locks(): Bound[] {
    return [...this.#bound.values()];
  }

  subscription(): Message | null {
    return this.#subscription && { ...this.#subscription, cursor: this.#cursor };
  }

  /** The lock is not what it was: do not ask for it again. */
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
   * Names are compared as spelled. A released lock that came back would be worse than one that does not, so an
   * unlock that names anything but whole requests forgets all that its session holds.
   */
  #release(request: Message): void {
    const key = keyOf(request);
    if (this.#bound.delete(key)) return;
    for (const bound of this.#bound.values()) {
      if (request["id"] === undefined || bound.request["id"] === request["id"]) this.drop(bound);
    }
  }
}

export interface Bound {
  readonly request: Message;
  readonly token: unknown;
}

function keyOf(request: Message): string {
  return JSON.stringify([request["id"], request["agent"], request["file"] ?? request["files"]]);
}
