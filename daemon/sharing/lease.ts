/**
 * Keeps this node's lease in the shared log alive: a node that renews it no more counts as away, then its sessions as lost. With each
 * renewal it looks whether every node knows a higher level of rules by now.
 */

import { limits } from "../../protocol/limits.ts";
import type { NodeRenew } from "../core/nodes/commands.ts";
import { mayRaise } from "../core/nodes/levels.ts";
import { firstRulesLevel, rulesLevel } from "../core/tables/base-state.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";

export interface LeaseOptions {
  readonly clock: Clock;
  readonly machine: string;
  /** Of this program, to be shown to people of another machine. */
  readonly version: string;
  readonly binding: string;
  /** Every answer of a renewal. */
  readonly onAnswer: (reply: Reply) => void;
  /** A renewal did not reach the store; it is tried again. */
  readonly onFailed: () => void;
}

export class Lease {
  readonly #options: LeaseOptions;
  readonly #log: Engine;
  #cancel: () => void = () => {};
  #isRenewing = false;
  #isClosed = false;

  constructor(log: Engine, options: LeaseOptions) {
    this.#log = log;
    this.#options = options;
  }

  /** Renews it now, and from now on every `limits.nodeRenewMs`. */
  renew(): void {
    if (this.#isClosed || this.#isRenewing) return;
    this.#isRenewing = true;
    const { clock, machine, binding, version, onAnswer } = this.#options;
    const levels = { from: firstRulesLevel, to: rulesLevel };
    const command: NodeRenew = { machine, binding, levels, version, wallMs: clock.wall() };
    const over = (againMs: number) => {
      this.#isRenewing = false;
      this.#cancel();
      if (!this.#isClosed) this.#cancel = clock.at(clock.now() + againMs, () => this.renew());
    };
    this.#log.submit(
      { type: "node_renew", ...command },
      {
        answer: reply => {
          over(limits.nodeRenewMs);
          // What the end of the log answers says nothing of the lease.
          if (this.#isClosed) return;
          onAnswer(reply);
          if (reply.ok) this.#raiseRules();
        },
        failed: () => {
          over(limits.fullRetryMs);
          this.#options.onFailed();
        },
      },
    );
  }

  /** Proposes this program's level if the log follows a lower one, and would take it now. */
  #raiseRules(): void {
    const { state } = this.#log;
    if (state.rules >= rulesLevel || mayRaise(state, rulesLevel) !== null) return;
    this.#log.submit({ type: "rules", level: rulesLevel }, { answer: () => {} });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }
}
