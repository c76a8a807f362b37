/**
 * Matches each answer of the log to the caller that proposed the command.
 *
 * Invariants: a proposal is answered once; all output passes through the outbox, in the order of the log. If no caller
 * waits for a grant, or no client read a refusal kept for a retry, an entry of its own undoes it. Earlier starts gave out the
 * same numbers, but no step names one of theirs: `daemon_started` detaches their waiters first.
 */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { commandRules } from "../core/apply.ts";
import type { Origin, Retry } from "../core/frame/actors.ts";
import type { Answer, Command, CoreEvent, Entry, Grant, Reply, Step } from "../core/tables/entries.ts";
import type { ProposeFailure, Soon } from "../journal/journal.ts";

// Holds outputs back until their entry is as durable as it has to be, in the order of the log. One turn of the event
// loop sends `limits.turnAnswersMax` of them; the others leave in later turns, in the same order.
//
// Invariants: an output of entry n leaves when `durableSeq` has reached the last entry up to n that has to be durable.
// After an entry that threw, no output leaves until the log has voided it: a replay before that could apply it.

/** The fields that decide whether a command has to be durable. */
type Classed = Pick<Command, "type"> & { readonly durable?: boolean };

interface Waiting {
  /** The sequence number of the entry that has to be durable. */
  readonly needs: number;
  readonly send: () => void;
}

export class Outbox {
  readonly #soon: Soon;
  readonly #turnMax: number;
  #waiting: Waiting[] = [];
  /** How many of `#waiting` have left. */
  #sent = 0;
  /** How many more outputs may leave in this turn of the event loop. */
  #left: number;
  #scheduled = false;
  /** Entries that threw and that the log has not voided yet. */
  readonly #undecided = new Set<number>();
  #diskSeq = 0;
  #durableSeq = 0;

  /** `soon` calls back in the next turn of the event loop. */
  constructor(soon: Soon, turnMax: number = limits.turnAnswersMax) {
    this.#soon = soon;
    this.#turnMax = turnMax;
    this.#left = turnMax;
  }

  /** Notes an entry before it is applied; true if the journal has to sync it. */
  entered(seq: number, { type, durable = false }: Classed): boolean {
    const needs = commandRules[type].durable;
    if (needs === "asked" ? !durable : !needs) return false;
    this.#diskSeq = seq;
    return true;
  }

  /**
   * Takes `count` outputs from this turn's quota. True if the caller may send them now: no output is held back, and the
   * quota covers all of them. Otherwise the caller puts each of them.
   */
  claim(count: number): boolean {
    if (!this.#isClear || count > this.#left) return false;
    this.#take(count);
    return true;
  }

  /** Calls `send` once every applied entry is durable enough and this turn's quota has room for one output. */
  put(send: () => void): void {
    if (this.claim(1)) send();
    else this.#waiting.push({ needs: this.#diskSeq, send });
  }

  /** Sends everything that is durable enough at once; for a daemon that stops. */
  flush(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#send();
  }

  durable(seq: number): void {
    this.#durableSeq = Math.max(this.#durableSeq, seq);
    this.#send();
  }

  /** Entry `seq` threw: later outputs wait for `voided`. */
  threw(seq: number): void {
    this.#undecided.add(seq);
  }

  /** The log has voided entry `seq`. */
  voided(seq: number): void {
    if (this.#undecided.delete(seq)) this.#send();
  }

  /** Whether every applied entry is durable enough and no output waits. */
  get #isClear(): boolean {
    return this.#waiting.length === 0 && this.#undecided.size === 0 && this.#durableSeq >= this.#diskSeq;
  }

  /** The next output if it is durable enough, or null. */
  get #next(): Waiting | null {
    const next = this.#waiting[this.#sent];
    if (next === undefined || next.needs > this.#durableSeq || this.#undecided.size > 0) return null;
    return next;
  }

  #send(): void {
    for (let next = this.#next; next !== null && this.#left > 0; next = this.#next) {
      this.#sent += 1;
      this.#take(1);
      next.send();
    }
    this.#waiting.splice(0, this.#sent);
    this.#sent = 0;
  }

  #take(count: number): void {
    this.#left -= count;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      this.#left = this.#turnMax;
      this.#send();
    });
  }
}

/** A caller that proposed a command and waits for its answer. */
export interface Caller {
  /** The answer. If the request waited, it may come much later. */
  answer(reply: Reply): void;
  /** The log refused the command or may have lost it. Without this method, `answer` gets the failure. */
  failed?(): void;
  /** The request waits; its answer comes later. */
  parked?(): void;
  /** An event for this request alone while it waits. */
  event?(event: CoreEvent): void;
}

interface AnswersOptions {
  readonly outbox: Outbox;
  readonly node: string;
  readonly epoch: () => number;
  /** Proposes a command of the daemon itself until the log takes it. */
  readonly submitWithRetry: (command: Command) => void;
  /** Sees every step after its answers are sent. */
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

  /** Registers `caller` for the answer to proposal `n`. */
  expect(n: number, command: Command, caller: Caller): void {
    this.#pending.set(n, { caller, command });
  }

  /** The caller of `n` left: a waiting request gives up its queue position, a grant to it is undone. */
  abandon(n: number): void {
    const pending = this.#pending.get(n);
    this.#pending.delete(n);
    if (pending?.command.type !== "lock_request") return;
    this.#detach(n, pending.command.retry);
  }

  /** Undoes the grant that did not reach the client of `n`; `kept` is the request's retry. */
  undelivered(n: number, { actor, files }: Grant, kept?: Retry): void {
    const of = kept === undefined ? {} : { kept };
    const keys = files.map(({ key }) => key);
    this.#options.submitWithRetry({ type: "lock_undelivered", waiter: this.origin(n), actor, keys, ...of });
  }

  /** Forgets the refusal that did not reach the client of `n`: a retry then runs instead of getting it. */
  unheard(n: number, kept: Retry): void {
    this.#options.submitWithRetry({ type: "reply_unheard", to: this.origin(n), kept });
  }

  /** Reports the failure to the caller. */
  failed(n: number, { code, message }: ProposeFailure): void {
    const pending = this.#take(n);
    if (pending?.caller.failed !== undefined) pending.caller.failed();
    else pending?.caller.answer(refuse(code, message));
  }

  /**
   * Sends the entry's own answer, then those to requests that waited, then the events for all subscribers. A caller
   * learns at once that its request waits, before any event about that request.
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

  /** Tells the caller that its entry threw. */
  sendBug(origin: Origin): void {
    const refusal = refuse("internal_error", "a bug in Kite; nothing was changed (see the log)");
    this.#options.outbox.put(() => {
      this.#take(origin.n)?.caller.answer(refusal);
    });
  }

  /** Tells all callers that still wait to connect again. */
  close(): void {
    for (const { caller } of this.#pending.values()) caller.answer(restarting);
    this.#pending.clear();
  }

  /** Returns the name of proposal `n` in the log. */
  origin(n: number): Origin {
    return { node: this.#options.node, epoch: this.#options.epoch(), n };
  }

  #take(n: number): Pending | undefined {
    const pending = this.#pending.get(n);
    this.#pending.delete(n);
    return pending;
  }

  #answerOwn({ origin, command }: Entry, { reply }: Step): void {
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

  /** Undoes an answer that no caller reads: a queue position, a grant, messages, or a refusal kept for a retry. */
  #undo(n: number, command: Command, reply: Reply | null): void {
    const retry = "retry" in command ? command.retry : undefined;
    if (reply?.ok === false) {
      if (retry !== undefined) this.unheard(n, retry);
    } else if (command.type === "lock_request") {
      if (reply === null) this.#detach(n, retry);
      else this.undelivered(n, command, retry);
    } else if (command.type === "inbox_take") {
      const messages = messageIdsIn(reply);
      const { actor } = command;
      if (messages.length > 0)
        this.#options.submitWithRetry({ type: "inbox_told", actor, messages, heard: false });
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
    if (to !== undefined) this.#pending.get(to.n)?.caller.event?.(event);
  }

  #answerWaiting({ to, reply, grant }: Answer): void {
    const pending = this.#take(to.n);
    if (pending !== undefined) pending.caller.answer(reply);
    else if (grant !== null) this.undelivered(to.n, grant);
  }
}

/** Returns the ids of the messages that an inbox gave out. */
export function messageIdsIn(reply: Reply | null): string[] {
  const { messages } = (reply ?? {}) as { readonly messages?: unknown };
  return Array.isArray(messages)
    ? messages.flatMap(({ id }: { id?: unknown }) => (typeof id === "string" ? [id] : []))
    : [];
}

/** The answer of a daemon that stops. */
export const restarting = refuse("restarting", "the daemon is stopping; connect again in a moment");

/** Whether the event is for one request alone. */
function isProgress({ to }: CoreEvent): boolean {
  return to !== undefined;
}
