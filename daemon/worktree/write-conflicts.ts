/** Files that two actors wrote within a few minutes. */

import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/actor.ts";
import type { FileRef } from "../core/file-ref.ts";
import { actorRow, pathOf } from "../core/locks/replies.ts";
import { isRefusal } from "../server/call.ts";
import type { Services } from "../services.ts";
import type { Writer } from "./writers.ts";

/** If an unrelated actor wrote the file last within these minutes: tells that one, and notes it in the trail. */
export async function noteConflict(
  services: Services,
  actor: Actor,
  ref: FileRef,
  before: Writer | null,
  lines: string | null,
): Promise<void> {
  const { engine, presence, recorder, clock } = services;
  const session = engine.state.sessions.live.get(actor.session);
  if (before === null || session === undefined) return;
  const { session: other, agent } = before;
  // A main agent and its own agents work together and know of each other's writes.
  const together =
    other === actor.session && (agent === null || actor.agent === null || agent === actor.agent);
  if (together) return;
  const incarnation = engine.state.sessions.live.get(other)?.incarnations[0]?.ordinal ?? 0;
  const promptOf = ({ session: id }: Actor) => presence.of(id).prompt;
  const path = pathOf(ref);
  const first = { session: other, agent, incarnation };
  const { name } = actorRow(engine.state, actor);
  const sides = [
    { actor: first, name: before.name, prompt: promptOf(first) },
    { actor, name, prompt: promptOf(actor) },
  ] as const;
  const reply = await engine.submitAndWait({
    type: "conflict_noted",
    key: ref.key,
    path,
    sides,
    ...(lines === null ? {} : { lines }),
  });
  if (isRefusal(reply) || reply["told"] !== true) return;
  const why = `${before.name} wrote it within the last ${limits.conflictMs / 60_000} minutes as well`;
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
