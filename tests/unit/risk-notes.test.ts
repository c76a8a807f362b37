import { expect, it } from "vitest";
import { emptyState } from "../../daemon/core/state.ts";
import { RiskNotes } from "../../daemon/risk-notes.ts";

it("tells of a merge risk once, and again where the answer with it was not heard", () => {
  const state = emptyState();
  const rest = { node: "n", begun: 1, registeredAt: 0, branch: null, lostAt: null, suspendedUntil: null };
  for (const id of ["alice", "bob"]) {
    const incarnations = [{ ordinal: 0, begun: 1, anchor: null }];
    const at = { project: "/p", worktree: `/${id}`, cwd: `/${id}` };
    state.sessions.live.set(id, { ...rest, ...at, id, name: id, incarnations, agents: new Map() });
  }
  const side = (session: string) => ({
    worktree: `/${session}`,
    actor: { session, agent: null, incarnation: 0 },
  });
  state.risks.set("r", { project: "/p", file: "a.ts", sides: [side("alice"), side("bob")] });
  const notes = new RiskNotes();
  const { actor } = side("alice");
  const first = notes.take(state, actor);
  expect(first.notes).toMatchObject([{ file: "a.ts", worktree: "/bob" }]);
  expect(notes.take(state, actor).notes).toEqual([]);
  first.untell();
  expect(notes.take(state, actor).notes).toEqual(first.notes);
});
