import type { HookPlan } from "../../seam/plan.ts";
import { within } from "../payload.ts";

/**
 * What the client understands as a hook's answer. There is no way here to say `permissionDecision: "allow"`:
 * it would skip the dialog in which a person decides.
 */
export type Output = ReturnType<HookPlan["answer"]>;

export const nothing: Output = { output: "" };

/** The tool does not run; its model reads `reason`. */
export function deny(reason: string): Output {
  return specific("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: reason });
}

/** Events whose answer the client takes though it does not wait for it. */
export type LateEvent = "PostToolUse" | "PostToolUseFailure";

/** The model reads `text` beside what happens; of a `LateEvent` with the next message. */
export function context(event: "PreToolUse" | "SessionStart" | LateEvent, text: string): Output {
  return specific(event, { additionalContext: text });
}

/** What was said, and `text` for the model beside it, beside a denial too. */
export function withContext(event: "PreToolUse" | "UserPromptSubmit", said: Output, text: string): Output {
  const before: unknown = said.output === "" ? {} : JSON.parse(said.output);
  const own = within(before, "hookSpecificOutput");
  const known = within(own, "additionalContext");
  const additionalContext = typeof known === "string" ? `${known}\n${text}` : text;
  const hookSpecificOutput = { hookEventName: event, ...objectOf(own), additionalContext };
  return { ...said, output: JSON.stringify({ ...objectOf(before), hookSpecificOutput }) };
}

/** What was said, and `text` for the person, unless there is a word for them already. */
export function alsoTellPerson(said: Output, text: string): Output {
  const before: unknown = said.output === "" ? {} : JSON.parse(said.output);
  return { ...said, output: JSON.stringify({ systemMessage: text, ...objectOf(before) }) };
}

/** The person reads `text`, the model does not. */
export function tellPerson(text: string): Output {
  return { output: JSON.stringify({ systemMessage: text }) };
}

function objectOf(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

/** Wakes the session; its model reads `text`. For the one hook alone whose exit code does that and stops nothing. */
export function wake(text: string): Output {
  return { output: "", exitCode: 2, stderr: `${text}\n` };
}

function specific(hookEventName: string, fields: Readonly<Record<string, string>>): Output {
  return { output: JSON.stringify({ hookSpecificOutput: { hookEventName, ...fields } }) };
}
