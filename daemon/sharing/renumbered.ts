/**
 * Tells agents of this machine what a move between the logs changed of the tasks that they work on. A task may have another
 * number. Or the claim is gone, because the other log has the task as somebody else's.
 *
 * Invariants: an agent hears of its own tasks alone, by a message in the machine's own log. A move that broke off, and runs again,
 * tells of the same task once, within `limits.replyKeptMs`.
 */
import { limits } from "../../protocol/limits.ts";
import type { CopyNotes } from "../../protocol/schemas/store.ts";
import type { State } from "../core/state.ts";
import type { Command } from "../core/tables/entries.ts";
import { claimerOf, numberOf, type Task } from "../core/tables/tasks.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import { becameOf, goneText, letterTo } from "../sessions/claim-watch.ts";

/** Returns the messages on the numbers that tasks of the own log get; `isShared`: in the shared log, else they came from there. */
export function numberLetters(
  own: State,
  numbers: CopyNotes["numbers"],
  { isShared, at }: { readonly isShared: boolean; readonly at: number },
): readonly Command[] {
  const why = isShared ? "is shared with other machines now" : "is no longer shared with other machines";
  return numbers.flatMap(({ task: id, before, after }) => {
    const task = own.tasks.all.get(id);
    if (task === undefined) return [];
    const named = `task #${before} ${JSON.stringify(task.description.slice(0, limits.quoteChars))}`;
    const text = `Kite: ${named} of yours is #${after} now: this project ${why}. Use #${after} from now on.`;
    return letter(own, task, { text, at, by: isShared ? "share: numbers" : "leave: numbers" });
  });
}

/** Returns the messages on claims of the own log that the shared one does not have. */
export function releasedLetters(
  own: State,
  shared: State,
  released: readonly string[],
  at: number,
): readonly Command[] {
  return released.flatMap(id => {
    const task = own.tasks.all.get(id);
    const there = shared.tasks.all.get(id);
    if (task === undefined || there === undefined) return [];
    const became = `${becameOf(there, assigneeOf(shared, there)?.name ?? null)} in the store that this project is shared through now`;
    // People and agents speak of it by the number that it has there.
    const text = goneText({ ...task, number: numberOf(there) }, became);
    return letter(own, task, { text, at, by: "share: claims" });
  });
}

/** `by`: what of a move tells it. */
function letter(
  own: State,
  task: Task,
  { text, at, by }: { readonly text: string; readonly at: number; readonly by: string },
): readonly Command[] {
  const claimer = claimerOf(task);
  // Each copy of a task has a place of its own in the order of all.
  const retry = { by, requestId: `${task.id} ${task.n}`, digest: "" };
  const made = claimer === null ? null : letterTo(own, claimer, { text, at, retry });
  return made === null ? [] : [made];
}
