/** Whether a person runs this command, or an agent: only a person trusts checks. */
import { LocalError } from "../../client/errors.ts";
import { parentOf } from "../../daemon/facts/processes.ts";
import { actingSession } from "../actor.ts";
import type { ProcessContext } from "../process-context.ts";
import { Refused, rowsOf } from "../with-daemon.ts";

/** More processes above one than any terminal has. */
const depthMax = 64;

/**
 * Whether an agent's shell runs this command: by its environment, or because a session's process is above it, if a daemon
 * runs to say so. A program that wants to hide from this can; Kite is a seat belt.
 */
export async function isAgents(world: ProcessContext, pid: number = process.pid): Promise<boolean> {
  // A check's program is what agents write.
  if (world.env["KITE_CHECK"] !== undefined) return true;
  if (world.env["CLAUDECODE"] === "1" || actingSession(world.env) !== null) return true;
  const sessions = await sessionProcesses(world);
  let at = parentOf(pid);
  for (let depth = 0; at !== null && depth < depthMax; depth += 1) {
    if (sessions.has(at)) return true;
    at = parentOf(at);
  }
  return false;
}

async function sessionProcesses(world: ProcessContext): Promise<ReadonlySet<number>> {
  try {
    const client = await world.connect({ name: "kite trust", reconnect: false });
    try {
      const rows = await rowsOf(client, "sessions");
      return new Set(rows.flatMap(row => row.pid ?? []));
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof LocalError || error instanceof Refused)) throw error;
    // Without a daemon that answers, the environment alone tells.
    return new Set();
  }
}
