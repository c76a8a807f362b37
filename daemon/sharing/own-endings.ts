/**
 * Claims in the shared log that an agent of this machine is about to end itself. The agent then needs no message that the
 * claim is gone.
 *
 * Invariants: a claim is here from before the command goes to the store until an answer says what became of it. If nobody
 * can say, the claim stays until the store is open anew and shows it.
 */

import type { State } from "../core/state.ts";
import type { Command, Reply } from "../core/tables/entries.ts";
import { claimerOf, type Task } from "../core/tables/tasks.ts";
import { findTask, isTask } from "../core/tasks/replies.ts";
import { isUnknown } from "./unsettled.ts";

interface Ending {
  /** How many commands are under way; 0: nobody knows what became of the last. */
  count: number;
  /** False: the release of an agent, of which it hears otherwise while this daemon lives. */
  isOwn: boolean;
}

export class OwnEndings {
  readonly #tasks = new Map<string, Ending>();
  /** Hears before a command goes to the store. */
  onSent: () => void = () => {};
  /** Hears that a claim is over, or stays. */
  onSettled: (task: string, isOver: boolean) => void = () => {};

  has(task: string): boolean {
    return this.#tasks.has(task);
  }

  /** Whether the agent itself ends the claim, which the next daemon has to know, too. */
  isOwn(task: string): boolean {
    return this.#tasks.get(task)?.isOwn === true;
  }

  /** The command goes to the store now. Returns what takes its answer, or null if none came. */
  sent(state: State, command: Command): (reply: Reply | null) => void {
    const found = endedBy(state, command);
    if (found === null) return () => {};
    const { task, isOwn } = found;
    const ending = this.#tasks.get(task.id) ?? { count: 0, isOwn };
    ending.count += 1;
    ending.isOwn ||= isOwn;
    this.#tasks.set(task.id, ending);
    this.onSent();
    return reply => {
      ending.count -= 1;
      if (reply === null || isUnknown(reply)) return;
      if (ending.count === 0) this.#tasks.delete(task.id);
      this.onSettled(task.id, reply.ok);
    };
  }

  /** The store is open, and its state shows what became of those that nobody knew of. */
  shown(): void {
    for (const [task, { count }] of this.#tasks) if (count === 0) this.#tasks.delete(task);
  }
}

/** Returns the task whose claim the command ends, if its claimer does that or hears of it otherwise. */
function endedBy(state: State, command: Command): { readonly task: Task; readonly isOwn: boolean } | null {
  if (command.type !== "task_release" && command.type !== "task_update") return null;
  if (command.type === "task_update" && (command.status ?? "active") === "active") return null;
  const task = findTask(state, command.task, command.project ?? null);
  const claimer = isTask(task) ? claimerOf(task) : null;
  if (!isTask(task) || claimer === null) return null;
  const isOwn = command.by?.session === claimer.session;
  const isRelease = command.type === "task_release" && command.cause !== undefined;
  return isOwn || isRelease ? { task, isOwn: isOwn && !isRelease } : null;
}
