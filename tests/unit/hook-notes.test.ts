import { describe, expect, it } from "vitest";
import type { Session } from "../../daemon/core/state.ts";
import { HookNotes } from "../../daemon/hook-notes.ts";
import { limits } from "../../protocol/limits.ts";

const alice = { id: "a", agent: null, name: "alice" };
const helper = { id: "a", agent: "h", name: "alice/helper" };
const bob = { id: "b", agent: null, name: "bob" };
const lost = { event: "lost_update", file: "x", path: "/p/x", writer: alice, holder: bob } as const;

describe("notes of writes past locks", () => {
  it("are told to both, each once", () => {
    const notes = new HookNotes();
    notes.heard(lost);
    expect(notes.take(alice)).toEqual([{ what: "lost_update", file: "/p/x", mine: true, other: "bob" }]);
    expect(notes.take(bob)).toEqual([{ what: "lost_update", file: "/p/x", mine: false, other: "alice" }]);
    expect([notes.take(alice), notes.take(bob)]).toEqual([[], []]);
  });

  it("are the agent's own, not its session's", () => {
    const notes = new HookNotes();
    notes.heard({ ...lost, event: "bypassed", writer: helper, holder: bob, held: true });
    expect(notes.take(alice)).toEqual([]);
    expect(notes.take(helper)).toHaveLength(1);
  });

  it("name one thing once, and are bounded: the latest stay", () => {
    const notes = new HookNotes();
    for (let n = 0; n <= limits.fileNotesMax; n += 1) notes.heard({ ...lost, path: `/p/${n}`, holder: null });
    notes.heard({ ...lost, path: `/p/${limits.fileNotesMax}`, holder: null });
    const files = notes.take(alice).map(({ file }) => file);
    expect(files).toHaveLength(limits.fileNotesMax);
    expect([files[0], files.at(-1)]).toEqual(["/p/1", `/p/${limits.fileNotesMax}`]);
  });

  it("of more actors than there may be: the oldest are forgotten", () => {
    const notes = new HookNotes();
    for (let n = 0; n <= limits.notedActorsMax; n += 1) {
      notes.heard({ ...lost, writer: { ...alice, id: `a${n}` }, holder: null });
    }
    expect(notes.take({ id: "a0", agent: null })).toEqual([]);
    expect(notes.take({ id: "a1", agent: null })).toHaveLength(1);
  });
});

describe("a session in two terminals", () => {
  const session = (...begun: number[]): Session => ({
    id: "a",
    node: "n",
    begun: 1,
    registeredAt: 0,
    project: "/p",
    worktree: "/p",
    branch: null,
    cwd: "/p",
    name: "alice",
    lostAt: null,
    suspendedUntil: null,
    incarnations: begun.map((entry, ordinal) => ({ ordinal, begun: entry, anchor: null })),
    agents: new Map<string, string>(),
  });

  it("is told to each of them, once, and again when another one comes", () => {
    const notes = new HookNotes();
    expect(notes.terminals(session(1), 0)).toBeNull();
    const two = session(1, 2);
    expect([0, 1, 0, 1].map(ordinal => notes.terminals(two, ordinal))).toEqual([2, 2, null, null]);
    expect(notes.terminals(session(1, 2, 3), 0)).toBe(3);
    notes.untold(two, 1);
    expect([0, 1].map(ordinal => notes.terminals(two, ordinal))).toEqual([null, 2]);
  });
});
