/** What an event of an agent has to do with its inbox. */
import type { HookOutcome } from "../protocol/adapter.ts";
import { limits } from "../protocol/limits.ts";
import type { MessageRow } from "../protocol/message.ts";
import type { FileNote } from "../protocol/notes.ts";
import { isRefusal } from "./call.ts";
import type { Actor } from "./core/entry.ts";
import { inboxOf } from "./core/inbox.ts";
import type { State } from "./core/state.ts";
import { type ActionOf, actorOfAction, type Run } from "./hook-act.ts";
import type { Services } from "./services.ts";

/** Shows what is unread where the event can; whether its answer was heard is an entry of its own. */
export async function inbox(run: Run, action: ActionOf<"inbox">): Promise<HookOutcome> {
  const { engine } = run.services;
  const actor = actorOfAction(run, action);
  const notes = action.take ? takeNotes(run, actor) : [];
  const terminals = action.take ? newTerminals(run, actor) : null;
  const none = { did: "inbox", ok: true, messages: [], unread: 0, notes, terminals } as const;
  if (!concerns(engine.state, inboxOf(actor), action.take)) return none;
  const max = action.take ? limits.shownMessagesMax : 0;
  const reply = await engine.ask({ type: "inbox_take", actor, max, chars: limits.shownMessagesChars });
  // Nothing was taken: what is unread comes with a later event.
  if (isRefusal(reply)) return none;
  const messages: readonly MessageRow[] = Array.isArray(reply["messages"]) ? reply["messages"] : [];
  if (messages.length > 0) {
    const ids = messages.map(message => message.id);
    run.delivery.whenSettled(heard => engine.insist({ type: "inbox_told", actor, messages: ids, heard }));
  }
  return { did: "inbox", ok: true, messages, unread: Number(reply["unread"]), notes, terminals };
}

/** Tells what went past the actor's locks with an event that nobody waits for. */
export function notes(run: Run, action: ActionOf<"notes">): HookOutcome {
  return { did: "notes", ok: true, notes: takeNotes(run, actorOfAction(run, action)) };
}

/** In how many terminals the session is open, once for each of them. */
function newTerminals(run: Run, { session, agent, incarnation }: Actor): number | null {
  const { engine, hookNotes } = run.services;
  const known = engine.state.sessions.live.get(session);
  const count = known === undefined || agent !== null ? null : hookNotes.terminals(known, incarnation);
  if (known === undefined || count === null) return null;
  run.delivery.whenSettled(heard => {
    if (!heard) hookNotes.untold(known, incarnation);
  });
  return count;
}

/** What went past the actor's locks; kept for the next event where this one's answer is not heard. */
function takeNotes(run: Run, { session: id, agent }: Actor): readonly FileNote[] {
  const { hookNotes } = run.services;
  const notes = hookNotes.take({ id, agent });
  if (notes.length === 0) return notes;
  run.delivery.whenSettled(heard => {
    if (!heard) hookNotes.keep({ id, agent }, notes);
  });
  return notes;
}

/** Messages that the session's main agent was not shown. */
export function unreadOf(state: State, session: string): number {
  const inbox = state.messages.inboxes.get(session);
  return inbox === undefined ? 0 : inbox.all.size - inbox.handed.size - inbox.read.size;
}

/** An agent is no more: what only it had goes. */
export function agentGone({ engine }: Services, session: string, agent: string): void {
  const known = engine.state.sessions.live.get(session);
  if (known === undefined) return;
  const incarnation = known.incarnations[0]?.ordinal ?? 0;
  engine.insist({ type: "agent_end", actor: { session, agent, incarnation } });
}

/** Whether there is anything to read, or to count as read: else the event costs no entry. */
function concerns(state: State, key: string, take: boolean): boolean {
  const own = state.messages.inboxes.get(key);
  return own !== undefined && (own.handed.size > 0 || (take && own.unread.size > 0));
}
