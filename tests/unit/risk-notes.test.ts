import { expect, it } from "vitest";
import { emptyState } from "../../daemon/core/state.ts";
import { RiskNotes } from "../../daemon/hooks/risk-notices.ts";

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
  const risk = { project: "/p", file: "a.ts", sides: [side("alice"), side("bob")], told: [] } as const;
  state.risks.set("r", risk);
  const notes = new RiskNotes();
  const first = notes.take(state, "alice");
  expect(first.notes).toMatchObject([{ file: "a.ts", own: "/alice", worktree: "/bob" }]);
  expect(notes.take(state, "alice").notes).toEqual([]);
  notes.untold("alice", first.ids);
  expect(notes.take(state, "alice")).toEqual(first);
  // The next daemon knows from the state who was told.
  state.risks.set("r", { ...risk, told: ["alice"] });
  expect(new RiskNotes().take(state, "alice").notes).toEqual([]);
  expect(new RiskNotes().take(state, "bob").notes).toHaveLength(1);
});
