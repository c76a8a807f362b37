/** The oracle of what agents are told, where an agent that another one is told of has ended. */
import { expect, it } from "vitest";
import type { TableName } from "../../daemon/core/state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { World } from "../unit/core-world.ts";
import { NoteLives, notesBefore } from "./notes.ts";
import { Random } from "./random.ts";

it("knows who answers for the work of an agent that ended", () => {
  const w = new World();
  const notes = new NoteLives(new Random(1), new Random(1));
  const wrongs = (command: Command) => {
    const before = notesBefore(w.state);
    const entry = { seq: w.state.seq + 1, at: w.now, origin: w.origin(w.n + 1), command };
    const touched = new Set<TableName>(["notes"]);
    return [...notes.observe(w.state, entry, w.step(command), before, touched, new Map())];
  };
  const wrote = (session: string, agent: string | null): Command => ({
    type: "writes_noted",
    actor: { session, agent, incarnation: 0 },
    noted: {
      files: [{ key: "n:/p/x", file: "x", worktree: "/p", project: "/p" }],
      by: "shell",
      ancestors: [],
      wallMs: 0,
    },
  });
  for (const session of ["ann", "bob"]) w.begin(session);
  w.do({ type: "agent_begin", session: "ann", agent: "a1", name: "Explore" });
  w.do(wrote("ann", "a1"));
  w.do({ type: "agent_end", actor: { session: "ann", agent: "a1", incarnation: 0 } });
  expect(wrongs(wrote("bob", null))).toEqual([]);
});
