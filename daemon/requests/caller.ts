/** Who asks for something and in which project, as the request says or as is known of its connection. */

import type { Actor } from "../core/actor.ts";
import type { Call } from "../server/call.ts";
import type { Services } from "../services.ts";
import { actorOf } from "../sessions/commands.ts";

export interface Asking {
  readonly id?: string | undefined;
  readonly agent?: string | undefined;
  readonly project?: string | undefined;
}

/** The acting part of a session; null where the request names none: a person. */
export function askerOf(services: Services, asking: Asking, call: Call): Actor | null {
  const { id, agent } = asking;
  return id === undefined ? null : actorOfId(services, id, agent, call);
}

export function actorOfId(services: Services, id: string, agent: string | undefined, call: Call): Actor {
  return actorOf(services, id, agent ?? null, call.connection.sessions.get(id) ?? null);
}

/** The project asked for, else that of the session, else of one registered on this connection, else `default`. */
export function projectOf(services: Services, { id, project }: Asking, call: Call): string {
  const own = id === undefined ? undefined : services.engine.state.sessions.live.get(id)?.project;
  return project ?? own ?? sessionProject(services, call) ?? "default";
}

/** The project of a session that is registered on this connection. */
export function sessionProject(services: Services, { connection }: Call): string | undefined {
  for (const id of connection.sessions.keys()) return services.engine.state.sessions.live.get(id)?.project;
  return undefined;
}
