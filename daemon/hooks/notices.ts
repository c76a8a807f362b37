/**
 * Which notes are in answers that are on their way: the state says what an agent is to be told, and a note goes into one
 * answer at a time. That a session is open elsewhere too is told here as well, once for each terminal.
 *
 * In memory only: after a restart no answer is on its way.
 */
import { limits } from "../../protocol/limits.ts";
import { noteKey, type PendingNotes, type Whose } from "../core/messages/notice-table.ts";
import type { Session, State } from "../core/state.ts";

export class HookNotes {
  /** Numbers of notes by whose they are: in an answer, or told with one. */
  readonly #offered = new Map<string, ReadonlySet<number>>();
  /** Terminals that know of each other. */
  readonly #acquainted = new Set<string>();

  /** What the agent is to be told now, the oldest first; null: nothing. What it has now it does not get again. */
  take(state: State, of: Whose): PendingNotes | null {
    const key = noteKey(of);
    const pending = state.notes.pending.get(key);
    const before = this.#offered.get(key);
    if (pending === undefined) {
      this.#offered.delete(key);
      return null;
    }
    const notes = pending.notes.filter(({ n }) => !before?.has(n));
    if (notes.length === 0) return null;
    // Those that are pending no more need not be remembered.
    this.#offered.set(key, new Set(pending.notes.map(({ n }) => n)));
    for (const other of this.#offered.keys())
      if (!state.notes.pending.has(other)) this.#offered.delete(other);
    return { ...pending, notes };
  }

  /** The answer with these reached nobody. */
  untold(of: Whose, numbers: readonly number[]): void {
    const key = noteKey(of);
    const left = [...(this.#offered.get(key) ?? [])].filter(n => !numbers.includes(n));
    this.#offered.set(key, new Set(left));
  }

  /** In how many terminals the session is open, where the one called `ordinal` was not told of just these; else null. */
  terminals({ id, incarnations }: Session, ordinal: number): number | null {
    const key = acquaintance(id, incarnations, ordinal);
    if (incarnations.length < 2 || this.#acquainted.has(key)) return null;
    this.#acquainted.add(key);
    for (const oldest of this.#acquainted) {
      if (this.#acquainted.size <= limits.notedActorsMax) break;
      this.#acquainted.delete(oldest);
    }
    return incarnations.length;
  }

  /** The answer that told of the terminals was not heard. */
  unacquainted({ id, incarnations }: Session, ordinal: number): void {
    this.#acquainted.delete(acquaintance(id, incarnations, ordinal));
  }
}

function acquaintance(id: string, incarnations: Session["incarnations"], ordinal: number): string {
  return [id, ordinal, ...incarnations.map(({ begun }) => begun)].join(" ");
}
