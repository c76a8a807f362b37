/** The table of actions. It runs those of one hook event in order, up to the first refusal or the first gate that holds back. */

import { actionTraits } from "../../hooks/seam/action-traits.ts";
import type { HookAction } from "../../hooks/seam/actions.ts";
import type { HookOutcome, HookPlan } from "../../hooks/seam/plan.ts";
import { gateComplete, gateShell, gateStop, gateWrite } from "../lead/gates/gates.ts";
import { gateTeam, teamCallOpen } from "../lead/teams/gate.ts";
import type { Call } from "../server/call.ts";
import { type ActionOf, actorOfAction, propose, type Run } from "./action.ts";
import { clientIdle, clientTask } from "./client-task-actions.ts";
import type { Delivery } from "./delivery.ts";
import { lock } from "./edit-action.ts";
import { glance } from "./glance.ts";
import { guard, releaseIndex } from "./guard/guard.ts";
import type { HookServices } from "./hook-services.ts";
import { inbox, notes } from "./inbox.ts";
import { listPeersInTurn } from "./peers.ts";
import {
  awaitRelease,
  begin,
  contextLost,
  end,
  heartbeat,
  promptSubmitted,
  reconcile,
  recordResult,
  recordToolUse,
  suspend,
  turnEnd,
} from "./session-actions.ts";
import { isHeldBack } from "./verdict.ts";
import { flightEnd, shellEnd } from "./write-actions.ts";

type ActionHandler<D extends HookAction["do"]> = (
  run: Run,
  action: ActionOf<D>,
) => Promise<HookOutcome> | HookOutcome;

const actionHandlers: { readonly [D in HookAction["do"]]: ActionHandler<D> } = {
  begin,
  heartbeat,
  lock,
  gate_write: gateWrite,
  gate_shell: gateShell,
  gate_stop: gateStop,
  gate_complete: gateComplete,
  gate_team: gateTeam,
  team_call_open: teamCallOpen,
  client_task: clientTask,
  client_idle: clientIdle,
  record_result: recordResult,
  context_lost: contextLost,
  guard,
  flight_end: flightEnd,
  shell_end: shellEnd,
  release_index: releaseIndex,
  renew: (run, action) => propose(run, "renew", { type: "lease_renew", actor: actorOfAction(run, action) }),
  record_tool_use: recordToolUse,
  turn_end: turnEnd,
  reconcile,
  suspend,
  inbox,
  notes,
  end,
  list_peers: listPeersInTurn,
  glance,
  prompt_submitted: promptSubmitted,
  await_release: awaitRelease,
};

/** Runs the plan. The caller settles `delivery` when it knows whether the client got the answer. */
export async function runPlan(
  services: HookServices,
  call: Call,
  plan: HookPlan,
  delivery: Delivery,
): Promise<readonly HookOutcome[]> {
  const run: Run = { services, call, plan, delivery };
  const outcomes: HookOutcome[] = [];
  let isRefused = false;
  let isDenied = false;
  for (const action of plan.actions) {
    if (isRefused && !actionTraits[action.do].afterRefusal) continue;
    // A gate has denied the tool: it needs no lock and no look at others' files.
    if (isDenied && actionTraits[action.do].waits) continue;
    const outcome = await runAction(run, action.do, action);
    outcomes.push(outcome);
    isDenied ||= isHeldBack(outcome);
    isRefused ||= !outcome.ok || isDenied;
  }
  // Only now does a write have its lock.
  if (plan.session !== null && plan.doing !== null && !isRefused)
    services.presence.did(plan.session, plan.agent, plan.doing);
  return outcomes;
}

function runAction<D extends HookAction["do"]>(
  run: Run,
  name: D,
  action: HookAction,
): Promise<HookOutcome> | HookOutcome {
  // The table has one handler for each name; the compiler cannot see that `action.do` is `name`.
  return actionHandlers[name](run, action as ActionOf<D>);
}
