/** Finds the agent that runs a command: the hook event before the command told the daemon. */
import { KiteClient } from "../client/client.ts";
import { LocalError, NotRunning } from "../client/errors.ts";
import { limits } from "../protocol/limits.ts";
import { kitePaths } from "../protocol/paths.ts";
import { actingSession } from "./actor.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the session's agent that ran `words`; null for its main agent or a person. */
export async function callingAgent(env: Env, words: readonly string[]): Promise<string | null> {
  const acting = actingSession(env);
  if (env["CLAUDECODE"] !== "1" || acting === null || acting.agent !== undefined) return null;
  const typed = words.join(" ").slice(0, limits.typedChars);
  try {
    const client = await KiteClient.connect({
      paths: kitePaths(env),
      name: "kite",
      timeoutMs: limits.whoamiMs,
    });
    try {
      const answer = await client.request("whoami", { id: acting.id, typed });
      return answer.ok && answer.by === "typed" ? answer.agent : null;
    } finally {
      client.close();
    }
  } catch (error) {
    // No daemon: the command itself reports it.
    if (error instanceof NotRunning) return null;
    if (!(error instanceof LocalError)) throw error;
    process.stderr.write(
      `kite: could not find out which agent runs this, so it counts as the main agent: ${error.message}\n`,
    );
    return null;
  }
}
