import { describe, expect, it } from "vitest";
import { tellLater } from "../../daemon/core/messages/notices.ts";
import { emptyState, type Session } from "../../daemon/core/state.ts";
import { HookNotes } from "../../daemon/hooks/notices.ts";

const session = (id: string, ...begun: number[]): Session => ({
  id,
  node: "n",
  begun: 1,
  registeredAt: 0,
  project: "/p",
  worktree: "/p",
  branch: null,
  cwd: "/p",
  name: id,
  lostAt: null,
  suspendedUntil: null,
  incarnations: begun.map((entry, ordinal) => ({ ordinal, begun: entry, anchor: null })),
  agents: new Map<string, string>(),
});

describe("notes in answers", () => {
  const alice = { session: "alice", agent: null };
  const note = (file: string) => ({ what: "bypassed", file, mine: false, other: "bob" }) as const;
  const filesOf = (taken: ReturnType<HookNotes["take"]>) =>
    taken?.notes.map(({ note: one }) => ("file" in one ? one.file : "")) ?? [];
  const world = () => {
    const state = emptyState();
    state.sessions.live.set("alice", session("alice", 1));
    return { state, notes: new HookNotes() };
  };

  it("are in one at a time, and in the next one where that reached nobody", () => {
    const { state, notes } = world();
    tellLater(state, alice, note("/p/a"));
    const first = notes.take(state, alice);
    expect(filesOf(first)).toEqual(["/p/a"]);
    expect(notes.take(state, alice)).toBeNull();
    tellLater(state, alice, note("/p/b"));
    expect(filesOf(notes.take(state, alice))).toEqual(["/p/b"]);
    notes.untold(alice, first?.notes.map(({ n }) => n) ?? []);
    expect(filesOf(notes.take(state, alice))).toEqual(["/p/a"]);
  });

  it("are the agent's own, not its session's", () => {
    const { state, notes } = world();
    tellLater(state, { session: "alice", agent: "helper" }, note("/p/a"));
    expect(notes.take(state, alice)).toBeNull();
    expect(filesOf(notes.take(state, { session: "alice", agent: "helper" }))).toEqual(["/p/a"]);
  });
});

describe("a session in two terminals", () => {
  it("is told to each of them, once, and again when another one comes", () => {
    const notes = new HookNotes();
    expect(notes.terminals(session("a", 1), 0)).toBeNull();
    const two = session("a", 1, 2);
    expect([0, 1, 0, 1].map(ordinal => notes.terminals(two, ordinal))).toEqual([2, 2, null, null]);
    expect(notes.terminals(session("a", 1, 2, 3), 0)).toBe(3);
    notes.unacquainted(two, 1);
    expect([0, 1].map(ordinal => notes.terminals(two, ordinal))).toEqual([null, 2]);
  });
});
