/** Replays a log with gaps. */
import { apply, skip } from "../core/apply.ts";
import { passGap, passNumbers } from "../core/gap.ts";
import type { State } from "../core/state.ts";
import type { Entry } from "../core/tables/entries.ts";
import type { Snapshot } from "../journal/journal.ts";
import { type NamedNumbers, namedNumbers, numbersBefore } from "./named-numbers.ts";
import { checkRules, stateBefore } from "./replay.ts";

/** Entries of one type that may throw behind a gap before none of that type is applied there. */
const throwsMax = 3;

/**
 * Applies the entries that are left, in order. Behind a gap a handler may find a state that the shell never asks it
 * about, and throw: the replay then begins again without that entry.
 */
export class GapReplay {
  readonly #snapshot: Snapshot | null;
  readonly #entries: readonly Entry[];
  readonly #lastSeq: number;
  readonly #named: NamedNumbers;
  readonly #voided = new Set<number>();
  readonly #threw = new Set<number>();
  readonly #throws = new Map<string, number>();

  /** `entries` in the order of `seq`, all behind the snapshot. */
  constructor(snapshot: Snapshot | null, entries: readonly Entry[], lastSeq: number) {
    this.#snapshot = snapshot;
    this.#entries = entries;
    this.#lastSeq = lastSeq;
    this.#named = namedNumbers(entries);
    for (const { command } of entries) if (command.type === "void") this.#voided.add(command.seq);
  }

  /** Returns the state, and the types of entries behind the first gap that changed nothing, with their numbers. */
  run(): { readonly state: State; readonly idle: ReadonlyMap<string, number> } {
    for (;;) {
      const done = this.#pass();
      if (done !== null) return done;
    }
  }

  /** Returns null if an entry threw, which the next pass skips. */
  #pass() {
    const state = stateBefore(this.#snapshot);
    const idle = new Map<string, number>();
    let isBehindGap = false;
    for (const [i, entry] of this.#entries.entries()) {
      const { seq, command } = entry;
      const { type } = command;
      if (seq !== state.seq + 1) {
        isBehindGap = true;
        const numbers = numbersBefore(this.#entries, i, this.#named);
        passGap(state, { until: seq - 1, lastSeq: this.#lastSeq, numbers });
      }
      if (type === "rules") checkRules(command.level);
      if (this.#voided.has(seq)) {
        skip(state, entry);
        continue;
      }
      const isBarred = this.#threw.has(seq) || (isBehindGap && (this.#throws.get(type) ?? 0) >= throwsMax);
      if (isBarred) skip(state, entry);
      const isIdle = isBarred || this.#apply(state, entry);
      if (isIdle === null) return null;
      if (!isBehindGap || !isIdle) continue;
      idle.set(type, (idle.get(type) ?? 0) + 1);
      passNumbers(state, command);
    }
    return { state, idle };
  }

  /** Returns whether the entry changed nothing, or null if it threw: the state may be half changed. */
  #apply(state: State, entry: Entry): boolean | null {
    try {
      return apply(state, entry).reply?.ok === false;
    } catch {
      const { type } = entry.command;
      this.#threw.add(entry.seq);
      this.#throws.set(type, (this.#throws.get(type) ?? 0) + 1);
      return null;
    }
  }
}
