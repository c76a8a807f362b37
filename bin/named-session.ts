/** Finds the session that KITE_SESSION names: by its id, its name or the beginning of one, as other commands find it. */
import { NotRunning } from "../client/errors.ts";
import { refuse } from "../protocol/codes.ts";
import { limits } from "../protocol/limits.ts";
import { type Acting, isTerminalSession } from "./actor.ts";
import { agentCalled, agentsOf, type NamedAgent } from "./agent/named.ts";
import type { Client, ProcessContext } from "./process-context.ts";
import { Refused, rowsOf } from "./with-daemon.ts";

/**
 * Returns whom `KITE_SESSION` means; null if it is not set, is a terminal's own session or the client's, or is an id already. A daemon
 * registers whoever claims a task, so an unknown name would be a session that nobody is: throws `Refused` for one.
 */
export async function namedSession(world: ProcessContext): Promise<Acting | null> {
  const name = world.env["KITE_SESSION"];
  // What its client set is an agent's id, known to the daemon or not.
  const isClients = name === world.env["CLAUDE_CODE_SESSION_ID"];
  if (!name || isClients || isTerminalSession(world.env, name)) return null;
  const client = await connected(world);
  // No daemon: the command itself reports it.
  if (client === null) return null;
  try {
    if ((await rowsOf(client, "sessions", { id: name })).length > 0) return null;
    const agents = agentsOf(await rowsOf(client, "sessions"));
    const found = await agentCalled(world, agents, name);
    if (found === null) throw unknown(agents, name);
    return found.agent === null ? { id: found.id } : { id: found.id, agent: found.agent };
  } finally {
    client.close();
  }
}

/** Returns a connection to the daemon; null: none runs. */
export async function connected(world: ProcessContext): Promise<Client | null> {
  try {
    return await world.connect({ name: "kite", reconnect: false });
  } catch (error) {
    if (error instanceof NotRunning) return null;
    throw error;
  }
}

function unknown(agents: readonly NamedAgent[], name: string): Refused {
  const some = agents.slice(0, limits.recipientsNamedMax).map(one => one.name);
  const there =
    some.length === 0
      ? "none is active. Unset it to act as yourself"
      : `active: ${some.join(", ")}. Set it to one of them, or unset it to act as yourself`;
  return new Refused(
    refuse("unknown_session", `KITE_SESSION is ${name}, and no session is called that; ${there}`),
  );
}
