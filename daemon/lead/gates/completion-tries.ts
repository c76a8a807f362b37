/**
 * How often an agent did what the quality gate asked for and was held back again, for a reason that it cannot end. In
 * memory only: after a restart the count begins anew.
 */
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import { noteKey, type Whose } from "../../core/tables/messages.ts";

interface Tries {
  readonly count: number;
  /** The latest run that was counted; null: a reason without runs. */
  readonly run: number | null;
}

export class CompletionTries {
  readonly #tries = new BoundedMap<string, Map<string, Tries>>({ entriesMax: limits.gatedActorsMax });

  /** Whether the agent was held back for this reason as often as it may be. */
  isSpent(whose: Whose, reason: string): boolean {
    return (this.#tries.get(noteKey(whose))?.get(reason)?.count ?? 0) >= limits.completionRefusalsMax;
  }

  /** The agent is held back for this reason. With `run` it counts once for each run: who runs nothing, does nothing. */
  refused(whose: Whose, reason: string, run: number | null): void {
    const key = noteKey(whose);
    const own = this.#tries.get(key) ?? new Map<string, Tries>();
    const before = own.get(reason);
    if (run !== null && before?.run === run) return;
    own.set(reason, { count: (before?.count ?? 0) + 1, run });
    this.#tries.set(key, own);
  }

  /** The agent passed. */
  passed(whose: Whose): void {
    this.#tries.delete(noteKey(whose));
  }
}
