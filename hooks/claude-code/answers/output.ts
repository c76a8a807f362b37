/** The JSON that the client reads as a hook's answer. */
import type { HookPlan } from "../../seam/plan.ts";
import { within } from "../payload.ts";

/**
 * One answer. No function here says `permissionDecision: "allow"`: that would skip the
 * dialog in which a person decides.
 */
export type Output = ReturnType<HookPlan["answer"]>;

export const nothing: Output = { output: "" };

/** The tool does not run; its model reads `reason`. */
export function deny(reason: string): Output {
  return specific("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: reason });
}

/** The agent goes on instead of stopping, or the task is not completed; its model reads `reason`. */
export function block(reason: string): Output {
  return { output: JSON.stringify({ decision: "block", reason }) };
}

/** The model reads `text` with the event; with `PostToolUse`, for which the client does not wait, with the next message. */
export function context(
  event: "PreToolUse" | "SessionStart" | "SubagentStart" | "PostToolUse",
  text: string,
): Output {
  return specific(event, { additionalContext: text });
}

/** Events whose answer its agent reads at once. */
export type WaitingEvent = "PreToolUse" | "UserPromptSubmit" | "PostToolUseFailure";

/** `said`, and `text` for the model beside it, also beside a denial. */
export function withContext(event: WaitingEvent, said: Output, text: string): Output {
  const before: unknown = said.output === "" ? {} : JSON.parse(said.output);
  const own = within(before, "hookSpecificOutput");
  const known = within(own, "additionalContext");
  const additionalContext = typeof known === "string" ? `${known}\n${text}` : text;
  const hookSpecificOutput = { hookEventName: event, ...objectOf(own), additionalContext };
  return { ...said, output: JSON.stringify({ ...objectOf(before), hookSpecificOutput }) };
}

/** `said`, and `text` for the person, unless `said` has a text for the person already. */
export function alsoTellPerson(said: Output, text: string): Output {
  const before: unknown = said.output === "" ? {} : JSON.parse(said.output);
  if (within(before, "systemMessage") !== undefined) return said;
  return { ...said, output: JSON.stringify({ systemMessage: text, ...objectOf(before) }) };
}

/** The person reads `text`, the model does not. */
export function tellPerson(text: string): Output {
  return { output: JSON.stringify({ systemMessage: text }) };
}

function objectOf(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

/** Wakes the session; its model reads `text`. Only for the one hook whose exit code 2 wakes and blocks nothing. */
export function wake(text: string): Output {
  return { output: "", exitCode: 2, stderr: `${text}\n` };
}

function specific(hookEventName: string, fields: Readonly<Record<string, string>>): Output {
  return { output: JSON.stringify({ hookSpecificOutput: { hookEventName, ...fields } }) };
}
