/** Finds out which actor and project a request is for, from its fields or from its connection. */

import type { Actor } from "../core/frame/actors.ts";
import type { Call } from "../server/call.ts";
import type { Services } from "../services.ts";
import { actorOf } from "../sessions/commands.ts";

export interface Asking {
  readonly id?: string | undefined;
  readonly agent?: string | undefined;
  readonly project?: string | undefined;
}

/** Returns the acting part of a session; null if the request names none: a person. */
export function callerOf(services: Services, asking: Asking, call: Call): Actor | null {
  const { id, agent } = asking;
  return id === undefined ? null : actorOfId(services, id, agent, call);
}

export function actorOfId(services: Services, id: string, agent: string | undefined, call: Call): Actor {
  return actorOf(services, id, agent ?? null, call.connection.sessions.get(id) ?? null);
}

/** Returns the request's project, else its session's, else that of a session on this connection, else `default`. */
export function projectOf(services: Services, { id, project }: Asking, call: Call): string {
  const own = id === undefined ? undefined : services.engine.state.sessions.live.get(id)?.project;
  return project ?? own ?? sessionProject(services, call) ?? "default";
}

/** Returns the project of a session registered on this connection. */
export function sessionProject(services: Services, { connection }: Call): string | undefined {
  for (const id of connection.sessions.keys()) return services.engine.state.sessions.live.get(id)?.project;
  return undefined;
}
