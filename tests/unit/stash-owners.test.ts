import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/actor.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { StashesNoted } from "../../daemon/core/stashes/table.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World } from "./core-world.ts";

function world(...sessions: readonly string[]): World {
  const w = new World();
  for (const session of sessions) w.begin(session, { name: session });
  return w;
}

function noted(w: World, of: string | Actor, more: Partial<StashesNoted>): void {
  const nothing = { project: "/p", made: [], gone: [], takenBy: null, wallMs: w.now };
  expect(w.do({ type: "stashes_noted", actor: actor(of), ...nothing, ...more })).toEqual({ ok: true });
}

const makers = (w: World) =>
  [...w.state.stashes.entries.values()].map(({ commit, name, project }) => `${project} ${commit} ${name}`);
const notes = (w: World, key: string) =>
  (w.state.notes.pending.get(key)?.notes ?? []).map(({ note }) => note);

describe("the maker of a stash entry", () => {
  it("is the first that was noted, in each project", () => {
    const w = world("ann", "bob");
    noted(w, "ann", { made: ["c1"] });
    noted(w, "bob", { made: ["c1", "c2"] });
    noted(w, "bob", { made: ["c1"], project: "/q" });
    expect(makers(w)).toEqual(["/p c1 ann", "/p c2 bob", "/q c1 bob"]);
  });

  it("is remembered over the end of its session and over a restart", () => {
    const w = world("ann");
    noted(w, "ann", { made: ["c1"] });
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    w.start();
    const text = writeState(w.state);
    expect(makers(new World(readState(text)))).toEqual(["/p c1 ann"]);
    expect(writeState(readState(text))).toBe(text);
  });

  it("is the id under which its process goes on", () => {
    const w = new World();
    const anchor = { pid: 7, startTime: "1", node: "n" };
    w.begin("old", { anchor });
    noted(w, "old", { made: ["c1"] });
    w.do({ type: "session_suspend", session: "old" });
    w.begin("new", { anchor });
    expect([...w.state.stashes.entries.values()].map(entry => entry.actor)).toEqual([actor("new")]);
  });

  it("is forgotten with its entry, and when too many are newer", () => {
    const w = world("ann");
    noted(w, "ann", { made: ["c1", "c2"] });
    noted(w, "ann", { gone: ["c1", "unknown"] });
    expect(makers(w)).toEqual(["/p c2 ann"]);
    noted(w, "ann", { made: Array.from({ length: limits.stashEntriesMax }, (_, n) => `n${n}`) });
    expect(w.state.stashes.entries.size).toBe(limits.stashEntriesMax);
    expect(makers(w)).not.toContain("/p c2 ann");
  });

  it("leaves a snapshot as it was where nobody stashes", () => {
    expect(writeState(world("ann").state)).not.toContain("stash");
  });
});

describe("an entry that another session's command took", () => {
  const taken = { what: "stash_taken", more: 0, other: "bob", command: "git stash pop" } as const;

  it("is told to its session's main agent, whichever of its agents made it", () => {
    const w = world("ann", "bob");
    noted(w, { session: "ann", agent: "helper", incarnation: 0 }, { made: ["c1"] });
    noted(w, "ann", { made: ["c2"] });
    noted(w, "bob", { gone: ["c1", "c2"], takenBy: "git stash pop" });
    expect(notes(w, "ann")).toEqual([{ ...taken, commits: ["c1", "c2"] }]);
    expect(notes(w, "bob")).toEqual([]);
  });

  it("is counted where there are many", () => {
    const w = world("ann", "bob");
    const made = ["c1", "c2", "c3", "c4", "c5"];
    noted(w, "ann", { made });
    noted(w, "bob", { gone: made, takenBy: "git stash clear" });
    const commits = made.slice(0, limits.stashesShownMax);
    expect(notes(w, "ann")).toEqual([{ ...taken, commits, more: 2, command: "git stash clear" }]);
  });

  it("is not told of if it was the session's own, nobody's, or if nobody saw it go", () => {
    const w = world("ann", "bob");
    noted(w, "ann", { made: ["c1", "c2"] });
    noted(w, { session: "ann", agent: "helper", incarnation: 0 }, { gone: ["c1"], takenBy: "git stash pop" });
    noted(w, "bob", { gone: ["c2"], takenBy: null });
    noted(w, "bob", { gone: ["c3"], takenBy: "git stash pop" });
    expect([notes(w, "ann"), makers(w)]).toEqual([[], []]);
  });
});
