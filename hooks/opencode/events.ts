/** Every event that the plugin sends. `rows.ts` says what each asks of the daemon. */
export const events = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "SubagentStart",
  "SubagentStop",
  "Stop",
  "SessionEnd",
] as const;

export type EventName = (typeof events)[number];
