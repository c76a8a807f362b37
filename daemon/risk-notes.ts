import type { MergeNote } from "../protocol/adapter.ts";
import { limits } from "../protocol/limits.ts";
import type { Actor } from "./core/entry.ts";
import { sideRow } from "./core/merge-risk.ts";
import type { State } from "./core/state.ts";

/** Which merge risks each session has been told of with an answer; in memory: after a restart they are told again. */
export class RiskNotes {
  readonly #told = new Map<string, Set<string>>();

  /** What is new to the actor's session, and was told with this. */
  take(state: State, { session }: Actor): MergeNote[] {
    if (state.risks.size === 0) {
      this.#told.clear();
      return [];
    }
    const told = this.#told.get(session) ?? new Set();
    for (const id of told) if (!state.risks.has(id)) told.delete(id);
    const notes: MergeNote[] = [];
    for (const [id, { file, sides }] of state.risks) {
      if (notes.length === limits.mergeRisksTold) break;
      const [a, b] = sides;
      const own = a.actor.session === session ? a : b.actor.session === session ? b : null;
      if (own === null || told.has(id)) continue;
      told.add(id);
      const { name, worktree, branch } = sideRow(state, own === a ? b : a);
      notes.push({ file, name, worktree, branch });
    }
    this.#told.set(session, told);
    for (const other of this.#told.keys()) if (!state.sessions.live.has(other)) this.#told.delete(other);
    return notes;
  }
}
