/** The second hook of a Stop: it wakes its session when a file is free that was refused to it. */

import { limits } from "../../../protocol/limits.ts";
import { frame, nearPath, quote } from "../../../protocol/text.ts";
import type { FreedFile } from "../../seam/notices.ts";
import type { HookOutcome } from "../../seam/plan.ts";
import { nothing, type Output, wake } from "../answers/output.ts";
import { type Event, field } from "../payload.ts";
import { idle, mainOf, type Row } from "../plan-parts.ts";

const opening = "Kite: a file that you were refused is free now.";

/**
 * Where nobody sits in front of the session, nobody expects it to go on by itself. The turn is ended by the hook
 * beside this one; this one begins, takes and ends nothing.
 */
export const wakingStop: Row = (event, actor, { env }) => {
  const isAttended = env["CLAUDE_CODE_SESSION_ATTENDED"] === "1";
  if (field(event, "hook_event_name") !== "Stop" || actor.agent !== undefined || !isAttended) return idle;
  const { session } = mainOf(actor);
  const cwd = field(event, "cwd") ?? "";
  return {
    actions: [{ do: "wake", session, promptId: field(event, "prompt_id") }],
    answer: outcomes => answer(cwd, outcomes),
  };
};

function answer(cwd: string, outcomes: readonly HookOutcome[]): Output {
  const [woken] = outcomes;
  return woken?.did === "wake" && woken.ok && woken.freed !== null ? wake(notice(cwd, woken.freed)) : nothing;
}

/** Said to the model as what the hook found wrong: so it begins with what is right, and asks for little. */
function notice(cwd: string, { file, had }: FreedFile): string {
  const name = quote(nearPath(file, cwd));
  const who = had === null ? "Nobody has" : `${quote(had, limits.nameBytes)} had`;
  const now = had === null ? " now" : ", and has it no more";
  return [
    opening,
    `${frame} ${who} ${name}${now}.`,
    "It is not locked for you, and may have changed: read it again before you edit it. " +
      "If you have no use for it any more, say so and stop.",
  ].join("\n");
}

/**
 * Whether the client wrote the prompt itself: a wake-up, an agent's end, a teammate's message. One that another
 * program puts into the session looks like a person's.
 */
export function isMachineMade(event: Event): boolean {
  const { prompt } = event;
  if (typeof prompt !== "string") return false;
  return /^\s*<(?:task-notification|agent-message)[\s>]/.test(prompt) || prompt.includes(opening);
}
