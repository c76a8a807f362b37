/** Tasks in a transcript: they are known by their words, and written so in what comes of them. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import type { TaskUpdate } from "../../daemon/core/tables/tasks.ts";
import { classOf } from "../../daemon/core/tables/tasks.ts";
import { assigneeOf, blockedBy } from "../../daemon/core/tasks/replies.ts";
import { roles } from "../../protocol/lead/roles.ts";
import { type Risk, risks } from "../../protocol/names.ts";
import type { TaskPriority } from "../../protocol/schemas/task.ts";

/** What follows a command's name: `word`, or `name=value`. */
export interface Words {
  readonly plain: readonly string[];
  readonly named: ReadonlyMap<string, string>;
}

const place = { project: "/p", cwd: "/p", wallMs: 0 };

/** The command that a line about tasks stands for, or null where it is about something else. */
export function taskCommand(
  state: State,
  actor: Actor,
  verb: string,
  { plain, named }: Words,
): Command | null {
  const [name = ""] = plain;
  const task = idOf(state, name);
  const labels = list(named, "label");
  const set = (more: Partial<TaskUpdate>): Command => {
    const none = {
      status: null,
      result: null,
      dependsOn: null,
      description: null,
      priority: null,
      labels: null,
    };
    return { type: "task_update", by: byOf(actor, named), task, ...none, ...place, ...more };
  };
  switch (verb) {
    case "task_create": {
      const after = list(named, "after");
      const tasks = plain.map(description => ({
        name: description,
        description,
        priority: priorityOf(named.get("priority")),
        labels,
        dependsOn: after.map(other => (plain.includes(other) ? other : idOf(state, other))),
        ...riskIn(named),
      }));
      return { type: "task_create", by: actor, tasks, many: true, project: "/p", wallMs: 0 };
    }
    case "task_claim":
      return { type: "task_claim", actor, task: name === "" ? null : task, labels, ...place };
    case "task_release":
      return { type: "task_release", by: actor, task, wallMs: 0 };
    case "task_done":
      return set({ status: "done", result: named.get("result") ?? null });
    case "task_fail":
      return set({ status: "failed", result: named.get("why") ?? null });
    case "task_retry":
      return set({ status: "pending" });
    case "task_after":
      return set({ dependsOn: list(named, "after").map(other => idOf(state, other)) });
    case "task_rate":
      return set({ ...riskIn(named) });
    case "task_approve":
      return { type: "task_approve", by: byOf(actor, named), task, wallMs: 0 };
    case "role_set": {
      const role = roles.find(one => one === plain[1]) ?? null;
      return { type: "role_set", by: byOf(actor, named), name, role, project: "/p" };
    }
    case "task_remove":
      return { type: "task_remove", by: actor, tasks: plain.map(one => idOf(state, one)) };
    default:
      return null;
  }
}

/** Every task with what it is, who has it, and what is in its way. */
export function shownTasks(state: State): string[] {
  const { tasks } = state;
  if (tasks.all.size === 0) return ["there are no tasks"];
  return [...tasks.all.values()].map(task => {
    const who = assigneeOf(state, task);
    const open = blockedBy(state, task).map(({ task: id, status }) => `${wordsOf(state, id)} (${status})`);
    const after = open.length === 0 ? "" : ` by ${open.join(" + ")}`;
    const tried = task.attempts === 0 ? "" : `, attempts ${task.attempts}`;
    const whose = who === null ? "" : ` (${who.name})`;
    const risk =
      task.risk === undefined ? "" : `, ${task.risk}${task.approved === true ? " and approved" : ""}`;
    return `${task.description}: ${classOf(tasks, task)}${whose}${after}${tried}${risk}`;
  });
}

/** A reply about one task in words, or null. */
export function taskTold(reply: Reply): string | null {
  const task = reply.ok ? reply["task"] : null;
  if (typeof task !== "object" || task === null || !("description" in task && "status" in task)) return null;
  return `${String(task.description)}, ${String(task.status)}`;
}

/** `as=person`: a person asks for it. */
function byOf(actor: Actor, named: ReadonlyMap<string, string>): Actor | null {
  return named.get("as") === "person" ? null : actor;
}

function riskIn(named: ReadonlyMap<string, string>): { readonly risk?: Risk } {
  const risk = risks.find(one => one === named.get("risk"));
  return risk === undefined ? {} : { risk };
}

function idOf(state: State, name: string): string {
  for (const task of state.tasks.all.values()) if (task.description === name) return task.id;
  return name;
}

function wordsOf(state: State, id: string): string {
  return state.tasks.all.get(id)?.description ?? id;
}

function list(named: ReadonlyMap<string, string>, name: string): readonly string[] {
  return named.get(name)?.split(",") ?? [];
}

function priorityOf(word: string | undefined): TaskPriority {
  return word === "high" || word === "low" ? word : "normal";
}
