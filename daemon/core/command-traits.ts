/** The traits of each command: its durability, and whether a full disk takes it. A missing row does not compile. */
import type { CommandType } from "./commands.ts";

export interface CommandTraits {
  /**
   * Whether the engine holds replies and events back until the command is on disk. Sessions and locks need not be: a
   * power cut ends the holders too. `asked`: the command's own `durable` decides.
   */
  readonly durable: boolean | "asked";
  /**
   * Whether the journal accepts the command on a full disk: it frees space, or ends a lock or wait that blocks others.
   * These commands are short, so the reserved space lasts for thousands of them.
   */
  readonly frees: boolean;
}

const passing: CommandTraits = { durable: false, frees: false };
const freeing: CommandTraits = { durable: false, frees: true };
const lasting: CommandTraits = { durable: true, frees: false };
const lastingAndFreeing: CommandTraits = { durable: true, frees: true };

export const commandTraits: { readonly [T in CommandType]: CommandTraits } = {
  daemon_started: lastingAndFreeing,
  rules: lasting,
  void: freeing,
  elapse: freeing,
  session_begin: passing,
  session_rename: lasting,
  session_end: freeing,
  session_lost: freeing,
  session_found: passing,
  session_suspend: passing,
  agent_begin: passing,
  teammate_named: passing,
  agent_end: freeing,
  agent_release: lastingAndFreeing,
  lock_request: passing,
  lock_detach: freeing,
  lock_undelivered: freeing,
  reply_unheard: freeing,
  lock_release: freeing,
  lock_revoke: freeing,
  lock_unbind: freeing,
  turn_end: freeing,
  flight_end: passing,
  lease_renew: passing,
  flight_unseen: freeing,
  writes_noted: passing,
  writes_settled: passing,
  work_returned: passing,
  work_taken: passing,
  stashes_noted: passing,
  conflict_noted: passing,
  notes_told: passing,
  declare: passing,
  task_create: lasting,
  task_import: lasting,
  task_update: lasting,
  task_claim: lasting,
  task_release: lastingAndFreeing,
  task_remove: lasting,
  task_approve: lasting,
  role_set: lasting,
  debate_open: lasting,
  debate_enter: lasting,
  debate_close: lasting,
  check_record: lasting,
  spawn_create: lasting,
  spawn_replace: lasting,
  spawn_update: lasting,
  spawn_moved: passing,
  spawn_remove: lastingAndFreeing,
  merge_queue: lasting,
  merge_take: passing,
  merge_attach: passing,
  merge_report: lasting,
  merge_cancel: lastingAndFreeing,
  merge_unbind: freeing,
  context_set: { durable: "asked", frees: false },
  context_delete: lastingAndFreeing,
  message_send: lasting,
  message_ack: lasting,
  broadcast: lasting,
  resume: freeing,
  inbox_take: passing,
  inbox_told: passing,
};
