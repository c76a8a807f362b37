import type { HostName } from "./host.ts";
import { runSeed } from "./run.ts";

/** Seeds that each host's test runs, `KITE_SEEDS` or 12; any number of them: `npm run simulate`. */
export const seedsMax = Number(process.env["KITE_SEEDS"] ?? 12);

/** What every simulation must have met, or it has proved nothing about it. */
export const mustOccur = {
  commands: [
    "daemon_started",
    "session_begin",
    "session_end",
    "session_lost",
    "session_found",
    "lock_request",
    "lock_detach",
    "lock_undelivered",
    "reply_unheard",
    "lock_release",
    "lock_revoke",
    "lock_unbind",
    "turn_end",
    "flight_end",
    "writes_noted",
    "writes_settled",
    "work_returned",
    "lease_renew",
    "flight_unseen",
    "session_suspend",
    "task_create",
    "task_import",
    "task_update",
    "task_claim",
    "task_release",
    "agent_release",
    "task_remove",
    "task_approve",
    "role_set",
    "session_rename",
    "declare",
    "check_record",
    "merge_queue",
    "merge_take",
    "merge_attach",
    "merge_report",
    "merge_cancel",
    "merge_unbind",
    "debate_open",
    "debate_enter",
    "debate_close",
    "spawn_create",
    "spawn_update",
    "spawn_moved",
    "spawn_remove",
    "context_set",
    "context_delete",
    "context_read",
    "message_send",
    "message_ack",
    "inbox_take",
    "inbox_told",
    "broadcast",
    "resume",
    "agent_begin",
    "teammate_named",
    "agent_end",
    "conflict_noted",
    "notes_told",
    "work_taken",
    "work_wiped",
    "stashes_noted",
    "elapse",
    "void",
  ],
  replies: [
    "ok",
    "lock_held",
    "lock_queue_full",
    "lock_timeout",
    "lock_deadlock",
    "lock_given_up",
    "already_queued",
    "not_held",
    "request_conflict",
    "session_ended",
    "unknown_session",
    "too_many_sessions",
    "unknown_task",
    "ambiguous_task",
    "task_blocked",
    "task_cycle",
    "task_state",
    "task_claimed",
    "no_ready_task",
    "role_limit",
    "risk_held",
    "evidence_missing",
    "not_declared",
    "unknown_debate",
    "ambiguous_debate",
    "not_in_debate",
    "debate_state",
    "debate_unsettled",
    "too_many_debates",
    "person_only",
    "lead_only",
    "unknown_merge",
    "merge_state",
    "merge_queued",
    "unknown_spawn",
    "spawn_state",
    "spawn_name_taken",
    "spawn_depth",
    "too_many_spawns",
    "context_absent",
    "context_conflict",
    "context_reserved",
    "recipient_gone",
    "recipient_ambiguous",
    "unknown_message",
    "edits_held",
    "too_many_holds",
    "unknown_hold",
    "internal_error",
  ],
} as const;

/**
 * Runs seeds one after the other and throws at the first that fails, with the seed, what was violated and the last
 * entries. Returns what occurred how often.
 */
export async function runSeeds(
  seeds: Iterable<number>,
  steps: number,
  host: HostName,
): Promise<{
  readonly commands: Map<string, number>;
  readonly replies: Map<string, number>;
  readonly runs: number;
}> {
  const total = { commands: new Map<string, number>(), replies: new Map<string, number>(), runs: 0 };
  for (const seed of seeds) {
    const outcome = await runSeed(seed, steps, host);
    total.runs += 1;
    if (outcome.failure !== null) {
      const again = `npm run simulate -- --host ${host} --from ${seed} --seeds 1 --steps ${steps}`;
      throw new Error(
        `seed ${seed} (${host}): ${outcome.failure}\n${outcome.transcript.join("\n")}\n${again}`,
      );
    }
    add(total.commands, outcome.counts.commands);
    add(total.replies, outcome.counts.replies);
  }
  return total;
}

function add(into: Map<string, number>, from: ReadonlyMap<string, number>): void {
  for (const [name, count] of from) into.set(name, (into.get(name) ?? 0) + count);
}
