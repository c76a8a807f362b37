import type { MergeNote } from "../../hooks/seam/notices.ts";
import { limits } from "../../protocol/limits.ts";
import { sideRow } from "../core/files/merge-risk.ts";
import type { State } from "../core/state.ts";

/** Merge risks for one answer. */
export interface TakenRisks {
  readonly notes: readonly MergeNote[];
  /** By their keys in the state. */
  readonly ids: readonly string[];
}

/**
 * Which merge risks are in answers that are on their way: the state says of which a session was told. In memory only:
 * after a restart no answer is on its way.
 */
export class RiskNotes {
  readonly #offered = new Map<string, Set<string>>();

  /** What the session is to be told now, and does not get again unless it is `untold`. */
  take(state: State, session: string): TakenRisks {
    if (state.risks.size === 0) {
      this.#offered.clear();
      return { notes: [], ids: [] };
    }
    const offered = this.#offered.get(session) ?? new Set();
    for (const id of offered) if (!state.risks.has(id)) offered.delete(id);
    const notes: MergeNote[] = [];
    const ids: string[] = [];
    for (const [id, { file, sides, told }] of state.risks) {
      if (notes.length === limits.mergeRisksTold) break;
      const [a, b] = sides;
      const own = a.actor.session === session ? a : b.actor.session === session ? b : null;
      if (own === null || offered.has(id) || told.includes(session)) continue;
      offered.add(id);
      ids.push(id);
      const { name, worktree, branch } = sideRow(state, own === a ? b : a);
      notes.push({ file, own: own.worktree, name, worktree, branch });
    }
    this.#offered.set(session, offered);
    for (const other of this.#offered.keys()) {
      if (!state.sessions.live.has(other)) this.#offered.delete(other);
    }
    return { notes, ids };
  }

  /** The answer with these reached nobody. */
  untold(session: string, ids: readonly string[]): void {
    for (const id of ids) this.#offered.get(session)?.delete(id);
  }
}
