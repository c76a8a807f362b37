/** The order of merges, and the words of `kite merge`. */
import { describe, expect, it } from "vitest";
import type { ProcessContext } from "../../bin/context/process-context.ts";
import { Refused } from "../../bin/context/with-daemon.ts";
import { reasonFor } from "../../bin/lead/merge/git.ts";
import { wrongUsage } from "../../bin/lead/merge/merge.ts";
import { branchOf, inOrder, type Known, type Placed } from "../../bin/lead/merge/plan.ts";
import { refuse } from "../../protocol/codes.ts";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import { limits } from "../../protocol/limits.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { session as rowOfSession } from "./view-rows.ts";

const idle = { status: "idle", locks: 0, waitingFor: null, waitingForPath: null } as const;

const placed = (branch: string, ...tasks: string[]): Placed => ({ branch, tasks });
const deps = (all: Readonly<Record<string, readonly string[]>>) =>
  new Map(Object.entries(all).map(([task, on]) => [task, new Set(on)]));

describe("the order of merges", () => {
  const orderOf = (
    branches: readonly Placed[],
    dependencies: Readonly<Record<string, readonly string[]>>,
    queued: readonly Placed[] = [],
  ) => {
    const found = inOrder(branches, queued, deps(dependencies));
    return "cycle" in found ? found : found.map(({ one, after }) => [one.branch, ...after].join(" < "));
  };

  it("is the given one without tasks", () => {
    expect(orderOf([placed("b"), placed("a"), placed("c")], {})).toEqual(["b", "a", "c"]);
  });

  it("follows the tasks, and changes no more than it has to", () => {
    const all = [placed("d", "t4"), placed("a", "t3", "t0"), placed("b", "t1"), placed("c")];
    expect(orderOf(all, { t3: ["t2", "t1"], t1: [] })).toEqual(["d", "b", "a < b", "c"]);
  });

  it("puts what waits in the queue first", () => {
    expect(orderOf([placed("a", "t2")], { t2: ["t1"] }, [placed("q", "t1"), placed("r", "t9")])).toEqual([
      "a < q",
    ]);
  });

  it("is none if authors build on each other, and the cycle has no more than those who do", () => {
    const all = [placed("x", "t9"), placed("a", "t1", "t4"), placed("b", "t2"), placed("c")];
    expect(orderOf(all, { t9: ["t4"], t4: ["t2"], t2: ["t1"] })).toEqual({ cycle: ["a", "b"] });
  });

  it("does not let an author's own tasks wait for each other", () => {
    expect(orderOf([placed("a", "t1", "t2")], { t2: ["t1"] })).toEqual(["a"]);
  });
});

describe("a name", () => {
  const agents: SessionRow["agents"] = [{ ...idle, agent: "sub-1", name: "Explore" }];
  const session = (id: string, name: string, worktree: string, project = "/p"): SessionRow =>
    rowOfSession(name, { id, project, worktree, agents });
  const known: Known = {
    project: "/p",
    worktrees: [
      { path: "/p", branch: "refs/heads/main" },
      { path: "/w/a", branch: "refs/heads/pay" },
      { path: "/w/b", branch: "refs/heads/cart" },
      { path: "/w/c", branch: null },
    ],
    sessions: [
      session("ab12", "alice", "/w/a"),
      session("cd34", "bob", "/w/b"),
      session("ef56", "cyd", "/w/c"),
      session("gh78", "cart", "/w/a"),
      session("ij90", "zoe", "/w/a", "/q"),
    ],
    spawns: [],
    exists: async branch =>
      ["main", "pay", "cart", "ab", "-x", "lone"].includes(branch.slice("refs/heads/".length)),
    elsewhere: async () => null,
  };
  const of = (name: string, more: Partial<Known> = {}) =>
    branchOf({ cwd: "/p" } as ProcessContext, { ...known, ...more }, name);

  it("of an agent is the branch of its worktree, also of one within a session", async () => {
    expect(await of("alice")).toMatchObject({
      branch: "refs/heads/pay",
      author: { id: "ab12", agent: null },
    });
    expect(await of("bob/Explore")).toMatchObject({ branch: "refs/heads/cart", author: { agent: "sub-1" } });
    expect(await of("cd3")).toMatchObject({ branch: "refs/heads/cart", author: { id: "cd34" } });
    await expect(of("cyd")).rejects.toThrow("cyd works on no branch");
  });

  it("of a branch is that, with its author if one session works on it", async () => {
    expect(await of("lone")).toEqual({ branch: "refs/heads/lone", author: null });
    expect(await of("-x")).toEqual({ branch: "refs/heads/-x", author: null });
    // The beginning of an id is no reason to take the branch of that name for an agent.
    expect(await of("ab")).toEqual({ branch: "refs/heads/ab", author: null });
    expect(await of("refs/heads/cart")).toMatchObject({ author: { name: "bob" } });
    expect(await of("pay")).toEqual({ branch: "refs/heads/pay", author: null });
  });

  it("that means two is refused, and so is one that means none", async () => {
    await expect(of("cart")).rejects.toThrow(
      "cart is a branch, and an agent on the branch pay; say which: refs/heads/cart, or refs/heads/pay",
    );
    await expect(of("zoe")).rejects.toThrow(Refused);
    await expect(of("nobody")).rejects.toThrow(
      /no local branch nobody, .*; active here: alice, alice\/Explore/,
    );
    await expect(of("nobody", { sessions: [] })).rejects.toThrow("no agent is active here");
  });

  it("of an agent of another machine is refused, unless a branch here has it", async () => {
    const asked: string[] = [];
    const elsewhere = async (name: string) => {
      asked.push(name);
      return new Refused(refuse("elsewhere", `${name} works on laptop`));
    };
    await expect(of("nobody", { elsewhere })).rejects.toThrow("nobody works on laptop");
    expect(await of("lone", { elsewhere })).toEqual({ branch: "refs/heads/lone", author: null });
    expect(asked).toEqual(["nobody"]);
  });
});

describe("the name of a spawned agent", () => {
  const spawn = (id: string, name: string, session: string | null, more: Partial<SpawnRow> = {}): SpawnRow =>
    ({
      ...{ id, name, session, project: "/p", base: "main", task: null },
      ...{ worktree: `/w/${name}`, branch: `worktree-${name}`, endedAt: 5 },
      ...more,
    }) as unknown as SpawnRow;
  const session = (id: string, name: string, worktree: string): SessionRow =>
    rowOfSession(name, { id, project: "/p", worktree });
  const known: Known = {
    project: "/p",
    worktrees: [
      { path: "/p", branch: "refs/heads/main" },
      { path: "/w/bob", branch: "refs/heads/worktree-bob" },
      { path: "/w/eve", branch: "refs/heads/other" },
    ],
    sessions: [session("s-bob", "bob", "/p"), session("s-ann", "ann", "/p")],
    spawns: [
      spawn("a-0", "bob", "s-old", { branch: "worktree-old", worktree: "/w/old" }),
      spawn("a-1", "bob", "s-bob", { endedAt: null }),
      spawn("a-2", "eve", "s-eve"),
      spawn("a-3", "dan", "s-dan"),
      spawn("a-4", "lou", null),
      spawn("a-5", "here", "s-here", { base: null, branch: "main", worktree: "/p" }),
      spawn("a-6", "gone", "s-gone"),
      spawn("a-7", "far", "s-far", { project: "/q" }),
      spawn("a-8", "dan", "s-dan-2"),
    ],
    exists: async branch =>
      ["main", "worktree-bob", "worktree-old", "other", "worktree-dan", "worktree-lou"].includes(
        branch.slice("refs/heads/".length),
      ),
    elsewhere: async () => null,
  };
  const of = (name: string) => branchOf({ cwd: "/p" } as ProcessContext, known, name);
  const author = (id: string, name: string) => ({ id, agent: null, name, project: "/p" });

  it("is the branch of its own worktree, wherever its live session is", async () => {
    for (const name of ["bob", "a-1", "s-bob"])
      expect(await of(name)).toEqual({ branch: "refs/heads/worktree-bob", author: author("s-bob", "bob") });
  });

  it("is that of the latest one if they ended: what is checked out there, or what it began with", async () => {
    expect(await of("dan")).toEqual({ branch: "refs/heads/worktree-dan", author: author("s-dan-2", "dan") });
    expect(await of("a-3")).toMatchObject({ author: { id: "s-dan" } });
    expect(await of("a-0")).toMatchObject({ branch: "refs/heads/worktree-old", author: { id: "s-old" } });
    expect(await of("eve")).toEqual({ branch: "refs/heads/other", author: author("s-eve", "eve") });
    expect(await of("lou")).toEqual({ branch: "refs/heads/worktree-lou", author: null });
  });

  it("is found by its branch, too, but for one that worked beside others", async () => {
    expect(await of("worktree-bob")).toMatchObject({ author: { id: "s-bob" } });
    expect(await of("worktree-dan")).toMatchObject({ author: { id: "s-dan-2" } });
    expect(await of("main")).toEqual({ branch: "refs/heads/main", author: author("s-ann", "ann") });
  });

  it("is refused if its branch is gone, or it is of another project", async () => {
    await expect(of("gone")).rejects.toThrow("the branch worktree-gone of gone is gone");
    await expect(of("far")).rejects.toThrow("no local branch far, and no agent of that name");
    await expect(of("here")).rejects.toThrow("no local branch here, and no agent of that name");
  });
});

describe("a reason", () => {
  it("has bounds, and no more than one line a text", () => {
    const files = Array.from({ length: 25 }, (_, n) => `dir/${n}\n<b>`);
    const reason = reasonFor("conflict", "x".repeat(2000), files, `${"y".repeat(3000)}\u001b[31mend\n`);
    expect(reason.text).toHaveLength(limits.mergeReasonChars);
    expect(reason.files).toHaveLength(limits.mergeFilesMax);
    expect(reason.files[0]).toBe("dir/0 ‹b›");
    expect(reason.more).toBe(5);
    expect(reason.output?.length).toBeLessThanOrEqual(limits.mergeOutputChars);
    expect(reason.output).toMatch(/y \[31mend$/);
  });
});

describe("the words of kite merge", () => {
  it("pass if they fit together", () => {
    expect(wrongUsage([], {})).toBeNull();
    expect(wrongUsage([], { dryRun: true, into: "main" })).toBeNull();
    expect(wrongUsage(["a", "-x"], { check: true, rebase: true, dryRun: true, into: "main" })).toBeNull();
    expect(wrongUsage([], { list: true, json: true })).toBeNull();
    expect(wrongUsage([], { cancel: "mg-1-1" })).toBeNull();
    expect(wrongUsage([], { cancel: "1", project: "/other" })).toBeNull();
    expect(wrongUsage([], { list: true, project: "/other" })).toBeNull();
  });

  it.each([
    [[], { list: true, cancel: "mg-1" }, /not both/],
    [["foo"], { list: true }, /--list shows all merges of the project; leave out foo/],
    [[], { list: true, into: "main" }, /leave out --into/],
    [["foo"], { cancel: "mg-1" }, /takes one merge, by its id; leave out foo/],
    [[], { cancel: "mg-1", check: true }, /leave out --check/],
    [[], { cancel: "mg-1", dryRun: true }, /leave out --dry-run/],
    [[], { cancel: "" }, /--cancel needs the id of a merge/],
    [[], { cancel: " " }, /--cancel needs the id of a merge/],
    [["one"], { project: "/other" }, /--project goes with --list or --cancel/],
    [[], { list: true, project: " " }, /--project needs the path of a project/],
    [["one", ""], {}, /one of the names is empty/],
    [["one"], { into: "" }, /--into needs the name of a branch/],
    [Array.from({ length: limits.mergeBranchesMax + 1 }, (_, i) => `b${i}`), {}, /at most \d+ branches/],
    // Without names these would merge what waits, and move the base.
    [[], { check: true }, /--check needs the names of branches or agents/],
    [[], { rebase: true }, /--rebase needs the names/],
    [[], { check: true, dryRun: true }, /--check needs the names/],
  ] as const)("%j with %j do not", (names, flags, why) => {
    expect(wrongUsage(names, flags)).toMatch(why);
  });
});
