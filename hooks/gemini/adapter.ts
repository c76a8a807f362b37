import { type Event, within } from "../plans/event.ts";
import { namedAdapter } from "../plans/named-adapter.ts";
import { geminiClient } from "./client.ts";
import { rows } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/**
 * The adapter for Gemini CLI, which names no agents, no turns and no calls: all agents of a session are one owner.
 */
export const gemini = namedAdapter({
  client: geminiClient,
  steps: { BeforeTool: "before", AfterTool: "after" },
  rows,
  prepare: atItsPlace,
  write: writeAnswer,
});

/** A command's own directory stands in its input, absolute or relative to the session's. */
function atItsPlace(payload: Event["raw"]): Event["raw"] {
  const { cwd } = payload;
  const place = within(payload["tool_input"], "dir_path");
  if (payload["tool_name"] !== geminiClient.words.shellTool) return payload;
  if (typeof cwd !== "string" || typeof place !== "string" || place === "") return payload;
  return { ...payload, cwd: place.startsWith("/") ? place : `${cwd}/${place}` };
}
