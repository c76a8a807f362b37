/** The actions that ask the gates, and what else of hooks concerns them. */

import type { GateOutcome } from "../../../hooks/seam/lead/outcomes.ts";
import type { Rules } from "../../config/project-rules.ts";
import { gatesWrites } from "../../core/lead/gates/table.ts";
import { type ActionHandler, actorOfAction } from "../../hooks/action.ts";
import type { HookPart } from "../../hooks/points.ts";
import { isRefusal } from "../../server/call.ts";
import type { LeadRun, LeadServices } from "../services.ts";
import { gateComplete, gateShell, gateStop, gateWrite } from "./gates.ts";

export const gateActions: { readonly [D in GateOutcome["did"]]: ActionHandler<D> } = {
  gate_write: async (run: LeadRun, action) => {
    const found = await run.scope.ruledFile(action);
    // The lock, which comes next, tells why a file is not known.
    return isRefusal(found) || !asksBeforeWrites(found.rules) ? null : gateWrite(run, action);
  },
  gate_shell: gateShell,
  gate_stop: (run: LeadRun, action) => {
    const hasFailed = run.services.toolFailures.pending(actorOfAction(run, action)) !== null;
    return hasFailed ? gateStop(run, action) : null;
  },
  gate_complete: gateComplete,
};

/** By the rules of a project: whether a gate asks before a write. */
const known = new WeakMap<Rules, boolean>();

function asksBeforeWrites(rules: Rules): boolean {
  const asks = known.get(rules) ?? gatesWrites(rules.gates);
  known.set(rules, asks);
  return asks;
}

/** Gates remember what they told an agent for as long as its model does. */
export const gatePart: HookPart<LeadServices> = {
  contextLost: ({ gateMemory }, actor) => gateMemory.forget(actor),
};
