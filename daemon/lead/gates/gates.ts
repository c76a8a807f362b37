/** The actions that ask the gates: before a write, a shell line or a stop, before a task counts as completed. */
import { dirname } from "node:path";
import type { GateOutcome } from "../../../hooks/lead/seam.ts";
import type { Verdict } from "../../../hooks/seam/outcomes.ts";
import type { HookOutcome } from "../../../hooks/seam/slices.ts";
import type { ShellUse } from "../../../protocol/guard.ts";
import { type GateFinding, gatesFor } from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Actor, FileRef } from "../../core/frame/actors.ts";
import type { Lead } from "../../core/lead/gates.ts";
import {
  beforeShell,
  beforeStop,
  beforeWrite,
  isDocument,
  isTest,
  rolesBeyond,
} from "../../core/lead/gates.ts";
import { roleOf } from "../../core/lead/roles.ts";
import type { Declaration } from "../../core/tables/declarations.ts";
import { noteKey } from "../../core/tables/messages.ts";
import { actorRow, pathOf } from "../../core/tables/naming.ts";
import { isLeadRole } from "../../core/tables/role-words.ts";
import { sessionsOf } from "../../core/tables/sessions.ts";
import { projectAt } from "../../facts/repositories.ts";
import { type ActionOf, actorOfAction } from "../../hooks/action.ts";
import { usesWithAliases } from "../../hooks/guard/alias.ts";
import type { HookServices } from "../../hooks/hook-services.ts";
import { isHeldBack } from "../../hooks/verdict.ts";
import { isRefusal } from "../../server/call.ts";
import { decidedBy } from "../../trail/decisions.ts";
import { workedOn } from "../../views/sessions-and-locks.ts";
import { roleFacts } from "../roles/facts.ts";
import type { LeadRun } from "../services.ts";
import { completionFindings, fieldsOf } from "./quality.ts";

export async function gateWrite(run: LeadRun, action: ActionOf<"gate_write">): Promise<HookOutcome> {
  const { services } = run;
  const actor = actorOfAction(run, action);
  const session = services.engine.state.sessions.live.get(action.session);
  if (session === undefined || action.isOwn) return passed("gate_write");
  const found = await run.scope.ruledFile(action);
  // What cannot be read now holds nobody back: the lock, which comes next, tells of it.
  if (isRefusal(found)) return passed("gate_write");
  const { file, rules } = found;
  const path = pathOf(file);
  if (rules.ignoresAnyway(path) || isKites(session, path)) return passed("gate_write");
  const within = await pathInProject(services, session, file);
  if (within === null) return passed("gate_write");
  const declaration = services.engine.state.declarations.live.get(noteKey(actor));
  const lead = leadOf(services, actor, declaration);
  const role = roleFacts(services.engine.state, actor, session.project);
  const written = { key: file.key, path: action.file, isCode: !isDocument(path), isTest: isTest(within) };
  const facts = { declaration, lead, role, file: written };
  return decided(run, "gate_write", actor, beforeWrite(rules.gates, facts), [path, action.file]);
}

/** Asks before a line's git commands, tests and builds in the project; where only the shell knows the folder, it passes. */
export async function gateShell(run: LeadRun, action: ActionOf<"gate_shell">): Promise<HookOutcome> {
  const { services } = run;
  const { state } = services.engine;
  const actor = actorOfAction(run, action);
  const session = state.sessions.live.get(action.session);
  const { role: has, by } = roleOf(state, actor);
  if (session === undefined || rolesBeyond(has).length === 0) return passed("gate_shell");
  const { gates } = await services.rules.at(session);
  if (gatesFor(gates, by).role === "off") return passed("gate_shell");
  const uses: ShellUse[] = [];
  for (const use of await usesWithAliases(services, action, action.cwd))
    if (await isOfProject(services, session.project, use)) uses.push(use);
  const named = (does: ShellUse["does"]) => uses.filter(one => one.does === does).map(({ name }) => name);
  const beyondOwn: string[] = [];
  for (const use of uses)
    if (use.does === "git" && !(use.commits && (await isInOwn(services, session.worktree, use))))
      beyondOwn.push(use.name);
  const role = roleFacts(state, actor, session.project);
  const findings = beforeShell(gates, { role, git: named("git"), beyondOwn, runs: named("run") });
  return decided(run, "gate_shell", actor, findings);
}

async function isOfProject({ facts }: HookServices, project: string, { dir }: ShellUse): Promise<boolean> {
  if (dir === null) return false;
  const repository = await facts.repository(dir);
  return !("unreachable" in repository) && repository.project === project;
}

/** Whether the program runs in the session's worktree, and that is a linked one: a project's agents share its main one. */
async function isInOwn({ facts }: HookServices, worktree: string, { dir }: ShellUse): Promise<boolean> {
  if (dir === null) return false;
  const repository = await facts.repository(dir);
  if ("unreachable" in repository || repository.worktree !== worktree) return false;
  const { gitDir, project } = repository;
  return gitDir !== null && projectAt(gitDir) !== project;
}

export async function gateStop(run: LeadRun, action: ActionOf<"gate_stop">): Promise<HookOutcome> {
  const { services } = run;
  const actor = actorOfAction(run, action);
  const session = services.engine.state.sessions.live.get(action.session);
  const failure = services.toolFailures.pending(actor);
  if (session === undefined || failure === null) return passed("gate_stop");
  const { gates } = await services.rules.at(session);
  const findings = beforeStop(gates, { failure });
  const outcome = decided(run, "gate_stop", actor, findings);
  if (isHeldBack(services, outcome)) services.clientTasks.atWork(actor);
  if (findings.length > 0)
    run.delivery.whenTold(heard => (heard ? services.toolFailures.told(actor) : undefined));
  return outcome;
}

/**
 * The client calls a task of its own list completed. It does so at each idle of the task's owner, too, when the owner's
 * turn is over: then no gate is asked, or the owner could never rest.
 */
export async function gateComplete(run: LeadRun, action: ActionOf<"gate_complete">): Promise<HookOutcome> {
  const { services } = run;
  const actor = actorOfAction(run, action);
  if (services.clientTasks.isAtRest(actor)) return passed("gate_complete");
  const findings = await completionFindings(services, actor, null, action.cwd);
  return decided(run, "gate_complete", actor, findings);
}

function passed(did: GateOutcome["did"]): HookOutcome {
  return { did, ok: true, verdict: "allow", findings: [], isRepeated: false, task: null };
}

/** Returns the outcome with what the agent is to be told; that goes to the trail, and counts as told when the answer is delivered. */
function decided(
  { services, plan, delivery }: LeadRun,
  did: GateOutcome["did"],
  actor: Actor,
  found: readonly GateFinding[],
  files: readonly string[] = [],
): HookOutcome {
  // The gates know the main agent's declaration and role, and another one may act.
  const findings =
    services.likelyActor === null ? found : found.map(one => ({ ...one, mode: "warn" as const }));
  if (findings.length === 0) return passed(did);
  const { gateMemory } = services;
  const held = findings.filter(({ mode }) => mode === "enforce");
  const isHeld = held.length > 0;
  const told = isHeld ? held : gateMemory.unwarned(actor, findings, files);
  const isRepeated = isHeld ? gateMemory.isHeldAgain(actor, held) : told.length === 0;
  const verdict = gateVerdict(findings, isRepeated);
  const [task] = workedOn(services.engine, actor.session, actor.agent);
  if (verdict !== "allow") {
    delivery.whenTold(heard => {
      if (!heard) return;
      if (isHeld) gateMemory.held(actor, told);
      else gateMemory.warned(actor, told, files);
    });
    const said = {
      rule: told.map(({ gate }) => gate).join(","),
      why: whyOf(told),
      decision: verdict === "deny" ? "deny" : "note",
    } as const;
    const [file = null] = files;
    const by = { ...decidedBy(services, actor), event: plan.event, type: plan.tool, file };
    if (services.notedDecisions.isFirst(plan, `${did} ${verdict} ${file}`))
      services.recorder.note({ ...by, ...said });
  }
  return { did, ok: true, verdict, findings: told, isRepeated, task: task?.description ?? null };
}

/** Whether an agent goes on that gates found something of. What it was told before is not told again beside its call. */
function gateVerdict(findings: readonly GateFinding[], isRepeated: boolean): Verdict {
  if (findings.some(({ mode }) => mode === "enforce")) return "deny";
  return findings.length === 0 || isRepeated ? "allow" : "allow_with_note";
}

/** For the trail: the fields that are missing; a role is not missing, but forbids. */
function whyOf(findings: readonly GateFinding[]): string {
  if (findings.every(({ gate }) => gate === "role")) return "the agent's role does not allow it";
  return `missing: ${fieldsOf(findings.flatMap(({ missing }) => missing))}`;
}

/** Whether the file lies in Kite's own folder of the project. */
function isKites(
  { project, worktree }: { readonly project: string; readonly worktree: string },
  path: string,
) {
  return path.startsWith(`${project}/.kite/`) || path.startsWith(`${worktree}/.kite/`);
}

/**
 * Returns the file's path from the top of its worktree, if that belongs to the session's project; null: it does not, and
 * what an agent keeps elsewhere is its own.
 */
async function pathInProject(
  { facts }: HookServices,
  { worktree, project }: { readonly worktree: string; readonly project: string },
  file: FileRef,
): Promise<string | null> {
  const path = pathOf(file);
  if (path.startsWith(`${worktree}/`)) return path.slice(worktree.length + 1);
  const repository = await facts.repository(dirname(path));
  if ("unreachable" in repository || repository.project !== project) return null;
  const top = `${repository.worktree}/`;
  return path.startsWith(top) ? path.slice(top.length) : path;
}

/**
 * An agent leads if it was given that role, or declares so. A main agent that declared no role leads while agents work that it began.
 */
function leadOf(services: HookServices, actor: Actor, declaration: Declaration | undefined): Lead | null {
  const role = declaration?.role.trim() ?? "";
  const isGiven = roleOf(services.engine.state, actor).role === "lead";
  const isDeclared = isLeadRole(role);
  const { agents } = services.presence.of(actor.session);
  const working = [...agents].filter(([agent, { active }]) => active && agent !== actor.agent);
  const isLead = isGiven || isDeclared || (role === "" && actor.agent === null && working.length > 0);
  if (!isLead) return null;
  const { state } = services.engine;
  const own = working.map(([agent]) => actorRow(state, { ...actor, agent }).name);
  const project = state.sessions.live.get(actor.session)?.project;
  const delegates = [...own];
  for (const { id, name } of project === undefined ? [] : sessionsOf(state.sessions, project)) {
    if (delegates.length >= limits.delegatesMax) break;
    if (id !== actor.session) delegates.push(name);
  }
  return {
    why: isGiven ? "given" : isDeclared ? "declared" : "leads",
    delegates: delegates.slice(0, limits.delegatesMax),
  };
}
