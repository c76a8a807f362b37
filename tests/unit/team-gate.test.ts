/** The rules of a client's own teams, and who has a task of a shared list. */
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  beforeMove,
  beforeTaskChange,
  blockedClaim,
  type ChangeFacts,
  cyclesIn,
  deadLetter,
  dependencyCycle,
  foreignTask,
  type MemberState,
  problemsOf,
  unknownOwner,
} from "../../daemon/core/lead/teams.ts";
import type { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import type { HookEvent } from "../../daemon/hooks/event.ts";
import { Delivery } from "../../daemon/hooks/notices.ts";
import type { LeadParts } from "../../daemon/lead/services.ts";
import { Teams } from "../../daemon/lead/team-facts.ts";
import { gateTeam } from "../../daemon/lead/team-gate.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { teamFiles } from "../../hooks/claude-code/teams.ts";
import type { NativeTask, TaskChange } from "../../hooks/seam/teams.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { Random } from "../simulation/random.ts";
import { World } from "./core-world.ts";

// The gate of a client's teams over files in memory.

const home = "/home/ana/.claude";

/** Sessions that have a process share the list `shop`. */
class GateWorld {
  readonly #files = new Map<string, string>();
  readonly core = new World();
  readonly clock = new SimulatedClock(1_000_000);
  readonly presence = new PresenceTable(this.clock);
  readonly teams: Teams;

  constructor() {
    const env = (name: string) => (name === "CLAUDE_CODE_TASK_LIST_ID" ? "shop" : null);
    const words = () => ({ args: ["claude"], env });
    const readSmall = async (path: string) => this.#files.get(path);
    const look = async (path: string, _key: null, _budget: null, read: (...args: unknown[]) => unknown) =>
      this.#files.has(path) ? read({ readSmall }, path) : null;
    const fact = (ask: (budget: null) => unknown) => ask(null);
    // The looks at teams ask for nothing else.
    const outside = { fact, look } as unknown as BudgetedFs;
    this.teams = new Teams({ outside, client: teamFiles, words });
  }

  write(path: string, value: object): void {
    this.#files.set(join(home, path), JSON.stringify(value));
  }

  task(list: string, more: object = {}): void {
    const task = { id: "1", subject: "it", status: "pending", blockedBy: [], ...more };
    this.write(`tasks/${list}/1.json`, task);
  }

  begin(session: string, pid: number | null): void {
    this.core.begin(session, pid === null ? {} : { anchor: { pid, startTime: "1" } });
    this.teams.saw(session, home);
  }

  end(session: string): void {
    this.core.do({ type: "session_end", session, incarnation: null, cause: "anchor_gone" });
  }

  /** Asks whether the agent may give the task the status. Returns whether it may, and the answer's delivery. */
  async asks(
    session: string,
    agent: string | null = null,
    name: string | null = null,
    status: TaskChange["status"] = "in_progress",
  ): Promise<{ readonly passes: boolean; readonly delivery: Delivery }> {
    const { core, clock, presence, teams } = this;
    const delivery = new Delivery();
    const engine = { state: core.state, now: clock.now() };
    const rules = { at: async () => ({ teams: "enforce" }) };
    const plan = { event: "PreToolUse", tool: "TaskUpdate" };
    // The gate uses these fields alone.
    const event = {
      ...{ engine, clock, presence, recorder: { note: () => {} }, delivery, plan },
      actor: () => ({ session, agent, incarnation: 0 }),
    } as unknown as HookEvent;
    const parts = { teams, config: { rules } } as unknown as LeadParts;
    const change = {
      task: "1",
      status,
      owner: name,
      addBlockedBy: [],
      addBlocks: [],
    } as const;
    const who = { session, ...(agent === null ? {} : { agent }), name, ancestors: [null], parentFile: null };
    const said = await gateTeam(
      event,
      { do: "gate_team", ...who, call: { what: "task_update", ...change } },
      parts,
    );
    return { passes: said !== null && "verdict" in said && said.verdict === "allow", delivery };
  }
}

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

// Who has a task of a list that sessions share: as long as its worker lives, and its call was let through and heard.
describe("who has a task of a shared list", () => {
  const lead = "11111111-1111-4111-8111-111111111111";
  const team = teamFiles.teamOf(lead);

  describe("a task that another session began", () => {
    function shared(): GateWorld {
      const w = new GateWorld();
      w.begin("one", 11);
      w.begin("two", 12);
      w.task("shop");
      return w;
    }

    test("is that session's while it lives, and free when it has ended", async () => {
      for (const status of ["pending", "in_progress"]) {
        const w = shared();
        expect((await w.asks("one")).passes).toBe(true);
        w.task("shop", { status });
        expect((await w.asks("two")).passes).toBe(false);
        w.end("one");
        expect((await w.asks("two")).passes).toBe(true);
      }
    });

    test("is free again if the answer that let the call through was lost, as the call did not run", async () => {
      const w = shared();
      const { delivery } = await w.asks("one");
      delivery.settle(false);
      expect((await w.asks("two")).passes).toBe(true);
    });

    test("stays that session's once the answer was heard, also if a later answer to it is lost", async () => {
      const w = shared();
      (await w.asks("one")).delivery.settle(true);
      (await w.asks("one")).delivery.settle(false);
      expect((await w.asks("two")).passes).toBe(false);
    });

    test("is the second one's if it asked after the first one's answer was lost, whatever comes late", async () => {
      const w = shared();
      const first = await w.asks("one");
      w.end("one");
      expect((await w.asks("two")).passes).toBe(true);
      first.delivery.settle(false);
      w.begin("three", 13);
      expect((await w.asks("three")).passes).toBe(false);
    });
  });

  describe("a task that a teammate began", () => {
    const [alice, bob] = ["aalice-1", "abob-1"];

    /** A team within one process, of which the client's file lists both for good. */
    function inProcess(): GateWorld {
      const w = new GateWorld();
      w.begin(lead, null);
      for (const [agent, name] of [
        [alice, "alice"],
        [bob, "bob"],
      ] as const) {
        w.core.do({ type: "agent_begin", session: lead, agent, name });
        w.core.do({ type: "teammate_named", session: lead, agent, name, team });
      }
      const member = (name: string) => ({ agentId: `${name}@${team}`, name, backendType: "in-process" });
      const members = ["team-lead", "alice", "bob"].map(member);
      w.write(`teams/${team}/config.json`, { name: team, leadSessionId: lead, members });
      w.task(team);
      return w;
    }

    test.each([
      ["before its file says so", {}],
      ["with its name in the file", { status: "in_progress", owner: "alice" }],
    ])("is that teammate's while it lives, %s", async (_when, more) => {
      const w = inProcess();
      expect((await w.asks(lead, alice, "alice")).passes).toBe(true);
      w.task(team, more);
      expect((await w.asks(lead, bob, "bob")).passes).toBe(false);
      // Each of its turns ends with a stop: that is no end.
      w.presence.turn(lead, alice, false, false);
      expect((await w.asks(lead, bob, "bob")).passes).toBe(false);
      const actor = { session: lead, agent: alice, incarnation: 0 };
      w.core.do({ type: "agent_end", actor, stopped: true });
      expect((await w.asks(lead, bob, "bob")).passes).toBe(true);
    });
  });

  /** A call that took the task, as the rules of it say once more. */
  interface Took {
    readonly session: string;
    readonly agent: string | null;
    readonly at: number;
  }

  /** Sessions of one list over random days: they begin and end, their subagents stop, calls pass and their answers are lost. */
  async function wrongIn(random: Random): Promise<string | null> {
    const w = new GateWorld();
    const live: string[] = [];
    const working = new Set<string>();
    const open: { readonly took: Took | null; readonly settle: (heard: boolean) => void }[] = [];
    let taken: Took[] = [];
    let [status, count] = ["pending", 0];
    w.task("shop");
    const worker = (): Took | null => {
      const last = taken.at(-1);
      if (last === undefined || !live.includes(last.session)) return null;
      if (last.agent !== null && !working.has(last.session)) return null;
      return status === "in_progress" || w.clock.now() - last.at < limits.teamClaimMs ? last : null;
    };
    for (let n = 0; n < 120; n += 1) {
      const roll = random.int(1, 100);
      const session = live.length === 0 ? null : random.pick(live);
      if (session === null || (roll <= 8 && live.length < 4)) {
        count += 1;
        live.push(`s${count}`);
        w.begin(`s${count}`, count);
      } else if (roll <= 14) {
        live.splice(live.indexOf(session), 1);
        w.end(session);
      } else if (roll <= 26) {
        const isActive = random.chance(0.6);
        w.presence.seen(session, isActive ? "sub" : null);
        w.presence.turn(session, "sub", isActive, false);
        if (isActive) working.add(session);
        else working.delete(session);
      } else if (roll <= 36) {
        status = random.pick(["pending", "in_progress", "in_progress", "completed"]);
        w.task("shop", { status });
      } else if (roll <= 44) w.clock.pass(random.int(0, limits.teamClaimMs));
      else if (roll <= 64 && open.length > 0) {
        const [answer] = open.splice(random.int(0, open.length - 1), 1);
        const heard = random.chance(0.5);
        const took = answer?.took ?? null;
        const at = took === null ? -1 : taken.indexOf(took);
        if (at !== -1) taken = heard ? taken.slice(at) : taken.toSpliced(at, 1);
        answer?.settle(heard);
      } else {
        const agent = random.chance(0.3) ? "sub" : null;
        const to = random.pick([
          "in_progress",
          "in_progress",
          "in_progress",
          "completed",
          "pending",
        ] as const);
        const other = status === "completed" ? null : worker();
        const should = to !== "in_progress" || other === null || other.session === session;
        const { passes, delivery } = await w.asks(session, agent, null, to);
        if (passes !== should)
          return `step ${n}: ${session} ${passes ? "gets" : "does not get"} what ${other?.session ?? "nobody"} has`;
        if (!passes) continue;
        const took = to === "in_progress" ? { session, agent, at: w.clock.now() } : null;
        taken = took === null ? [] : [...taken, took];
        open.push({ took, settle: delivery.settle });
      }
    }
    return null;
  }

  test("over random days a task has the worker that took it last, was heard, and lives", async () => {
    for (let seed = 1; seed <= 60; seed += 1)
      expect(await wrongIn(new Random(seed)), `seed ${seed}`).toBeNull();
  });
});
