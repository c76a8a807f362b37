/** What each command is like, for whoever treats commands differently. A command without a row does not compile. */
import type { CommandType } from "./commands.ts";

export interface CommandTraits {
  /**
   * Nobody hears of the command before it would survive a power cut. Commands about sessions and locks need not: a power
   * cut ends the holders too. `asked`: as the command itself asks.
   */
  readonly durable: boolean | "asked";
  /**
   * A full disk takes the command: it frees something, or ends something that would block others for as long as the
   * disk stays full. All of these are short, so what is kept back for them lasts for thousands.
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
  session_end: freeing,
  session_lost: freeing,
  session_found: passing,
  session_suspend: passing,
  agent_begin: passing,
  agent_end: freeing,
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
  writes_noted: passing,
  writes_settled: passing,
  work_taken: passing,
  conflict_noted: passing,
  notes_told: passing,
  task_create: lasting,
  task_import: lasting,
  task_update: lasting,
  task_claim: lasting,
  task_release: lastingAndFreeing,
  task_remove: lasting,
  context_set: { durable: "asked", frees: false },
  context_delete: lastingAndFreeing,
  message_send: lasting,
  message_ack: lasting,
  broadcast: lasting,
  resume: freeing,
  inbox_take: passing,
  inbox_told: passing,
};
