import { describe, expect, it } from "vitest";
import type { Spawn, SpawnUpdate } from "../../daemon/core/lead/tables/spawns.ts";
import { limits } from "../../protocol/limits.ts";
import { TaskWorld } from "./task-world.ts";

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
