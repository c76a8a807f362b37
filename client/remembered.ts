/** State that a client restores on a new connection. */
import type { RequestType } from "../protocol/schemas/requests.ts";
import type { Message } from "./transport.ts";

/**
 * The requests that a client repeats on a new connection: its registered sessions, its bound locks and merges, and the
 * cursor of its event stream. It records only requests that succeeded.
 */
export class Remembered {
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
   * Compares names as spelled. Restoring a released lock would be worse than losing a held one, so an unlock that names
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

export interface Bound {
  readonly request: Message;
  readonly token: unknown;
}

function keyOf(request: Message): string {
  const { id, agent, command, file, files, resource } = request;
  return JSON.stringify([id, agent, command, file ?? files, resource]);
}
