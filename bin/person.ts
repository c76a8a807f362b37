/** Whether a person runs this command, or an agent: only a person trusts checks, gives roles and says yes to a task. */
import { LocalError } from "../client/errors.ts";
import { parentOf } from "../daemon/facts/processes.ts";
import { limits } from "../protocol/limits.ts";
import { actingSession, isTerminalSession } from "./actor.ts";
import type { ProcessContext } from "./process-context.ts";
import { fail } from "./with-daemon.ts";

/**
 * Whether an agent's shell runs this command: by its environment, or because a session's process is above it, if a daemon
 * runs to say so. A program that wants to hide from this can; Kite is a seat belt.
 */
export async function isAgents(world: ProcessContext, pid: number = process.pid): Promise<boolean> {
  // A check's program is what agents write.
  if (world.env["KITE_CHECK"] !== undefined) return true;
  if (world.env["CLAUDECODE"] === "1" || actingSession(world.env) !== null) return true;
  return isBelowAgent(world, pid);
}

/** Whether a person's terminal runs this command, or a command that a person's `kite lock` began. */
export async function isPersons(world: ProcessContext, pid: number = process.pid): Promise<boolean> {
  const { env } = world;
  const acting = actingSession(env);
  if (acting !== null && !isTerminalSession(env, acting.id)) return false;
  return env["KITE_CHECK"] === undefined && env["CLAUDECODE"] !== "1" && !(await isBelowAgent(world, pid));
}

/**
 * Returns why this command may not count as a person's, or null: it names no session, but an agent runs it. `what` says
 * what a person may do; `tool` is the one of Kite's tools that does it for an agent, if there is one.
 */
export async function hiddenAgent(
  world: ProcessContext,
  what: string,
  tool?: string,
): Promise<string | null> {
  if (actingSession(world.env) !== null || !(await isAgents(world))) return null;
  return (
    `only a person ${what} without a session's name, and this shell is a session's: leave KITE_SESSION and ` +
    `CLAUDE_CODE_SESSION_ID as your client set them${tool === undefined ? "" : `, or use Kite's tool ${tool}`}`
  );
}

/** Prints that refusal; returns the exit code, or null if the command may go on. */
export async function refuseHidden(
  world: ProcessContext,
  json: boolean,
  what: string,
  tool?: string,
): Promise<number | null> {
  const hidden = await hiddenAgent(world, what, tool);
  if (hidden === null) return null;
  return fail(world, json, "not_a_person", hidden);
}

/** Refuses a command that only a person runs; `what` says what the person does. Returns the exit code. */
export function refuseAgent(world: ProcessContext, json: boolean, what: string): number {
  const error = `only a person ${what}; ask your user to run this command in a terminal`;
  return fail(world, json, "person_only", error);
}

/** Whether the nearest session whose process is above this one is an agent's, and not a terminal's own. */
async function isBelowAgent(world: ProcessContext, pid: number): Promise<boolean> {
  const pids: number[] = [];
  for (let at = parentOf(pid); at !== null && pids.length < limits.ancestorsMax; at = parentOf(at))
    pids.push(at);
  if (pids.length === 0) return false;
  try {
    const client = await world.connect({ name: "kite", reconnect: false });
    try {
      const answer = await client.request("whoami", { pids });
      return answer.ok && !isTerminalSession(world.env, answer.id);
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    // Without a daemon that answers, the environment alone tells.
    return false;
  }
}
