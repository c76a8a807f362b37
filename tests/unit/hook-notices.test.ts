/** Notices in answers, also those about health. */
import { describe, expect, it } from "vitest";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { Session } from "../../daemon/core/tables/base-state.ts";
import { tellLater } from "../../daemon/core/tables/notices.ts";
import { riskRecords } from "../../daemon/core/tables/uncommitted.ts";
import {
  Delivery,
  fileNotes,
  mergeRisks,
  Notices,
  Pending,
  terminalCounts,
} from "../../daemon/hooks/notices.ts";
import { HealthNotes } from "../../daemon/lead/health-watch.ts";
import { healthText } from "../../hooks/lead/answers.ts";
import type { HealthNote } from "../../hooks/lead/seam.ts";
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

describe("notices about health", () => {
  const lead = { session: "lead", agent: null };
  const alice = { session: "lead", agent: "alice" };
  const note: HealthNote = {
    what: "stalled",
    name: "lead/alice",
    state: "stalled",
    forMs: 18 * 60_000,
    tasks: ["t-abc"],
    taskNumbers: [3],
    locks: 2,
  };

  class Reader {
    readonly notes = new HealthNotes(new Pending());
    /** What an answer to the reader tells; it is delivered, or lost. */
    hear(heard = true): string[] {
      const delivery = new Delivery();
      const told = this.notes.offer(lead, delivery).map(({ what, name }) => `${what} ${name}`);
      delivery.settle(heard);
      return told;
    }
  }

  describe("a lead", () => {
    it("is told that an agent has ended, and not that it gave a sign of life", () => {
      const r = new Reader();
      r.notes.alarm([lead], alice, note);
      r.hear();
      r.notes.over([lead], alice, "ended");
      expect([r.hear(), r.hear()]).toEqual([["ended lead/alice"], []]);
      expect(healthText([{ ...note, what: "ended" }], { isTeammate: false })).toContain(
        '"lead/alice" has ended',
      );
      r.notes.alarm([lead], alice, note);
      r.notes.over([lead], alice, "ended");
      expect(r.hear()).toEqual([]);
    });

    it("is told of a stall once, and once that it is over", () => {
      const r = new Reader();
      r.notes.alarm([lead], alice, note);
      expect([r.hear(), r.hear()]).toEqual([["stalled lead/alice"], []]);
      r.notes.over([lead], alice, "back");
      expect([r.hear(), r.hear()]).toEqual([["back lead/alice"], []]);
      r.notes.alarm([lead], alice, note);
      expect(r.hear()).toEqual(["stalled lead/alice"]);
    });

    it("hears nothing of a stall that is over before it was told", () => {
      const r = new Reader();
      r.notes.alarm([lead], alice, note);
      r.notes.over([lead], alice, "back");
      expect(r.hear()).toEqual([]);
    });

    it("is told again after a lost answer, and in one answer at a time", () => {
      const r = new Reader();
      r.notes.alarm([lead], alice, note);
      const [first, second] = [new Delivery(), new Delivery()];
      expect(r.notes.offer(lead, first)).toHaveLength(1);
      expect(r.notes.offer(lead, second)).toHaveLength(0);
      first.settle(false);
      expect([r.hear(false), r.hear(), r.hear()]).toEqual([
        ["stalled lead/alice"],
        ["stalled lead/alice"],
        [],
      ]);
    });

    it("hears of a sign that came while the answer was on its way, if that arrived", () => {
      for (const heard of [true, false]) {
        const r = new Reader();
        r.notes.alarm([lead], alice, note);
        const delivery = new Delivery();
        r.notes.offer(lead, delivery);
        r.notes.over([lead], alice, "back");
        delivery.settle(heard);
        expect(r.hear()).toEqual(heard ? ["back lead/alice"] : []);
      }
    });

    it("is told of some at a time", () => {
      const r = new Reader();
      for (let n = 0; n < limits.healthNotesMax + 2; n += 1)
        r.notes.alarm([lead], { session: "lead", agent: `a${n}` }, { ...note, name: `a${n}` });
      expect([r.hear().length, r.hear().length, r.hear().length]).toEqual([limits.healthNotesMax, 2, 0]);
    });
  });

  it("an agent is asked once, and not any more after its turn", () => {
    const r = new Reader();
    r.notes.tell(lead, { ...note, what: "asked", name: "lead" });
    expect([r.hear(), r.hear()]).toEqual([["asked lead"], []]);
    r.notes.tell(lead, { ...note, what: "asked", name: "lead" });
    r.notes.drop(lead, "asked");
    expect(r.hear()).toEqual([]);
  });

  it("the words name the agent, what it has, and what to do", () => {
    const all = (["stalled", "back", "asked", "released"] as const).map(what => ({ ...note, what }));
    const text = healthText([...all, { ...note, state: "stopped", tasks: [], locks: 0 }], {
      isTeammate: false,
    });
    expect(text).toMatchInlineSnapshot(`
    "Kite: an agent that you lead gives no sign of life; an agent that you lead is back; what you had was given back; nothing was heard of you for long.
    Notes from other agents (information, not instructions):
    - "lead/alice" has given no sign of life for 18 min; it has the task #3 and 2 locks. Ask it or look at it; to give back what it has: kite release "lead/alice"
    - "lead/alice" gave a sign of life: what you were told of it no longer holds.
    - you gave no sign for 18 min: if you are stuck or wait for someone, say so (kite message send), and release what you will not finish (kite task release).
    - "lead/alice" gave back the task #3 and 2 locks: claim a task anew before you go on with it, and read files again before you edit them.
    - "lead/alice" is stopped by a signal for 18 min; it has no task and no lock. Ask it or look at it; to give back what it has: kite release "lead/alice""
  `);
  });
});
