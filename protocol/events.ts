/** The wire's events, but for `lagged` and `bookmark`, which a subscription makes for itself (`daemon/events/hub.ts`). */
import type { DebateEntryKind } from "./lead/debate.ts";
import type { MergeState } from "./lead/merge.ts";
import type { Role, RoleSource } from "./lead/roles.ts";
import type { SpawnState } from "./lead/spawn.ts";
import type { ActorRow } from "./lock.ts";
import type { TaskStatus } from "./task.ts";
import type { MergeSideRow } from "./write.ts";

/**
 * The events that sessions and subscribers get, named in the past tense. Lists of files are
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
      /** A write appeared after its lock had ended. */
      readonly event: "lost_update";
      readonly file: string;
      readonly path: string;
      readonly writer: ActorRow;
      readonly holder: ActorRow | null;
    }
  | ({ readonly event: "task_created" } & TaskNews)
  /** With `cause` if `by` is an agent spawned for the task, whose session began. */
  | ({ readonly event: "task_claimed"; readonly cause?: "registered" } & TaskNews)
  | ({ readonly event: "task_completed" } & TaskNews)
  /** With `cause` if the task failed because its session ended, after the last attempt. */
  | ({ readonly event: "task_failed"; readonly cause?: string } & TaskNews)
  | ({ readonly event: "task_released"; readonly cause: string } & TaskNews)
  | ({ readonly event: "task_updated" } & TaskNews)
  | ({ readonly event: "task_removed" } & TaskNews)
  | {
      /** All dependencies of these tasks are done; at most 10 are named. */
      readonly event: "task_ready";
      readonly tasks: readonly string[];
      readonly more?: number;
      readonly project: string;
    }
  | {
      /** A file changed while a shell command ran that `holder` holds, or wrote last and has not committed (`held` false). */
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
      /** The command in short form: `git commit -a`. */
      readonly command: string;
      /** The abbreviated id of the commit; null if there is none, or the daemon could not find it. */
      readonly commit: string | null;
      readonly files: readonly string[];
      readonly paths: readonly string[];
      readonly more?: number;
      readonly by: ActorRow;
      readonly owner: ActorRow;
    }
  | {
      /** The same file has uncommitted work in two worktrees: sent once per file and pair of worktrees. */
      readonly event: "merge_risk";
      readonly file: string;
      readonly project: string;
      readonly sides: readonly [MergeSideRow, MergeSideRow];
    }
  | {
      /** An agent declared what it is about, or changed that; or its client now says otherwise than it declared. */
      readonly event: "declared";
      readonly by: ActorRow;
      readonly project: string;
      readonly role: string;
      /** Its task in its own words. */
      readonly text: string;
      /** The number of files in its code view. */
      readonly fileCount: number;
      /** New ones of the declaration's `mismatches`. */
      readonly mismatches: readonly string[];
    }
  | {
      /** Two agents declared the same file, or a folder and a file in it: sent when the later one declares it. */
      readonly event: "declarations_overlap";
      readonly sides: readonly [ActorRow, ActorRow];
      /** What each side declared, and what it will do there. */
      readonly paths: readonly [string, string];
      readonly wills: readonly [string, string];
    }
  | {
      readonly event: "context_changed";
      readonly project: string;
      readonly key: string;
      readonly version: number;
      /** The actor; null: a person, or the value expired. */
      readonly from: ActorRow | null;
      readonly deleted: boolean;
    }
  | {
      readonly event: "debate_changed";
      readonly debate: string;
      readonly project: string;
      /** An entry's kind, or that the debate was opened or closed. */
      readonly what: DebateEntryKind | "opened" | "closed";
      /** Null: a person. */
      readonly by: ActorRow | null;
    }
  | {
      /** Without the text, which the recipients have in their inboxes. */
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
      /** The recipient ended before it read the message. */
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
      readonly event: "session_renamed";
      readonly id: string;
      readonly name: string;
      /** Its name before. */
      readonly was: string;
      readonly project: string;
    }
  | {
      /** A person gave the actor a role, or took it back. */
      readonly event: "role_changed";
      readonly agent: ActorRow;
      readonly project: string;
      readonly role: Role;
      readonly by: RoleSource;
    }
  | {
      /** A check ran in a worktree whose state stayed the same; `exit` 0 is green. */
      readonly event: "check_recorded";
      readonly project: string;
      readonly worktree: string;
      readonly check: string;
      readonly exit: number;
      readonly commit: string | null;
      /** Null: a person. */
      readonly by: ActorRow | null;
    }
  | {
      /** A spawned agent is recorded, or changed its state. */
      readonly event: "spawn_changed";
      readonly spawn: string;
      readonly name: string;
      readonly project: string;
      readonly state: SpawnState;
      /** Null: it has not registered. */
      readonly session: string | null;
    }
  | {
      /** A merge was queued, began or ended; `state` queued after running: its runner is gone. */
      readonly event: "merge_changed";
      readonly merge: string;
      readonly project: string;
      readonly base: string;
      readonly branch: string;
      readonly state: MergeState;
      /** The commit that the base is at; null unless merged. */
      readonly commit: string | null;
      /** Why it came back or was cancelled; else null. */
      readonly reason: string | null;
      /** Null: a person. */
      readonly by: ActorRow | null;
    }
  | {
      readonly event: "file_conflict";
      readonly file: string;
      readonly path: string;
      readonly sessions: readonly [string, string];
    }
  | {
      /** An agent gives no sign of life, or a signal has stopped its process. Sent once, without a cursor. */
      readonly event: "agent_stalled";
      readonly agent: ActorRow;
      readonly project: string;
      readonly state: "stalled" | "stopped";
      /** For how long, in milliseconds. */
      readonly forMs: number;
      /** Empty if there is nothing to say. */
      readonly why: string;
      /** The ids of the tasks that it has, at most 20, and how many locks. */
      readonly tasks: readonly string[];
      readonly locks: number;
      /** Commands that show the agent, and that give back what it has. */
      readonly todo: readonly string[];
    }
  /** A sign of life came after `agent_stalled`. Without a cursor. */
  | { readonly event: "agent_recovered"; readonly agent: ActorRow; readonly project: string };

/** The fields of every event of one task. */
export interface TaskNews {
  readonly task: string;
  /** The description's first 200 UTF-16 units. */
  readonly description: string;
  readonly project: string;
  readonly status: TaskStatus;
  /** The actor; null if the request named none. */
  readonly by: ActorRow | null;
}

export type EventName = KiteEvent["event"];

/** The line of an event. `cursor` is `"<epoch>.<seq>.<n>"`; events that are not in the log have none. */
export type EventLine = { readonly type: "event"; readonly cursor?: string } & KiteEvent;
