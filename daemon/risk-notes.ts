import { limits } from "../protocol/limits.ts";
import type { MergeNote } from "../protocol/notes.ts";
import type { Actor } from "./core/entry.ts";
import { sideRow } from "./core/merge-risk.ts";
import type { State } from "./core/state.ts";

/** Which merge risks each session has been told of with an answer; in memory: after a restart they are told again. */
export class RiskNotes {
  readonly #told = new Map<string, Set<string>>();

  /** What is new to the actor's session, and counts as told; `untell` takes it back where the answer is not heard. */
  take(
    state: State,
    { session }: Actor,
  ): { readonly notes: readonly MergeNote[]; readonly untell: () => void } {
    if (state.risks.size === 0) {
      this.#told.clear();
      return { notes: [], untell: () => {} };
    }
    const told = this.#told.get(session) ?? new Set();
    for (const id of told) if (!state.risks.has(id)) told.delete(id);
    const notes: MergeNote[] = [];
    const ids: string[] = [];
    for (const [id, { file, sides }] of state.risks) {
      if (notes.length === limits.mergeRisksTold) break;
      const [a, b] = sides;
      const own = a.actor.session === session ? a : b.actor.session === session ? b : null;
      if (own === null || told.has(id)) continue;
      told.add(id);
      ids.push(id);
      const { name, worktree, branch } = sideRow(state, own === a ? b : a);
      notes.push({ file, name, worktree, branch });
    }
    this.#told.set(session, told);
    for (const other of this.#told.keys()) if (!state.sessions.live.has(other)) this.#told.delete(other);
    const untell = () => {
      for (const id of ids) told.delete(id);
    };
    return { notes, untell };
  }
}
