/** Whether anything waits to be told to an agent: at nearly every event nothing does, and this look is all. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/frame/actors.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import { noteKey, type Whose } from "../core/tables/messages.ts";
import { idsIn, type Logs, logOfSession } from "../engine/log-view.ts";

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
  has(logs: Logs, actor: Actor): boolean {
    const { session } = actor;
    const { notes, messages, sessions } = logs.state;
    return (
      notes.bySession.has(session) ||
      (sessions.live.get(session)?.incarnations.length ?? 0) > 1 ||
      (messages.inboxes.size > 0 && messages.inboxes.has(inboxOf(actor))) ||
      // Where nothing is shared, nothing more is looked at.
      (logs.logs.length > 1 && isInShared(logs, actor)) ||
      (this.#readers.size > 0 && this.#readers.has(noteKey(actor)))
    );
  }
}

/** Whether the log of the agent's project has a message or a notice for it. */
function isInShared(logs: Logs, actor: Actor): boolean {
  const log = logOfSession(logs, actor.session);
  const { messages, notes } = log.state;
  if (messages.inboxes.has(inboxOf(log.actor(actor)))) return true;
  return (
    notes.pending.size > 0 && idsIn(logs, log, actor.session).some(session => notes.bySession.has(session))
  );
}
