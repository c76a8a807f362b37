/**
 * Who proposed a command and hears what came of it.
 *
 * Invariants: a proposal is answered once; what leaves goes through the outbox, in the order of the log; a grant that
 * finds nobody, and a refusal that a retry would get without anybody having read it, are undone by entries of their own.
 */

import { refuse } from "../../protocol/codes.ts";
import type { Command, Entry } from "../core/commands.ts";
import type { Origin, Retry } from "../core/origin.ts";
import type { Answer, CoreEvent, Grant, Reply, Step } from "../core/outcome.ts";
import type { ProposeFailure } from "../journal/journal.ts";
import type { Outbox } from "./outbox.ts";

/** Who proposed a command and hears of it. */
export interface Caller {
  /** The answer; for a request that waited, perhaps much later. */
  answer(reply: Reply): void;
  /** The log did not take it, or is not known to have; `answer` hears of it where this is not given. */
  failed?(): void;
  /** The request waits: its answer comes later. */
  parked?(): void;
  /** An event for this request alone, while it waits. */
  event?(event: CoreEvent): void;
}

export interface AnswersOptions {
  readonly outbox: Outbox;
  readonly node: string;
  readonly epoch: () => number;
  /** Proposes what the daemon itself has to say, until the log takes it. */
  readonly submitWithRetry: (command: Command) => void;
  /** Sees every step after its answers. */
  readonly onStep: (entry: Entry, step: Step) => void;
}

interface Pending {
  readonly caller: Caller;
  readonly command: Command;
}

export class Answers {
  readonly #options: AnswersOptions;
  readonly #pending = new Map<number, Pending>();

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** `caller` hears what comes of proposal `n`. */
  expect(n: number, command: Command, caller: Caller): void {
    this.#pending.set(n, { caller, command });
  }

  /** Nobody listens for `n` any more: a request that waits gives up its place, a grant to it is undone. */
  abandon(n: number): void {
    const pending = this.#pending.get(n);
    this.#pending.delete(n);
    if (pending?.command.type !== "lock_request") return;
    this.#detach(n, pending.command.retry);
  }

  /** The grant answered to `n` did not reach its client; `kept` is the request's retry. */
  undelivered(n: number, { actor, files }: Grant, kept?: Retry): void {
    const of = kept === undefined ? {} : { kept };
    const keys = files.map(({ key }) => key);
    this.#options.submitWithRetry({ type: "lock_undelivered", waiter: this.origin(n), actor, keys, ...of });
  }

  /** The refusal answered to `n` did not reach its client: a retry is carried out instead of getting it. */
  unheard(n: number, kept: Retry): void {
    this.#options.submitWithRetry({ type: "reply_unheard", to: this.origin(n), kept });
  }

  /** Whoever asked hears so; should it be delivered after all, nobody is there for it and a grant is undone. */
  failed(n: number, { code, message }: ProposeFailure): void {
    const pending = this.#take(n);
    if (pending?.caller.failed !== undefined) pending.caller.failed();
    else pending?.caller.answer(refuse(code, message));
  }

  /**
   * Lets out what the entry led to: its own answer, those to requests that waited, then the events for everybody. That
   * a request waits is no answer: its caller hears so at once, before anything can happen to what it waits for.
   */
  send(entry: Entry, step: Step): void {
    const { outbox, onStep } = this.#options;
    const progress = step.events.filter(isProgress);
    const isAnswered = step.reply !== null;
    if (!isAnswered) this.#answerOwn(entry, step);
    if (outbox.claim((isAnswered ? 1 : 0) + progress.length + step.answers.length)) {
      if (isAnswered) this.#answerOwn(entry, step);
      for (const event of progress) this.#tell(event);
      for (const answer of step.answers) this.#answerWaiting(answer);
      onStep(entry, step);
      return;
    }
    if (isAnswered) outbox.put(() => this.#answerOwn(entry, step));
    for (const event of progress) outbox.put(() => this.#tell(event));
    for (const answer of step.answers) outbox.put(() => this.#answerWaiting(answer));
    outbox.put(() => onStep(entry, step));
  }

  /** The entry of `origin` threw. */
  sendBug(origin: Origin): void {
    const refusal = refuse("internal_error", "a bug in Kite; nothing was changed (see the log)");
    this.#options.outbox.put(() => {
      if (this.#isOwn(origin)) this.#take(origin.n)?.caller.answer(refusal);
    });
  }

  /** Tells everybody who still waits to come back. */
  close(): void {
    for (const { caller } of this.#pending.values()) caller.answer(restarting);
    this.#pending.clear();
  }

  /** By which the log knows proposal `n`. */
  origin(n: number): Origin {
    return { node: this.#options.node, epoch: this.#options.epoch(), n };
  }

  #isOwn({ node, epoch }: Origin): boolean {
    return node === this.#options.node && epoch === this.#options.epoch();
  }

  #take(n: number): Pending | undefined {
    const pending = this.#pending.get(n);
    this.#pending.delete(n);
    return pending;
  }

  #answerOwn({ origin, command }: Entry, { reply }: Step): void {
    if (!this.#isOwn(origin)) return;
    const { n } = origin;
    const pending = this.#pending.get(n);
    if (pending === undefined) {
      this.#undo(n, command, reply);
      return;
    }
    if (reply === null) {
      pending.caller.parked?.();
      return;
    }
    this.#pending.delete(n);
    pending.caller.answer(reply);
  }

  /** Nobody reads the answer: a lock's place or grant, or a refusal kept for a retry, goes by an entry of its own. */
  #undo(n: number, command: Command, reply: Reply | null): void {
    const retry = "retry" in command ? command.retry : undefined;
    if (reply?.ok === false) {
      if (retry !== undefined) this.unheard(n, retry);
    } else if (command.type === "lock_request") {
      if (reply === null) this.#detach(n, retry);
      else this.undelivered(n, command, retry);
    }
  }

  #detach(n: number, kept: Retry | undefined): void {
    this.#options.submitWithRetry({
      type: "lock_detach",
      waiter: this.origin(n),
      ...(kept === undefined ? {} : { kept }),
    });
  }

  #tell(event: CoreEvent): void {
    const { to } = event;
    if (to !== undefined && this.#isOwn(to)) this.#pending.get(to.n)?.caller.event?.(event);
  }

  #answerWaiting({ to, reply, grant }: Answer): void {
    if (!this.#isOwn(to)) return;
    const pending = this.#take(to.n);
    if (pending !== undefined) pending.caller.answer(reply);
    else if (grant !== null) this.undelivered(to.n, grant);
  }
}

/** The answer of a daemon that stops. */
export const restarting = refuse("restarting", "the daemon is going down; connect again in a moment");

/** An event for one request alone. */
function isProgress({ to }: CoreEvent): boolean {
  return to !== undefined;
}
