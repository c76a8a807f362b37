/** Runs the actions of one hook event in order, up to the first refusal or the first gate that holds back. */

import type { HookPlan } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome } from "../../hooks/seam/slices.ts";
import { actionTraits } from "../../hooks/seam/slices.ts";
import type { Call } from "../server/call.ts";
import type { ActionHandler, Run } from "./action.ts";
import type { Delivery } from "./delivery.ts";
import { type Grants, settleGrants } from "./grants.ts";
import type { HookServices } from "./hook-services.ts";
import { Scope } from "./scope.ts";
import { actionHandlers } from "./slices.ts";
import { stops } from "./verdict.ts";

/** The table has one handler for each name; the compiler cannot see that an action gets its own. */
type AnyHandler = ActionHandler<HookAction["do"]>;

/** Runs the plan. The caller settles `delivery` when it knows whether the client got the answer. */
export async function runPlan(
  services: HookServices,
  call: Call,
  plan: HookPlan,
  delivery: Delivery,
): Promise<readonly HookOutcome[]> {
  const grants: Grants = [];
  const run: Run = { services, call, plan, delivery, scope: new Scope(services), grants };
  noteSigns(services, plan);
  const outcomes: HookOutcome[] = [];
  let isRefused = false;
  let isDenied = false;
  let isStopped = false;
  try {
    for (const action of plan.actions) {
      const traits = actionTraits[action.do];
      if (isRefused && !traits.afterRefusal) continue;
      // The tool is denied: it needs no lock and no look at others' files.
      if (isDenied && traits.waits) continue;
      const handle: AnyHandler = actionHandlers[action.do];
      const done = handle(run, action);
      // Nearly every action is done at once, and a wait for nothing costs a turn of the microtasks.
      const outcome = done instanceof Promise ? await done : done;
      if (outcome === null) continue;
      outcomes.push(outcome);
      const stopsIt = "verdict" in outcome && stops(services, outcome.verdict);
      isStopped ||= stopsIt;
      isDenied ||= stopsIt && (traits.holdsBack || !outcome.ok);
      // Where Kite only observes, a tool that it would deny runs like any other.
      isRefused ||= isDenied || (!outcome.ok && outcome.verdict !== "deny");
    }
  } finally {
    // A tool whose action failed runs.
    if (grants.length > 0) settleGrants(grants, !isStopped);
  }
  const { session, agent, doing } = plan;
  if (session !== null && doing !== null) {
    // Only now does a write have its lock.
    if (isStopped) services.presence.did(session, agent, { ...doing, verb: "refused" });
    else if (!isRefused) services.presence.did(session, agent, doing);
  }
  return outcomes;
}

/** A heartbeat is a sign of life as its event comes: the actions before it may wait for the log. */
function noteSigns({ presence, clock }: HookServices, { actions }: HookPlan): void {
  for (const action of actions) {
    if (action.do !== "heartbeat" || (action.agent === undefined && action.agentName !== undefined)) continue;
    const own = presence.pulse(action.session, action.agent ?? null);
    if (own !== undefined) own.signAt = clock.now();
  }
}
