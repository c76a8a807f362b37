import { describe, expect, it } from "vitest";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { Session } from "../../daemon/core/tables/base-state.ts";
import { tellLater } from "../../daemon/core/tables/notices.ts";
import { riskRecords } from "../../daemon/core/tables/uncommitted.ts";
import { Delivery, fileNotes, mergeRisks, Notices, terminalCounts } from "../../daemon/hooks/notices.ts";
import type { FileNote } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";

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
  namedBy: "client",
  lostAt: null,
  suspendedUntil: null,
  incarnations: begun.map((entry, ordinal) => ({ ordinal, begun: entry, anchor: null })),
  agents: new Map<string, string>(),
  endedAgents: new Map<string, string>(),
});

describe("notes in answers", () => {
  const alice = { session: "alice", agent: null };
  const note = (file: string) => ({ what: "bypassed", file, mine: false, other: "bob" }) as const;
  const filesOf = (taken: { readonly notes: readonly FileNote[] }) =>
    taken.notes.map(one => ("file" in one ? one.file : ""));
  const world = () => {
    const state = emptyState();
    state.sessions.live.set("alice", session("alice", 1));
    return { state, notes: new Notices(fileNotes) };
  };

  it("are in one at a time, and in the next one where that reached nobody", () => {
    const { state, notes } = world();
    tellLater(state, alice, note("/p/a"));
    const first = notes.take(state, alice);
    expect(filesOf(first)).toEqual(["/p/a"]);
    expect(filesOf(notes.take(state, alice))).toEqual([]);
    tellLater(state, alice, note("/p/b"));
    expect(filesOf(notes.take(state, alice))).toEqual(["/p/b"]);
    notes.restore(alice, first.ids);
    expect(filesOf(notes.take(state, alice))).toEqual(["/p/a"]);
  });

  it("are the agent's own, not its session's", () => {
    const { state, notes } = world();
    tellLater(state, { session: "alice", agent: "helper" }, note("/p/a"));
    expect(filesOf(notes.take(state, alice))).toEqual([]);
    expect(filesOf(notes.take(state, { session: "alice", agent: "helper" }))).toEqual(["/p/a"]);
  });
});

describe("merge risks in answers", () => {
  const side = (id: string) => ({ worktree: `/${id}`, actor: { session: id, agent: null, incarnation: 0 } });
  const risk = (file: string) =>
    ({ project: "/p", file, sides: [side("alice"), side("bob")], told: [] }) as const;
  const world = (...files: string[]) => {
    const state = emptyState();
    for (const id of ["alice", "bob"]) state.sessions.live.set(id, session(id, 1));
    for (const file of files) riskRecords.put(state, risk(file));
    return state;
  };

  it("are in one at a time, and in the next one where that reached nobody", () => {
    const state = world("a.ts");
    const notes = new Notices(mergeRisks);
    const first = notes.take(state, "alice");
    expect(first.notes).toMatchObject([{ file: "a.ts", own: "/alice", name: "bob", worktree: "/bob" }]);
    expect(notes.take(state, "alice").notes).toEqual([]);
    notes.restore("alice", first.ids);
    expect(notes.take(state, "alice")).toEqual(first);
    // The next daemon knows from the state who was told.
    riskRecords.put(state, { ...risk("a.ts"), told: ["alice"] });
    expect(new Notices(mergeRisks).take(state, "alice").notes).toEqual([]);
    expect(new Notices(mergeRisks).take(state, "bob").notes).toHaveLength(1);
  });

  it("are few in one, and the rest in the next ones", () => {
    const files = Array.from({ length: limits.mergeRisksTold + 1 }, (_, i) => `${i}.ts`);
    const state = world(...files);
    const notes = new Notices(mergeRisks);
    const taken = [1, 2, 3].map(() => notes.take(state, "bob").notes.map(({ file }) => file));
    expect(taken).toEqual([files.slice(0, -1), files.slice(-1), []]);
  });
});

describe("notices of an answer", () => {
  it("are told when it was delivered, and come again when it was lost", () => {
    const state = emptyState();
    state.sessions.live.set("alice", session("alice", 1));
    const alice = { session: "alice", agent: null };
    tellLater(state, alice, { what: "bypassed", file: "/p/a", mine: false, other: "bob" });
    const notes = new Notices(fileNotes);
    const told: number[] = [];
    for (const heard of [false, true]) {
      const delivery = new Delivery();
      expect(notes.offer(state, alice, delivery, ids => told.push(...ids))).toHaveLength(1);
      expect(told).toEqual([]);
      delivery.settle(heard);
    }
    expect(told).toEqual([1]);
    expect(notes.take(state, alice).notes).toEqual([]);
  });
});

describe("a session in two terminals", () => {
  it("is told to each of them, once, and again when another one comes", () => {
    const state = emptyState();
    const notes = new Notices(terminalCounts);
    const told = (of: Session, ordinal: number) => notes.take(state, { session: of, ordinal }).notes;
    expect(told(session("a", 1), 0)).toEqual([]);
    const two = session("a", 1, 2);
    expect([0, 1, 0, 1].map(ordinal => told(two, ordinal))).toEqual([[2], [2], [], []]);
    expect(told(session("a", 1, 2, 3), 0)).toEqual([3]);
    notes.restore({ session: two, ordinal: 1 }, ["open"]);
    expect([0, 1].map(ordinal => told(two, ordinal))).toEqual([[], [2]]);
  });
});
