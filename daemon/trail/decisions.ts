/** Writes trail lines for decisions. */
import type { Actor } from "../core/actor.ts";
import { actorRow } from "../core/locks/replies.ts";
import type { Reply } from "../core/outcome.ts";
import { projectOf } from "../core/sessions/kinship.ts";
import type { Engine } from "../engine/engine.ts";
import type { Services } from "../services.ts";
import type { TrailLine } from "./line.ts";

/** The fields of a line that say when and for which actor a decision was made; null: for a person. */
export function decidedBy(
  { engine, clock }: Pick<Services, "clock"> & { readonly engine: Pick<Engine, "state"> },
  actor: Actor | null,
) {
  const at = clock.wall();
  if (actor === null) return { at, id: null, agent: null, name: null, project: null };
  const { id, agent, name } = actorRow(engine.state, actor);
  return { at, id, agent, name, project: projectOf(engine.state, actor) ?? null };
}

/**
 * Writes a line for a lock; a refused lock also joins the latest refusals. Each request for a lock comes through here: one
 * literal for the line, since copies of it cost a tenth of the request.
 */
export function noteLock(
  services: Services,
  type: string,
  actor: Actor,
  file: string,
  reply: Reply,
  ms: number,
): void {
  const { at, id, agent, name, project } = decidedBy(services, actor);
  if (reply.ok) {
    services.recorder.note({ at, event: type, id, agent, name, project, type, file, decision: "allow", ms });
    return;
  }
  const { code, error } = reply;
  services.recorder.refused(
    { at, type, id: actor.session, name, file, code, error },
    { at, event: type, id, agent, name, project, type, file, decision: "deny", ms, code, why: error },
  );
}

/** Writes a line for the reply to a request of `type`, with the fields in `more`; a refusal gives its own reason. */
export function noteReply(
  services: Services,
  type: string,
  actor: Actor | null,
  reply: Reply,
  more: Partial<TrailLine>,
): void {
  const { recorder } = services;
  const line = { ...decidedBy(services, actor), event: type, type, file: null, ...more };
  if (reply.ok) recorder.note({ ...line, decision: "allow" });
  else recorder.note({ ...line, decision: "deny", code: reply.code, why: reply.error });
}

/** Writes a line for an edit that needs no lock. */
export function noteIgnored(services: Services, event: string, actor: Actor, file: string): void {
  const why = "ignored: it needs no lock";
  const line = { ...decidedBy(services, actor), event, type: event, file, decision: "allow", why } as const;
  services.recorder.note(line);
}
