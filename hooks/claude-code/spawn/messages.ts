/** What an agent and its user said last, from the lines of a session's transcript. */
import { within } from "../../plans/event.ts";

export interface LastMessage {
  /** `agent`: the model; `prompt`: who prompts it. */
  readonly by: "agent" | "prompt";
  /** When, as the client writes it (ISO 8601); null: the line does not say. */
  readonly at: string | null;
  readonly text: string;
}

/** Returns the last `max` messages, oldest first. A message without words says which tools it uses; results of tools are none. */
export function messagesIn(lines: readonly string[], max: number): LastMessage[] {
  const found: LastMessage[] = [];
  for (const line of lines.toReversed()) {
    const said = saidIn(line);
    if (said !== null) found.push(said);
    if (found.length === max) break;
  }
  return found.reverse();
}

function saidIn(line: string): LastMessage | null {
  const value = parsed(line);
  const type = within(value, "type");
  if ((type !== "user" && type !== "assistant") || within(value, "isMeta") === true) return null;
  const text = textOf(within(within(value, "message"), "content"));
  const at = within(value, "timestamp");
  return text === ""
    ? null
    : { by: type === "user" ? "prompt" : "agent", at: typeof at === "string" ? at : null, text };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content.trim();
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap(block =>
    within(block, "type") === "text" ? [String(within(block, "text"))] : [],
  );
  const tools = content.flatMap(block =>
    within(block, "type") === "tool_use" ? [String(within(block, "name"))] : [],
  );
  const words = texts.join("\n").trim();
  return words === "" && tools.length > 0 ? `uses ${tools.join(", ")}` : words;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null; // The end of the file may have the second half of a line.
  }
}
