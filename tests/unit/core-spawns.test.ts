/** Spawned agents: their records, their states and their return. */
import { describe, expect, it } from "vitest";
import { commandRules } from "../../daemon/core/apply.ts";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import {
  isFinal,
  mayMove,
  type Spawn,
  type SpawnCreate,
  type SpawnReplace,
  type SpawnUpdate,
  transitions,
} from "../../daemon/core/lead/tables/spawns.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { trailOf } from "../../daemon/trail/from-events.ts";
import { spawnStates } from "../../protocol/lead/spawn.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded } from "./core-world.ts";
import { claimOf, TaskWorld, updateOf } from "./task-world.ts";

class SpawnWorld extends TaskWorld {
  create1(more: Partial<SpawnCreate> = {}) {
    const bounds = { liveMax: 8, depthMax: 1 };
    const who = { by: null, project: "/p", name: null, role: null, task: null, base: null };
    const how = {
      backend: "background",
      client: "claude-code",
      reportsEnd: true,
      prompt: null,
      model: null,
      replaces: null,
    } as const;
    return this.do({ type: "spawn_create", ...who, ...how, ...bounds, wallMs: this.now, ...more });
  }

  /** The id of a new record. */
  spawn(more: Partial<SpawnCreate> = {}): string {
    const reply = this.create1(more);
    if (!reply.ok) throw new Error(reply.error);
    return [...this.state.spawns.all.keys()].at(-1) ?? "";
  }

  put(spawn: string, more: Partial<SpawnUpdate>) {
    const none = { state: null, stopping: null, handle: null, worktree: null, branch: null, output: null };
    return this.do({
      type: "spawn_update",
      by: null,
      spawn,
      ...none,
      reason: null,
      wallMs: this.now,
      ...more,
    });
  }

  move(spawn: string, state: "running" | "waits_on_person" | "idle") {
    return this.do({ type: "spawn_moved", spawn, state, wallMs: this.now });
  }

  row(spawn: string): Spawn {
    const found = this.state.spawns.all.get(spawn);
    if (found === undefined) throw new Error(`no record ${spawn}`);
    return found;
  }

  ends(session: string, cause: "ended" | "anchor_gone" | "deregistered" = "ended") {
    return this.do({ type: "session_end", session, incarnation: null, cause });
  }
}

describe("the states", () => {
  it("lead out of a final one only by a return, and nowhere back to the first", () => {
    for (const from of spawnStates) {
      expect(mayMove(from, "starting")).toBe(false);
      expect(mayMove(from, from)).toBe(false);
      const next = transitions[from];
      if (isFinal(from)) expect(next.every(to => to === "idle" || to === "running")).toBe(true);
      else expect(next).toEqual(expect.arrayContaining(["failed", "stopped"]));
    }
  });
});

describe("a new agent", () => {
  it("is recorded before it starts, and everybody hears of it", () => {
    const w = new SpawnWorld();
    w.begin("ann", { name: "Ann" });
    const reply = w.create1({ by: actor("ann"), role: "tester", base: "main", project: "/elsewhere" });
    expect(reply).toMatchObject({
      ok: true,
      spawn: {
        name: "tester-1",
        role: "tester",
        project: "/p",
        parent: { id: "ann", agent: null, name: "Ann" },
        state: "starting",
        session: null,
        base: "main",
        worktree: null,
        attempts: 0,
        endedAt: null,
      },
    });
    expect(w.events).toEqual(["spawn_changed"]);
    expect(commandRules.spawn_create.durable).toBe(true);
  });

  it("has a name that nobody of the project has", () => {
    const w = new SpawnWorld();
    w.begin("ann", { name: "Ann" });
    w.spawn({ name: "bob" });
    expect(w.create1({ name: "bob" })).toMatchObject({ code: "spawn_name_taken", name: "bob" });
    expect(w.create1({ name: "Ann" })).toMatchObject({ code: "spawn_name_taken" });
    expect(w.create1({ name: "bob", project: "/q" })).toMatchObject({ ok: true });
    w.spawn({ name: "agent-4" });
    expect(w.row(w.spawn()).name).toBe("agent-4-2");
  });

  it("is one of as many as the user lets a project have", () => {
    const w = new SpawnWorld();
    const first = w.spawn({ liveMax: 2 });
    w.spawn({ liveMax: 2 });
    expect(w.create1({ liveMax: 2 })).toMatchObject({ code: "too_many_spawns", live: 2 });
    expect(w.create1({ liveMax: 2, project: "/q" })).toMatchObject({ ok: true });
    w.put(first, { state: "failed" });
    expect(w.create1({ liveMax: 2 })).toMatchObject({ ok: true });
  });

  it("is spawned no deeper than the user lets agents", () => {
    const w = new SpawnWorld();
    w.begin("one", { spawn: w.spawn() });
    expect(w.create1({ by: actor("one") })).toMatchObject({ code: "spawn_depth", depth: 2 });
    w.begin("two", { spawn: w.spawn({ by: actor("one"), depthMax: 2 }) });
    expect(w.create1({ by: actor("two"), depthMax: 2 })).toMatchObject({ code: "spawn_depth", depth: 3 });
  });

  it("is for a task that can be claimed, and is for no other one", () => {
    const w = new SpawnWorld();
    const [first = "", second = ""] = w.create("first", { description: "second", dependsOn: ["first"] });
    expect(w.create1({ task: "t-none" })).toMatchObject({ code: "unknown_task" });
    expect(w.create1({ task: second })).toMatchObject({ code: "task_blocked" });
    expect(w.create1({ task: first, project: "/q" })).toMatchObject({ code: "unknown_task" });
    w.spawn({ task: first, name: "bob" });
    expect(w.create1({ task: first })).toMatchObject({ code: "task_claimed", assigneeName: "bob" });
    w.do(claimOf("ann", w.create("third")[0] ?? ""));
    expect(w.create1({ task: w.id("third") })).toMatchObject({ code: "task_claimed" });
  });
});

describe("its work", () => {
  it("is ended by the agent that spawned it, and by no other one", () => {
    const w = new SpawnWorld();
    for (const name of ["ann", "eve"]) w.begin(name);
    const [task = ""] = w.create("it");
    w.begin("s1", { spawn: w.spawn({ by: actor("ann"), task }) });
    w.do(claimOf("s1", task));
    expect(w.do(updateOf("eve", task, { status: "done" }))).toMatchObject({ code: "task_claimed" });
    expect(w.do(updateOf("ann", task, { status: "done" }))).toMatchObject({ ok: true });
  });
});

describe("its role", () => {
  const declare = (w: SpawnWorld, who: string, role: string) => {
    const none = { ancestors: [], anew: false, files: [], uncertainties: [], wallMs: 0 };
    return w.do({ type: "declare", actor: actor(who), role, ...none });
  };
  const standing = (w: SpawnWorld, session: string) => roleOf(w.state, { session, agent: null });

  it.each([
    ["tester", "tester", "spawn"],
    ["QA", "tester", "spawn"],
    ["developer", "implementer", "spawn"],
    ["painter", "implementer", "default"],
    ["lead", "implementer", "default"],
  ])("%s is %s by %s", (word, role, by) => {
    const w = new SpawnWorld();
    w.begin("s1", { spawn: w.spawn({ role: word }) });
    expect(standing(w, "s1")).toEqual({ role, by });
    w.begin("s2", { spawn: w.spawn() });
    expect(standing(w, "s2")).toEqual({ role: "implementer", by: "default" });
  });

  it("is its session's before that claims the task, stands against what it declares, and comes back with it", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create({ description: "mend it", risk: "critical" });
    w.do({ type: "task_approve", by: null, task, wallMs: 0 });
    const id = w.spawn({ task, role: "designer" });
    w.begin("s1", { spawn: id });
    expect(w.row(id).reason).toBeNull();
    expect(w.task("mend it").state).toMatchObject({ status: "active", claimer: { session: "s1" } });
    declare(w, "s1", "researcher");
    expect(standing(w, "s1")).toEqual({ role: "architect", by: "spawn" });
    w.ends("s1");
    w.begin("s1");
    expect(standing(w, "s1")).toEqual({ role: "architect", by: "spawn" });
  });

  it("is that of a lead by a person's word, also of the one that takes its place; not by an agent's", () => {
    const w = new SpawnWorld();
    w.begin("ann", { name: "Ann" });
    const asked = { role: "lead", isLead: true } as const;
    expect(w.create1({ ...asked, by: actor("ann") })).toMatchObject({ code: "person_only" });
    expect(w.create1({ role: "lead", by: actor("ann") })).toMatchObject({ ok: true });
    w.begin("s1", { spawn: w.spawn(asked) });
    expect(standing(w, "s1")).toEqual({ role: "lead", by: "spawn" });
    declare(w, "s1", "implementer");
    expect(standing(w, "s1")).toEqual({ role: "lead", by: "spawn" });
  });

  it("is not what a person gave a session before it named its record", () => {
    const w = new SpawnWorld();
    w.begin("s1", { name: "bob" });
    w.do({ type: "role_set", by: null, name: "bob", role: "reviewer", project: "/p" });
    w.begin("s1", { spawn: w.spawn({ role: "tester" }) });
    expect(standing(w, "s1")).toEqual({ role: "reviewer", by: "person" });
  });

  it("takes the task, or the agent is not recorded, and who could is named", () => {
    const w = new SpawnWorld();
    w.begin("ann", { name: "Ann" });
    const [red = "", critical = ""] = w.create(
      { description: "red", risk: "red" },
      { description: "critical", risk: "critical" },
    );
    for (const role of ["tester", "explorer"])
      expect(w.create1({ task: red, role })).toMatchObject({
        code: "role_limit",
        ...{ task: red, risk: "red", roles: ["implementer", "architect"], agents: ["Ann"] },
      });
    const other = w.create1({ task: critical, role: "painter" });
    expect(other).toMatchObject({ code: "role_limit", role: "implementer", roles: ["architect"] });
    expect(other.ok ? "" : other.error).toContain("spawn it with a role that takes it (architect)");
    expect(w.state.spawns.all.size).toBe(0);
    // Nobody leads, so its session could not claim it.
    expect(w.create1({ task: red })).toMatchObject({ code: "risk_held", running: null });
    declare(w, "ann", "lead");
    expect(w.create1({ task: red })).toMatchObject({ code: "risk_held" });
    w.do({ type: "role_set", by: null, name: "Ann", role: "lead", project: "/p" });
    expect(w.create1({ task: red })).toMatchObject({ ok: true });
    w.do({ type: "task_approve", by: null, task: critical, wallMs: 0 });
    expect(w.create1({ task: critical, role: "architect" })).toMatchObject({ ok: true });
  });
});

describe("its session", () => {
  it("is the first that names the record; a child that inherited the name is another one", () => {
    const w = new SpawnWorld();
    const id = w.spawn({ name: "bob" });
    const reply = w.begin("s1", { spawn: id, worktree: "/p-bob", branch: "worktree-bob" });
    expect(reply).toMatchObject({ ok: true, name: "bob" });
    expect(w.row(id)).toMatchObject({
      ...{ state: "running", session: "s1", attempts: 1, worktree: "/p-bob", branch: "worktree-bob" },
      registerUntil: null,
    });
    expect(w.begin("child", { spawn: id })).toMatchObject({ name: "child" });
    w.ends("s1");
    w.begin("late-child", { spawn: id });
    expect(w.row(id)).toMatchObject({ session: "s1", state: "done" });
  });

  it("claims the agent's task", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    w.begin("s1", { spawn: w.spawn({ task }) });
    const events = w.steps.at(-1)?.events ?? [];
    expect(events.find(({ event }) => event.event === "task_claimed")?.event).toMatchObject({
      ...{ task, cause: "registered", by: { id: "s1" } },
    });
    // No request claimed it, so the trail has no other line.
    expect(trailOf(events, 7).filter(({ rule }) => rule === "task")).toMatchObject([
      { event: "task_claimed", id: "s1", task, why: `it was spawned for ${task}` },
    ]);
    expect(w.board).toEqual({ "write it": "active" });
    expect(w.task("write it").state).toMatchObject({ claimer: { session: "s1" } });
  });

  it("begins without the task if another agent was faster, and the record says so", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ task });
    w.do(claimOf("ann", task));
    w.begin("s1", { spawn: id });
    expect(w.row(id)).toMatchObject({ state: "running", task });
    expect(w.row(id).reason).toContain("ann");
    expect(w.task("write it").state).toMatchObject({ claimer: { session: "ann" } });
  });

  it("has registered in time, or the agent has failed", () => {
    const w = new SpawnWorld();
    const [early, late] = [w.spawn(), w.spawn()];
    w.pass(limits.spawnRegisterMs - 1);
    w.put(late, { handle: "ab12" });
    w.pass(1);
    expect(w.row(early)).toMatchObject({ state: "failed", registerUntil: null });
    expect(w.row(early).reason).toContain("60 s");
    expect(w.row(late).state).toBe("starting");
    w.pass(limits.spawnRegisterMs);
    expect(w.row(late).state).toBe("failed");
    const unwanted = w.spawn();
    w.put(unwanted, { stopping: true });
    w.pass(limits.spawnRegisterMs);
    expect(w.row(unwanted)).toMatchObject({ state: "stopped", stopping: false, reason: null });
    w.begin("s1", { spawn: late });
    expect(w.row(late)).toMatchObject({ state: "running", attempts: 1, reason: null, endedAt: null });
  });

  it("begins after the agent was stopped, and is not the agent's", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ name: "bob", task });
    w.put(id, { state: "stopped" });
    expect(w.begin("s1", { spawn: id })).toMatchObject({ ok: true, name: "s1" });
    expect(w.row(id)).toMatchObject({ state: "stopped", session: null, attempts: 0 });
    expect(w.board).toEqual({ "write it": "ready" });
    expect(w.put(id, { handle: "ab12" })).toMatchObject({ ok: true, spawn: { state: "stopped" } });
  });

  it("moves the record with what it does", () => {
    const w = new SpawnWorld();
    const id = w.spawn();
    expect(w.move(id, "running")).toMatchObject({ code: "spawn_state" });
    w.begin("s1", { spawn: id });
    expect(w.move(id, "waits_on_person")).toEqual({ ok: true });
    expect(w.events).toEqual(["spawn_changed"]);
    w.move(id, "running");
    w.move(id, "idle");
    expect(w.row(id).state).toBe("idle");
    expect(w.move(id, "idle")).toMatchObject({ code: "spawn_state" });
  });

  it("may go on under another id after a clear", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ task });
    const anchor = { pid: 7, startTime: "7" };
    w.begin("s1", { spawn: id, anchor });
    w.do({ type: "session_suspend", session: "s1" });
    w.begin("s2", { spawn: id, anchor });
    expect(w.row(id)).toMatchObject({ state: "running", session: "s2", attempts: 1 });
    w.ends("s2", "anchor_gone");
    expect(w.row(id).state).toBe("failed");
  });
});

describe("its end", () => {
  it.each([
    ["ended", "done"],
    ["deregistered", "done"],
    ["anchor_gone", "failed"],
  ] as const)("without a task, by %s, is %s", (cause, state) => {
    const w = new SpawnWorld();
    const id = w.spawn();
    w.begin("s1", { spawn: id });
    w.ends("s1", cause);
    expect(w.row(id)).toMatchObject({ state });
    expect(w.row(id).endedAt).not.toBeNull();
  });

  it.each(["ended", "anchor_gone"] as const)("with its task done, by %s, is done with the result", cause => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ task });
    w.begin("s1", { spawn: id });
    w.do(updateOf("s1", task, { status: "done", result: "four tables" }));
    w.ends("s1", cause);
    expect(w.row(id)).toMatchObject({ state: "done", result: "four tables" });
  });

  it("of a process is no failure if its client reports no ends", () => {
    const w = new SpawnWorld();
    w.begin("s1", { spawn: w.spawn({ client: "other", reportsEnd: false }) });
    w.ends("s1", "anchor_gone");
    expect([...w.state.spawns.all.values()]).toMatchObject([{ state: "done", reason: null }]);
  });

  it("with its task open has failed, and the task can be claimed again", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ task });
    w.begin("s1", { spawn: id });
    w.ends("s1");
    expect(w.row(id).reason).toBe(`its session ended, and ${task} is not done`);
    expect(w.board).toEqual({ "write it": "ready" });
    expect(w.task("write it").attempts).toBe(1);
    // The record, with its branch, still names the task; another agent may have it now.
    expect(w.row(id)).toMatchObject({ state: "failed", task });
    expect(w.create1({ task })).toMatchObject({ ok: true });
  });

  it("is no failure if it was to be stopped", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ task });
    w.begin("s1", { spawn: id });
    w.put(id, { stopping: true });
    w.ends("s1", "anchor_gone");
    expect(w.row(id)).toMatchObject({ state: "stopped", stopping: false });
    const other = w.spawn();
    w.begin("s2", { spawn: other });
    w.put(other, { stopping: true });
    w.put(other, { stopping: false });
    w.ends("s2", "anchor_gone");
    expect(w.row(other).state).toBe("failed");
  });

  it("is undone by a return: idle, with its task again", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ task, name: "bob" });
    w.begin("s1", { spawn: id, worktree: "/p-bob" });
    w.ends("s1", "anchor_gone");
    w.begin("s1", { worktree: "/p", revive: true });
    expect(w.row(id)).toMatchObject({ state: "idle", attempts: 2, worktree: "/p-bob", endedAt: null });
    expect(w.task("write it").state).toMatchObject({ claimer: { session: "s1" } });
  });

  it("gives name and task to a later agent, which keeps them when the first returns", () => {
    const w = new SpawnWorld();
    const [task = ""] = w.create("write it");
    const id = w.spawn({ task, name: "bob" });
    w.begin("s1", { spawn: id });
    w.ends("s1");
    w.spawn({ task, name: "bob" });
    w.begin("s1");
    expect(w.row(id)).toMatchObject({ state: "idle", name: "bob-2", task: null });
  });
});

describe("a request", () => {
  it("makes an agent failed only before it registered, and brings none back", () => {
    const w = new SpawnWorld();
    const id = w.spawn();
    w.begin("s1", { spawn: id });
    expect(w.put(id, { state: "failed" })).toMatchObject({ code: "spawn_state", state: "running" });
    expect(w.put(id, { state: "stopped" })).toMatchObject({ ok: true, spawn: { state: "stopped" } });
    expect(w.put(id, { state: "stopped", output: "the end" })).toMatchObject({ ok: true });
    expect(w.put(id, { state: "failed" })).toMatchObject({ code: "spawn_state", state: "stopped" });
    expect(w.put("a-none", {})).toMatchObject({ code: "unknown_spawn" });
    expect(w.row(id)).toMatchObject({ output: "the end" });
  });

  it("forgets agents that have ended, all or none", () => {
    const w = new SpawnWorld();
    const [one, two] = [w.spawn(), w.spawn()];
    w.put(one, { state: "failed" });
    const remove = (...spawns: string[]) => w.do({ type: "spawn_remove", by: null, spawns });
    expect(remove(one, two)).toMatchObject({ code: "spawn_state", spawn: two });
    expect(w.state.spawns.all.size).toBe(2);
    expect(remove(one, one)).toEqual({ ok: true, removed: [one] });
    expect(remove(one)).toMatchObject({ code: "unknown_spawn" });
  });
});

it("the oldest that has ended makes room, and none that has not", () => {
  const spawnsMax = 10;
  const w = new SpawnWorld(bounded({ spawnsMax }));
  const first = w.spawn();
  const second = w.spawn({ project: "/q" });
  w.put(second, { state: "failed" });
  for (let n = 2; n < spawnsMax; n += 1) w.put(w.spawn(), { state: "stopped" });
  expect(w.state.spawns.all.size).toBe(spawnsMax);
  w.spawn();
  expect(w.state.spawns.all.has(second)).toBe(false);
  expect(w.state.spawns.all.has(first)).toBe(true);
  expect(w.state.spawns.all.size).toBe(spawnsMax);
});

it("a snapshot keeps everything", () => {
  const w = new SpawnWorld();
  const id = w.spawn({ name: "bob" });
  w.spawn();
  w.begin("s1", { spawn: id });
  w.put(id, { handle: "ab12", output: "words" });
  const text = writeState(w.state);
  const back = readState(text);
  expect(writeState(back)).toBe(text);
  expect(back.spawns).toEqual(w.state.spawns);
});

describe("an agent that stalled", () => {
  const asks = (w: SpawnWorld, spawn: string, more: Partial<SpawnReplace> = {}) =>
    w.do({
      type: "spawn_replace",
      ...{ by: null, spawn, resumable: true, isFailed: false, wallMs: w.now, ...more },
    });

  it("is resumed once, and by one requester at a time", () => {
    const w = new SpawnWorld();
    const bob = w.spawn({ name: "bob", prompt: "mend it", model: "opus" });
    w.begin("s", { spawn: bob });
    expect(asks(w, bob)).toMatchObject({
      ok: true,
      next: "resume",
      prompt: "mend it",
      spawn: { resumes: 1 },
    });
    expect(asks(w, bob)).toMatchObject({ code: "spawn_state", error: expect.stringContaining("about to") });
    w.ends("s");
    expect(w.row(bob).state).toBe("stopped");
    w.begin("s");
    expect(w.row(bob)).toMatchObject({ state: "idle", resumes: 1, replaceUntil: null });
    expect(asks(w, bob)).toMatchObject({ ok: true, next: "start", spawn: { resumes: 1, model: "opus" } });
  });

  it("is neither resumed nor replaced once it is to be stopped", () => {
    const w = new SpawnWorld();
    const bob = w.spawn({ name: "bob" });
    w.begin("s", { spawn: bob });
    expect(asks(w, bob)).toMatchObject({ ok: true, spawn: { replacing: true } });
    w.ends("s");
    expect(w.put(bob, { replacing: false })).toMatchObject({ ok: true, spawn: { replacing: false } });
    expect(w.events).toEqual(["spawn_changed"]);
    expect(w.row(bob)).toMatchObject({ state: "stopped", replaceUntil: null });
    expect(asks(w, bob, { isFailed: true })).toMatchObject({ code: "spawn_state" });
    expect(w.create1({ replaces: bob })).toMatchObject({ code: "spawn_state" });
  });

  it("is stopped if its client has resumed it meanwhile, and done if a person resumes it later", () => {
    const w = new SpawnWorld();
    const bob = w.spawn({ name: "bob" });
    w.begin("s", { spawn: bob });
    asks(w, bob);
    w.ends("s");
    w.put(bob, { replacing: false });
    w.begin("s");
    expect(w.put(bob, { handle: "h" })).toMatchObject({ ok: true, spawn: { state: "idle", stopping: true } });
    w.ends("s");
    expect(w.row(bob).state).toBe("stopped");
    w.begin("s");
    expect(w.row(bob)).toMatchObject({ state: "idle", stopping: false });
    w.ends("s");
    expect(w.row(bob).state).toBe("done");
  });

  it("is not stopped when a person resumes it long after a stop ended its replacement", () => {
    const w = new SpawnWorld();
    const bob = w.spawn({ name: "bob" });
    w.begin("s", { spawn: bob });
    asks(w, bob);
    w.ends("s");
    w.put(bob, { replacing: false });
    w.pass(limits.spawnReplaceMs);
    w.begin("s");
    expect(w.row(bob)).toMatchObject({ state: "idle", stopping: false });
  });

  it("is done if it goes on and ends by itself, because who was to replace it was lost", () => {
    const w = new SpawnWorld();
    const bob = w.spawn({ name: "bob" });
    w.begin("s", { spawn: bob });
    asks(w, bob);
    w.pass(limits.spawnReplaceMs);
    w.ends("s");
    expect(w.row(bob).state).toBe("done");
  });

  it("may be replaced by another requester if the first one was lost, also after it ended", () => {
    const w = new SpawnWorld();
    const bob = w.spawn({ name: "bob" });
    w.begin("s", { spawn: bob });
    asks(w, bob);
    w.ends("s");
    expect(asks(w, bob)).toMatchObject({ code: "spawn_state" });
    expect(asks(w, bob, { isFailed: true })).toMatchObject({ ok: true, next: "start" });
    w.pass(limits.spawnReplaceMs);
    expect(asks(w, bob)).toMatchObject({ ok: true, next: "start" });
  });

  it("has one successor, with its parent and depth, and two of them at most, whatever was forgotten", () => {
    const w = new SpawnWorld();
    w.begin("ann", { name: "Ann" });
    let last = w.spawn({ by: actor("ann"), name: "bob" });
    for (const n of [1, 2]) {
      w.begin(`s${n}`, { spawn: last });
      expect(w.create1({ replaces: last })).toMatchObject({ code: "spawn_state" });
      expect(asks(w, last, { resumable: false })).toMatchObject({ ok: true, next: "start" });
      w.ends(`s${n}`);
      const next = w.spawn({ replaces: last, by: null });
      expect(w.row(next)).toMatchObject({ replaces: last, replacements: n, depth: 1, parent: { id: "ann" } });
      expect(w.row(last)).toMatchObject({ replacedBy: next, state: "stopped" });
      expect(w.create1({ replaces: last })).toMatchObject({ code: "spawn_state" });
      expect(asks(w, last)).toMatchObject({
        code: "spawn_state",
        error: expect.stringContaining("replaced by"),
      });
      w.do({ type: "spawn_remove", by: null, spawns: [last] });
      last = next;
    }
    w.begin("s3", { spawn: last });
    expect(asks(w, last, { resumable: false })).toMatchObject({ code: "too_many_spawns" });
    expect(asks(w, last)).toMatchObject({ ok: true, next: "resume" });
  });

  it("is replaced and stopped by its parent, a lead or a person, not by a stranger", () => {
    const w = new SpawnWorld();
    for (const id of ["ann", "eve"]) w.begin(id);
    const bob = w.spawn({ by: actor("ann"), name: "bob" });
    w.begin("s", { spawn: bob });
    expect(asks(w, bob, { by: actor("eve") })).toMatchObject({ code: "lead_only" });
    expect(w.put(bob, { by: actor("eve"), stopping: true })).toMatchObject({ code: "lead_only" });
    expect(w.put(bob, { by: actor("eve"), state: "stopped" })).toMatchObject({ code: "lead_only" });
    expect(w.put(bob, { by: actor("eve"), output: "x" })).toMatchObject({ ok: true });
    for (const by of [actor("ann"), actor("s"), null])
      expect(w.put(bob, { by, stopping: true })).toMatchObject({ ok: true });
    expect(asks(w, bob, { by: actor("ann") })).toMatchObject({ ok: true });
    w.ends("s");
    // Nor does a spawned agent become one that spawns by the place of another.
    w.begin("deep", { spawn: w.spawn({ by: actor("eve") }) });
    for (const by of [actor("eve"), actor("deep")])
      expect(w.create1({ by, replaces: bob })).toMatchObject({ code: "lead_only" });
    expect(w.create1({ by: actor("ann"), replaces: bob })).toMatchObject({ ok: true });
  });

  it("that ended by itself is not replaced", () => {
    const w = new SpawnWorld();
    const bob = w.spawn({ name: "bob" });
    w.begin("s", { spawn: bob });
    w.ends("s", "anchor_gone");
    expect(asks(w, bob)).toMatchObject({ code: "spawn_state", error: expect.stringContaining("has ended") });
  });
});

class ReturnWorld extends TaskWorld {
  readonly work: string;
  readonly bob: string;

  /** An agent with a task, in the session `s`. */
  constructor(backend: "background" | "tmux" = "background") {
    super();
    [this.work = ""] = this.create("write it");
    this.do({
      ...{ type: "spawn_create", by: null, project: "/p", name: "bob", role: null, task: this.work },
      ...{ backend, client: "claude-code", base: null, prompt: null, model: null, replaces: null },
      ...{ reportsEnd: true, liveMax: 8, depthMax: 1, wallMs: this.now },
    });
    [this.bob = ""] = this.state.spawns.all.keys();
    this.begin("s", { spawn: this.bob });
  }

  put(more: Partial<SpawnUpdate>) {
    const none = { state: null, stopping: null, handle: null, worktree: null, branch: null, output: null };
    const update = { ...none, by: null, spawn: this.bob, reason: null, wallMs: this.now, ...more };
    return this.do({ type: "spawn_update", ...update });
  }

  ends(cause: "ended" | "anchor_gone") {
    return this.do({ type: "session_end", session: "s", incarnation: null, cause });
  }

  prompted() {
    return this.do({ type: "spawn_moved", spawn: this.bob, state: "running", prompted: true, wallMs: 0 });
  }

  get row(): Spawn {
    const found = this.state.spawns.all.get(this.bob);
    if (found === undefined) throw new Error("no record");
    return found;
  }
}

describe("an agent whose process was killed", () => {
  it("may return, unless its client ended its session, or it runs in a window", () => {
    const [killed, ended, closed] = [new ReturnWorld(), new ReturnWorld(), new ReturnWorld("tmux")];
    killed.ends("anchor_gone");
    ended.ends("ended");
    closed.ends("anchor_gone");
    expect(killed.row).toMatchObject({ state: "failed", mayReturn: true });
    for (const { row } of [ended, closed]) expect(row).not.toHaveProperty("mayReturn");
    killed.begin("s");
    expect(killed.row).toMatchObject({ state: "idle", stopping: false });
    expect(killed.row).not.toHaveProperty("mayReturn");
  });

  it("is to be stopped if it returns while somebody watches, and claims nothing", () => {
    const w = new ReturnWorld();
    w.ends("anchor_gone");
    expect(w.put({ stopping: true })).toMatchObject({ ok: true, spawn: { stopping: false } });
    w.begin("s");
    const reason = `it came back after a stop, so it did not claim ${w.work}`;
    expect(w.row).toMatchObject({ state: "idle", stopping: true, task: w.work, reason });
    expect(w.task("write it").state).toMatchObject({ status: "pending" });
    w.ends("ended");
    expect(w.row).toMatchObject({ state: "stopped", stopping: false });
    w.begin("s");
    expect(w.row).toMatchObject({ stopping: true });
  });

  it("stays if a person prompts it then", () => {
    const w = new ReturnWorld();
    w.ends("anchor_gone");
    w.put({ stopping: true });
    w.begin("s");
    expect(w.prompted()).toMatchObject({ ok: true });
    expect(w.row).toMatchObject({ state: "running", stopping: false });
    expect(w.row).not.toHaveProperty("watchedUntil");
    w.ends("anchor_gone");
    expect(w.row.state).toBe("failed");
  });

  it("is watched for a time, or until that is over by a request; then it has its task again", () => {
    for (const over of ["by time", "by request"]) {
      const w = new ReturnWorld();
      w.ends("anchor_gone");
      w.put({ stopping: true });
      if (over === "by time") w.pass(limits.spawnWatchMs);
      else w.put({ stopping: false, state: "stopped" });
      expect(w.row.state).toBe(over === "by time" ? "failed" : "stopped");
      w.begin("s");
      expect(w.row).toMatchObject({ state: "idle", stopping: false });
      expect(w.task("write it").state).toMatchObject({ claimer: { session: "s" } });
    }
  });

  it("that is being stopped in order is still to be, whatever is typed meanwhile", () => {
    const w = new ReturnWorld();
    w.put({ stopping: true });
    w.prompted();
    w.ends("ended");
    expect(w.row).toMatchObject({ state: "stopped" });
  });

  it("is told apart only by the rules of today", () => {
    const w = new ReturnWorld();
    w.state.rules = 1;
    w.ends("anchor_gone");
    expect(w.row).not.toHaveProperty("mayReturn");
    expect(w.put({ stopping: true })).toMatchObject({ ok: true, spawn: { stopping: true } });
    expect(w.row).not.toHaveProperty("watchedUntil");
    expect(w.put({ state: "stopped" })).toMatchObject({ code: "spawn_state" });
  });
});
