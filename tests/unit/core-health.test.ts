/** An agent's state by its signs of life, and what is given back. */
import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { type HealthFacts, type HealthLimits, judge, leads, leadsOf } from "../../daemon/core/lead/health.ts";
import { limits } from "../../protocol/limits.ts";
import { Random } from "../simulation/random.ts";
import { World, waits } from "./core-world.ts";
import { TaskWorld } from "./task-world.ts";

describe("an agent's state", () => {
  const limits: HealthLimits = { quietMs: 300, quietToolMs: 1800, stalledMs: 720, lookMs: 60 };

  const atWork: HealthFacts = {
    client: "runs",
    stoppedAt: null,
    isInTurn: true,
    since: 1000,
    failedAt: null,
    waits: null,
    signAt: 1000,
    tool: "none",
    isResting: false,
    quietAt: null,
  };

  const at = (ms: number, facts: Partial<HealthFacts> = {}) =>
    judge({ ...atWork, ...facts }, limits, 1000 + ms);

  describe("an agent in a turn", () => {
    it("works while signs come, and is judged again when the limit is over", () => {
      expect(at(299)).toMatchObject({ state: "working", since: 1000, isAlarm: false, lookAt: 1300 });
      expect(at(5000, { signAt: 5900 })).toMatchObject({ state: "working", since: 1000, lookAt: 6200 });
    });

    it("is quiet after the limit, since its last sign, and no alarm", () => {
      expect(at(300)).toMatchObject({ state: "quiet", since: 1000, isAlarm: false, lookAt: 1360 });
    });

    it("is stalled when it was found quiet for long, not when time only passed", () => {
      expect(at(100_000)).toMatchObject({ state: "quiet", isAlarm: false });
      expect(at(1019, { quietAt: 1300 })).toMatchObject({ state: "quiet", lookAt: 2020 });
      expect(at(1020, { quietAt: 1300 })).toMatchObject({ state: "stalled", since: 1000, isAlarm: true });
    });

    it("has longer while a tool is called, and is never stalled while one runs or nobody can tell", () => {
      expect(at(1799, { tool: "called" })).toMatchObject({ state: "working", lookAt: 2800 });
      expect(at(1800, { tool: "called" })).toMatchObject({ state: "quiet" });
      expect(at(9000, { tool: "called", quietAt: 2800 })).toMatchObject({ state: "stalled" });
      for (const tool of ["runs", "unknown"] as const)
        expect(at(1e9, { tool, quietAt: 2800 })).toMatchObject({ state: "quiet", isAlarm: false });
    });

    it.each([
      ["person", "permission for Bash"],
      ["lock", "/p/a.ts"],
      ["service", "the client tries again"],
    ] as const)("waits on a %s for days without an alarm", (on, why) => {
      const waits = { on, why, since: 1100 };
      expect(at(1e9, { waits, quietAt: 1300 })).toMatchObject({
        state: "waiting",
        on,
        why,
        since: 1100,
        isAlarm: false,
      });
    });

    it("rests if its client shows that no turn runs", () => {
      expect(at(1e9, { isResting: true, quietAt: 1300 })).toMatchObject({ state: "idle", isAlarm: false });
    });
  });

  describe("a process", () => {
    it("that a signal stopped is shown as that at once, and is an alarm when a turn waits for it for long", () => {
      expect(at(10, { stoppedAt: 1005 })).toMatchObject({
        state: "stopped",
        since: 1005,
        why: "SIGSTOP",
        lookAt: 1725,
      });
      expect(at(725, { stoppedAt: 1005 })).toMatchObject({ state: "stopped", isAlarm: true, lookAt: null });
      expect(at(1e9, { stoppedAt: 1005, isInTurn: false })).toMatchObject({
        state: "stopped",
        isAlarm: false,
      });
    });

    it("that is gone is dead, whatever else is known", () => {
      const waits = { on: "person", why: "", since: 0 } as const;
      expect(at(1, { client: "gone", stoppedAt: 1, waits, failedAt: 1 })).toMatchObject({
        state: "dead",
        isAlarm: false,
      });
    });
  });

  describe("an agent at rest", () => {
    it("is idle for ever", () => {
      expect(at(1e12, { isInTurn: false })).toMatchObject({
        state: "idle",
        since: 1000,
        isAlarm: false,
        lookAt: null,
      });
    });

    it("whose turn failed is stalled if nothing came for a while", () => {
      const failed = { isInTurn: false, failedAt: 2000 };
      expect(at(1299, failed)).toMatchObject({ state: "idle", lookAt: 2300 });
      expect(at(1300, failed)).toMatchObject({
        state: "stalled",
        since: 2000,
        isAlarm: true,
        why: "its turn ended by an error",
      });
    });
  });

  /** Facts of an agent with which all is well, for as long as anybody likes. */
  function healthy(random: Random): Partial<HealthFacts> {
    const long = random.int(0, 1_000_000);
    return random.pick<Partial<HealthFacts>>([
      { isInTurn: false, signAt: 1000 - long },
      {
        waits: { on: random.pick(["person", "lock", "service"]), why: "", since: 1000 },
        signAt: 1000 - long,
      },
      { tool: random.pick(["runs", "unknown"]), signAt: 1000 - long },
      { isResting: true, signAt: 1000 - long },
      // It thinks below the limit.
      { signAt: 1000 - random.int(0, limits.quietMs - 1) },
      { tool: "called", signAt: 1000 - random.int(0, limits.quietToolMs - 1) },
    ]);
  }

  describe("over random facts", () => {
    const random = new Random(20_26);
    it("nothing healthy is an alarm, silence is never death, and an alarm was quiet for long or failed", () => {
      for (let n = 0; n < 20_000; n += 1) {
        const quietAt = random.chance(0.5) ? null : 1000 - random.int(0, 5000);
        expect(judge({ ...atWork, ...healthy(random), quietAt }, limits, 1000).isAlarm).toBe(false);

        const any: HealthFacts = {
          ...atWork,
          client: random.pick(["runs", "unknown"]),
          stoppedAt: random.chance(0.2) ? 1000 - random.int(0, 2000) : null,
          isInTurn: random.chance(0.7),
          failedAt: random.chance(0.3) ? 1000 - random.int(0, 2000) : null,
          signAt: 1000 - random.int(0, 5000),
          tool: random.pick(["none", "called", "runs", "unknown"]),
          quietAt,
        };
        const found = judge(any, limits, 1000);
        expect(found.state).not.toBe("dead");
        if (found.state === "stalled" && any.isInTurn) {
          expect(any.quietAt).not.toBeNull();
          expect(1000 - (any.quietAt ?? 1000)).toBeGreaterThanOrEqual(limits.stalledMs);
          expect(1000 - any.signAt).toBeGreaterThanOrEqual(limits.quietMs);
        }
        if (found.lookAt !== null) expect(found.lookAt).toBeGreaterThan(1000);
      }
    });
  });
});

const main = (session: string): Actor => ({ session, agent: null, incarnation: 0 });
const helper: Actor = { session: "b", agent: "helper", incarnation: 0 };

/** `b` and its agent have a task and turn locks each; `a` waits for one of them. */
function world(): World {
  const w = new World();
  for (const session of ["a", "b"]) w.begin(session);
  w.do({ type: "agent_begin", session: "b", agent: "helper", name: "helper" });
  for (const [actor, description] of [
    [main("b"), "the parser"],
    [helper, "the tests"],
  ] as const) {
    const task = { name: null, description, priority: "normal", labels: [], dependsOn: [] } as const;
    const made = w.do({
      type: "task_create",
      by: null,
      tasks: [task],
      many: false,
      project: "/p",
      wallMs: 0,
    });
    const { id } = (made as unknown as { task: { id: string } }).task;
    w.do({ type: "task_claim", actor, task: id, labels: [], project: "/p", cwd: "/p", wallMs: 0 });
  }
  w.lock(main("b"), "parser.ts", { kind: "turn" });
  w.lock(main("b"), "kept.ts");
  w.lock(helper, "tests.ts", { kind: "turn" });
  return w;
}

function release(w: World, agent: string | null, by: Actor | null) {
  const begun = w.state.sessions.live.get("b")?.begun ?? -1;
  return w.do({ type: "agent_release", session: "b", agent, begun, by, cause: "released", wallMs: 5 });
}

const claimed = (w: World) =>
  [...w.state.tasks.all.values()].map(({ description, state }) => `${description} ${state.status}`);

function makeLead(w: World, session: string): void {
  w.do({ type: "role_set", by: null, name: session, role: "lead", project: "/p" });
}

describe("giving back what an agent has", () => {
  it("returns its tasks and turn locks, and leaves it and others the rest", () => {
    const w = world();
    expect(w.lock("a", "parser.ts")).toEqual(waits);
    expect(release(w, null, null)).toMatchObject({
      ok: true,
      agent: { id: "b", agent: null },
      tasks: [{ description: "the parser" }],
      taskCount: 1,
      paths: ["/p/parser.ts"],
      lockCount: 1,
    });
    expect([w.holder("parser.ts"), w.holder("kept.ts"), w.holder("tests.ts")]).toEqual([
      "a",
      "b",
      "b/helper",
    ]);
    expect(claimed(w)).toEqual(["the parser pending", "the tests active"]);
    expect([...w.state.tasks.all.values()].map(task => task.attempts)).toEqual([0, 0]);
  });

  it("returns only what the agent within a session has", () => {
    const w = world();
    release(w, "helper", null);
    expect([w.holder("parser.ts"), w.holder("tests.ts")]).toEqual(["b", null]);
    expect(claimed(w)).toEqual(["the parser active", "the tests pending"]);
  });

  it("lets it claim and lock again, and do it twice for nothing", () => {
    const w = world();
    release(w, null, null);
    expect(release(w, null, null)).toMatchObject({ ok: true, taskCount: 0, lockCount: 0 });
    expect(w.lock(main("b"), "parser.ts", { kind: "turn" })).toMatchObject({ ok: true });
    const task = [...w.state.tasks.all.values()].find(one => one.description === "the parser")?.id ?? "";
    expect(
      w.do({ type: "task_claim", actor: main("b"), task, labels: [], project: "/p", cwd: "/p", wallMs: 0 }),
    ).toMatchObject({ ok: true });
  });

  it("is for leads and people: the session's own main agent leads its agents, a declared lead its project", () => {
    const w = world();
    expect(release(w, null, main("a"))).toMatchObject({ ok: false, code: "lead_only" });
    expect(release(w, null, helper)).toMatchObject({ ok: false, code: "lead_only" });
    expect(release(w, "helper", main("a"))).toMatchObject({ ok: false, code: "lead_only" });
    expect(claimed(w)).toEqual(["the parser active", "the tests active"]);
    expect(release(w, "helper", main("b"))).toMatchObject({ ok: true, taskCount: 1 });
    makeLead(w, "a");
    expect(release(w, null, main("a"))).toMatchObject({ ok: true, taskCount: 1 });
    w.begin("c", { project: "/q" });
    makeLead(w, "c");
    expect(release(w, null, main("c"))).toMatchObject({ ok: false, code: "lead_only" });
  });

  it("is for the lead of a team, whose teammates have sessions of their own", () => {
    const w = world();
    const teammate = { type: "teammate_named", agent: null, name: "alice", team: "t", lead: "a" } as const;
    w.do({ ...teammate, session: "b" });
    w.begin("c");
    expect(leadsOf(w.state, { session: "b", agent: null })).toEqual([{ session: "a", agent: null }]);
    expect(release(w, null, main("c"))).toMatchObject({ ok: false, code: "lead_only" });
    expect(release(w, "helper", main("a"))).toMatchObject({ ok: true, taskCount: 1 });
    expect(release(w, null, main("a"))).toMatchObject({ ok: true, taskCount: 1 });
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    expect(leadsOf(w.state, { session: "b", agent: null })).toEqual([]);
  });

  it("is for the agent that spawned it, and for the main agent of that one's session", () => {
    const w = new TaskWorld();
    for (const session of ["a", "c"]) w.begin(session);
    const by = { ...main("a"), agent: "planner" };
    w.do({ type: "agent_begin", session: "a", agent: "planner", name: "planner" });
    const said = { prompt: null, model: null, replaces: null };
    const who = { by, project: "/p", name: null, role: null, task: null, base: null, ...said };
    const how = { backend: "background", client: "claude-code", reportsEnd: true } as const;
    const bounds = { liveMax: 8, depthMax: 1 };
    w.do({ type: "spawn_create", ...who, ...how, ...bounds, wallMs: 0 });
    w.begin("b", { spawn: [...w.state.spawns.all.keys()].at(-1) ?? "" });
    expect(release(w, null, main("c"))).toMatchObject({ ok: false, code: "lead_only" });
    for (const lead of [by, main("a")]) expect(release(w, null, lead)).toMatchObject({ ok: true });
    expect(leadsOf(w.state, { session: "b", agent: null })).toEqual([
      { session: "a", agent: "planner" },
      { session: "a", agent: null },
    ]);
  });

  it("is told to each that may do it: to those that began the agent first, and to few", () => {
    const w = world();
    for (let n = 0; n < limits.stalledToldMax + 2; n += 1) {
      w.begin(`lead ${n}`);
      makeLead(w, `lead ${n}`);
    }
    const told = leadsOf(w.state, { session: "b", agent: "helper" });
    expect(told[0]).toEqual({ session: "b", agent: null });
    expect(told).toHaveLength(limits.stalledToldMax);
    for (const lead of told) expect(leads(w.state, lead, { session: "b", agent: "helper" })).toBe(true);
  });

  it("does not touch a later session of the same id", () => {
    const w = world();
    const begun = w.state.sessions.live.get("b")?.begun ?? -1;
    w.do({ type: "session_end", session: "b", incarnation: null, cause: "ended" });
    w.begin("b");
    w.lock(main("b"), "new.ts", { kind: "turn" });
    const late = w.do({
      type: "agent_release",
      session: "b",
      agent: null,
      begun,
      by: null,
      cause: "",
      wallMs: 0,
    });
    expect(late).toMatchObject({ ok: false, code: "session_ended" });
    expect(w.holder("new.ts")).toBe("b");
  });
});
