/** Rows of `query` as the base knows them, each with a test of its form. */
import type { ContextRow } from "../protocol/schemas/context.ts";
import type { RefusalRow } from "../protocol/schemas/daemon.ts";
import type { DeclarationRow } from "../protocol/schemas/declaration.ts";
import type { LockRow } from "../protocol/schemas/lock.ts";
import type { HoldRow, PostedRow } from "../protocol/schemas/message.ts";
import type { UnkeptRow, VersionRow, WipeRow } from "../protocol/schemas/rescue.ts";
import type { TranscriptRow } from "../protocol/schemas/session.ts";
import type { StoreState } from "../protocol/schemas/store.ts";
import type { ClientTaskRow, TaskRow } from "../protocol/schemas/task.ts";
import type { SessionRow } from "../protocol/session-rows.ts";
import type { ElsewhereRow, RiskRow, WriteRow } from "../protocol/work.ts";

/** Returns a test whether a row has these fields of this version; one without them comes from a daemon of another version. */
export function rowWith<Row>(...names: readonly (string & keyof Row)[]) {
  return (row: unknown): row is Row =>
    typeof row === "object" && row !== null && names.every(name => Object.hasOwn(row, name));
}

const declaration = rowWith<DeclarationRow>("id", "role", "task", "files", "endedMs");
const task = rowWith<TaskRow>("id", "number", "description", "status", "blockedBy", "risk");

const posted = rowWith<PostedRow>("id", "from", "to", "text", "thread");

export const baseRows = {
  sessions: rowWith<SessionRow>("id", "name", "project", "worktree", "status", "agents", "task"),
  locks: rowWith<LockRow>("file", "path", "project", "kind", "holder", "waiters"),
  writes: rowWith<WriteRow>("file", "path", "worktree", "state", "writers", "holder"),
  risks: rowWith<RiskRow>("file", "project", "sides"),
  transcripts: rowWith<TranscriptRow>("id", "transcript", "titles"),
  refusals: rowWith<RefusalRow>("at", "code", "error"),
  context: rowWith<ContextRow>("key", "project", "version", "durable"),
  tasks: task,
  task_ready: task,
  task_blocked: task,
  task_watched: task,
  client_tasks: rowWith<ClientTaskRow>("list", "task", "subject", "state", "resting"),
  messages: posted,
  messages_acknowledged: posted,
  elsewhere: rowWith<ElsewhereRow>("id", "name", "machine", "project", "state", "tasks"),
  store: rowWith<StoreState>("where", "is", "nodes"),
  holds: rowWith<HoldRow>("hold", "files", "by", "leftMs"),
  versions: rowWith<VersionRow>("version", "path", "file", "worktree", "by", "kind", "hash", "object"),
  wipes: rowWith<WipeRow>("wipe", "project", "by", "command", "files", "more"),
  unkept: rowWith<UnkeptRow>("path", "file", "why", "at"),
  declarations: declaration,
  declarations_ended: declaration,
} as const;
