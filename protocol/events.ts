/** The wire's events, but for `lagged` and `bookmark`, which a subscription makes for itself (`daemon/events/hub.ts`). */

import type { ContextEvent } from "./context.ts";
import type { DeclarationEvent } from "./declaration.ts";
import type { ElsewhereEvent, SameFileEvent } from "./elsewhere.ts";
import type { GuardEvent } from "./guard.ts";
import type { CheckEvent } from "./lead/check.ts";
import type { DebateEvent } from "./lead/debate.ts";
import type { HealthEvent } from "./lead/health.ts";
import type { MergeEvent } from "./lead/merge.ts";
import type { RoleEvent } from "./lead/role-set.ts";
import type { SpawnEvent } from "./lead/spawn.ts";
import type { LockEvent } from "./lock.ts";
import type { FreezeEvent, MessageEvent } from "./message.ts";
import type { RestoreEvent } from "./rescue.ts";
import type { SessionEvent } from "./session.ts";
import type { StoreEvent } from "./store.ts";
import type { TaskEvent } from "./task.ts";
import type { WriteEvent } from "./write.ts";

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
  | DebateEvent
  | RoleEvent
  | CheckEvent
  | SpawnEvent
  | MergeEvent
  | RestoreEvent
  | StoreEvent
  | ElsewhereEvent
  | SameFileEvent
  | HealthEvent;

export type EventName = KiteEvent["event"];

/** The line of an event. `cursor` is `"<epoch>.<seq>.<n>"`; events that are not in the log have none. */
export type EventLine = { readonly type: "event"; readonly cursor?: string } & KiteEvent;
