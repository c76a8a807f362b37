import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { NewTask, TaskUpdate } from "../../daemon/core/tables/tasks.ts";
import { classOf, type Task } from "../../daemon/core/tables/tasks.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import { actor, World } from "./core-world.ts";

export const project = "/p";

export type SomeTask = Partial<NewTask> & { readonly description: string };

export function createOf(tasks: readonly SomeTask[], by: string | null = null, wallMs = 0): Command {
  const plain = { name: null, priority: "normal", labels: [], dependsOn: [] } as const;
  const all = tasks.map(task => ({ ...plain, ...task }));
  const who = by === null ? null : actor(by);
  return { type: "task_create", by: who, tasks: all, many: all.length > 1, project, wallMs };
}

export function claimOf(
  who: string | Actor,
  task: string | null = null,
  labels: readonly string[] = [],
  wallMs = 0,
): Command {
  return { type: "task_claim", actor: actor(who), task, labels, project, cwd: "/p", wallMs };
}

export function updateOf(
  who: string | Actor | null,
  task: string,
  more: Partial<TaskUpdate>,
  wallMs = 0,
): Command {
  const none = {
    status: null,
    result: null,
    dependsOn: null,
    description: null,
    priority: null,
    labels: null,
  };
  const by = who === null ? null : actor(who);
  return { type: "task_update", by, task, ...none, project, cwd: "/p", wallMs, ...more };
}

export function releaseOf(who: string | null, task: string): Command {
  return { type: "task_release", by: who === null ? null : actor(who), task, wallMs: 0 };
}

/** The core with tasks known by their description. */
export class TaskWorld extends World {
  /** Creates tasks, all at once, each named by its description for the others. */
  create(...tasks: readonly (string | SomeTask)[]): string[] {
    const asked = tasks.map(task => (typeof task === "string" ? { description: task } : task));
    const named = asked.map(task => ({ name: task.description, ...task }));
    const reply = this.do(createOf(named));
    if (!reply.ok) throw new Error(reply.error);
    return asked.map(({ description }) => this.id(description));
  }

  task(description: string): Task {
    const found = [...this.state.tasks.all.values()].filter(task => task.description === description);
    const [task] = found;
    if (task === undefined || found.length > 1) throw new Error(`${found.length} tasks are "${description}"`);
    return task;
  }

  id(description: string): string {
    return this.task(description).id;
  }

  /** Every task's description with what it is: ready, blocked, active, done or failed. */
  get board(): Readonly<Record<string, string>> {
    const { all } = this.state.tasks;
    return Object.fromEntries([...all.values()].map(t => [t.description, classOf(this.state.tasks, t)]));
  }

  /** The events of the latest command, as its name and the task or tasks. */
  get events(): string[] {
    return (this.steps.at(-1)?.events ?? []).map(({ event }) => this.#told(event));
  }

  #told(event: KiteEvent): string {
    if ("task" in event) return `${event.event} ${event.description}`;
    if (!("tasks" in event)) return event.event;
    const names = event.tasks.map(id => this.state.tasks.all.get(id)?.description ?? id);
    return `${event.event} ${names.join(" + ")}`;
  }
}
