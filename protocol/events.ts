import type { ActorRow } from "./lock.ts";
import type { TaskStatus } from "./task.ts";
import type { MergeSideRow } from "./write.ts";

/**
 * What a session is told or a subscriber sees: past tense, one name an event. Lists of files are
 * cut at 100 entries; `more` counts those left out.
 */
export type KiteEvent =
  | {
      readonly event: "session_started";
      readonly id: string;
      readonly name: string;
      readonly project: string;
    }
  | {
      readonly event: "session_ended";
      readonly id: string;
      readonly name: string;
      readonly project: string;
      readonly cause: string;
    }
  | { readonly event: "session_lost"; readonly id: string; readonly name: string; readonly project: string }
  | {
      readonly event: "session_duplicated";
      readonly id: string;
      readonly name: string;
      readonly project: string;
      readonly incarnations: number;
    }
  | {
      readonly event: "lock_granted";
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly token: string;
      readonly holder: ActorRow;
      readonly waitedMs: number;
    }
  | {
      readonly event: "lock_queued";
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly waiter: ActorRow;
      readonly holder: ActorRow | null;
      readonly position: number;
    }
  | {
      readonly event: "lock_released";
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly holder: ActorRow;
      readonly cause: string;
    }
  | {
      readonly event: "lock_wait_ended";
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly waiter: ActorRow;
      readonly cause: string;
    }
  | {
      readonly event: "lock_revoked";
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly holder: ActorRow;
      readonly by: string;
    }
  | {
      /** A write appeared after its lock had passed on. */
      readonly event: "lost_update";
      readonly file: string;
      readonly path: string;
      readonly writer: ActorRow;
      readonly holder: ActorRow | null;
    }
  | ({ readonly event: "task_created" } & TaskNews)
  | ({ readonly event: "task_claimed" } & TaskNews)
  | ({ readonly event: "task_completed" } & TaskNews)
  /** With `cause` where its session ended once too often. */
  | ({ readonly event: "task_failed"; readonly cause?: string } & TaskNews)
  | ({ readonly event: "task_released"; readonly cause: string } & TaskNews)
  | ({ readonly event: "task_updated" } & TaskNews)
  | ({ readonly event: "task_removed" } & TaskNews)
  | {
      /** Nothing is in the way of these any more; at most 10 are named. */
      readonly event: "task_ready";
      readonly tasks: readonly string[];
      readonly more?: number;
      readonly project: string;
    }
  | {
      /** A shell command changed a file that `holder` holds, or wrote last and has not committed (`held` false). */
      readonly event: "bypassed";
      readonly file: string;
      readonly path: string;
      readonly writer: ActorRow;
      readonly holder: ActorRow;
      readonly held: boolean;
    }
  | {
      /** A git command of `by` committed uncommitted work of `owner`, or took it out of the working tree. */
      readonly event: "work_taken";
      readonly how: "committed" | "discarded";
      /** As people say it: `git commit -a`. */
      readonly command: string;
      /** The commit's id, abbreviated; null where there is none, or it could not be told. */
      readonly commit: string | null;
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly by: ActorRow;
      readonly owner: ActorRow;
    }
  | {
      /** The same file has uncommitted work in two worktrees: told once a pair of them and file. */
      readonly event: "merge_risk";
      readonly file: string;
      readonly project: string;
      readonly sides: readonly [MergeSideRow, MergeSideRow];
    }
  | {
      readonly event: "context_changed";
      readonly project: string;
      readonly key: string;
      readonly version: number;
      /** Who did it; null: a person, or nobody (its time was over). */
      readonly from: ActorRow | null;
      readonly deleted: boolean;
    }
  | {
      /** Without the text: who may read it has it in the inbox. */
      readonly event: "message_sent";
      readonly message: string;
      readonly from: ActorRow | null;
      /** At most 100; `more` counts the rest. */
      readonly to: readonly ActorRow[];
      readonly more?: number;
      readonly project: string;
      readonly urgent: boolean;
    }
  | { readonly event: "message_acknowledged"; readonly message: string; readonly by: ActorRow }
  | {
      /** Its recipient has gone without having read it. */
      readonly event: "message_undelivered";
      readonly message: string;
      readonly from: ActorRow | null;
      readonly to: ActorRow;
    }
  | {
      readonly event: "hold_began";
      readonly hold: string;
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly by: ActorRow | null;
      readonly lastsMs: number;
      readonly project: string;
    }
  | {
      readonly event: "hold_ended";
      readonly hold: string;
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly cause: string;
      readonly project: string;
    }
  | {
      readonly event: "file_conflict";
      readonly file: string;
      readonly path: string;
      readonly sessions: readonly [string, string];
    };

/** What every event of one task says. */
export interface TaskNews {
  readonly task: string;
  /** Its first 200 UTF-16 units. */
  readonly description: string;
  readonly project: string;
  readonly status: TaskStatus;
  /** Who did it; null where nobody said. */
  readonly by: ActorRow | null;
}

export type EventName = KiteEvent["event"];

/** The line that carries an event. `cursor` is `"<epoch>.<seq>.<n>"`; volatile events have none. */
export type EventLine = { readonly type: "event"; readonly cursor?: string } & KiteEvent;
