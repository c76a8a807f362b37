/** Every refusal's code, with when it is said. The sentence beside it says what to do next. */
export const codes = {
  invalid_json: "the line is not a JSON object",
  invalid_utf8: "the line is not UTF-8",
  line_too_long: "the line exceeds its bound and was thrown away",
  nesting_too_deep: "the JSON is nested deeper than allowed",
  unknown_type: "no request has this type",
  invalid_request: "a parameter is missing or has the wrong type",
  unsupported_protocol: "hello asked for a version this daemon does not speak",
  unknown_session: "nobody registered this id",
  session_ended: "this session has ended",
  too_many_sessions: "the daemon keeps no more sessions",
  lock_held: "somebody holds the file and the request does not wait",
  lock_queue_full: "somebody holds the file and its line is full",
  lock_timeout: "the wait in line is over",
  lock_deadlock: "waiting would close a cycle of waits",
  lock_given_up: "the wait was ended by its own actor, its session or its connection",
  already_queued: "this actor waits for the file already",
  too_many_locks: "this session has as many locks as one may have",
  not_held: "this actor neither holds the file nor waits for it",
  lease_lost: "the token is not the holder's any more",
  unknown_task: "no task has this id",
  ambiguous_task: "several tasks' ids begin so",
  task_blocked: "a task that it depends on is not done",
  task_cycle: "it would depend on itself",
  task_state: "the task's status does not allow it",
  task_claimed: "somebody else works on the task",
  no_ready_task: "no task is ready to be worked on",
  too_many_tasks: "there is no room for more tasks, or claims",
  context_absent: "the project has no such key",
  context_conflict: "the key has another version than ifVersion says",
  context_too_large: "the value exceeds its bound",
  context_full: "the context of all projects together exceeds its bound",
  message_too_long: "the text exceeds its bound",
  recipient_gone: "nobody in the project has this id or name",
  recipient_ambiguous: "several in the project have this name, or an id that begins so",
  inbox_full: "the recipient has as many unread messages as one may have",
  messages_full: "the messages of all inboxes together exceed their bound",
  too_many_messages: "this session has sent as many messages as it may in a minute",
  unknown_message: "no such message is in the actor's inbox, or to be answered",
  edits_held: "somebody asked that nobody edits the file for a while",
  too_many_holds: "this actor holds edits as often as one may, or all together do",
  unknown_hold: "no such hold is in force, or it is somebody else's",
  path_unreachable: "the path could not be looked at in time",
  request_conflict: "the same requestId came with another body",
  store_full: "the disk is full",
  store_lost: "the journal's files were removed, moved or replaced: nothing is stored, and the daemon stops",
  internal_error: "a bug in Kite; it was recorded and the state is as before",
  too_many_connections: "the daemon has no descriptor left for another connection",
  restarting: "the daemon goes down or is replaced; come back",
  not_available: "this daemon was started without what the request needs",
} as const;

export type Code = keyof typeof codes;

/** A refusal as it goes over the wire; some codes carry further fields. */
export interface Refusal {
  readonly ok: false;
  readonly error: string;
  readonly code: Code;
  readonly [field: string]: unknown;
}

/** Makes a refusal: `error` says what happened and what to do next. */
export function refuse(code: Code, error: string, fields: Record<string, unknown> = {}): Refusal {
  return { ok: false, error, code, ...fields };
}
