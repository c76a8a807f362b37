/** Files that two actors wrote within a few minutes. */

import { limits } from "../../protocol/limits.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import type { State } from "../core/state.ts";
import { actorRow, pathOf } from "../core/tables/naming.ts";
import { conflictOf } from "../core/tables/notices.ts";
import { isRefusal } from "../server/call.ts";
import type { Services } from "../services.ts";
import type { Writer } from "./writers.ts";

/**
 * If an unrelated actor wrote the file last within these minutes: tells that one, and notes it in the trail. Whatever was
 * written when: the actor that writes now has read what it was told of the file.
 */
export async function noteConflict(
  services: Services,
  actor: Actor,
  ref: FileRef,
  before: Writer | null,
  lines: string | null,
): Promise<void> {
  const { engine, presence, recorder, clock } = services;
  const session = engine.state.sessions.live.get(actor.session);
  if (session === undefined) return;
  const { name } = actorRow(engine.state, actor);
  const sideOf = (one: Actor, called: string) =>
    ({ actor: one, name: called, prompt: presence.of(one.session).prompt }) as const;
  const own = sideOf(actor, name);
  const others = before === null || isTogether(before, actor) ? null : before;
  if (others === null && conflictOf(engine.state, actor, ref.key) === undefined) return;
  const path = pathOf(ref);
  const sides = [others === null ? own : sideOf(actorOf(engine.state, others), others.name), own] as const;
  const reply = await engine.submitAndWait({
    type: "conflict_noted",
    key: ref.key,
    path,
    sides,
    ...(lines === null ? {} : { lines }),
  });
  if (isRefusal(reply) || reply["told"] !== true || others === null) return;
  const why = `${others.name} wrote it within the last ${limits.conflictMs / 60_000} minutes as well`;
  const who = { id: actor.session, agent: actor.agent, name, project: session.project };
  const what = {
    event: "file_conflict",
    type: "hook",
    rule: "write",
    file: path,
    decision: "note",
    why,
  } as const;
  recorder.note({ at: clock.wall(), ...who, ...what });
}

/** A main agent and its own agents work together and know of each other's writes. */
function isTogether({ session, agent }: Writer, actor: Actor): boolean {
  return session === actor.session && (agent === null || actor.agent === null || agent === actor.agent);
}

function actorOf({ sessions }: State, { session, agent }: Writer): Actor {
  return { session, agent, incarnation: sessions.live.get(session)?.incarnations[0]?.ordinal ?? 0 };
}
