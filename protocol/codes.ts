/** Refusals: every code, the form on the wire, and how one is made. */

/** Every refusal's code, with when the daemon sends it, as the log tells it to a person. The refusal's own sentence says what to do next. */
export const codes = {
  invalid_json: "the line is not a JSON object",
  invalid_utf8: "the line is not UTF-8",
  line_too_long: "the line exceeds its bound and was thrown away",
  nesting_too_deep: "the JSON is nested deeper than allowed",
  unknown_type: "no request has this type",
  invalid_request: "a parameter is missing or has the wrong type",
  unsupported_protocol: "hello asked for a version this daemon does not speak",
  unknown_session: "no session with this id is registered",
  session_ended: "this session has ended",
  mounts_unclear: "what a client in a container says of its mounts does not fit this machine",
  ambiguous_caller: "several agents of the session may run this command",
  too_many_sessions: "the daemon keeps no more sessions",
  lock_held: "another actor holds the file and the request does not wait",
  lock_queue_full: "another actor holds the file and its queue is full",
  lock_timeout: "the wait in the queue timed out",
  lock_deadlock: "waiting would close a deadlock",
  lock_given_up: "an unlock, the end of the session or of the connection ended the wait",
  already_queued: "this actor waits for the file already",
  too_many_locks: "this session has as many locks as one may have",
  not_held: "this actor neither holds the file nor waits for it",
  lease_lost: "the token is no longer the holder's",
  unknown_task: "no task has this id",
  ambiguous_task: "several tasks match this name",
  task_blocked: "a task that it depends on is not done",
  task_cycle: "the task would depend on itself",
  task_state: "the task's status does not allow it",
  task_claimed: "another actor works on the task",
  not_complete: "the quality gate found something missing before the task is done",
  no_ready_task: "no task is ready to claim",
  too_many_tasks: "there is no room for more tasks, or claims",
  role_limit: "the role of the actor does not allow it",
  risk_held: "the risk of the task does not let it run now",
  not_declared: "the file is not in the code view",
  declaration_full: "the declaration has as many files or uncertainties as it may",
  evidence_missing: "an uncertainty is resolved with evidence only",
  unknown_debate: "no debate has this id",
  ambiguous_debate: "several debates match this name",
  not_in_debate: "the debate has no such hypothesis or challenge, or the actor works in another project",
  debate_state: "the debate's state does not allow it",
  debate_unsettled:
    "a challenge is unanswered, a rival was never challenged, or nobody else challenged anything",
  too_many_debates: "there is no room for more debates, or entries",
  unknown_spawn: "no spawned agent has this id",
  spawn_state: "the spawned agent's state does not allow it",
  name_taken: "another session of the project has this name",
  spawn_name_taken: "a session or a spawned agent of the project has this name",
  spawn_depth: "a spawned agent may not spawn so deep",
  too_many_spawns: "there is no room for more spawned agents",
  unknown_merge: "no merge has this id",
  ambiguous_merge: "several merges match this name",
  merge_state: "the merge's state does not allow it, or another process runs it",
  merge_queued: "the branch waits for the same base already",
  too_many_merges: "there is no room for more merges",
  person_only: "only a person may do it",
  lead_only: "only an agent that leads that agent, or a person, may do it",
  context_absent: "the project has no such key",
  context_conflict: "the key has another version than ifVersion says",
  context_too_large: "the value exceeds its bound",
  context_reserved: "only closing a debate sets such a key",
  context_full: "the context of all projects together exceeds its bound",
  message_too_long: "the text exceeds its bound",
  recipient_gone: "no session or agent in the project has this id or name",
  recipient_ambiguous: "several sessions or agents in the project match this name",
  inbox_full: "the recipient has as many unread messages as one may have",
  messages_full: "the messages of all inboxes together exceed their bound",
  too_many_messages: "this session has sent as many messages as it may in a minute",
  unknown_message: "the message is not in the actor's inbox, or can no longer be answered",
  edits_held: "another actor, or a person, froze the file",
  too_many_holds: "this actor, or all actors together, have as many freezes as they may",
  unknown_hold: "the actor has no such freeze",
  unknown_version: "Kite keeps no version of this number",
  version_gone: "the content of the version is no longer on the disk",
  unknown_restore: "no restore of this id has begun, or its time is over",
  not_kept: "what is at the path now cannot be kept, so nothing may be restored over it",
  gate_held: "a gate of the project holds the write back",
  path_unreachable: "the daemon could not read the path in time",
  request_conflict: "the same requestId came with another body",
  store_full: "the disk is full",
  store_lost: "the journal's files were removed, moved or replaced: the daemon stores nothing and stops",
  store_away: "the store that several machines share does not answer; nothing was stored",
  outcome_unknown: "the shared store did not answer in time, and may have stored the command",
  internal_error: "a bug in Kite; the daemon recorded it and the state is as before",
  too_many_connections: "the daemon has no descriptor left for another connection",
  restarting: "the daemon stops or is replaced; connect again",
  node_twice: "another home is in the store under this one's id",
  level_unfit: "the store was made by a later Kite than this machine has",
  elsewhere: "the session is on another machine, and only its own machine does that",
  store_none: "no store is set, or the daemon began before it was",
  store_address: "the store's address names no PostgreSQL database that Kite can use",
  store_password: "the store's address has a password, which belongs into a file",
  store_tls:
    "the store's address lets the connection go over a network without TLS, or with a server that nobody checked",
  store_secret: "the file with the store's password is not private, or has another form",
  store_certificate: "the file with the store's root certificate cannot be read, or holds none",
  store_node: "the file with this node's id is damaged, not private, or cannot be read",
  store_project: "the project has no name that other machines know, or is shared under another one",
  store_busy: "agents are at work, and what they do would be in the wrong log",
  not_available: "this daemon was started without what the request needs",
} as const;

/**
 * What the table in `protocol/WIRE.md` says of a code in place of that, with the fields that come along in backquotes. No
 * program has these.
 */
export const codesOnWire: Readonly<Partial<Record<keyof typeof codes, string>>> = {
  invalid_request: "a parameter is missing or has the wrong type; `path` names it",
  unsupported_protocol: "`hello` asked for a version that this daemon does not speak",
  session_ended: "the session has ended; register it again",
  ambiguous_caller: "several agents of the session may run this command; `agents` counts them",
  too_many_sessions: "the daemon keeps no more sessions, and none can make room",
  lock_held:
    "another actor holds the file and `waitMs` is 0; with `locked_by locked_by_name locked_ago` (seconds); `lent:true` if it is yours and an agent of yours uses it, `yours:true` if a command of yours has it",
  lock_queue_full: "another actor holds the file and its queue is full; with the same fields",
  lock_timeout: "the wait timed out; with the same fields",
  lock_deadlock: "the wait would close a deadlock: `cycle`",
  too_many_locks: "the session has 10,000, or waits for 5,000 files",
  not_held: "this actor neither holds the file nor waits for it; nothing was released",
  unknown_task:
    "no task has this name; `nearest`; of a claim, `list` if a client's own list has a task of this id",
  ambiguous_task: "several tasks match; `matches`",
  task_blocked: "a task that it depends on is not done; `blockedBy`",
  task_cycle: "the task would depend on itself; `cycle`",
  task_state: "the task's status does not allow it; `status`",
  task_claimed: "another actor works on the task; `assignee assigneeName`",
  not_complete: "the quality gate found something missing before the task is done; `missing` lists it",
  no_ready_task: "no task is ready to claim; `blocked active` count the rest",
  too_many_tasks: "the store has no room for more tasks, or the session has 1,000 claims",
  role_limit:
    "the role of the actor does not allow it; of a claim, `roles` that may take the task and `agents` that have them",
  risk_held: "another red or critical task runs (`running`), or the task needs a lead, or a person's yes",
  not_declared: "the file to strike off is not in the code view; `file`",
  evidence_missing: "an uncertainty is resolved with evidence only; `question`",
  unknown_debate: "no debate has this name; `nearest`",
  ambiguous_debate: "several match; `matches`",
  not_in_debate:
    "the debate has no such hypothesis or challenge (`hypotheses`, `unanswered`), or the actor works, or the task is, in another project",
  debate_state:
    "the debate is closed (`verdict`), the hypothesis is conceded or the last one left (`left`), not for the agent to concede, or its own challenge to answer, or a task requires the open debate (`task`)",
  debate_unsettled:
    "a challenge is unanswered, a rival was never challenged, or nobody else challenged anything; `missing`",
  spawn_state: "the agent has ended, or has not; `state`",
  spawn_depth: "a spawned agent may not spawn so deep; `depth depthMax`",
  too_many_spawns: "the project has as many spawned agents as the user lets it, or the store has no room",
  unknown_merge: "no merge has this name; `nearest`",
  ambiguous_merge: "several merges match; `matches`",
  merge_state: "the merge's state does not allow it, or another process runs it now; `status`",
  merge_queued: "the branch waits for this base already, with a runner or in another way; `merge`",
  context_conflict: "the key has another version than `ifVersion`; `version` (0: absent)",
  context_reserved: "keys that begin with `debate/` are verdicts of debates; nobody sets or deletes them",
  context_full: "all context together exceeds its bound",
  recipient_ambiguous: "several match; `matches`",
  inbox_full: "the recipient has 1,000 unread messages",
  messages_full: "all inboxes together exceed their bound",
  too_many_messages: "more than 20 in a minute; `retryMs`",
  unknown_message: "the message is not in the inbox, or can no longer be answered",
  edits_held: "another actor, or a person, froze the file; `hold by text leftMs`",
  too_many_holds: "this actor has two freezes, or all together have 1,000",
  path_unreachable: "the daemon could not read the path in time; try again",
  request_conflict: "the same `requestId` came with another body",
  store_full: "the disk is full; the daemon still accepts requests that free something",
  store_lost: "the journal's files were removed, moved or replaced; the daemon stores nothing and stops",
  store_away:
    "the store that several machines share does not answer, and nothing was stored; try again when it is back",
  outcome_unknown:
    "the shared store did not answer in time, and may have stored it; send it again with the same `requestId`",
  internal_error: "a bug in Kite: the daemon recorded it and changed nothing",
  too_many_connections:
    "the daemon has no descriptor left for another connection: close some, or connect later",
  restarting: "the daemon stops or is replaced: connect again and send the request again",
  store_none: "no store is set (`kite store join`), or the daemon began before it was",
  store_busy: "agents are at work, and what they do would be in the wrong log; ask again when they are idle",
};

export type Code = keyof typeof codes;

/** A refusal as the wire carries it; some codes have further fields. */
export interface Refusal {
  readonly ok: false;
  readonly error: string;
  readonly code: Code;
  readonly [field: string]: unknown;
}

/** Returns a refusal; `error` says what happened, to what, and what to do next. */
export function refuse(code: Code, error: string, fields: Record<string, unknown> = {}): Refusal {
  return { ok: false, error, code, ...fields };
}

// The refusal of a read of what machines share; a file of its own, since commands load no schemas.

/** What is said of a shared project of which nothing is known. */
export const storeUnknown = {
  ok: false,
  code: "store_away",
  error:
    "the shared store was not reached since the daemon began, so tasks, messages and context of this project are not known; " +
    "they are there again when it answers (kite doctor says why it does not). Edits and locks go on without it",
} as const;

/** The filled example that refusals show: what copies it back counts as a placeholder. */
export const declarationExample = {
  task: "Make the login survive a restart of the server",
  reason: "I read the session store and its tests",
  step: "Keep the token in the store, and test it",
  sees: "The token lives in memory only",
  will: "Write the token to the store",
} as const;
