/** One request under way: its reply, and how a command is proposed for it. */
import { createHash } from "node:crypto";
import type { Refusal } from "../protocol/codes.ts";
import type { RequestType } from "../protocol/requests.ts";
import type { Connection, Slot } from "./connection.ts";
import type { Actor, Command, Retry } from "./core/entry.ts";
import type { Reply } from "./core/step.ts";
import type { Services } from "./services.ts";

export class Call {
  readonly connection: Connection;
  readonly type: RequestType;
  readonly #services: Services;
  readonly #slot: Slot;

  readonly #onBug: (call: Call, error: unknown) => void;

  /** `onBug` answers for a handler that threw. */
  constructor(
    services: Services,
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

  /** Answers. `delivered` hears whether a living client got it. */
  reply(reply: Reply | object, delivered: ((ok: boolean) => void) | null = null): void {
    if ("ok" in reply && reply.ok === false) this.#services.counters.refused += 1;
    this.connection.reply(this.#slot, reply, delivered);
  }

  /** Answers with bytes in place of a line, and ends the connection. */
  replyRaw(text: string, delivered: ((ok: boolean) => void) | null): void {
    this.connection.replyText(this.#slot, text, delivered);
    this.connection.end();
  }

  /** Lets a handler go on by itself; the connection's next requests do not wait for it. */
  alone(work: Promise<void>): void {
    work.catch(error => this.#onBug(this, error));
  }

  park(): void {
    this.connection.park(this.#slot);
  }

  /**
   * Proposes a command whose answer is this request's reply. `shape` makes the reply of the answer; `then` hears
   * of both. A lock request that waits gives up its place when the connection closes.
   */
  propose(command: Command, shape: (reply: Reply) => Reply = r => r, parked: () => void = () => {}): void {
    const { engine } = this.#services;
    const { connection } = this;
    const gone = () => engine.abandon(n);
    const actor = command.type === "lock_request" ? command.actor : null;
    const n = engine.submit(command, {
      answer: reply => {
        connection.onClosed.delete(gone);
        const undo = reply.ok && actor !== null ? (ok: boolean) => undoUnless(ok, actor) : null;
        this.reply(shape(reply), undo);
      },
      parked: () => {
        if (connection.isClosed) {
          gone();
          return;
        }
        connection.onClosed.add(gone);
        this.park();
        parked();
      },
      event: ({ event }) => connection.push(`${JSON.stringify({ type: "event", ...event })}\n`),
    });
    function undoUnless(ok: boolean, holder: Actor): void {
      if (!ok) engine.undelivered(n, holder);
    }
  }
}

/** A retry's identity, where the request carries a `requestId`. Its type is part of its body. */
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
