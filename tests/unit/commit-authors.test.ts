import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { CommitsMade, CommitsTaken } from "../../daemon/core/tables/uncommitted.ts";
import type { ListedCommit } from "../../daemon/facts/git/commits.ts";
import { CommitLines } from "../../daemon/hooks/guard/memory.ts";
import { pushPlan, upToBefore } from "../../daemon/hooks/guard/pushes.ts";
import { guardShell } from "../../hooks/git/commands.ts";
import { commitLine } from "../../hooks/plans/answers/authors.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";

function world(...sessions: readonly string[]): World {
  const w = new World();
  for (const session of sessions) w.begin(session, { name: session });
  return w;
}

function made(
  w: World,
  of: string | Actor,
  commits: readonly string[],
  more: Partial<CommitsMade> = {},
): void {
  const rest = { project: "/p", beside: [], wallMs: w.now, commits: commits.map(commit => ({ commit })) };
  expect(w.do({ type: "commits_made", actor: actor(of), ...rest, ...more })).toEqual({ ok: true });
}

function taken(
  w: World,
  by: string | null,
  commits: readonly string[],
  more: Partial<CommitsTaken> = {},
): void {
  const named = commits.map(commit => ({ commit, subject: `of ${commit}` }));
  const rest = { project: "/p", how: "lost", command: "git reset --hard", commits: named } as const;
  w.do({ type: "commits_taken", actor: by === null ? null : actor(by), ...rest, ...more });
}

const authors = (w: World) =>
  [...w.state.commits.made.values()].map(
    ({ commit, project, actors }) => `${project} ${commit} ${actors.map(({ name }) => name).join("|")}`,
  );
const notes = (w: World, key: string) =>
  (w.state.notes.pending.get(key)?.notes ?? []).map(({ note }) => note);

describe("the author of a commit", () => {
  it("is whose line surely made it, else one of all whose lines ran", () => {
    const w = world("ann", "bob", "cyd");
    made(w, "ann", ["c1"], { isSure: true });
    made(w, "bob", ["c1", "c2"]);
    made(w, "ann", ["c2"], { beside: [actor("bob"), actor("cyd")] });
    made(w, "bob", ["c2"], { project: "/q" });
    expect(authors(w)).toEqual(["/p c1 ann", "/p c2 bob|ann|cyd", "/q c2 bob"]);
  });

  it("stays the same when another one rewrites the commit", () => {
    const w = world("ann", "bob");
    made(w, "ann", ["c1"], { isSure: true });
    made(w, "bob", ["c2"], { isSure: true });
    made(w, "bob", [], {
      commits: [
        { commit: "c2", of: "c1" },
        { commit: "c3", of: "unknown" },
      ],
      isSure: true,
    });
    expect(authors(w)).toEqual(["/p c1 ann", "/p c2 ann", "/p c3 bob"]);
  });

  it("is remembered over the end of its session and over a restart", () => {
    const w = world("ann");
    made(w, "ann", ["c1"], { isSure: true });
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    w.start();
    const text = writeState(w.state);
    expect(authors(new World(readState(text)))).toEqual(["/p c1 ann"]);
    expect(writeState(readState(text))).toBe(text);
  });

  it("is the id under which its process goes on, once", () => {
    const w = new World();
    const anchor = { pid: 7, startTime: "1" };
    w.begin("old", { anchor });
    made(w, "old", ["c1"], { beside: [{ session: "old", agent: null, incarnation: 1 }] });
    w.do({ type: "session_suspend", session: "old" });
    w.begin("new", { anchor });
    expect([...w.state.commits.made.values()].map(row => row.actors.map(one => one.actor))).toEqual([
      [actor("new")],
    ]);
  });

  it("is forgotten when too many commits are newer", () => {
    const w = new World(bounded({ commitsKeptMax: 2, commitActorsMax: 2 }));
    for (const session of ["ann", "bob", "cyd"]) w.begin(session, { name: session });
    made(w, "ann", ["c1", "c2", "c3"]);
    made(w, "ann", ["c2"], { beside: [actor("bob"), actor("cyd")] });
    expect(authors(w)).toEqual(["/p c3 ann", "/p c2 ann|bob"]);
  });

  it("leaves a snapshot as it was where nobody commits", () => {
    expect(writeState(world("ann").state)).not.toContain("madeCommits");
  });
});

describe("what became of a commit", () => {
  const lost = { what: "commit_lost", more: 0, other: "bob", command: "git reset --hard" } as const;
  const named = (commit: string) => ({ commit, subject: `of ${commit}` });

  it("is told to its living authors of other sessions, the main agent in the place of an ended one", () => {
    const w = world("ann", "bob");
    const helper = { session: "ann", agent: "helper", incarnation: 0 };
    w.do({ type: "agent_begin", session: "ann", agent: "helper", name: "Hilda" });
    made(w, helper, ["c1"]);
    made(w, "bob", ["c2"]);
    w.do({ type: "agent_end", actor: helper });
    taken(w, "bob", ["c1", "c2", "unknown"]);
    expect(notes(w, "bob")).toEqual([]);
    expect(notes(w, "ann")).toEqual([{ ...lost, commits: [named("c1")] }]);
  });

  it("is counted where there are many, and told to each of several", () => {
    const w = world("ann", "bob", "cyd");
    const all = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    made(w, "ann", all, { beside: [actor("cyd")] });
    taken(w, "bob", all);
    const commits = all.slice(0, limits.commitsShownMax).map(named);
    expect([notes(w, "ann"), notes(w, "cyd")]).toEqual([
      [{ ...lost, commits, more: 2 }],
      [{ ...lost, commits, more: 2 }],
    ]);
  });

  it("is told of somebody whom Kite did not see, and with what is in its place", () => {
    const w = world("ann");
    made(w, "ann", ["c1"]);
    const commits = [{ ...named("c1"), now: "c9" }];
    taken(w, null, [], { how: "rewritten", command: null, commits });
    expect(notes(w, "ann")).toEqual([
      { what: "commit_rewritten", more: 0, other: null, command: null, commits },
    ]);
  });

  it.each([
    [
      "commit_lost",
      undefined,
      '- `git x` of "bob" took a commit of yours off: 0123456789 "s". No branch, tag or stash entry has it any more. To get it back: git branch NAME 0123456789',
    ],
    [
      "commit_rewritten",
      "abcdef0123456789",
      '- `git x` of "bob" rewrote a commit of yours: 0123456789 "s". In its place: abcdef0123. Check what is there now, and ask "bob" if something is missing. The old commit is on no branch; to keep it: git branch NAME 0123456789',
    ],
    [
      "commit_pushed",
      undefined,
      '- `git x` of "bob" published a commit of yours: 0123456789 "s". Do not amend or rebase it any more.',
    ],
  ] as const)("is worded: %s", (what, now, words) => {
    const commits = [{ commit: "0123456789abcdef", subject: "s", ...(now === undefined ? {} : { now }) }];
    expect(commitLine({ what, commits, more: 0, other: "bob", command: "git x" }, '"bob"')).toBe(words);
  });
});

describe("which lines ran beside each other", () => {
  const look = {
    place: { worktree: "/p", gitDir: "/p/.git" },
    project: "/p",
    olds: [],
    publishes: [],
    command: null,
  };
  const of = (session: string, makes = true, gitDir = "/p/.git") => ({
    ...{ ...look, place: { worktree: "/p", gitDir } },
    ...{ actor: actor(session), prompt: "p1", makes, head: null, bytes: 0 },
  });
  const beside = (lines: CommitLines, use: string) =>
    lines.ended(use).map(line => line.beside.map(one => one.session).join());

  it("are those that make commits in the same repository", () => {
    const lines = new CommitLines();
    lines.began("u1", [of("ann")], () => true);
    lines.began("u2", [of("bob"), of("bob", true, "/q/.git")], () => true);
    lines.began("u3", [of("cyd", false)], () => true);
    lines.began("u4", [of("ann")], () => true);
    expect(beside(lines, "u1")).toEqual(["bob"]);
    expect(beside(lines, "u2")).toEqual(["ann,ann", ""]);
    expect([beside(lines, "u3"), beside(lines, "u3")]).toEqual([[""], []]);
  });

  it("are not those whose turn is over, or whose session is gone", () => {
    const lines = new CommitLines();
    lines.began("u1", [of("ann")], () => true);
    lines.began("u2", [of("bob")], () => false);
    lines.turnEnded({ session: "ann", agent: null }, "p1");
    lines.began("u3", [of("cyd")], () => true);
    lines.turnEnded({ session: "ann", agent: null }, null);
    lines.turnEnded({ session: "cyd", agent: null }, "p2");
    lines.began("u4", [of("dan")], other => other.session !== "bob");
    expect([beside(lines, "u2"), beside(lines, "u3"), beside(lines, "u4")]).toEqual([["cyd"], [], [""]]);
  });
});

describe("what a push sets", () => {
  const settings = (more: object = {}) =>
    new Map(
      Object.entries({
        "remote.origin.url": ["git@h:o"],
        "remote.fork.url": ["git@h:f"],
        "branch.main.remote": ["origin"],
        "branch.main.merge": ["refs/heads/trunk"],
        ...more,
      }) as [string, string[]][],
    );
  const sets = (line: string, more: object = {}, branch: string | null = "main") => {
    const [use] = guardShell(`git push ${line}`, "/p").commands.flatMap(({ refs }) => refs ?? []);
    if (use?.does !== "push") return null;
    const plan = pushPlan(use, settings(more), branch, ["main", "topic"]);
    const text = plan?.updates.map(({ from, to, isForced }) => `${isForced ? "+" : ""}${from ?? ""}:${to}`);
    return plan === null ? null : `${plan.remote} ${text?.join(" ")}`;
  };
  const [main, topic] = ["refs/heads/main:refs/heads/main", "refs/heads/topic:refs/heads/topic"];
  it.each<readonly [string, object, string | null]>([
    ["", {}, `origin ${main}`],
    ["-f", {}, `origin +${main}`],
    ["fork", {}, `fork ${main}`],
    ["git@h:f", {}, `fork ${main}`],
    ["git@h:other", {}, `null ${main}`],
    ["", { "branch.main.pushremote": ["fork"] }, `fork ${main}`],
    ["", { "remote.pushdefault": ["fork"] }, `fork ${main}`],
    ["", { "push.default": ["upstream"] }, "origin refs/heads/main:refs/heads/trunk"],
    ["", { "push.default": ["nothing"] }, "origin "],
    ["", { "push.default": ["matching"] }, `origin ${main} ${topic}`],
    ["", { "remote.origin.push": ["HEAD:refs/for/x"] }, "origin HEAD:refs/for/x"],
    ["", { "remote.origin.mirror": ["true"] }, `origin +${main} +${topic}`],
    ["--all", {}, `origin ${main} ${topic}`],
    ["--mirror fork", {}, `fork +${main} +${topic}`],
    ["--tags", {}, "origin "],
    ["origin HEAD", {}, "origin HEAD:refs/heads/main"],
    ["origin HEAD~1:main", {}, "origin HEAD~1:refs/heads/main"],
    ["origin +topic x:heads/y", {}, "origin +topic:refs/heads/topic x:refs/heads/y"],
    ["origin :topic", {}, "origin +:refs/heads/topic"],
    ["origin --delete topic main", {}, "origin +:refs/heads/topic +:refs/heads/main"],
    ["origin tag v1", {}, "origin refs/tags/v1:refs/tags/v1"],
    ["origin :", {}, `origin ${main} ${topic}`],
    ["origin 'refs/heads/*:refs/heads/*'", {}, `origin ${main} ${topic}`],
    ['origin "$(cat x)"', {}, null],
    ["--dry-run", {}, null],
  ])("git push %s %j", (line, more, expected) => {
    expect(sets(line, more)).toBe(expected);
  });

  it("is nothing where HEAD is on no branch", () => {
    expect(sets("", {}, null)).toBe("origin ");
  });
});

describe("up to where one's own commits can be pushed", () => {
  const listed = (text: string): ListedCommit[] =>
    text.split(" ").map(one => {
      const [commit = "", parents = ""] = one.split("<");
      return { commit, parents: parents === "" ? [] : parents.split(","), authored: "1", subject: commit };
    });
  // a: the actor's own; h: held; x: nobody's that Kite knows.
  it.each([
    ["h2<a1 a1<", "a1"],
    ["a3<h2 h2<a1 a1<", "a1"],
    ["h2<x1 x1<", null],
    ["a2<h1 h1<", null],
    ["h3<x2 x2<a1 a1<", "x2"],
    ["a4<a2,h3 h3< a2<", "a2"],
    ["a2<a1 a1<", "a2"],
  ])("%s", (text, expected) => {
    expect(
      upToBefore(
        listed(text),
        id => id.startsWith("h"),
        id => id.startsWith("a"),
      ),
    ).toBe(expected);
  });
});

describe("what deletes commits that no ref has", () => {
  it.each([
    ["git gc", ""],
    ["git gc --auto", ""],
    ["git gc --prune=now", "prune"],
    ["git gc --prune=never", ""],
    ["git prune", "prune"],
    ["git prune -n", ""],
    ["git reflog", ""],
    ["git reflog expire --all", ""],
    ["git reflog expire --expire=never --all", ""],
    ["git reflog expire --expire=now --all", "reflog"],
    ["git reflog expire --expire-unreachable=now main", "reflog"],
    ["git reflog drop --all", "reflog"],
    ["git reflog delete HEAD@{1}", ""],
  ])("%s: %s", (line, by) => {
    const all = guardShell(line, "/p").commands.flatMap(({ refs }) => refs ?? []);
    expect(all.map(use => (use.does === "expire" ? use.by : use.does)).join()).toBe(by);
  });
});
