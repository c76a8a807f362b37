/** Finds the agent that runs a command: the hook event before the command told the daemon. */
import { readFileSync } from "node:fs";
import { KiteClient } from "../client/client.ts";
import { LocalError, NotRunning } from "../client/errors.ts";
import { ancestorsOf, parentOf } from "../daemon/facts/processes.ts";
import { limits } from "../protocol/limits.ts";
import { kitePaths } from "../protocol/paths.ts";
import { type Acting, actingSession, isTerminalSession } from "./actor.ts";
import { Refused } from "./with-daemon.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the session's agent that ran `words`; null for its main agent or a person. Throws `Refused` if several agents may
 * be it, and `LocalError` if the daemon does not say: nobody acts for an agent by a guess.
 */
export async function callingAgent(env: Env, words: readonly string[]): Promise<string | null> {
  const acting = actingSession(env);
  if (env["CLAUDECODE"] !== "1" || acting === null || acting.agent !== undefined) return null;
  const typed = words.join(" ").slice(0, limits.typedChars);
  const shells = shellsBelow(Number(env["CLAUDE_PID"]));
  const client = await connected(env);
  // No daemon: the command itself reports it.
  if (client === null) return null;
  try {
    const answer = await client.request("whoami", { id: acting.id, typed, shells: [...shells] });
    if (!answer.ok && answer.code === "ambiguous_caller") throw new Refused(answer);
    return answer.ok && answer.by === "typed" ? answer.agent : null;
  } finally {
    client.close();
  }
}

/**
 * Returns the session and agent of another client than Claude Code whose shell runs `words`: no variable names them, but the
 * client's process is above this one, and its hook told what was typed. Null: there is none, or no daemon. Throws `Refused` if
 * several may be it.
 */
export async function callingSession(env: Env, words: readonly string[]): Promise<Acting | null> {
  if (env["CLAUDECODE"] === "1" || actingSession(env) !== null) return null;
  const above = ancestorsOf(process.pid);
  if (above.length === 0) return null;
  let client: KiteClient | null = null;
  try {
    client = await connected(env);
    if (client === null) return null;
    const answer = await client.request("whoami", {
      typed: words.join(" ").slice(0, limits.typedChars),
      pids: above.map(({ pid }) => pid),
      starts: above.map(({ startTime }) => startTime),
    });
    if (!answer.ok && answer.code === "ambiguous_caller") throw new Refused(answer);
    if (!answer.ok || isTerminalSession(env, answer.id)) return null;
    return { id: answer.id, ...(answer.agent === null ? {} : { agent: answer.agent }) };
  } catch (error) {
    // A daemon that does not answer: what the command needs of it, it reports itself.
    if (error instanceof Refused || !(error instanceof LocalError)) throw error;
    return null;
  } finally {
    client?.close();
  }
}

async function connected(env: Env): Promise<KiteClient | null> {
  try {
    return await KiteClient.connect({ paths: kitePaths(env), name: "kite", timeoutMs: limits.whoamiMs });
  } catch (error) {
    if (error instanceof NotRunning) return null;
    throw error;
  }
}

/**
 * Returns the command lines of the processes between `client` and this one, without quotes and blanks, the nearest first.
 * Empty if `client` is not above this process, or if the system has no `/proc`.
 */
function shellsBelow(client: number, pid: number = process.pid): readonly string[] {
  const shells: string[] = [];
  for (let at = parentOf(pid); at !== client; at = parentOf(at)) {
    if (at === null || shells.length >= limits.shellsMax) return [];
    const line = commandLineOf(at);
    if (line === null) return [];
    shells.push(line.replace(/["'\\\s\0]+/g, "").slice(0, limits.shellChars));
  }
  return shells;
}

function commandLineOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return null; // Not Linux, or the process has just ended.
  }
}
