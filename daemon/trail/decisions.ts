/** A line in the trail for each decision about a lock. */
import type { Actor } from "../core/actor.ts";
import { actorRow } from "../core/locks/replies.ts";
import type { Reply } from "../core/outcome.ts";
import type { Services } from "../services.ts";

/** A line in the trail for a lock, and a place among the latest refusals where it was refused. */
export function noteLock(
  services: Services,
  type: string,
  actor: Actor,
  file: string,
  reply: Reply,
  ms: number,
): void {
  const { name } = actorRow(services.engine.state, actor);
  const project = services.engine.state.sessions.live.get(actor.session)?.project ?? null;
  const at = services.clock.wall();
  const { session: id, agent } = actor;
  if (reply.ok) {
    services.recorder.note({ at, event: type, id, agent, name, project, type, file, decision: "allow", ms });
    return;
  }
  const { code, error } = reply;
  services.recorder.refused(
    { at, type, id, name, file, code, error },
    { at, event: type, id, agent, name, project, type, file, decision: "deny", ms, code, why: error },
  );
}

/** A line in the trail for an edit that needs no lock. */
export function noteIgnored(services: Services, event: string, actor: Actor, file: string): void {
  const { name } = actorRow(services.engine.state, actor);
  const project = services.engine.state.sessions.live.get(actor.session)?.project ?? null;
  const { session: id, agent } = actor;
  const why = "ignored: it needs no lock";
  const at = services.clock.wall();
  services.recorder.note({ at, event, id, agent, name, project, type: event, file, decision: "allow", why });
}
