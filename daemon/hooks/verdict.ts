/**
 * Whether a tool runs, by the outcomes of its actions. Pure. An adapter words a verdict, and decides none.
 *
 * A tool is denied if it would ignore another agent: its lock, its freeze, its write of the index, its uncommitted
 * work, or a change that the tool never saw. Every other refusal is Kite's own failure: a full disk, a path that does
 * not answer, a bound, a session that cannot begin, a bug. Then the tool runs, and the person is told. Each code has a
 * row: one without a verdict does not compile.
 */

import type { Verdict } from "../../hooks/seam/outcomes.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { actionTraits } from "../../hooks/seam/slices.ts";
import type { Code } from "../../protocol/codes.ts";
import type { GuardFinding, GuardMode } from "../../protocol/guard.ts";

interface Mode {
  readonly observes: boolean;
}

type RefusalVerdict = Extract<HookOutcome, { ok: false }>["verdict"];

const refusals: { readonly [C in Code]: RefusalVerdict } = {
  // Another agent holds the file, or froze it.
  lock_held: "deny",
  lock_queue_full: "deny",
  lock_timeout: "deny",
  lock_deadlock: "deny",
  lock_given_up: "deny",
  already_queued: "deny",
  edits_held: "deny",
  // Kite could not check or decide.
  mounts_unclear: "allow",
  invalid_json: "allow",
  invalid_utf8: "allow",
  line_too_long: "allow",
  nesting_too_deep: "allow",
  unknown_type: "allow",
  invalid_request: "allow",
  unsupported_protocol: "allow",
  unknown_session: "allow",
  session_ended: "allow",
  ambiguous_caller: "allow",
  too_many_sessions: "allow",
  too_many_locks: "allow",
  not_held: "allow",
  lease_lost: "allow",
  unknown_task: "allow",
  ambiguous_task: "allow",
  task_blocked: "allow",
  task_cycle: "allow",
  task_state: "allow",
  task_claimed: "allow",
  not_complete: "allow",
  no_ready_task: "allow",
  too_many_tasks: "allow",
  role_limit: "allow",
  risk_held: "allow",
  not_declared: "allow",
  declaration_full: "allow",
  evidence_missing: "allow",
  unknown_debate: "allow",
  ambiguous_debate: "allow",
  not_in_debate: "allow",
  debate_state: "allow",
  debate_unsettled: "allow",
  too_many_debates: "allow",
  unknown_spawn: "allow",
  spawn_state: "allow",
  name_taken: "allow",
  spawn_name_taken: "allow",
  spawn_depth: "allow",
  too_many_spawns: "allow",
  unknown_merge: "allow",
  ambiguous_merge: "allow",
  merge_state: "allow",
  merge_queued: "allow",
  too_many_merges: "allow",
  person_only: "allow",
  lead_only: "allow",
  context_absent: "allow",
  context_conflict: "allow",
  context_too_large: "allow",
  context_reserved: "allow",
  context_full: "allow",
  message_too_long: "allow",
  recipient_gone: "allow",
  recipient_ambiguous: "allow",
  inbox_full: "allow",
  messages_full: "allow",
  too_many_messages: "allow",
  unknown_message: "allow",
  too_many_holds: "allow",
  unknown_hold: "allow",
  unknown_version: "allow",
  version_gone: "allow",
  unknown_restore: "allow",
  not_kept: "allow",
  gate_held: "allow",
  path_unreachable: "allow",
  request_conflict: "allow",
  store_full: "allow",
  store_lost: "allow",
  store_away: "allow",
  outcome_unknown: "allow",
  internal_error: "allow",
  too_many_connections: "allow",
  restarting: "allow",
  node_twice: "allow",
  level_unfit: "allow",
  elsewhere: "allow",
  store_none: "allow",
  store_address: "allow",
  store_password: "allow",
  store_tls: "allow",
  store_secret: "allow",
  store_certificate: "allow",
  store_node: "allow",
  store_project: "allow",
  store_busy: "allow",
  not_available: "allow",
};

/** Whether the tool runs although an action of its hook was refused with this code. */
export function refusalVerdict(code: Code): RefusalVerdict {
  return refusals[code];
}

/**
 * Whether an edit that has its lock runs. The client merges or refuses an edit of a file that changed meanwhile. A tool
 * that overwrites that file would undo a change that it never saw, as one would that overwrites an unseen change.
 */
export function grantVerdict(
  { overwrites }: { readonly overwrites: boolean },
  {
    changedWhileWaiting,
    unseen = null,
    mergeRisks,
    unkept,
  }: Pick<Granted, "changedWhileWaiting" | "unseen" | "mergeRisks" | "unkept">,
): Verdict {
  if (unseen !== null || (changedWhileWaiting && overwrites)) return "deny";
  return changedWhileWaiting || mergeRisks.length + unkept.length > 0 ? "allow_with_note" : "allow";
}

const gates: ReadonlySet<string> = new Set(
  Object.entries(actionTraits).flatMap(([name, { holdsBack }]) => (holdsBack ? [name] : [])),
);

/** Whether the tool does not run. Where Kite only observes, it always runs. */
export function stops({ observes }: Mode, verdict: Verdict): boolean {
  return verdict === "deny" && !observes;
}

/** Whether a gate holds the agent back, so that nothing after it may happen. */
export function isHeldBack(mode: Mode, outcome: HookOutcome): boolean {
  return outcome.ok && gates.has(outcome.did) && "verdict" in outcome && stops(mode, outcome.verdict);
}

type Granted = Extract<HookOutcome, { did: "lock"; ok: true }>;

/** Whether a shell line runs. A line whose agent must be told first is denied, too: it passes when it is sent again. */
export function guardVerdict(mode: GuardMode, findings: readonly GuardFinding[]): Verdict {
  if (mode === "off" || findings.length === 0) return "allow";
  return mode === "deny" ? "deny" : "allow_with_note";
}

/**
 * Whether a line runs whose plain commands wipe uncommitted work of others. Nobody can be asked about an ended session's
 * work, so the agent is only told of it.
 */
export function plainVerdict(
  mode: GuardMode,
  { isWiping, isLiving }: { readonly isWiping: boolean; readonly isLiving: boolean },
): Verdict {
  if (mode === "off" || !isWiping) return "allow";
  return mode === "deny" && isLiving ? "deny" : "allow_with_note";
}
