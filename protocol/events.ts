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
import type { ElsewhereEvent, SameFileEvent, WriteEvent } from "./work.ts";

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
  | ElsewhereEvent
  | SameFileEvent;

export type EventName = KiteEvent["event"];

/** The line of an event. `cursor` is `"<epoch>.<seq>.<n>"`; events that are not in the log have none. */
export type EventLine = { readonly type: "event"; readonly cursor?: string } & KiteEvent;
