/** The traits of each request. A request without a row does not compile. */
import type { RequestType } from "./requests.ts";

export interface RequestTraits {
  /** Whether a second run changes nothing more, so that a client may repeat it without a `requestId`. */
  readonly repeatable: boolean;
  /** Whether the daemon answers it even when file descriptors run short: hooks, diagnosis and shutdown. */
  readonly always: boolean;
}

const once: RequestTraits = { repeatable: false, always: false };
const repeatable: RequestTraits = { repeatable: true, always: false };
const always: RequestTraits = { repeatable: true, always: true };

export const requestTraits: { readonly [T in RequestType]: RequestTraits } = {
  hello: always,
  ping: always,
  stats: always,
  shutdown: always,
  hook: { repeatable: false, always: true },
  query: repeatable,
  subscribe: repeatable,
  whoami: once,
  register: once,
  heartbeat: repeatable,
  deregister: once,
  file_lock: once,
  file_unlock: once,
  file_check: repeatable,
  file_touch: repeatable,
  task_create: once,
  task_update: once,
  task_get: once,
  task_claim: once,
  task_release: once,
  task_remove: once,
  task_import: once,
  task_approve: once,
  session_rename: once,
  role_set: once,
  declare: once,
  agent_release: once,
  worktree_state: repeatable,
  check_record: once,
  merge_queue: once,
  merge_take: once,
  merge_attach: repeatable,
  merge_report: once,
  merge_cancel: once,
  context_set: once,
  context_get: once,
  context_list: once,
  context_delete: once,
  debate_open: once,
  debate_challenge: once,
  debate_evidence: once,
  debate_answer: once,
  debate_concede: once,
  debate_close: once,
  debate_get: repeatable,
  debate_list: repeatable,
  spawn_create: once,
  spawn_replace: once,
  spawn_update: once,
  spawn_remove: once,
  message_send: once,
  message_list: once,
  message_ack: once,
  broadcast: once,
  resume: once,
};
