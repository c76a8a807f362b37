import { describe, expect, it } from "vitest";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { actor, bounded, World } from "./core-world.ts";

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
