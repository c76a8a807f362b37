/** Merges are queued, run, ended and handed back. */
import { describe, expect, it } from "vitest";
import { commandRules } from "../../daemon/core/apply.ts";
import { countUnheard, firstUnread, unreadBy } from "../../daemon/core/lead/merges.ts";
import { moves } from "../../daemon/core/lead/tables/merges.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import { lateRunner } from "../../daemon/lead/merges.ts";
import type { MergeReason, MergeRow } from "../../protocol/lead/merge.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";

type Queue = Extract<Command, { type: "merge_queue" }>;
type Take = Extract<Command, { type: "merge_take" }>;
type Outcome = Extract<Command, { type: "merge_report" }>["outcome"];

const commit = "c".repeat(40);
const conflict: MergeReason = {
  code: "conflict",
  text: "a.ts conflicts",
  files: ["a.ts"],
  more: 0,
  output: null,
};
const ref = (name: string) => `refs/heads/${name}`;

class MergeWorld extends World {
  /** A runner by its name; its connection is the number at its end. */
  runner(name: string, epoch = this.epoch) {
    return { name, bound: { node: this.node, epoch, connection: Number(name.slice(1)) } };
  }

  queue(runner: string, names: readonly string[], more: Partial<Queue> = {}): Reply {
    const merges = names.map(name => ({ branch: ref(name), author: null, tasks: [], after: [] }));
    const how = { rebase: false, checkOnly: false, by: null, wallMs: 5 };
    const place = { project: "/p", base: ref("main") };
    return this.do({
      type: "merge_queue",
      runner: this.runner(runner),
      ...place,
      ...how,
      merges,
      ...more,
    });
  }

  take(runner: string, more: Partial<Take> = {}): MergeRow | null {
    const place = { project: "/p", base: ref("main"), drain: false };
    const asked = { runner: this.runner(runner), ...place, by: null, wallMs: 6, ...more };
    const reply = this.do({ type: "merge_take", ...asked });
    return reply.ok ? (reply["merge"] as MergeRow | null) : null;
  }

  report(runner: string, { id, runs }: Pick<MergeRow, "id" | "runs">, outcome: Outcome): Reply {
    return this.do({
      type: "merge_report",
      by: null,
      runner: this.runner(runner),
      merge: id,
      run: runs,
      outcome,
      wallMs: 7,
    });
  }

  close(runner: string): void {
    this.do({ type: "merge_unbind", bound: this.runner(runner).bound, wallMs: 8 });
  }

  cancel(merge: string | null, runner = "", project = "/p"): Reply {
    const reason = { ...conflict, code: "asked" as const };
    return this.do({ type: "merge_cancel", by: null, merge, project, runner, reason, wallMs: 9 });
  }

  /** Takes the next merge and ends it so. */
  run(runner: string, outcome: Outcome): MergeRow {
    const merge = this.take(runner);
    if (merge === null) throw new Error("nothing to take");
    expect(this.report(runner, merge, outcome)).toMatchObject({ ok: true });
    return merge;
  }

  get states(): readonly string[] {
    return [...this.state.merges.all.values()].map(
      ({ branch, state }) => `${branch.slice("refs/heads/".length)} ${state}`,
    );
  }

  get events(): readonly string[] {
    return this.steps
      .flatMap(step => step.events)
      .flatMap(({ event }) =>
        event.event === "merge_changed" ? `${event.branch.slice("refs/heads/".length)} ${event.state}` : [],
      );
  }
}

describe("the queue of a base", () => {
  it("runs one at a time, in its order", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a", "b"]);
    w.queue("r2", ["c"]);
    expect(w.take("r2")).toBeNull();
    const a = w.take("r1");
    expect(a).toMatchObject({ branch: ref("a"), state: "running", runs: 1, attended: true });
    expect(w.take("r2")).toBeNull();
    w.report("r1", a as MergeRow, { is: "moving", commit });
    w.report("r1", a as MergeRow, { is: "merged", commit });
    expect(w.take("r2")).toBeNull();
    expect(w.run("r1", { is: "returned", reason: conflict }).branch).toBe(ref("b"));
    expect(w.take("r1")).toBeNull();
    expect(w.take("r2")).toMatchObject({ branch: ref("c") });
    expect(w.states).toEqual(["a merged", "b returned", "c running"]);
    expect(w.events).toEqual([
      "a queued",
      "b queued",
      "c queued",
      "a running",
      "a merged",
      "b running",
      "b returned",
      "c running",
    ]);
  });

  it("is another one for another base, and for another project", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a"]);
    w.queue("r2", ["a"], { base: ref("next") });
    w.queue("r3", ["a"], { project: "/q" });
    expect(w.take("r1")).not.toBeNull();
    expect(w.take("r2", { base: ref("next") })).not.toBeNull();
    expect(w.take("r3", { project: "/q" })).not.toBeNull();
  });

  it("takes a branch once, unless its runner is gone", () => {
    const w = new MergeWorld();
    w.begin("ann", { name: "Ann" });
    w.queue("r1", ["a", "b"], { by: actor("ann") });
    expect(w.queue("r2", ["c", "a"])).toMatchObject({
      code: "merge_queued",
      error: expect.stringMatching(/^a waits for main already: Ann queued it as mg-5-1; /),
    });
    expect(w.states).toEqual(["a queued", "b queued"]);
    w.close("r1");
    expect(w.queue("r2", ["b"], { rebase: true })).toMatchObject({ code: "merge_queued" });
    expect(w.queue("r2", ["c", "b"])).toMatchObject({ merges: [{ branch: ref("c") }, { branch: ref("b") }] });
    // It keeps its place, behind the one that nobody attends to.
    expect(w.take("r2")).toMatchObject({ branch: ref("a") });
    expect(w.queue("r3", ["d", "d"])).toMatchObject({ code: "invalid_request" });
  });

  it("has bounds", () => {
    const [mergesMax, mergesOpenMax] = [50, 10];
    const w = new MergeWorld(bounded({ mergesMax, mergesOpenMax }));
    for (let n = 0; n < mergesOpenMax; n += 1) w.queue("r1", [`b${n}`]);
    expect(w.queue("r2", ["one-more"])).toMatchObject({ code: "too_many_merges" });
    for (let n = 0; n < mergesMax - mergesOpenMax; n += 1)
      w.queue("r3", [`b${n % mergesOpenMax}`], { base: ref(`base${Math.floor(n / mergesOpenMax)}`) });
    expect(w.queue("r2", ["a"], { base: ref("other") })).toMatchObject({ code: "too_many_merges" });
    const first = w.run("r1", { is: "merged", commit });
    expect(w.queue("r2", ["a"], { base: ref("other") })).toMatchObject({ ok: true });
    expect(w.state.merges.all.size).toBe(mergesMax);
    expect(w.state.merges.all.has(first.id)).toBe(false);
  });

  it("takes nothing of a session that is not there", () => {
    const w = new MergeWorld();
    expect(w.queue("r1", ["a"], { by: actor("ann") })).toMatchObject({ code: "unknown_session" });
  });
});

describe("a runner that is gone", () => {
  it("leaves its merges to the next one, at their places, and its reports no longer count", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a", "b"]);
    w.queue("r2", ["c"]);
    const lost = w.take("r1") as MergeRow;
    w.close("r1");
    expect(w.states).toEqual(["a queued", "b queued", "c queued"]);
    expect(w.report("r1", lost, { is: "moving", commit })).toMatchObject({ code: "merge_state" });
    const again = w.take("r2") as MergeRow;
    expect(again).toMatchObject({ branch: ref("a"), runs: 2 });
    expect(w.report("r1", lost, { is: "merged", commit })).toMatchObject({ code: "merge_state" });
    // Nor do those of an earlier run of its own.
    expect(w.report("r2", lost, { is: "merged", commit })).toMatchObject({ code: "merge_state" });
    w.report("r2", again, { is: "merged", commit });
    expect(w.run("r2", { is: "merged", commit }).branch).toBe(ref("b"));
    expect(w.run("r2", { is: "merged", commit }).branch).toBe(ref("c"));
    expect(w.take("r2")).toBeNull();
  });

  it("leaves them too while it moves the base: the next one sees where to", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a"]);
    w.report("r1", w.take("r1") as MergeRow, { is: "moving", commit });
    expect(w.cancel("1")).toMatchObject({
      code: "merge_state",
      error: expect.stringMatching(/moves the base/),
    });
    w.close("r1");
    expect(w.take("r2")).toBeNull();
    expect(w.take("r2", { drain: true })).toMatchObject({ branch: ref("a"), commit, moving: false });
  });

  it("may come back to another daemon for a while", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a"]);
    w.queue("r2", ["b"]);
    const a = w.take("r1") as MergeRow;
    w.start();
    expect(w.do({ type: "merge_attach", runner: w.runner("r1") })).toEqual({ ok: true, left: 1 });
    w.pass(limits.boundGraceMs);
    expect([...w.state.merges.all.values()].map(({ runner }) => runner?.name)).toEqual(["r1", undefined]);
    expect(w.report("r1", a, { is: "merged", commit })).toMatchObject({ ok: true });
    expect(w.do({ type: "merge_attach", runner: w.runner("r2") })).toEqual({ ok: true, left: 0 });
    // The old connection's end says nothing of the new one.
    w.queue("r1", ["c"]);
    w.do({ type: "merge_unbind", bound: w.runner("r1", 1).bound, wallMs: 1 });
    expect([...w.state.merges.all.values()].at(-1)?.runner?.name).toBe("r1");
  });

  it("that does not come back loses what it runs after the grace", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a"]);
    w.take("r1");
    w.start();
    w.pass(limits.boundGraceMs - 1);
    expect(w.states).toEqual(["a running"]);
    w.pass(1);
    expect(w.states).toEqual(["a queued"]);
  });
});

describe("a merge that builds on another", () => {
  it("goes with it if it is not merged, and with what it takes along", () => {
    const w = new MergeWorld();
    const merges = [
      { name: "a", after: [] },
      { name: "b", after: ["a", "gone"] },
      { name: "c", after: ["b"] },
      { name: "d", after: [] },
    ].map(({ name, after }) => ({ branch: ref(name), author: null, tasks: [], after: after.map(ref) }));
    w.queue("r1", [], { merges });
    w.run("r1", { is: "returned", reason: conflict });
    expect(w.states).toEqual(["a returned", "b cancelled", "c cancelled", "d queued"]);
    const [, b, c] = [...w.state.merges.all.values()];
    expect(b?.reason).toMatchObject({
      code: "dependency",
      text: `its work builds on a, which was returned (mg-5-1)`,
    });
    expect(c?.reason?.text).toBe("its work builds on b, which was cancelled (mg-5-2)");
    expect(w.run("r1", { is: "merged", commit }).branch).toBe(ref("d"));
  });

  it("cannot wait for a later one, so no cycle arises", () => {
    const w = new MergeWorld();
    const merges = ["a", "b"].map(name => ({
      branch: ref(name),
      author: null,
      tasks: [],
      after: [ref("a"), ref("b")],
    }));
    w.queue("r1", [], { merges });
    expect([...w.state.merges.all.values()].map(({ after }) => after)).toEqual([[], ["mg-5-1"]]);
  });
});

describe("a merge that comes back", () => {
  function authored(status: "active" | "done") {
    const w = new MergeWorld();
    w.begin("ann", { name: "Ann" });
    w.begin("lead", { name: "Lead" });
    const task = { name: null, description: "x", priority: "normal", labels: [], dependsOn: [] } as const;
    w.do({ type: "task_create", by: null, tasks: [task, task], many: true, project: "/p", wallMs: 1 });
    const ids = [...w.state.tasks.all.keys()];
    const [mine = "", other = ""] = ids;
    const claim = { labels: [], project: "/p", cwd: "/p", wallMs: 2 };
    w.do({ type: "task_claim", actor: actor("ann"), task: mine, ...claim });
    w.do({ type: "task_claim", actor: actor("lead"), task: other, ...claim });
    const nothing = { result: null, dependsOn: null, description: null, priority: null, labels: null };
    const place = { project: "/p", cwd: "/p", wallMs: 3 };
    if (status === "done")
      w.do({ type: "task_update", by: actor("ann"), task: mine, status, ...nothing, ...place });
    const author = { session: "ann", agent: null };
    w.queue("r1", [], {
      by: actor("lead"),
      merges: [{ branch: ref("a"), author, tasks: [...ids, "t-gone"], after: [] }],
    });
    const back = (by: string | null) =>
      w.do({
        type: "merge_report",
        by: by === null ? null : actor(by),
        runner: w.runner("r1"),
        merge: "mg-5-1",
        run: w.take("r1")?.runs ?? 0,
        outcome: { is: "returned", reason: { ...conflict, more: 2, output: "1 failed" } },
        wallMs: 7,
      });
    const statusOf = (id: string) => w.state.tasks.all.get(id)?.state.status;
    return { w, mine, other, back, statusOf };
  }

  it.each(["active", "done"] as const)("makes its author's %s task pending, and says why", status => {
    const { w, mine, other, back, statusOf } = authored(status);
    expect(statusOf(mine)).toBe(status);
    expect(back("lead")).toMatchObject({ ok: true, merge: { state: "returned" } });
    expect([statusOf(mine), statusOf(other)]).toEqual(["pending", "active"]);
    const released = w.steps.at(-1)?.events.find(({ event }) => event.event === "task_released")?.event;
    expect(released).toMatchObject({ cause: "the merge mg-5-1 came back: a.ts conflicts" });
    const [message] = [...w.state.messages.all.values()];
    expect(message?.text).toBe(
      `a was not merged into main (mg-5-1): a.ts conflicts. Files: a.ts, 2 more. Pending again, claim it first: ${mine}. Mend it on your branch, commit, and have it merged again (kite merge). The end of its output: 1 failed`,
    );
    expect([...(message?.letters.values() ?? [])].map(({ to }) => to.id)).toEqual(["ann"]);
  });

  it("writes no message to an author that ran it, or that is gone; its task is pending all the same", () => {
    const own = authored("active");
    own.back("ann");
    expect(own.w.state.messages.all.size).toBe(0);
    expect(own.statusOf(own.mine)).toBe("pending");
    const gone = authored("done");
    gone.w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    gone.back(null);
    expect(gone.w.state.messages.all.size).toBe(0);
    expect(gone.statusOf(gone.mine)).toBe("pending");
  });

  describe("of a spawned agent that has ended", () => {
    function spawned(by: "ann" | null, outcome: "done" | "open") {
      const w = new MergeWorld();
      for (const name of ["ann", "lead"]) w.begin(name);
      const task = { name: null, description: "x", priority: "normal", labels: [], dependsOn: [] } as const;
      w.do({ type: "task_create", by: null, tasks: [task], many: false, project: "/p", wallMs: 1 });
      const [id = ""] = w.state.tasks.all.keys();
      const who = { by: by === null ? null : actor(by), project: "/p", name: "bob", role: null, task: id };
      const how = {
        backend: "background",
        client: "claude-code",
        base: "main",
        reportsEnd: true,
        prompt: null,
        model: null,
        replaces: null,
      } as const;
      w.do({ type: "spawn_create", ...who, ...how, liveMax: 8, depthMax: 1, wallMs: 2 });
      const [spawn = ""] = w.state.spawns.all.keys();
      w.begin("s1", { spawn });
      const nothing = { result: null, dependsOn: null, description: null, priority: null, labels: null };
      const place = { project: "/p", cwd: "/p", wallMs: 3 };
      if (outcome === "done")
        w.do({
          type: "task_update",
          by: actor("s1"),
          task: id,
          status: "done",
          ...nothing,
          ...place,
        });
      w.do({ type: "session_end", session: "s1", incarnation: null, cause: "ended" });
      const author = { session: "s1", agent: null };
      const merges = [{ branch: ref("worktree-bob"), author, tasks: [id], after: [] }];
      w.queue("r1", [], { by: actor("lead"), merges });
      const back = () => w.run("r1", { is: "returned", reason: conflict });
      const readers = () =>
        [...w.state.messages.all.values()].flatMap(({ letters }) => [...letters.values()].map(l => l.to.id));
      return { w, id, back, readers, status: () => w.state.tasks.all.get(id)?.state.status };
    }

    it("is its record's: the parent is told, and its task is pending again", () => {
      const { w, id, back, readers, status } = spawned("ann", "done");
      expect(w.state.merges.all.get("mg-5-1")?.author).toEqual({ id: "s1", agent: null, name: "bob" });
      expect(status()).toBe("done");
      back();
      expect(status()).toBe("pending");
      expect(readers()).toEqual(["ann"]);
      expect([...w.state.messages.all.values()][0]?.text).toBe(
        `worktree-bob was not merged into main (mg-5-1): a.ts conflicts. Files: a.ts. Pending again: ${id}. bob, which you spawned, has ended. Have it mended on that branch, by you or by another agent (kite spawn), and merged again (kite merge).`,
      );
    });

    it("leaves a task that is pending already, and tells nobody if a person spawned it, or its parent has ended", () => {
      const one = spawned(null, "open");
      expect(one.status()).toBe("pending");
      one.back();
      expect([one.status(), one.readers()]).toEqual(["pending", []]);
      const other = spawned("ann", "done");
      other.w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
      other.back();
      expect([other.status(), other.readers()]).toEqual(["pending", []]);
      expect([...other.w.state.merges.all.values()][0]).toMatchObject({ reason: conflict });
    });

    it("has no author once its record is forgotten", () => {
      const { w } = spawned("ann", "done");
      w.do({ type: "spawn_remove", by: null, spawns: [...w.state.spawns.all.keys()] });
      const author = { session: "s1", agent: null };
      w.queue("r2", [], { merges: [{ branch: ref("b"), author, tasks: [], after: [] }] });
      expect([...w.state.merges.all.values()].at(-1)?.author).toBeNull();
    });
  });

  describe("and that nobody has read of", () => {
    const mergeIn = (w: MergeWorld) => [...w.state.merges.all.values()][0];
    const unreadIn = (w: MergeWorld) => {
      const merge = mergeIn(w);
      return merge === undefined ? undefined : unreadBy(w.state, merge);
    };
    const took = (w: MergeWorld) =>
      w.do({ type: "inbox_take", actor: actor("ann"), max: 3, chars: 9_000 }) as {
        messages?: { id: string }[];
      };

    it("is unread until an answer has brought its author the message, also over a snapshot", () => {
      const { w, back } = authored("done");
      expect(unreadIn(w)).toBeUndefined();
      back("lead");
      expect(unreadIn(w)).toMatchObject({ id: "ann" });
      expect(firstUnread(w.state, "ann")?.id).toBe("mg-5-1");
      expect(firstUnread(w.state, "lead")).toBeUndefined();
      const restored = readState(writeState(w.state));
      expect(firstUnread(restored, "ann")?.id).toBe("mg-5-1");
      const messages = (took(w).messages ?? []).map(({ id }) => id);
      expect(unreadIn(w)).toMatchObject({ id: "ann" });
      w.do({ type: "inbox_told", actor: actor("ann"), messages, heard: false });
      expect(firstUnread(w.state, "ann")?.id).toBe("mg-5-1");
      took(w);
      w.do({ type: "inbox_told", actor: actor("ann"), messages, heard: true });
      expect([unreadIn(w), firstUnread(w.state, "ann")]).toEqual([undefined, undefined]);
    });

    it("is nobody's to read if its author ran it", () => {
      const { w, back } = authored("active");
      back("ann");
      expect(mergeIn(w)).not.toHaveProperty("notice");
    });

    it("goes to a lead of the project if its author has ended, else it is marked until its branch is queued anew", () => {
      const { w, mine, back } = authored("done");
      w.begin("eve", { name: "Eve" });
      w.do({ type: "role_set", by: null, name: "Eve", role: "lead", project: "/p" });
      w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
      back("lead");
      expect(unreadIn(w)).toMatchObject({ id: "eve" });
      expect([...w.state.messages.all.values()][0]?.text).toContain(
        `Pending again: ${mine}. Ann, whose branch it is, has ended. Have it mended on that branch`,
      );
      const none = authored("done");
      none.w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
      none.back("lead");
      expect(unreadIn(none.w)).toBeNull();
      expect(countUnheard(none.w.state, 7)).toBe(1);
      expect(countUnheard(none.w.state, 8)).toBe(0);
      none.w.queue("r2", ["a"]);
      expect(unreadIn(none.w)).toBeUndefined();
      expect(countUnheard(none.w.state, 0)).toBe(0);
    });

    it("is of who did its task on the branch, and ended before it was queued: the task is pending again", () => {
      const w = new MergeWorld();
      w.begin("lead", { name: "Lead" });
      w.begin("ann", { name: "Ann", branch: "a" });
      const task = { name: null, description: "x", priority: "normal", labels: [], dependsOn: [] } as const;
      w.do({ type: "task_create", by: null, tasks: [task], many: false, project: "/p", wallMs: 1 });
      const [id = ""] = w.state.tasks.all.keys();
      const nothing = { result: null, dependsOn: null, description: null, priority: null, labels: null };
      const place = { project: "/p", cwd: "/p", wallMs: 3 };
      const update = { type: "task_update", by: actor("ann"), task: id, ...nothing, ...place } as const;
      w.do({ ...update, status: "done" });
      expect(w.state.tasks.all.get(id)?.state).toMatchObject({ status: "done", branch: "a" });
      w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
      const author = { session: "ann", agent: null };
      w.queue("r1", [], {
        by: actor("lead"),
        merges: [{ branch: ref("a"), author, tasks: [id], after: [] }],
      });
      expect(mergeIn(w)?.author).toMatchObject({ id: "ann", name: "Ann" });
      w.run("r1", { is: "returned", reason: conflict });
      expect(w.state.tasks.all.get(id)?.state.status).toBe("pending");
    });

    it("keeps the rows of level 1 as they were", () => {
      const { w, back } = authored("done");
      w.do({ type: "rules", level: 1 });
      back("lead");
      expect([...w.state.messages.all.values()]).toHaveLength(1);
      expect(mergeIn(w)).not.toHaveProperty("notice");
    });
  });

  it("leaves a task alone that somebody else has now, or that an active one builds on", () => {
    const { w, mine, back, statusOf } = authored("done");
    const next = { name: null, description: "y", priority: "normal", labels: [], dependsOn: [mine] } as const;
    w.do({ type: "task_create", by: null, tasks: [next], many: false, project: "/p", wallMs: 4 });
    const id = [...w.state.tasks.all.keys()].at(-1) ?? "";
    w.do({
      type: "task_claim",
      actor: actor("lead"),
      task: id,
      labels: [],
      project: "/p",
      cwd: "/p",
      wallMs: 5,
    });
    back("lead");
    expect(statusOf(mine)).toBe("done");
  });
});

describe("a trial", () => {
  it("changes no task and writes to nobody, and what builds on it goes on", () => {
    const w = new MergeWorld();
    w.begin("ann", { name: "Ann" });
    const author = { session: "ann", agent: null };
    const merges = ["a", "b", "c"].map((name, i) => ({
      branch: ref(name),
      author,
      tasks: [],
      after: i === 1 ? [ref("a")] : [],
    }));
    w.queue("r1", [], { checkOnly: true, merges });
    w.run("r1", { is: "checked", commit });
    w.run("r1", { is: "returned", reason: conflict });
    expect(w.states).toEqual(["a checked", "b returned", "c queued"]);
    expect(w.state.messages.all.size).toBe(0);
  });
});

describe("a cancel", () => {
  it("ends one, or all that a runner has, and nothing that has ended", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a", "b"]);
    w.queue("r2", ["c"]);
    const a = w.take("r1") as MergeRow;
    expect(w.cancel("2")).toEqual({ ok: true, cancelled: ["mg-5-2"] });
    expect(w.cancel("2")).toMatchObject({ code: "merge_state" });
    expect(w.cancel("9")).toMatchObject({ code: "unknown_merge", nearest: null });
    expect(w.cancel("mg-5-")).toMatchObject({ code: "ambiguous_merge" });
    expect(w.cancel(null, "r1")).toEqual({ ok: true, cancelled: [a.id] });
    expect(w.report("r1", a, { is: "moving", commit })).toMatchObject({ code: "merge_state" });
    expect(w.cancel(null, "r1")).toEqual({ ok: true, cancelled: [] });
    expect(w.states).toEqual(["a cancelled", "b cancelled", "c queued"]);
    expect(w.take("r2")).toMatchObject({ branch: ref("c") });
  });

  it("of all that a runner has, as Ctrl-C asks, leaves what moves the base, which is merged in the end", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a", "b"]);
    const a = w.take("r1") as MergeRow;
    w.report("r1", a, { is: "moving", commit });
    expect(w.cancel(null, "r1")).toEqual({ ok: true, cancelled: ["mg-5-2"] });
    expect(w.states).toEqual(["a running", "b cancelled"]);
    expect(w.report("r1", a, { is: "merged", commit })).toMatchObject({ ok: true });
    expect(w.states).toEqual(["a merged", "b cancelled"]);
  });

  it("means by a part of an id a merge of its project alone, and another's by a whole id", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a"]);
    w.queue("r2", ["b"], { project: "/q" });
    expect(w.cancel("2")).toMatchObject({
      code: "unknown_merge",
      error:
        "no merge 2 in this project; kite merge --list shows them; a merge of another project needs its whole id",
    });
    expect(w.cancel("mg-5-", "", "/r")).toMatchObject({ code: "unknown_merge" });
    const reason = { ...conflict, code: "asked" as const };
    expect(w.do({ type: "merge_cancel", by: null, merge: "2", runner: "", reason, wallMs: 9 })).toMatchObject(
      { code: "unknown_merge" },
    );
    expect(w.states).toEqual(["a queued", "b queued"]);
    expect(w.cancel("mg-5-")).toEqual({ ok: true, cancelled: ["mg-5-1"] });
    expect(w.cancel("mg-5-2")).toEqual({ ok: true, cancelled: ["mg-5-2"] });
    w.queue("r2", ["c"], { project: "/q" });
    expect(w.cancel("3", "", "/q")).toEqual({ ok: true, cancelled: ["mg-5-3"] });
  });

  it("of what the runner gives back ends nothing: another runner takes it", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a"]);
    w.report("r1", w.take("r1") as MergeRow, { is: "queued" });
    expect(w.cancel(null, "r1")).toEqual({ ok: true, cancelled: [] });
    expect(w.take("r2", { drain: true })).toMatchObject({ branch: ref("a"), runs: 2 });
  });
});

describe("merges", () => {
  it("survive a snapshot, with their order and runners", () => {
    const w = new MergeWorld();
    w.queue("r1", ["a", "b", "c"]);
    w.run("r1", { is: "merged", commit });
    w.take("r1");
    const text = writeState(w.state);
    expect(writeState(readState(text))).toBe(text);
  });

  it("are on disk before their clients hear of it, but for the right to run, which ends with its process", () => {
    expect(commandRules.merge_queue.durable).toBe(true);
    expect(commandRules.merge_report.durable).toBe(true);
    expect(commandRules.merge_cancel.durable).toBe(true);
    expect(commandRules.merge_take.durable).toBe(false);
    expect(commandRules.merge_unbind).toMatchObject({ durable: false, frees: true });
  });

  it("end in one of four states", () => {
    const final = Object.entries(moves).flatMap(([state, next]) => (next.length === 0 ? state : []));
    expect(final).toEqual(["merged", "checked", "returned", "cancelled"]);
  });
});

describe("a runner that is late", () => {
  const bound = { node: "local", epoch: 3, connection: 7 };
  const runner = { name: "r", bound };
  const entry = (command: Command): Entry => ({
    seq: 1,
    at: 0,
    origin: { node: "local", epoch: 3, n: 1 },
    command,
  });
  const queued = entry({
    type: "merge_queue",
    by: null,
    project: "/p",
    base: "refs/heads/main",
    runner,
    rebase: false,
    checkOnly: false,
    merges: [],
    wallMs: 0,
  });
  const taken = entry({
    type: "merge_take",
    by: null,
    project: "/p",
    base: "refs/heads/main",
    runner,
    drain: false,
    wallMs: 0,
  });
  const attached = entry({ type: "merge_attach", runner });
  const ended = entry({ type: "merge_unbind", bound, wallMs: 0 });

  it("names the closed connection that an entry tied a merge to", () => {
    for (const one of [queued, taken, attached]) {
      expect(lateRunner(one, () => true)).toBe(bound);
      expect(lateRunner(one, () => false)).toBe(null);
    }
  });

  it("names none for the entry that ends the tie, which would be proposed for ever", () => {
    expect(lateRunner(ended, () => true)).toBe(null);
  });
});
