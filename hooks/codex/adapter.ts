import { namedAdapter } from "../plans/named-adapter.ts";
import { codexClient } from "./client.ts";
import { rows } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/** The adapter for Codex. The hook's parent may run many sessions. */
export const codex = namedAdapter({
  client: codexClient,
  steps: { PreToolUse: "before", PostToolUse: "after" },
  rows,
  write: writeAnswer,
});
