/** Who asks for kept work: a person, who sees all projects, or an agent, which sees its own alone. */
import { type Acting, actingSession } from "../actor.ts";
import { refuseAgent, seemsAgents } from "../person.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import type { Env } from "../programs.ts";
import { asPerson } from "../with-daemon.ts";

export interface Asker {
  readonly client: Pick<Client, "request" | "daemon">;
  /** Null: a person at a terminal. */
  readonly acting: Acting | null;
  readonly cwd: string;
  readonly env: Env;
  /** Wall time in milliseconds. */
  readonly now: () => number;
}

/** The field of a query that says for which session it is. */
export function readerOf({ acting }: Pick<Asker, "acting">): { readonly reader?: string } {
  return acting === null ? {} : { reader: acting.id };
}

/** Connects, and runs a command about kept work; refuses an agent that hides its session. Returns the exit code. */
export async function asAsker(
  world: ProcessContext,
  json: boolean,
  work: (asker: Asker) => Promise<number>,
): Promise<number> {
  const refused = await refuseAgent(world, json, "rescue", { isAgent: seemsAgents });
  if (refused !== null) return refused;
  const { cwd, env, now } = world;
  return asPerson(world, json, client => work({ client, acting: actingSession(env), cwd, env, now }));
}
