/** Whether anything waits to be told to an agent: at nearly every event nothing does, and this look is all. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/actor.ts";
import { noteKey, type Whose } from "../core/messages/notice-table.ts";
import { inboxOf } from "../core/messages/recipients.ts";
import type { State } from "../core/state.ts";

export class Pending {
  /** Agents that a slice has something for, besides what the state has. */
  readonly #readers = new BoundedMap<string, true>({ entriesMax: limits.notedActorsMax });

  /** A slice has something for the agent, until it says that it has no more. */
  add(reader: Whose): void {
    this.#readers.set(noteKey(reader), true);
  }

  drop(reader: Whose): void {
    this.#readers.delete(noteKey(reader));
  }

  /** Whether a message, a note, a second terminal or a slice may have something for the agent. */
  has({ notes, messages, sessions }: State, actor: Actor): boolean {
    const { session } = actor;
    return (
      notes.bySession.has(session) ||
      (sessions.live.get(session)?.incarnations.length ?? 0) > 1 ||
      messages.inboxes.has(inboxOf(actor)) ||
      (this.#readers.size > 0 && this.#readers.has(noteKey(actor)))
    );
  }
}
