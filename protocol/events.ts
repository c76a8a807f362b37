/** The wire's events, but for `lagged` and `bookmark`, which a subscription makes for itself (`daemon/server/events.ts`). */

import type { GuardEvent } from "./guard.ts";
import type { ContextEvent } from "./schemas/context.ts";
import type { DeclarationEvent } from "./schemas/declaration.ts";
import type { LeadEvent } from "./schemas/leading.ts";
import type { LockEvent } from "./schemas/lock.ts";
import type { FreezeEvent, MessageEvent } from "./schemas/message.ts";
import type { RestoreEvent } from "./schemas/rescue.ts";
import type { SessionEvent } from "./schemas/session.ts";
import type { StoreEvent } from "./schemas/store.ts";
import type { TaskEvent } from "./schemas/task.ts";
import type { ElsewhereEvent, WriteEvent } from "./work.ts";

/**
 * The events that sessions and subscribers get, named in the past tense. Lists of files are
 * cut at 100 entries; `more` counts those left out.
 */
export type KiteEvent =
  | SessionEvent
  | LockEvent
  | WriteEvent
  | GuardEvent
  | TaskEvent
  | DeclarationEvent
  | ContextEvent
  | MessageEvent
  | FreezeEvent
  | LeadEvent
  | RestoreEvent
  | StoreEvent
  | ElsewhereEvent;

export type EventName = KiteEvent["event"];

/** The line of an event. `cursor` is `"<epoch>.<seq>.<n>"`; events that are not in the log have none. */
export type EventLine = { readonly type: "event"; readonly cursor?: string } & KiteEvent;

// The causes in events, in the words of people.

/** Why a session ended, for people. */
export const sessionEnds: ReadonlyMap<string, string> = new Map([
  ["anchor_gone", "its process ended"],
  ["lost", "nothing was heard of the session for a day"],
  ["deregistered", "its session ended"],
  ["ended", "its session ended"],
]);

/** Why a lock ended, for people. */
export const lockEnds: ReadonlyMap<string, string> = new Map([
  ...sessionEnds,
  ["unlocked", "its holder unlocked it"],
  ["turn ended", "its holder went idle"],
  ["yielded", "others waited and it was not touched, so it passed on"],
  ["lease over", "not touched for long"],
  ["lost", "nothing was heard of the session"],
  ["disconnected", "its connection closed"],
  ["undelivered", "no client received the grant"],
  ["revoked", "taken away by force"],
]);

/** Why a freeze ended, for people. */
export const freezeEnds: ReadonlyMap<string, string> = new Map([
  ...sessionEnds,
  ["resumed", "before its time, on request"],
  ["over", "its time was over"],
]);

/** Why a wait ended without a lock, for people. */
export const waitEnds: ReadonlyMap<string, string> = new Map([
  ...sessionEnds,
  ["timeout", "it waited as long as it could"],
  ["unlocked", "it gave up its place"],
  ["turn ended", "its agent went idle"],
  ["deadlock", "the wait would never have ended"],
  ["disconnected", "its connection closed"],
]);

/** Returns the cause in words; one that no map has is a phrase itself. */
export function causeText(causes: ReadonlyMap<string, string>, cause: string): string {
  return causes.get(cause) ?? cause.replaceAll("_", " ");
}
