/** A machine with work of its own in a store with another one, for moves that are killed. */
import { expect } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { TaskUpdate } from "../../daemon/core/tables/tasks.ts";
import { isSharedAs, shareProject, takeBack } from "../../daemon/sharing/share.ts";
import { project, Scene } from "./copy-world.ts";
import { actor } from "./core-world.ts";
import { Local, shared } from "./nodes-world.ts";

const none = {
  ...{ by: null, dependsOn: null, description: null, priority: null, labels: null },
  ...{ status: null, result: null, cwd: "" },
} as const;

/** A label that the other machine gives a task. */
export const mark = "urgent";

/** This machine with work of its own, and another one that shares the project. */
export class Moves extends Scene {
  readonly desk = new Local("b");
  readonly first: string;
  /** Whether the other machine gave the first task a label. */
  isMarked = false;

  constructor() {
    super();
    const { own, store, desk } = this;
    own.begin("s1", { name: "alice" });
    const done = this.add("done");
    this.here(done, { status: "done", result: "well" });
    const first = this.add("first", { dependsOn: [done] });
    this.first = first;
    this.add("second", { dependsOn: [first] });
    this.here(this.add("cancelled"), { status: "failed", result: "not needed" });
    this.claim("working");
    for (const key of ["one", "two"]) this.set(command => own.do(command), key, "0");
    desk.begin("s9", { name: "bob" });
    store.take("b", desk);
    store.add("b", null, "of desk");
    this.set(command => store.as("b", command), "far", "0", shared);
  }

  here(task: string, what: Partial<TaskUpdate>): void {
    const update: Command = { ...none, type: "task_update", task, project, wallMs: 7_000, ...what };
    expect(this.own.do(update)).toMatchObject({ ok: true });
  }

  there(task: string, what: Partial<TaskUpdate>): void {
    const update: Command = { ...none, type: "task_update", task, project: shared, wallMs: 8_000, ...what };
    expect(this.store.as("b", update)).toMatchObject({ ok: true });
  }

  claim(name: string): void {
    const where = { labels: [], project, cwd: "", wallMs: 7_000 };
    const claim = { type: "task_claim", actor: actor("s1"), task: this.add(name), ...where } as const;
    expect(this.own.do(claim)).toMatchObject({ ok: true });
  }

  idOf(name: string): string {
    for (const { state } of [this.store, this.own])
      for (const { id, description } of state.tasks.all.values()) if (description === name) return id;
    throw new Error(`no task ${name}`);
  }

  share() {
    return shareProject(this.logs, project, shared);
  }

  /** Leaves, and tells the store so, as a daemon that is not killed does. */
  async leave(): Promise<void> {
    await takeBack(this.logs, this.outward);
    if (!this.isDead) expect(this.store.as("a", { type: "node_leave" })).toMatchObject({ ok: true });
  }

  get isShared(): boolean {
    return isSharedAs(this.own, project, shared);
  }

  /** What one log has: each open task with its claim and labels, each task that is done, and the values. */
  of(log: "own" | "store") {
    const [world, name] = log === "own" ? [this.own, project] : [this.store, shared];
    const all = [...world.state.tasks.all.values()].filter(one => one.project === name);
    const ended = all.filter(one => one.state.status === "done" && one.description !== "done");
    const labelsOf = (some: readonly string[]) => some.filter(one => one !== mark).join(" ");
    const labels = all.map(({ description, labels: some }) => `${description}: ${labelsOf(some)}`);
    return {
      ...{ open: [...this.tasks(world, name)].sort(), ended: ended.map(one => one.description) },
      ...{ labels: labels.filter(one => !one.startsWith("done:")).sort() },
      ...{ context: this.context(world, name) },
    };
  }

  /** What Kite says of the moves themselves: see `store-renumbered.test.ts`. */
  get messages(): readonly string[] {
    const texts = [...this.own.state.messages.all.values()].map(({ text }) => text);
    return texts.filter(text => !text.startsWith("Kite: "));
  }
}
