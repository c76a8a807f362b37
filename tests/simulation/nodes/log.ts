/** A log in the hand of a simulation. */
import { apply, dueAt } from "../../../daemon/core/apply.ts";
import { check } from "../../../daemon/core/slices.ts";
import { emptyState } from "../../../daemon/core/snapshot.ts";
import type { State } from "../../../daemon/core/state.ts";
import type { Entry, Proposal, Reply, Timer } from "../../../daemon/core/tables/entries.ts";

/** A log with its state: entries are applied at once, and each is followed by a check of every invariant. */
export class Log {
  state: State = emptyState();
  #timers: Timer[] = [];
  now = 1_000_000;

  enter({ origin, command }: Pick<Proposal, "origin" | "command">): Reply | null {
    const entry: Entry = { seq: this.state.seq + 1, at: this.now, origin, command };
    const step = apply(this.state, entry);
    this.#timers.push(...step.timers);
    const wrong = check(this.state);
    if (wrong.length > 0) throw new Error(`after ${JSON.stringify(command)}: ${wrong.join("; ")}`);
    return step.reply;
  }

  pass(ms: number, by: Proposal["origin"]): void {
    const until = this.now + ms;
    for (;;) {
      this.#timers.sort((a, b) => a.at - b.at);
      const [timer] = this.#timers;
      if (timer === undefined || timer.at > until) break;
      this.#timers.shift();
      const at = dueAt(this.state, timer.due);
      if (at !== null && at > timer.at) this.#timers.push({ at, due: timer.due });
      this.now = Math.max(this.now, timer.at);
      if (at !== null && at <= timer.at)
        this.enter({ origin: by, command: { type: "elapse", due: timer.due } });
    }
    this.now = until;
  }
}
