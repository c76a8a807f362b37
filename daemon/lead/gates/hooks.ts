/** The actions that ask the gates, and what else of hooks concerns them. */

import type { GateOutcome } from "../../../hooks/seam/lead/outcomes.ts";
import { gatesWrites } from "../../core/lead/gates/table.ts";
import type { ActionHandler } from "../../hooks/action.ts";
import type { HookPart } from "../../hooks/points.ts";
import { byRules, hasFailed, onlyIf } from "../../hooks/wanted.ts";
import type { LeadServices } from "../services.ts";
import { gateComplete, gateShell, gateStop, gateWrite } from "./gates.ts";

export const gateActions: { readonly [D in GateOutcome["did"]]: ActionHandler<D> } = {
  gate_write: onlyIf(
    byRules(({ gates }) => gatesWrites(gates)),
    gateWrite,
  ),
  gate_shell: gateShell,
  gate_stop: onlyIf(hasFailed, gateStop),
  gate_complete: gateComplete,
};

/** Gates remember what they told an agent for as long as its model does. */
export const gatePart: HookPart<LeadServices> = {
  contextLost: ({ gateMemory }, actor) => gateMemory.forget(actor),
};
