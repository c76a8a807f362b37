/**
 * The second hook of a Stop: it wakes its session when a file is free that the session was refused, when an agent that it
 * leads stalls, when a merge of its branch comes back, or when it has not heard that others changed or removed its work.
 */

import { limits } from "../../protocol/limits.ts";
import { frame, nearPath, quote } from "../../protocol/text.ts";
import type { FreedFile, ReturnedMerge } from "../seam/notices.ts";
import type { HookOutcome } from "../seam/slices.ts";
import { type Answer, nothing } from "./answers/answer.ts";
import { newsText } from "./answers/slices.ts";
import type { Actor, Event } from "./event.ts";
import { idle, mainOf, type Plan } from "./plan-parts.ts";

const opening = "Kite: a file that you were refused is free now.";
/** By it the prompt that follows is known as no person's. */
const alarmOpening = "Kite wakes you, as an agent that you lead may need you.";
const returnOpening = "Kite wakes you, as a merge came back.";
const noticeOpening = "Kite wakes you, as other agents changed or removed work of yours.";

/**
 * Waits until something wakes the session. An unattended one is woken only if Kite spawned it: of others no person expects that
 * they go on by themselves. The hook beside this one ends the turn; this one begins, locks and ends nothing.
 */
export function awaitWake(event: Event, actor: Actor, isAttended: boolean): Plan {
  if (actor.agent !== undefined) return idle;
  const { session } = mainOf(actor);
  const cwd = event.cwd ?? "";
  return {
    actions: [
      {
        do: "await_release",
        session,
        promptId: event.prompt,
        ...(isAttended ? {} : { unattended: true as const }),
      },
    ],
    answer: outcomes => answer(cwd, outcomes),
  };
}

function answer(cwd: string, outcomes: readonly HookOutcome[]): Answer {
  const [woken] = outcomes;
  if (woken?.did !== "await_release" || !woken.ok) return nothing;
  if (woken.freed !== null) return { wakes: notice(cwd, woken.freed) };
  if (woken.cameBack !== undefined) return { wakes: returned(woken.cameBack) };
  if (woken.hasNotice === true)
    return { wakes: `${noticeOpening}\nThe notes that say how come with this prompt.` };
  return woken.health.length === 0
    ? nothing
    : { wakes: `${alarmOpening}\n${newsText(woken.health, { isTeammate: false })}` };
}

/** The client shows this to the model as a hook's error, so it begins with good news and asks for little. */
function notice(cwd: string, { file, had }: FreedFile): string {
  const name = quote(nearPath(file, cwd));
  const who = had === null ? "No agent holds" : `${quote(had, limits.nameBytes)} no longer holds`;
  return [
    opening,
    `${frame} ${who} ${name}.`,
    "It is not locked for you, and may have changed: read it again before you edit it. " +
      "If you no longer need it, say so and stop.",
  ].join("\n");
}

/** The message says why, and what to do: the prompt that the client makes of this text brings it. */
function returned({ merge, branch, base }: ReturnedMerge): string {
  return [
    returnOpening,
    `${frame} ${quote(branch)} was not merged into ${quote(base)} (${merge}).`,
    "The message that says why comes with this prompt; if you see none, read it: kite message inbox.",
  ].join("\n");
}

/** Whether a prompt is the text by which Kite woke the session. */
export function isWakeText(prompt: string): boolean {
  return [opening, alarmOpening, returnOpening, noticeOpening].some(text => prompt.includes(text));
}
