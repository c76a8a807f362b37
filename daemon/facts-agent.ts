import { limits } from "../protocol/limits.ts";
import type { Outside, Unreachable } from "./facts-outside.ts";

/** Only files of this form are read, whatever an event names: what the client keeps of a session's agents. */
const agentFile = /\/projects\/[^/]+\/[\w-]+\/subagents\/agent-[\w-]+\.meta\.json$/;

/**
 * The agent that began another one, as the client's own file about it says; null where it says none, is not there or
 * is not such a file.
 */
export async function parentAgent(outside: Outside, file: string): Promise<string | null | Unreachable> {
  if (!agentFile.test(file) || file.includes("/../")) return null;
  const text = await outside.fact(budget =>
    outside.look(file, null, budget, (prober, path) => prober.readSmall(path, limits.smallFileBytes), {
      maybeElsewhere: true,
    }),
  );
  if (typeof text !== "string") return text;
  try {
    const value: unknown = JSON.parse(text);
    const parent =
      typeof value === "object" && value !== null ? Reflect.get(value, "parentAgentId") : undefined;
    return typeof parent === "string" && parent.length <= limits.idBytes ? parent : null;
  } catch {
    // Half written, or of another client: the agent counts as the main one's own.
    return null;
  }
}
