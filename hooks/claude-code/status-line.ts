/** Words the status line of a session, for the person in front of it. */

import type { HookReply } from "../../protocol/schemas/hook.ts";
import { plain } from "../../protocol/text.ts";
import { outcomeOf } from "../plans/answers/outcome.ts";
import type { Glance } from "../seam/outcomes.ts";
import type { HookOutcome } from "../seam/slices.ts";

/** Longest name of a file or an agent, in UTF-16 units. */
const nameChars = 24;

/** One line: the name by which others call the session, then what concerns the person most; nothing if the daemon does not know the session. */
export function statusLine(outcomes: readonly HookOutcome[]): Omit<HookReply, "ok"> {
  const looked = outcomeOf(outcomes, "glance");
  const glance = looked !== undefined && looked.did === "glance" && looked.ok ? looked.glance : null;
  return { output: glance === null ? "" : `kite: ${parts(glance).join(" · ")}\n` };
}

function parts({ name, holds, moreHolds, waiters, waitsFor, readyTasks, unread }: Glance): string[] {
  const [held] = holds;
  const [waiter] = waiters;
  const moreHeld = holds.length + moreHolds - 1;
  const behind = waitsFor === null || waitsFor.holder === null ? "" : ` (${short(waitsFor.holder)})`;
  return [
    short(name),
    ...(waitsFor === null ? [] : [`waits for ${fileName(waitsFor.file)}${behind}`]),
    ...(waiter === undefined ? [] : [`${short(waiter)}${more(waiters.length - 1)} waits for you`]),
    held === undefined ? "no locks" : `holds ${fileName(held)}${more(moreHeld)}`,
    ...(readyTasks === 0 ? [] : [`${readyTasks} ${readyTasks === 1 ? "task" : "tasks"} ready`]),
    ...(unread === 0 ? [] : [`${unread} unread`]),
  ];
}

function more(count: number): string {
  return count === 0 ? "" : ` +${count}`;
}

function fileName(file: string): string {
  return short(/[^/]+\/?$/.exec(file)?.[0] ?? file);
}

function short(name: string): string {
  return plain(name, nameChars);
}
