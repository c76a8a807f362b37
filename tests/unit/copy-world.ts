/** A machine, its store and another machine in it, for copies that may break off. */
import { expect } from "vitest";
import { itemsOf } from "../../daemon/core/tables/context.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { claimerOf } from "../../daemon/core/tables/tasks.ts";
import { CopyRefused, contentsOf } from "../../daemon/sharing/copy.ts";
import { LeaveRecords } from "../../daemon/sharing/leave-records.ts";
import { SharedNames } from "../../daemon/sharing/names.ts";
import type { BothLogs } from "../../daemon/sharing/share.ts";
import { bounded, type World } from "./core-world.ts";
import { Local, Store, shared } from "./nodes-world.ts";

export const project = "/p";

/**
 * Where a step of the copy ends, a command or a write of the records: it is refused, or taken and the answer is lost. `isKill`: so are
 * all steps behind it.
 */
export interface Break {
  readonly at: number;
  readonly how: "refused" | "lost";
  readonly isKill?: boolean;
}

/** Records that may break off as commands do. */
class Records extends LeaveRecords {
  readonly #step: (apply: () => Reply) => Reply;

  constructor(step: (apply: () => Reply) => Reply) {
    super({ path: null, onTrouble: () => {} });
    this.#step = step;
  }

  override put(...args: Parameters<LeaveRecords["put"]>): void {
    const [project, record] = args;
    if (record === null && !this.has(project)) return;
    const reply = this.#step(() => {
      super.put(...args);
      return { ok: true };
    });
    if (!reply.ok) throw new CopyRefused(reply);
  }

  has(project: string): boolean {
    return this.get(project, shared) !== null;
  }
}

/** This machine, the store, and another machine in it. */
export class Scene {
  readonly own = new Local("", bounded({}));
  readonly store = new Store();
  readonly records = new Records(apply => this.#step(apply));
  #left = Number.POSITIVE_INFINITY;
  #how: Break["how"] = "refused";
  #isKill = false;
  /** Steps that the copy made. */
  count = 0;
  /** What the other machine does after each of them. */
  meanwhile = () => {};

  constructor() {
    this.own.do({ type: "sharing_set", node: "", projects: [] });
    for (const [node, machine] of [
      ["a", "laptop"],
      ["b", "desk"],
    ] as const)
      this.store.join(node, machine);
  }

  breakAt({ at, how, isKill = false }: Break): void {
    [this.#left, this.#how, this.#isKill] = [at, how, isKill];
  }

  /** The daemon starts anew: nothing breaks off any more. */
  revive(): void {
    this.breakAt({ at: Number.POSITIVE_INFINITY, how: "refused" });
  }

  get isDead(): boolean {
    return this.#isKill && this.#left <= 0;
  }

  readonly #refused: Reply = { ok: false, code: "store_away", error: "the store does not answer" };

  async #enter(apply: () => Reply): Promise<Reply> {
    return this.#step(apply);
  }

  #step(apply: () => Reply): Reply {
    if (this.isDead) return this.#refused;
    this.count += 1;
    this.#left -= 1;
    if (this.#left === 0 && this.#how === "refused") return this.#refused;
    const reply = apply();
    this.meanwhile();
    return this.#left === 0 ? this.#refused : reply;
  }

  get logs(): BothLogs {
    const { own, store } = this;
    const log = (world: World, apply: (command: Command) => Reply) => ({
      state: world.state,
      get now() {
        return world.now;
      },
      submitAndWait: (command: Command) => this.#enter(() => apply(command)),
    });
    return {
      own: log(own, command => own.do(command)),
      shared: log(store, command => store.as("a", command)),
      node: "a",
      machine: "laptop",
      records: this.records,
      wall: () => this.own.now,
      relayed: async () => {
        if (this.isDead) return false;
        store.take("a", own);
        return true;
      },
    };
  }

  /** What this machine calls what the store has. */
  readonly outward = <Shown>(shown: Shown): Shown => this.#names.outward(shown, project);

  readonly #names = new SharedNames({
    ...{ node: "a", own: () => this.own.state, shared: () => this.store.state },
  });

  add(description: string, more: { dependsOn?: readonly string[] } = {}): string {
    const task = {
      name: null,
      description,
      priority: "normal",
      labels: ["x"],
      dependsOn: [],
      ...more,
    } as const;
    const made = this.own.do({
      ...{ type: "task_create", by: null, tasks: [task], many: false, project, wallMs: 1000 },
    });
    return (made as unknown as { task: { id: string } }).task.id;
  }

  set(enter: (command: Command) => Reply, key: string, value: string, of = project, durable = true): void {
    const reply = enter({
      ...{ type: "context_set", actor: null, project: of, key, value, bytes: value.length + 2, durable },
      ...{ ifVersion: null, ttlMs: null, wallMs: 5 },
    });
    expect(reply.ok).toBe(true);
  }

  context(world: World, of: string): Record<string, unknown> {
    return Object.fromEntries([...itemsOf(world.state.context, of, world.now)].map(i => [i.key, i.value]));
  }

  /** The texts of tasks that shares kept in the store, in the order of setting. */
  texts(): readonly unknown[] {
    const all = [...this.store.state.context.items.values()];
    return all.filter(({ key }) => /^task\/\d+\/.*@laptop/.test(key)).map(({ value }) => value);
  }

  tasks(world: World, of: string): readonly string[] {
    const { tasks } = contentsOf({ log: { ...this.logs.own, state: world.state }, project: of });
    return tasks.map(task => {
      const by = claimerOf(task)?.session;
      const on = task.dependsOn.map(id => world.state.tasks.all.get(id)?.description).join(",");
      return `${task.description} ${task.state.status}${by === undefined ? "" : ` by ${by.replace(/@.*/, "")}`}${on === "" ? "" : ` on ${on}`}`;
    });
  }
}
