/** Files that two actors wrote shortly one after the other. In memory only. */
import { limits } from "../protocol/limits.ts";
import { actorKey } from "./core/actors.ts";
import type { Actor, FileRef } from "./core/entry.ts";
import { actorRow, pathOf } from "./core/lock-text.ts";
import type { Services } from "./services.ts";
import type { Writer } from "./writers.ts";

/** Which conflicts were told: each once a pair, file and turn of one of them. */
export class Conflicts {
  readonly #told = new Map<string, readonly string[]>();

  /** Whether it was not told before, in this turn of both. */
  isNew(pair: readonly [Actor, Actor], key: string): boolean {
    const names = pair.map(actorKey).sort();
    const id = [...names, key].join("\n");
    if (this.#told.has(id)) return false;
    this.#told.set(id, names);
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= limits.writersMax) break;
      this.#told.delete(oldest);
    }
    return true;
  }

  /** From here on the actor's writes are those of another turn. */
  turnEnded(actor: Actor): void {
    const name = actorKey(actor);
    for (const [id, names] of this.#told) if (names.includes(name)) this.#told.delete(id);
  }
}

/** Tells both sides, and the trail, where the file was last written by a stranger within the last minutes. */
export function noteConflict(services: Services, actor: Actor, ref: FileRef, before: Writer | null): void {
  const { engine, conflicts, hookNotes, events, recorder, clock } = services;
  const { state } = engine;
  const session = state.sessions.live.get(actor.session);
  if (before === null || session === undefined) return;
  const { session: other, agent } = before;
  // A main agent and its own agents work together; what one of them does the other knows.
  const together =
    other === actor.session && (agent === null || actor.agent === null || agent === actor.agent);
  const incarnation = state.sessions.live.get(other)?.incarnations[0]?.ordinal ?? 0;
  const pair = [{ session: other, agent, incarnation }, actor] as const;
  if (together || !conflicts.isNew(pair, ref.key)) return;
  const { name } = actorRow(state, actor);
  const file = pathOf(ref);
  const sessions = [other, actor.session] as const;
  events.tell({ event: "file_conflict", file, path: file, sessions }, sessions, session.project);
  const note = { what: "conflict", file, mine: true } as const;
  hookNotes.keep({ id: actor.session, agent: actor.agent }, [{ ...note, other: before.name }]);
  hookNotes.keep({ id: other, agent }, [{ ...note, other: name }]);
  const who = { id: actor.session, agent: actor.agent, name, project: session.project };
  const why = `${before.name} wrote it within the last ${limits.conflictMs / 60_000} minutes as well`;
  recorder.note({
    at: clock.wall(),
    event: "file_conflict",
    ...who,
    type: "hook",
    file,
    decision: "note",
    why,
  });
}
