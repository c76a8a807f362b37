/**
 * Sends the rows of the outbox to the shared log, in order, until it has them.
 *
 * Invariants: a row is sent after those before it, and again after every failure of one before it. After a failure nothing
 * is sent until `begin` says that the log answers. So an outage costs the same however much waits. An entry of this
 * machine's log takes out of the outbox what the shared log has. Three refusals count as undelivered: a gap, a missing
 * lease, and another daemon of this node. Any other refusal would come again, so its row counts as delivered.
 */
import type { OutboxNumber } from "../core/nodes/commands.ts";
import { isAfter, nothingRelayed } from "../core/nodes/table.ts";
import { relaysOf } from "../core/outbox/publish.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { Engine } from "../engine/engine.ts";

export interface RelayOptions {
  readonly node: string;
  /** This machine's own log. */
  readonly own: Engine;
  /** The store has no lease of this node, or one of another daemon. */
  readonly onRefused: (reply: Reply) => void;
  /** Rows did not reach the store; they go again after `begin`. */
  readonly onFailed: () => void;
}

/** Refusals after which the row comes again. */
const undelivered: ReadonlySet<string> = new Set(["outbox_gap", "unknown_node", "node_twice"]);

export class Relay {
  readonly #options: RelayOptions;
  readonly #log: Engine;
  /** The last row that was sent, and the last one that the shared log has. */
  #sent: OutboxNumber = nothingRelayed;
  #heard: OutboxNumber = nothingRelayed;
  /** Whether the shared log has the lease, said which row it has, and took all that was sent since. */
  #hasBegun = false;
  /** Sends of before a failure are not counted any more. */
  #round = 0;
  #isNoting = false;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  /** `log`: the shared one. */
  constructor(log: Engine, options: RelayOptions) {
    this.#log = log;
    this.#options = options;
  }

  /** The shared log answers, and has said which row it has: sends what waits. */
  begin(): void {
    this.#hasBegun = true;
    this.flush();
  }

  /** Sends the rows that were not sent yet. */
  flush(): void {
    const { outbox } = this.#options.own.state;
    if (this.#isClosed || !this.#hasBegun || !isAfter(outbox.last, this.#sent)) return;
    const round = this.#round;
    for (const command of relaysOf(outbox, this.#sent)) {
      const { number } = command;
      this.#sent = number;
      this.#log.submit(command, {
        answer: reply => this.#answered(round, number, reply),
        failed: () => {
          if (this.#stop(round)) this.#options.onFailed();
        },
      });
    }
  }

  /** Sends all that waits once more, from the first row on, when `flush` is called next. */
  again(): void {
    this.#round += 1;
    this.#sent = nothingRelayed;
  }

  /** Sends nothing until `begin`, and then all that waits. Returns false if what failed is of an earlier round. */
  #stop(round: number): boolean {
    if (round !== this.#round) return false;
    this.again();
    this.#hasBegun = false;
    return true;
  }

  /** Whether what waits goes with the next `flush`: after a failure it waits for `begin`. */
  get isSending(): boolean {
    return this.#hasBegun;
  }

  /** Whether the shared log has every row. */
  get isEmpty(): boolean {
    const { rows, last } = this.#options.own.state.outbox;
    return rows.size === 0 || !isAfter(last, this.#heard);
  }

  /** Calls `done` when the shared log has every row, or nothing is sent any more. */
  whenEmpty(done: () => void): void {
    if (this.isEmpty || this.#isClosed) done();
    else this.#waiting.push(done);
  }

  close(): void {
    this.#isClosed = true;
    for (const done of this.#waiting.splice(0)) done();
  }

  #answered(round: number, number: OutboxNumber, reply: Reply): void {
    if (!reply.ok && undelivered.has(reply.code)) {
      if (this.#stop(round)) this.#options.onRefused(reply);
      return;
    }
    if (isAfter(number, this.#heard)) this.#heard = number;
    this.#note();
    if (this.isEmpty) for (const done of this.#waiting.splice(0)) done();
  }

  /** Takes what the shared log has out of the outbox: one entry for all that was heard meanwhile. */
  #note(): void {
    if (this.#isNoting || this.#isClosed) return;
    this.#isNoting = true;
    const { own, node } = this.#options;
    const last = this.#heard;
    const over = () => {
      this.#isNoting = false;
      if (isAfter(this.#heard, last)) this.#note();
    };
    own.submit({ type: "outbox_sent", node, last }, { answer: over, failed: over });
  }
}

/** Returns the place in the outbox that a reply names. */
export function numberIn(value: unknown): OutboxNumber | null {
  if (typeof value !== "object" || value === null) return null;
  const { epoch, n } = value as Partial<OutboxNumber>;
  return typeof epoch === "number" && typeof n === "number" ? { epoch, n } : null;
}
