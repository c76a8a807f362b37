/** The actions that ask the gates, and what else of hooks concerns them. */

import { dirname, relative } from "node:path";
import type { GateOutcome } from "../../../hooks/lead/seam.ts";
import type { HookOutcome } from "../../../hooks/seam/slices.ts";
import { gatesFor } from "../../../protocol/lead/roles.ts";
import type { Rules } from "../../config/project-rules.ts";
import type { Actor, FileRef } from "../../core/frame/actors.ts";
import { gatesWrites, rolesBeyond } from "../../core/lead/gates.ts";
import { roleOf } from "../../core/lead/roles.ts";
import { pathOf } from "../../core/tables/naming.ts";
import { type ActionHandler, type ActionOf, actorOfAction } from "../../hooks/action.ts";
import type { HookPart } from "../../hooks/points.ts";
import { isRefusal } from "../../server/call.ts";
import type { LeadRun, LeadServices } from "../services.ts";
import { gateComplete, gateShell, gateStop, gateWrite } from "./gates.ts";

export const gateActions: { readonly [D in GateOutcome["did"]]: ActionHandler<D> } = {
  gate_write: async (run: LeadRun, action) => {
    const found = await run.scope.ruledFile(action);
    // The lock, which comes next, tells why a file is not known.
    const isAsked = !isRefusal(found) && asksBeforeWrites(run, actorOfAction(run, action), found.rules);
    return isAsked ? gateWrite(run, action) : null;
  },
  gate_files: gateFiles,
  gate_shell: gateShell,
  gate_stop: (run: LeadRun, action) => {
    const hasFailed = run.services.toolFailures.pending(actorOfAction(run, action)) !== null;
    return hasFailed ? gateStop(run, action) : null;
  },
  gate_complete: gateComplete,
};

/** Asks before each file until a gate holds the line back; what was not asked of a file before is told once. */
async function gateFiles(run: LeadRun, action: ActionOf<"gate_files">): Promise<HookOutcome | null> {
  let warned: HookOutcome | null = null;
  for (const file of action.files) {
    const named = { ...action, do: "gate_write", file, isOwn: false } as const;
    const found = await run.scope.ruledFile(named);
    if (isRefusal(found) || !asksBeforeWrites(run, actorOfAction(run, named), found.rules)) continue;
    if (action.hasNewFiles !== true && !(await isProjectFile(run.services, found.file))) continue;
    const outcome = await gateWrite(run, named);
    if (!("verdict" in outcome) || outcome.verdict === "allow") continue;
    const told = { ...outcome, did: "gate_files", file } as HookOutcome;
    if (outcome.verdict === "deny") return told;
    warned ??= told;
  }
  return warned;
}

/** Whether it is a file that is there, and that git does not ignore: build output is no code. */
async function isProjectFile({ facts }: LeadServices, file: FileRef): Promise<boolean> {
  const path = pathOf(file);
  const isThere = !file.dir && (await facts.stamped(path))?.stamp !== null;
  const around = isThere ? await facts.repository(dirname(path)) : null;
  if (around === null || "unreachable" in around || around.gitDir === null) return false;
  const { worktree, gitDir } = around;
  const states = await facts.work({ worktree, gitDir }, [relative(worktree, path)]);
  return "unreachable" in states || states.get(relative(worktree, path))?.ignored !== true;
}

/** By the rules of a project: whether a gate asks everybody before a write. */
const known = new WeakMap<Rules, boolean>();

/** Whether a gate asks the actor before a write: for all agents, or for the role that it was given. */
function asksBeforeWrites({ services }: LeadRun, actor: Actor, rules: Rules): boolean {
  const asksAll = known.get(rules) ?? gatesWrites(rules.gates);
  known.set(rules, asksAll);
  if (asksAll) return true;
  const { role, by } = roleOf(services.engine.state, actor);
  return rolesBeyond(role).length > 0 && gatesFor(rules.gates, by).role !== "off";
}

/** Gates remember what they told an agent for as long as its model does. */
export const gatePart: HookPart<LeadServices> = {
  contextLost: ({ gateMemory }, actor) => gateMemory.forget(actor),
};
