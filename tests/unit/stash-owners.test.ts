import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { StashesNoted } from "../../daemon/core/tables/uncommitted.ts";
import { isOwnStash } from "../../daemon/core/work/losses.ts";
import { StashLines } from "../../daemon/hooks/guard/memory.ts";
import { entriesTaken, type StashStep } from "../../daemon/worktree/line-effects.ts";
import { guardShell } from "../../hooks/git/commands.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";

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
    const anchor = { pid: 7, startTime: "1" };
    w.begin("old", { anchor });
    noted(w, "old", { made: ["c1"] });
    w.do({ type: "session_suspend", session: "old" });
    w.begin("new", { anchor });
    expect([...w.state.stashes.entries.values()].map(entry => entry.actor)).toEqual([actor("new")]);
  });

  it("is forgotten with its entry, and when too many are newer", () => {
    const w = new World(bounded({ stashEntriesMax: 3 }));
    w.begin("ann", { name: "ann" });
    noted(w, "ann", { made: ["c1", "c2"] });
    noted(w, "ann", { gone: ["c1", "unknown"] });
    expect(makers(w)).toEqual(["/p c2 ann"]);
    noted(w, "ann", { made: ["c3", "c4", "c5"] });
    expect(makers(w)).toEqual(["/p c3 ann", "/p c4 ann", "/p c5 ann"]);
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

it("of two terminals with one session open, each has its own entries, until its own end", () => {
  const w = new World();
  w.begin("ann", { anchor: { pid: 1, startTime: "1" } });
  w.begin("ann", { anchor: { pid: 2, startTime: "1" } });
  const [first, second] = [0, 1].map(incarnation => ({ session: "ann", agent: null, incarnation }));
  if (first === undefined || second === undefined) throw new Error("two terminals");
  expect(isOwnStash(w.state, second, { actor: first })).toBe(false);
  expect(isOwnStash(w.state, { ...first, agent: "helper" }, { actor: first })).toBe(true);
  w.do({ type: "session_end", session: "ann", incarnation: 0, cause: "ended" });
  expect(isOwnStash(w.state, second, { actor: first })).toBe(true);
});

/** What a line's commands do with stash entries: `+` puts one on the list, `-` takes, `=` copies. */
function uses(line: string): string {
  const signs = { make: "+", take: "-", copy: "=", take_all: "- all" } as const;
  const all = guardShell(line, "/p").commands.flatMap(({ stash }) => stash ?? []);
  return all
    .map(use => signs[use.does] + ("entry" in use ? (use.entry ?? "any") : "isPart" in use ? " part" : ""))
    .join(" ");
}

describe("what a line does with stash entries", () => {
  it.each([
    ["git stash", "+"],
    ["git stash save later", "+"],
    ["git stash -u -- a b", "+"],
    ["git stash -p", "+ part"],
    ["git stash push --staged", "+ part"],
    ["git stash store -m x 0123abc", "+"],
    ["git stash create", ""],
    ["git stash list; git stash show stash@{1}", ""],
    ["git stash pop", "-0"],
    ["git stash pop --index -q 3", "-3"],
    ["git stash pop stash", "-0"],
    ["git stash drop -q refs/stash@{12}", "-12"],
    ["git stash drop -- stash@{2}", "-2"],
    ["git stash apply stash@{1}", "=1"],
    ["git stash apply 0123ABCD", "=0123abcd"],
    ["git stash apply stash@{yesterday}", "=any"],
    ["git stash apply topic", "=any"],
    ["git stash branch new", "-0"],
    ["git stash branch new stash@{4}", "-4"],
    ['git stash branch "$B" stash@{4}', "-any"],
    ["git stash clear", "- all"],
    ['git stash "$SUB"', "- all"],
    ['git stash drop "$N"', "-any"],
    ["git stash drop $Q stash@{1}", "-any"],
    ["git stash && make && git stash pop", "+ -0"],
    ['for n in 2 1; do git stash drop "stash@{$n}"; done', "-2 -1"],
    ["while git stash drop; do :; done", "- all"],
    ["for f in *; do git stash pop; done", "- all"],
    ["git config alias.d 'stash drop'; until ! git d; do :; done", "- all"],
    ["f() { git stash drop; }; while f; do :; done", "- all"],
    ["echo 1 | while read n; do git stash drop $n; done", "-1"],
    ["git update-ref -d refs/stash", "- all"],
    ["git update-ref refs/stash 0000000000000000000000000000000000000000", "- all"],
    ["git update-ref refs/stash HEAD", "+"],
    ["git update-ref -d refs/heads/stash", ""],
    ["printf 'delete refs/stash\\n' | git update-ref --stdin", "- all"],
    ["git update-ref --stdin <<< 'delete refs/heads/x'", ""],
    ["git update-ref --stdin < file", ""],
    ["git reflog", ""],
    ["git reflog show stash", ""],
    ["git reflog expire --all", ""],
    ["git reflog expire --expire=now --all", "- all"],
    ["git reflog expire --expire-unreachable=now stash", "- all"],
    ["git reflog expire --expire=90.days --all -n", ""],
    ["git reflog expire --expire=never --all", ""],
    ["git reflog expire --expire=now main", ""],
    ["git reflog delete stash@{1}", "-1"],
    ["git reflog delete stash@{1} stash@{0}", "-any"],
    ["git reflog delete main@{1}", ""],
    ["git reflog drop --all", "- all"],
    ["git-stash pop 1", "-1"],
    ["git -c alias.back='stash pop' back", "-0"],
  ])("%s -> %s", (line, does) => {
    expect(uses(line)).toBe(does);
  });
});

describe("which entries of a list go", () => {
  const push = { use: { does: "make" }, isMade: true } as const;
  const tried = { ...push, isMade: false };
  const take = (entry: number | string | null) => ({ use: { does: "take", entry }, isMade: false }) as const;
  const copy = (entry: number) => ({ use: { does: "copy", entry }, isMade: false }) as const;
  const clear = { use: { does: "take_all" }, isMade: false } as const;
  it.each<readonly [string, readonly StashStep[], string]>([
    ["pop", [take(0)], "a"],
    ["pop; pop", [take(0), take(0)], "a b"],
    ["apply; apply 1; drop", [copy(0), copy(1), take(0)], "a b a"],
    ["drop 1; drop 1", [take(1), take(1)], "b c"],
    ["push; pop", [push, take(0)], " "],
    ["push; pop; pop", [push, take(0), take(0)], "  a"],
    ["push; drop 1", [push, take(1)], " a"],
    ["push; clear", [push, clear], " a,b,c"],
    ["push of perhaps nothing; pop", [tried, take(0)], " a"],
    ["pop; push of perhaps nothing; pop", [take(0), tried, take(0)], "a  b"],
    ["pop of any; pop", [take(null), take(0)], "a,b,c a"],
    ["by its commit", [take("b"), take(1)], "b c"],
    ["beyond the end", [take(7), take("x")], " "],
  ])("%s", (_line, steps, taken) => {
    const found = entriesTaken(["a", "b", "c"], steps);
    expect(found.map(commits => [...commits].join()).join(" ")).toBe(taken);
  });
});

describe("which of the lines that run made an entry", () => {
  const place = { worktree: "/p", gitDir: "/p/.git" };
  const of = (session: string, before: readonly string[], takes: string | null = null) => ({
    actor: actor(session),
    prompt: "p1",
    project: "/p",
    place,
    before: new Set(before),
    takes,
  });
  const alive = () => true;
  const made = (lines: StashLines, use: string) =>
    lines.ended(use).map(line => (line.made === null ? "all" : [...line.made].join()));

  it("is the one that ran alone", () => {
    const lines = new StashLines();
    lines.began("u1", [of("ann", [])], alive);
    lines.began("u2", [of("ann", []), { ...of("ann", []), project: "/q" }], alive);
    lines.began("u3", [{ ...of("bob", []), project: "/r" }], alive);
    expect([made(lines, "u1"), made(lines, "u1"), made(lines, "u2")]).toEqual([["all"], [], ["all", "all"]]);
  });

  it("is nobody where two sessions' lines ran at once, but for what was there when the second began", () => {
    const lines = new StashLines();
    lines.began("u1", [of("ann", ["old"])], alive);
    lines.began("u2", [of("bob", ["old", "first"], "git stash pop")], alive);
    lines.began("u3", [of("cyd", ["old", "first", "second"])], alive);
    const [first] = lines.ended("u1");
    expect([[...(first?.made ?? [])], first?.isBesideTaker]).toEqual([["first"], true]);
    expect(made(lines, "u2")).toEqual([""]);
    expect([...lines.besides(of("dan", []))]).toEqual(["old", "first", "second"]);
  });

  it.each<readonly [string, (lines: StashLines) => void, () => boolean]>([
    ["whose turn is over", lines => lines.turnEnded({ session: "ann", agent: null }, null), alive],
    ["of an earlier turn", lines => lines.turnEnded({ session: "ann", agent: null }, "p2"), alive],
    ["whose session is gone", () => undefined, () => false],
  ])("is the later line if the other one is one %s", (_which, over, isAlive) => {
    const lines = new StashLines();
    lines.began("u1", [of("ann", [])], isAlive);
    over(lines);
    lines.began("u2", [of("bob", [])], isAlive);
    expect([made(lines, "u2"), made(lines, "u1")]).toEqual([["all"], [""]]);
  });

  it("is nobody as long as the other one's turn goes on", () => {
    const lines = new StashLines();
    lines.began("u1", [of("ann", [])], alive);
    lines.turnEnded({ session: "ann", agent: "helper" }, null);
    lines.turnEnded({ session: "ann", agent: null }, "p1");
    lines.began("u2", [of("bob", [])], alive);
    expect(made(lines, "u2")).toEqual([""]);
  });
});
