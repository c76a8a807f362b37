/** Whose work is in a file, also in several worktrees. */
import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { WriteNote } from "../../daemon/core/tables/uncommitted.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";

function note(files: string | readonly string[], more: Partial<WriteNote> = {}): WriteNote {
  const names = typeof files === "string" ? [files] : files;
  const written = names.map(file => ({ key: `n:/p/${file}`, file, worktree: "/p", project: "/p" }));
  return { files: written, by: "edit", ancestors: [], wallMs: 1, ...more };
}

class Works extends World {
  wrote(who: string | Actor, files: string | readonly string[], more: Partial<WriteNote> = {}): void {
    this.do({ type: "flight_end", actor: actor(who), flight: null, wrote: true, noted: note(files, more) });
  }

  /** A shell command changed the files; returns who was told what. */
  ran(who: string | Actor, files: string | readonly string[], more: Partial<WriteNote> = {}): string[] {
    const noted = note(files, { by: "shell", ...more });
    const step = this.step({ type: "writes_noted", actor: actor(who), noted });
    return step.events.flatMap(({ event, about }) =>
      event.event === "bypassed"
        ? [`${event.writer.name} changed ${event.file} of ${event.holder.name}: ${about.join(" ")}`]
        : [],
    );
  }

  settle(file: string, seq: number): void {
    this.do({ type: "writes_settled", settled: [{ key: `n:/p/${file}`, seq }] });
  }

  writers(file: string): string[] {
    return this.state.writes.files.get(`n:/p/${file}`)?.writers.map(w => w.name) ?? [];
  }
}

const bounds = { settledWorkMax: 10, writesMax: 20 };

function world(...sessions: readonly string[]): Works {
  const w = new Works(bounded(bounds));
  for (const session of sessions) w.begin(session);
  return w;
}

const child: Actor = { session: "a", agent: "child", incarnation: 0 };

describe("whose work is in a file", () => {
  it("names every writer once, the latest last", () => {
    const w = world("a", "b");
    w.wrote("a", "x");
    w.wrote("b", "x");
    w.wrote("a", "x");
    expect(w.writers("x")).toEqual(["b", "a"]);
  });

  it("is remembered over a snapshot", () => {
    const w = world("a", "b");
    w.wrote("a", ["x", "y"]);
    w.wrote("b", "x");
    const text = writeState(w.state);
    const back = readState(text);
    expect(writeState(back)).toBe(text);
    expect([...back.writes.files.keys()]).toEqual(["n:/p/y", "n:/p/x"]);
    expect(back.writes.byWorktree.get("/p")).toEqual(new Set(["n:/p/x", "n:/p/y"]));
  });

  it("ends when git says so, unless it was written again meanwhile", () => {
    const w = world("a");
    w.wrote("a", "x");
    const { seq } = w.state;
    w.wrote("a", "x");
    w.settle("x", seq);
    expect(w.writers("x")).toEqual(["a"]);
    w.settle("x", w.state.seq - 1);
    expect(w.writers("x")).toEqual([]);
    expect(w.state.writes.byWorktree.size).toBe(0);
  });

  it("of one writer ends when that one's lines are committed, and the file is the others'", () => {
    const w = world("a", "b");
    w.wrote("a", "x");
    w.wrote("b", "y");
    w.wrote("b", "x");
    const settled = (name: string, file: string, seq = w.state.seq) =>
      w.do({ type: "writes_settled", settled: [{ key: `n:/p/${file}`, seq, writers: [actor(name)] }] });
    settled("b", "x");
    expect(w.writers("x")).toEqual(["a"]);
    // The files are in the order of their latest writes again.
    expect([...w.state.writes.files.keys()]).toEqual(["n:/p/x", "n:/p/y"]);
    const { seq } = w.state;
    w.wrote("a", "x");
    settled("a", "x", seq);
    expect(w.writers("x")).toEqual(["a"]);
    settled("a", "x");
    expect(w.writers("x")).toEqual([]);
    w.do({ type: "work_returned", actor: actor("b"), noted: note("x") });
    expect(w.writers("x")).toEqual(["a", "b"]);
  });

  it("comes back to those who wrote it, and to who brought it back", () => {
    const w = world("a", "b");
    w.wrote("a", ["x", "y"]);
    w.settle("x", w.state.seq);
    expect(w.writers("x")).toEqual([]);
    const back = readState(writeState(w.state));
    expect(writeState(back)).toBe(writeState(w.state));
    w.do({ type: "work_returned", actor: actor("b"), noted: note(["x", "y", "z"]) });
    expect(w.writers("x")).toEqual(["a", "b"]);
    expect(w.writers("y")).toEqual(["a"]);
    expect(w.writers("z")).toEqual(["b"]);
    expect(w.state.writes.settled.size).toBe(0);
  });

  it("is somebody else's once it was committed and written anew", () => {
    const w = world("a", "b");
    w.wrote("a", "x");
    w.settle("x", w.state.seq);
    w.wrote("b", "x");
    w.settle("x", w.state.seq);
    w.do({ type: "work_returned", actor: actor("b"), noted: note("x") });
    expect(w.writers("x")).toEqual(["b"]);
  });

  it("that settled is remembered within a bound, the latest", () => {
    const w = world("a");
    const names = Array.from({ length: bounds.settledWorkMax + 1 }, (_, n) => `f${n}`);
    w.wrote("a", names);
    const settled = names.map(name => ({ key: `n:/p/${name}`, seq: w.state.seq }));
    w.do({ type: "writes_settled", settled });
    expect(w.state.writes.settled.size).toBe(bounds.settledWorkMax);
    w.do({ type: "work_returned", actor: actor("a"), noted: note("f1") });
    expect(w.state.writes.settled.size).toBe(bounds.settledWorkMax - 1);
  });

  it("outlives the session, under the name it had", () => {
    const w = world("a");
    w.begin("a", { name: "alice" });
    w.wrote("a", "x");
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "deregistered" });
    expect(w.writers("x")).toEqual(["alice"]);
  });

  it("passes to the id under which a cleared session goes on", () => {
    const w = new Works();
    const anchor = { pid: 7, startTime: "7" };
    w.begin("a", { anchor });
    w.wrote("a", ["x", "y", "put-away"]);
    w.settle("put-away", w.state.seq);
    w.do({ type: "session_suspend", session: "a" });
    w.begin("b", { anchor });
    w.begin("c");
    w.do({ type: "work_returned", actor: actor("c"), noted: note("put-away") });
    const back = w.state.writes.files.get("n:/p/put-away")?.writers.map(({ actor: { session } }) => session);
    expect(back).toEqual(["b", "c"]);
    w.settle("put-away", w.state.seq);
    expect(w.state.writes.files.get("n:/p/x")?.writers[0]?.actor).toEqual(actor("b"));
    expect([...w.state.writes.files.keys()]).toEqual(["n:/p/x", "n:/p/y"]);
  });

  it("keeps the latest writers of a file, and the latest files", () => {
    const w = world();
    const many = Array.from({ length: limits.writersPerFileMax + 2 }, (_, i) => `s${i}`);
    for (const one of many) w.wrote(one, "x");
    expect(w.writers("x")).toEqual(many.slice(2));
    const files = Array.from({ length: bounds.writesMax }, (_, i) => `f${i}`);
    w.wrote("s0", files);
    expect(w.writers("x")).toEqual([]);
    expect(w.writers("f0")).toEqual(["s0"]);
  });
});

describe("what a shell command changed", () => {
  it("is its actor's own where nobody else has anything in it", () => {
    const w = world("a");
    expect(w.ran("a", "x")).toEqual([]);
    expect(w.writers("x")).toEqual(["a"]);
  });

  it("was bypassed where another one holds it, and stays that one's", () => {
    const w = world("a", "b");
    w.lock("a", "x");
    w.wrote("a", "x");
    expect(w.ran("b", "x")).toEqual(["b changed x of a: b a"]);
    expect(w.writers("x")).toEqual(["a"]);
  });

  it("was bypassed where another one has work in it", () => {
    const w = world("a", "b");
    w.wrote("a", "x");
    expect(w.ran("b", ["x", "y"])).toEqual(["b changed x of a: b a"]);
    expect(w.writers("y")).toEqual(["b"]);
  });

  it("is told of an agent that ended by its name, and its main agent answers", () => {
    const w = world("a", "b");
    w.do({ type: "agent_begin", session: "a", agent: "sub", name: "Explore" });
    const sub = { session: "a", agent: "sub", incarnation: 0 };
    w.wrote(sub, "x");
    w.do({ type: "agent_end", actor: sub });
    expect(w.ran("b", "x")).toEqual(["b changed x of a/Explore: b a"]);
    const told = [...w.state.notes.pending.values()].flatMap(({ notes }) => notes.map(({ note }) => note));
    expect(told).toMatchObject([
      { what: "bypassed", mine: true, other: "a" },
      { what: "bypassed", mine: false, other: "b" },
    ]);
  });

  it("is nobody's loss where the other one is gone", () => {
    const w = world("a", "b");
    w.wrote("a", "x");
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "deregistered" });
    expect(w.ran("b", "x")).toEqual([]);
    expect(w.writers("x")).toEqual(["a", "b"]);
  });

  it("is its actor's own where it has work in it too, unless another one holds it", () => {
    const w = world("a", "b");
    w.wrote("b", "x");
    w.wrote("a", "x");
    expect(w.ran("b", "x")).toEqual([]);
    w.lock("a", "x");
    expect(w.ran("b", "x")).toEqual(["b changed x of a: b a"]);
  });

  it("is the family's own between an agent and those it works for, not between siblings", () => {
    const w = world("a");
    w.wrote("a", "x");
    expect(w.ran(child, "x", { ancestors: [null] })).toEqual([]);
    w.wrote(child, "y", { ancestors: [null] });
    expect(w.ran("a", "y")).toEqual([]);
    w.wrote(child, "z", { ancestors: [null] });
    const sibling = { ...child, agent: "other" };
    expect(w.ran(sibling, "z", { ancestors: [null] })).toEqual(["a/other changed z of a/child: a a"]);
  });
});

describe("the risk of a merge", () => {
  class Worktrees extends World {
    /** The actor wrote a file of the worktree; returns which risks were told to whom. */
    wrote(who: string, worktree: string, file = "src/a.ts"): string[] {
      const written = { key: `n:${worktree}/${file}`, file, worktree, project: "/p" };
      const noted = { files: [written], by: "edit" as const, ancestors: [], wallMs: 1 };
      const end = { type: "flight_end" as const, flight: null, wrote: true, noted };
      const { events } = this.step({ ...end, actor: actor(who) });
      return events.flatMap(({ event, about }) =>
        event.event === "merge_risk"
          ? [
              `${event.file}: ${event.sides.map(s => `${s.name} in ${s.worktree}`).join(", ")}; to ${about.join(" ")}`,
            ]
          : [],
      );
    }
  }

  function ends(w: World, session: string): void {
    w.do({ type: "session_end", session, incarnation: null, cause: "ended" });
  }

  const mergeRisksMax = 10;

  function world(...sessions: readonly string[]): Worktrees {
    const w = new Worktrees(bounded({ mergeRisksMax }));
    for (const session of sessions) w.begin(session);
    return w;
  }

  describe("a file with work in two worktrees", () => {
    it("is told to both sides, once a pair and file", () => {
      const w = world("a", "b", "c");
      expect(w.wrote("a", "/p")).toEqual([]);
      expect(w.wrote("b", "/pay")).toEqual(["src/a.ts: a in /p, b in /pay; to a b"]);
      expect(w.wrote("b", "/pay")).toEqual([]);
      expect(w.wrote("a", "/p")).toEqual([]);
      expect(w.wrote("c", "/pay")).toEqual([]);
      expect(w.wrote("c", "/tax")).toEqual([
        "src/a.ts: a in /p, c in /tax; to a c",
        "src/a.ts: b in /pay, c in /tax; to b c",
      ]);
      expect(w.wrote("a", "/p", "b.ts")).toEqual([]);
      expect(w.wrote("b", "/pay", "c.ts")).toEqual([]);
    });

    it("is none in one worktree, by one actor, or with work of who has ended", () => {
      const w = world("a", "b", "c");
      w.wrote("a", "/p");
      expect(w.wrote("b", "/p")).toEqual([]);
      w.wrote("c", "/pay", "x");
      expect(w.wrote("c", "/p", "x")).toEqual([]);
      ends(w, "a");
      ends(w, "b");
      expect(w.wrote("c", "/pay")).toEqual([]);
    });

    it("is none with a write that is told after its session has ended", () => {
      const w = world("a", "b");
      w.wrote("a", "/p");
      ends(w, "b");
      expect(w.wrote("b", "/pay")).toEqual([]);
      expect(w.state.risks.size).toBe(0);
    });

    it("is none between projects", () => {
      const w = world("a", "b");
      w.wrote("a", "/p");
      const written = { key: "n:/q/src/a.ts", file: "src/a.ts", worktree: "/q", project: "/q" };
      const noted = { files: [written], by: "shell" as const, ancestors: [], wallMs: 1 };
      expect(w.step({ type: "writes_noted", actor: actor("b"), noted }).events).toEqual([]);
    });

    it("is forgotten with a side's session, and told again to the next", () => {
      const w = world("a", "b");
      w.wrote("a", "/p");
      w.wrote("b", "/pay");
      expect(w.state.risks.size).toBe(1);
      ends(w, "b");
      expect(w.state.risks.size).toBe(0);
      w.begin("c");
      expect(w.wrote("c", "/pay")).toHaveLength(1);
    });

    it("is remembered over a snapshot, up to a bound", () => {
      const w = world("a", "b");
      for (let i = 0; i <= mergeRisksMax; i += 1) {
        w.wrote("a", "/p", `${i}`);
        w.wrote("b", "/pay", `${i}`);
      }
      expect(w.state.risks.size).toBe(mergeRisksMax);
      const text = writeState(w.state);
      expect(writeState(readState(text))).toBe(text);
    });
  });
});
