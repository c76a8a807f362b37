/** The actions of a hook event on its agent's inbox. */

import type { FileNote, HookOutcome, News } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import type { MessageRow } from "../../protocol/schemas/message.ts";
import type { Actor } from "../core/frame/actors.ts";
import { countUngot, inboxOf } from "../core/messages/inbox.ts";
import type { State } from "../core/state.ts";
import { inboxKey, noteKey, type PendingNotes, type Whose } from "../core/tables/messages.ts";
import { actorRow } from "../core/tables/naming.ts";
import { idIn, type Logs, type LogView, mailLogs } from "../engine/log-view.ts";
import type { Services } from "../options.ts";
import { isRefusal } from "../server/call.ts";
import type { ActionOf, Answer, HookEvent } from "./event.ts";
import type { Delivery } from "./notices.ts";
import type { EditMemory, Needs } from "./parts.ts";
import type { HookPoints } from "./points.ts";

/** What the news for an agent come from. */
type NewsParts = "notes" | "points" | "edits";

/** Returns unread messages if this event can carry them; a log entry of its own records the delivery. */
export function inbox(
  event: HookEvent,
  action: ActionOf<"inbox">,
  parts: Needs<NewsParts>,
): Promise<HookOutcome> | HookOutcome {
  const actor = event.actor(action);
  if (action.take && event.plan.doing === null) for (const part of parts.points) part.eventWaits?.(actor);
  return parts.notes.pending.has(event.engine, actor) ? tell(event, action, actor, parts) : nothingToTell;
}

async function tell(
  event: HookEvent,
  action: ActionOf<"inbox">,
  actor: Actor,
  parts: Needs<NewsParts>,
): Promise<HookOutcome> {
  const { engine, delivery } = event;
  const { points } = parts;
  if (action.take && engine.state.notes.bySession.has(actor.session)) await beforeNotes(points, actor);
  const { notes: taken, dropped } = action.take ? takeNotes(event, actor, parts) : noNotes;
  const notes = await completed(points, actor.session, taken);
  const terminals = action.take ? newTerminals(event, actor, parts) : null;
  const news = action.take ? newsOf(points, actor, delivery) : [];
  const health = news.length === 0 ? {} : { health: news };
  const none = { ...nothingToTell, notes, dropped, terminals, ...health };
  const messages: MessageRow[] = [];
  let unread = 0;
  for (const log of mailLogs(engine, actor.session)) {
    if (!concerns(log, actor, action.take)) continue;
    const max = action.take ? limits.shownMessagesMax - messages.length : 0;
    const taken = await takeMail(event, log, actor, max);
    messages.push(...taken.messages);
    unread += taken.unread;
  }
  return { ...none, messages, unread };
}

/** Takes up to `max` messages from one log's inbox; none if the log refuses: what is unread comes with a later event. */
async function takeMail(
  { engine, delivery }: HookEvent,
  log: LogView,
  actor: Actor,
  max: number,
): Promise<{ readonly messages: readonly MessageRow[]; readonly unread: number }> {
  const proposer = engine.proposer(log);
  const chars = limits.shownMessagesChars;
  const reply = await proposer.submitAndWait({ type: "inbox_take", actor, max, chars });
  if (isRefusal(reply)) return { messages: [], unread: 0 };
  const messages: readonly MessageRow[] = Array.isArray(reply["messages"]) ? reply["messages"] : [];
  const ids = messages.map(({ id }) => id);
  if (ids.length > 0)
    delivery.whenTold(heard => proposer.submitWithRetry({ type: "inbox_told", actor, messages: ids, heard }));
  return { messages, unread: Number(reply["unread"]) };
}

const nothingToTell = {
  did: "inbox",
  ok: true,
  messages: [],
  unread: 0,
  notes: [],
  dropped: 0,
  terminals: null,
} as const;

/** What slices have to tell the agent with this answer. */
export function newsOf(points: HookPoints, actor: Whose, delivery: Delivery): readonly News[] {
  return points.flatMap(part => part.news?.(actor, delivery) ?? []);
}

async function completed(
  points: HookPoints,
  session: string,
  notes: readonly FileNote[],
): Promise<readonly FileNote[]> {
  let all = notes;
  for (const { completed: look } of points)
    if (look !== undefined && all.length > 0) all = await look(session, all);
  return all;
}

async function beforeNotes(points: HookPoints, actor: Actor): Promise<void> {
  for (const part of points) await part.beforeNotes?.(actor);
}

/** Returns the actor's notices with an event that the client does not wait for. */
export async function notes(
  event: HookEvent,
  action: ActionOf<"notes">,
  parts: Needs<NewsParts>,
): Promise<HookOutcome | null> {
  const { points } = parts;
  const actor = event.actor(action);
  if (event.engine.state.notes.bySession.has(actor.session)) await beforeNotes(points, actor);
  const { notes: taken, dropped } = takeNotes(event, actor, parts);
  return { did: "notes", ok: true, notes: await completed(points, action.session, taken), dropped };
}

/** The number of open terminals, or null if this terminal was told about exactly this set. */
function newTerminals(
  { engine, delivery }: HookEvent,
  { session, agent, incarnation }: Actor,
  { notes }: Needs<NewsParts>,
): number | null {
  const known = engine.state.sessions.live.get(session);
  if (known === undefined || agent !== null) return null;
  const terminal = { session: known, ordinal: incarnation };
  const [count = null] = notes.terminals.offer(engine.state, terminal, delivery, () => {});
  return count;
}

interface Taken {
  readonly notes: readonly FileNote[];
  /** The number of older notices that were dropped for lack of room. */
  readonly dropped: number;
}

const noNotes: Taken = { notes: [], dropped: 0 };

/** The actor's notices, for the main agent also those of its ended agents. Told when the answer is delivered. */
function takeNotes(event: HookEvent, actor: Actor, { notes: board, edits }: Needs<NewsParts>): Taken {
  const { engine, delivery } = event;
  const { session, agent, incarnation } = actor;
  const { agents } = engine.state.sessions.live.get(session) ?? {};
  const isGone = (one: PendingNotes) =>
    agent === null && one.agent !== null && agents?.has(one.agent) !== true;
  const all: FileNote[] = [];
  let dropped = 0;
  for (const key of engine.state.notes.bySession.get(session) ?? []) {
    const pending = engine.state.notes.pending.get(key);
    if (pending === undefined || (pending.agent !== agent && !isGone(pending))) continue;
    const whose = { session, agent: pending.agent };
    const notes = board.files.offer(engine.state, whose, delivery, numbers =>
      engine.submitWithRetry({ type: "notes_told", ...whose, notes: numbers, risks: [] }),
    );
    noteRead(event, edits, actor, { ...whose, incarnation }, notes);
    all.push(...notes);
    if (notes.length > 0) dropped += pending.dropped;
  }
  return { notes: all, dropped };
}

/**
 * Whoever reads that another actor changed a file knows of that change: its next write of the file is not denied for it. The
 * notes are those of `whose`, the reader itself or an agent of it that has ended.
 */
function noteRead(
  { engine, delivery }: HookEvent,
  { seenWrites }: EditMemory,
  reader: Actor,
  whose: Actor,
  notes: readonly FileNote[],
): void {
  const paths = new Set(notes.flatMap(note => (note.what === "conflict" ? [note.file] : [])));
  if (paths.size === 0) return;
  const { seq } = engine.state;
  const keys = seenWrites.noticed(engine.state, whose, paths);
  delivery.whenTold(heard => {
    if (heard) for (const key of keys) seenWrites.noteTold(reader, key, seq);
  });
}

/** Whether a pending notice of the session's main agent says that others changed or removed its work. */
export function hasUrgentNotice({ notes }: State, session: string): boolean {
  const pending = notes.pending.get(noteKey({ session, agent: null }));
  return pending?.notes.some(({ note }) => isUrgent(note)) === true;
}

function isUrgent(note: FileNote): boolean {
  if (note.what === "bypassed") return !note.mine;
  // What no agent did, a person may have meant.
  if (note.what === "wiped") return !note.mine && note.other !== null;
  if (note.what === "commit_lost" || note.what === "commit_rewritten") return true;
  return note.what === "discarded" || note.what === "stash_taken" || note.what === "lost_update";
}

/** The number of messages that the session's main agent was not shown. */
export function unreadOf(logs: Logs, session: string): number {
  let unread = 0;
  for (const log of mailLogs(logs, session))
    unread += countUngot(log.state.messages, inboxKey({ id: idIn(log, session), agent: null }));
  return unread;
}

/** Removes what only an agent had that has ended; `stopped`: another agent stopped it. */
export function agentGone(
  { engine }: Pick<Services, "engine">,
  session: string,
  agent: string,
  stopped = false,
): void {
  const known = engine.state.sessions.live.get(session);
  if (known === undefined) return;
  const incarnation = known.incarnations[0]?.ordinal ?? 0;
  engine.submitWithRetry({
    type: "agent_end",
    actor: { session, agent, incarnation },
    ...(stopped ? { stopped } : {}),
  });
}

/** Whether a message is to be shown or counted as read. If not, the event writes no log entry. */
function concerns(log: LogView, actor: Actor, take: boolean): boolean {
  const own = log.state.messages.inboxes.get(inboxOf(log.actor(actor)));
  return own !== undefined && (own.handed.size > 0 || (take && own.unread.size > 0));
}

/**
 * Tells the session's person of its first denial, and of no later one. A tool whose agent only has to read the file again is
 * none.
 */
export function tellFirstDenial(event: HookEvent, answer: Answer, { notes }: Needs<"notes">): undefined {
  const { engine, likelyActor } = event;
  const { session, agent, tellDenial } = event.plan;
  if (session === null || tellDenial === undefined || !answer.outcomes.some(isDenial)) return;
  const { name } = actorRow(engine.state, event.actor({ session, agent }));
  const words = tellDenial(answer.outcomes, likelyActor === null ? name : `${name}, ${likelyActor}`);
  if (words === null) return;
  if (notes.denials.offer(engine.state, session, event.delivery, () => {}).length > 0) answer.words = words;
}

function isDenial(outcome: HookOutcome): boolean {
  return "verdict" in outcome && outcome.verdict === "deny" && !(outcome.ok && outcome.did === "lock");
}
