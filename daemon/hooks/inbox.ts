/** What an event of an agent has to do with its inbox. */

import type { FileNote } from "../../hooks/seam/notices.ts";
import type { HookOutcome } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { MessageRow } from "../../protocol/message.ts";
import type { Actor } from "../core/actor.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import type { PendingNotes } from "../core/messages/notice-table.ts";
import type { State } from "../core/state.ts";
import { isRefusal } from "../server/call.ts";
import { type ActionOf, actorOfAction, type Run } from "./action.ts";
import type { HookServices } from "./hook-services.ts";

/** Shows what is unread where the event can; whether its answer was heard is an entry of its own. */
export async function inbox(run: Run, action: ActionOf<"inbox">): Promise<HookOutcome> {
  const { engine } = run.services;
  const actor = actorOfAction(run, action);
  const { notes, dropped } = action.take ? takeNotes(run, actor) : noNotes;
  const terminals = action.take ? newTerminals(run, actor) : null;
  const none = { did: "inbox", ok: true, messages: [], unread: 0, notes, dropped, terminals } as const;
  if (!concerns(engine.state, inboxOf(actor), action.take)) return none;
  const max = action.take ? limits.shownMessagesMax : 0;
  const reply = await engine.submitAndWait({
    type: "inbox_take",
    actor,
    max,
    chars: limits.shownMessagesChars,
  });
  // Nothing was taken: what is unread comes with a later event.
  if (isRefusal(reply)) return none;
  const messages: readonly MessageRow[] = Array.isArray(reply["messages"]) ? reply["messages"] : [];
  if (messages.length > 0) {
    const ids = messages.map(message => message.id);
    run.delivery.whenSettled(heard =>
      engine.submitWithRetry({ type: "inbox_told", actor, messages: ids, heard }),
    );
  }
  return { did: "inbox", ok: true, messages, unread: Number(reply["unread"]), notes, dropped, terminals };
}

/** Tells what went past the actor's locks with an event that nobody waits for. */
export function notes(run: Run, action: ActionOf<"notes">): HookOutcome {
  return { did: "notes", ok: true, ...takeNotes(run, actorOfAction(run, action)) };
}

/** In how many terminals the session is open, once for each of them. */
function newTerminals(run: Run, { session, agent, incarnation }: Actor): number | null {
  const { engine, hookNotes } = run.services;
  const known = engine.state.sessions.live.get(session);
  const count = known === undefined || agent !== null ? null : hookNotes.terminals(known, incarnation);
  if (known === undefined || count === null) return null;
  run.delivery.whenSettled(heard => {
    if (!heard) hookNotes.unacquainted(known, incarnation);
  });
  return count;
}

interface Taken {
  readonly notes: readonly FileNote[];
  /** Older ones that there was no room for. */
  readonly dropped: number;
}

const noNotes: Taken = { notes: [], dropped: 0 };

/** What the actor is to be told; the main agent also what its agents can hear no more. Told when the answer was heard. */
function takeNotes({ services, delivery }: Run, { session, agent }: Actor): Taken {
  const { engine, hookNotes } = services;
  const agents = engine.state.sessions.live.get(session)?.agents;
  const isGone = (one: PendingNotes) =>
    agent === null && one.agent !== null && agents?.has(one.agent) !== true;
  const all: FileNote[] = [];
  let dropped = 0;
  for (const key of engine.state.notes.bySession.get(session) ?? []) {
    const pending = engine.state.notes.pending.get(key);
    if (pending === undefined || (pending.agent !== agent && !isGone(pending))) continue;
    const taken = hookNotes.take(engine.state, pending);
    if (taken === null) continue;
    const whose = { session, agent: pending.agent };
    const numbers = taken.notes.map(({ n }) => n);
    all.push(...taken.notes.map(({ note }) => note));
    dropped += taken.dropped;
    delivery.whenSettled(heard => {
      if (heard) engine.submitWithRetry({ type: "notes_told", ...whose, notes: numbers, risks: [] });
      else hookNotes.untold(whose, numbers);
    });
  }
  return { notes: all, dropped };
}

/** Messages that the session's main agent was not shown. */
export function unreadOf(state: State, session: string): number {
  const inbox = state.messages.inboxes.get(session);
  return inbox === undefined ? 0 : inbox.all.size - inbox.handed.size - inbox.read.size;
}

/** An agent is no more: what only it had goes. */
export function agentGone({ engine }: HookServices, session: string, agent: string): void {
  const known = engine.state.sessions.live.get(session);
  if (known === undefined) return;
  const incarnation = known.incarnations[0]?.ordinal ?? 0;
  engine.submitWithRetry({ type: "agent_end", actor: { session, agent, incarnation } });
}

/** Whether there is anything to read, or to count as read: else the event costs no entry. */
function concerns(state: State, key: string, take: boolean): boolean {
  const own = state.messages.inboxes.get(key);
  return own !== undefined && (own.handed.size > 0 || (take && own.unread.size > 0));
}
