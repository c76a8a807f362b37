import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ChangeFacts, MemberState } from "../../daemon/core/lead/teams.ts";
import {
  beforeMove,
  beforeTaskChange,
  blockedClaim,
  cyclesIn,
  deadLetter,
  dependencyCycle,
  foreignTask,
  problemsOf,
  unknownOwner,
} from "../../daemon/core/lead/teams.ts";
import type { NativeTask, TaskChange } from "../../hooks/seam/teams.ts";

const task = (id: string, more: Partial<NativeTask> = {}): NativeTask => ({
  ...{ id, subject: `do ${id}`, description: "", status: "pending", owner: null, blockedBy: [] },
  ...more,
});
const listOf = (...tasks: readonly NativeTask[]) => new Map(tasks.map(one => [one.id, one]));
const untouched = { status: null, owner: null, addBlockedBy: [], addBlocks: [] } as const;
const members = new Map<string, MemberState>([
  ["team-lead", "live"],
  ["alice", "live"],
  ["bob", "live"],
  ["cyd", "dead"],
  ["dan", "unknown"],
]);

/** What a call of `by` would change in the first task. */
function facts(
  by: string | null,
  change: Partial<TaskChange>,
  tasks: readonly NativeTask[],
  more: Partial<ChangeFacts> = {},
): ChangeFacts {
  const [first = task("1")] = tasks;
  const caller = { name: by, member: by, isLead: by === "team-lead" };
  return {
    ...{ change: { ...untouched, task: first.id, ...change }, caller, task: first, tasks: listOf(...tasks) },
    ...{ members, worker: null, ...more },
  };
}

const begins = { status: "in_progress", owner: "alice" } as const;

describe("a blocked task", () => {
  const blocked = task("2", { blockedBy: ["1"] });

  test("is not begun, claimed, or completed unbegun before what it waits for is complete", () => {
    const open = [blocked, task("1", { status: "in_progress", owner: "bob" })];
    for (const change of [
      begins,
      { status: "in_progress" },
      { owner: "alice" },
      { status: "completed" },
    ] as const)
      expect(blockedClaim(facts("alice", change, open))).toMatchObject([
        { rule: "blocked_claim", blockers: [{ task: "1", owner: "bob", status: "in_progress" }] },
      ]);
    const done = [blocked, task("1", { status: "completed" })];
    expect(beforeTaskChange(facts("alice", begins, done))).toEqual([]);
  });

  test("whose blocker was deleted is free", () => {
    expect(beforeTaskChange(facts("alice", begins, [blocked]))).toEqual([]);
  });

  test("may be planned for another member, described and deleted", () => {
    const open = [blocked, task("1")];
    expect(beforeTaskChange(facts("team-lead", { owner: "bob" }, open))).toEqual([]);
    expect(beforeTaskChange(facts("alice", {}, open))).toEqual([]);
    expect(beforeTaskChange(facts("alice", { status: "deleted" }, open))).toEqual([]);
  });

  test("that is in progress may be completed: its work is done", () => {
    const begun = [{ ...blocked, status: "in_progress", owner: "alice" } as const, task("1")];
    expect(beforeTaskChange(facts("alice", { status: "completed" }, begun))).toEqual([]);
    expect(beforeTaskChange(facts("alice", begins, begun))).toEqual([]);
  });
});

describe("a task of another agent", () => {
  const bobs = task("1", { status: "in_progress", owner: "bob" });

  test("on which a live member works is not taken", () => {
    for (const change of [begins, { status: "in_progress" }, { owner: "alice" }] as const)
      expect(foreignTask(facts("alice", change, [bobs]))).toMatchObject([
        { rule: "foreign_task", worker: "bob" },
      ]);
  });

  test("is given away by its worker, and by the lead with a name", () => {
    expect(foreignTask(facts("bob", { owner: "alice" }, [bobs]))).toEqual([]);
    expect(foreignTask(facts("team-lead", { owner: "alice" }, [bobs]))).toEqual([]);
    expect(foreignTask(facts("team-lead", { status: "in_progress" }, [bobs]))).toMatchObject([
      { worker: "bob" },
    ]);
  });

  test("whose owner is dead, unknown, or has not begun may be taken", () => {
    for (const owner of ["cyd", "dan", "nobody"])
      expect(foreignTask(facts("alice", begins, [{ ...bobs, owner }]))).toEqual([]);
    expect(foreignTask(facts("alice", begins, [{ ...bobs, status: "pending" }]))).toEqual([]);
  });

  test("is completed or deleted by its worker and by the lead alone: what waits for it would begin", () => {
    for (const status of ["completed", "deleted"] as const) {
      expect(foreignTask(facts("alice", { status }, [bobs]))).toMatchObject([
        { rule: "foreign_task", worker: "bob", ends: status },
      ]);
      for (const by of ["bob", "team-lead"]) expect(foreignTask(facts(by, { status }, [bobs]))).toEqual([]);
      for (const owner of ["cyd", "dan", "nobody", null])
        expect(foreignTask(facts("alice", { status }, [{ ...bobs, owner }]))).toEqual([]);
      expect(foreignTask(facts("alice", { status }, [{ ...bobs, status: "pending" }]))).toEqual([]);
    }
  });

  test("may be given back", () => {
    for (const owner of ["", null])
      expect(foreignTask(facts("alice", { status: "pending", owner }, [bobs]))).toEqual([]);
  });

  test("is its own to a subagent of its worker", () => {
    const caller = { name: null, member: "bob", isLead: false };
    for (const status of ["in_progress", "completed"] as const)
      expect(foreignTask(facts(null, { status }, [bobs], { caller }))).toEqual([]);
  });

  test("that Kite saw taken counts before its file says so, and without any name", () => {
    const other = { worker: { name: null, isCaller: false }, members: null };
    expect(foreignTask(facts(null, { status: "in_progress" }, [task("1")], other))).toMatchObject([
      { rule: "foreign_task", worker: null, ends: null },
    ]);
    // Only a member of a team owns a task.
    expect(foreignTask(facts(null, { status: "completed" }, [task("1")], other))).toEqual([]);
    const own = { worker: { name: null, isCaller: true }, members: null };
    expect(foreignTask(facts(null, { status: "in_progress" }, [task("1")], own))).toEqual([]);
  });
});

describe("an owner", () => {
  test("exists and lives, as far as the members are known", () => {
    const given = (owner: string, more: Partial<ChangeFacts> = {}) =>
      unknownOwner(facts("team-lead", { owner }, [task("1")], more));
    expect(given("cyd")).toMatchObject([{ rule: "unknown_owner", isDead: true }]);
    expect(given("eve")).toEqual([
      {
        rule: "unknown_owner",
        task: "1",
        owner: "eve",
        isDead: false,
        members: ["team-lead", "alice", "bob", "dan"],
      },
    ]);
    for (const owner of ["alice", "alice@session-1", "dan", "team-lead", ""])
      expect(given(owner)).toEqual([]);
    expect(given("eve", { members: null })).toEqual([]);
  });
});

describe("a dependency", () => {
  test("that closes a cycle names it", () => {
    const tasks = listOf(task("1"), task("2", { blockedBy: ["1"] }), task("3", { blockedBy: ["2"] }));
    const added = (of: string, more: Partial<TaskChange>) =>
      dependencyCycle({ ...untouched, task: of, ...more }, tasks);
    expect(added("1", { addBlockedBy: ["3"] })).toEqual([
      { rule: "dependency_cycle", tasks: ["1", "3", "2"] },
    ]);
    expect(added("3", { addBlocks: ["1"] })).toEqual([{ rule: "dependency_cycle", tasks: ["1", "3", "2"] }]);
    expect(added("1", { addBlockedBy: ["1"] })).toEqual([{ rule: "dependency_cycle", tasks: ["1"] }]);
    expect(added("1", { addBlockedBy: ["4"], addBlocks: ["4"] })).toHaveLength(1);
    expect(added("3", { addBlockedBy: ["1"] })).toEqual([]);
  });

  test("is refused if and only if it makes a cycle, whatever the list", () => {
    const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 });
    fc.assert(
      fc.property(edges, fc.nat(7), fc.nat(7), (all, from, to) => {
        // An edge leads down, so there is no cycle before.
        const tasks = new Map<string, NativeTask>();
        for (let n = 0; n < 8; n += 1) {
          const below = all.flatMap(([a, b]) => (a === n && b < n ? [`${b}`] : []));
          tasks.set(`${n}`, task(`${n}`, { blockedBy: below }));
        }
        expect(cyclesIn(tasks)).toEqual([]);
        const found = dependencyCycle({ ...untouched, task: `${from}`, addBlockedBy: [`${to}`] }, tasks);
        const old = tasks.get(`${from}`) ?? task(`${from}`);
        tasks.set(`${from}`, { ...old, blockedBy: [...old.blockedBy, `${to}`] });
        // One dependency may close several cycles; it is refused once.
        expect(found).toHaveLength(Math.min(1, cyclesIn(tasks).length));
      }),
      {
        examples: [
          [
            [
              [7, 1],
              [4, 1],
              [7, 4],
            ],
            1,
            7,
          ],
        ],
      },
    );
  });
});

test("a letter to a dead member is refused only while the client would still take it", () => {
  const listed = new Set(["alice", "cyd"]);
  expect(deadLetter("cyd", listed, members)).toEqual([{ rule: "dead_letter", to: "cyd" }]);
  expect(deadLetter("cyd [2]", listed, members)).toHaveLength(1);
  expect(deadLetter("cyd", new Set(["alice"]), members)).toEqual([]);
  for (const to of ["alice", "dan", "nobody", "main"]) expect(deadLetter(to, listed, members)).toEqual([]);
});

test("only a teammate within its lead's process moves more than itself", () => {
  expect(beforeMove("EnterWorktree", true)).toEqual([{ rule: "moved_worktree", tool: "EnterWorktree" }]);
  expect(beforeMove("EnterWorktree", false)).toEqual([]);
});

test("what is wrong in a team is said in sentences, the worst first", () => {
  const tasks = listOf(
    task("1", { status: "in_progress", owner: "cyd" }),
    task("2", { status: "in_progress", owner: "alice", blockedBy: ["1"] }),
    task("3", { owner: "eve" }),
    task("4", { blockedBy: ["5"] }),
    task("5", { blockedBy: ["4"] }),
    task("6", { status: "completed", owner: "eve" }),
  );
  const problems = problemsOf({
    ...{ tasks, members, unread: new Map([["cyd", 2]]), unreadable: ["x is torn"], isLeadGone: true },
  });
  expect(problems.map(({ what }) => what)).toEqual([
    ...["lead_gone", "dependency_cycle", "blocked_work", "dead_owner", "unknown_owner", "unread_letters"],
    "unread_file",
  ]);
  const healthy = { tasks: listOf(task("1", { owner: "bob" })), members, unread: new Map(), unreadable: [] };
  expect(problemsOf({ ...healthy, isLeadGone: false })).toEqual([]);
});
