/**
 * The actions that ask the gates: before a write, a shell line or a stop, before a task counts as completed. A shell line asks
 * only if a role restricts its agent.
 */

import { dirname, relative } from "node:path";
import type { GateOutcome } from "../../hooks/lead/seam.ts";
import type { Verdict } from "../../hooks/seam/outcomes.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { refuse } from "../../protocol/codes.ts";
import type { ShellUse } from "../../protocol/guard.ts";
import {
  type GateFinding,
  type GateName,
  type Gates,
  type GatesRow,
  gatesFor,
} from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import type { Rules } from "../config/project-rules.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { openDebateOf } from "../core/lead/debates.ts";
import {
  beforeCompletion,
  beforeShell,
  beforeStop,
  beforeWrite,
  changed,
  gatesWrites,
  isDocument,
  isTest,
  type Lead,
  rolesBeyond,
} from "../core/lead/gates.ts";
import { roleOf } from "../core/lead/roles.ts";
import type { Declaration } from "../core/tables/declarations.ts";
import { noteKey } from "../core/tables/messages.ts";
import { actorRow, pathOf } from "../core/tables/naming.ts";
import { isLeadRole } from "../core/tables/role-words.ts";
import { type Session, sessionsOf } from "../core/tables/sessions.ts";
import { findTask, isTask } from "../core/tasks/replies.ts";
import { projectAt } from "../facts/repositories.ts";
import type { ActionHandler, ActionOf, HookEvent } from "../hooks/event.ts";
import { usesWithAliases } from "../hooks/guard/places.ts";
import type { Kept, Needs } from "../hooks/parts.ts";
import type { HookPart } from "../hooks/points.ts";
import { isHeldBack } from "../hooks/verdict.ts";
import type { Services } from "../options.ts";
import type { DaemonServices, DeclarePart, Target, TaskGate } from "../requests/handler.ts";
import { isRefusal } from "../server/call.ts";
import { decidedBy } from "../trail/decisions.ts";
import { workedOn } from "../views/sessions.ts";
import { checkFacts } from "./checks.ts";
import { creationFindings, roleFacts } from "./roles.ts";
import type { LeadParts, LeadServices } from "./services.ts";

// Asks the quality gate whether an agent may call a task done.

/** The names of the fields that sentences of gates ask for: the trail keeps these, and no text of an agent. */
function fieldsOf(missing: readonly string[]): string {
  return [...new Set(missing.map(sentence => sentence.split(":", 1)[0] ?? ""))].join(", ");
}

type Completing = Pick<LeadParts, "config" | "checks" | "greenRuns" | "completionTries">;

/**
 * Returns what is missing; `task` is a task of Kite's queue, null for one of the client's own list. `cwd` is the caller's
 * directory, if it is known.
 */
export async function completionFindings(
  services: Services,
  parts: Completing,
  actor: Actor,
  task: string | null,
  cwd: string | null,
): Promise<GateFinding[]> {
  const session = services.engine.state.sessions.live.get(actor.session);
  if (session === undefined) return [];
  const { gates } = await parts.config.rules.at(session);
  if (gates.quality === "off") return changedText(parts, session);
  const me = { actor, ancestors: services.presence.ancestors(actor.session, actor.agent) };
  const declaration = services.engine.state.declarations.live.get(noteKey(actor));
  const { openDebate, project } = aboutTask(services, task, session);
  const place = await placeOf(services, session, project, cwd);
  const { runs, ...standing } = await checkFacts(services, parts, me, place, declaration);
  const findings = beforeCompletion(gates, { declaration, ...standing, openDebate });
  const held = findings.filter(({ mode }) => mode === "enforce").flatMap(({ missing }) => missing);
  if (held.length === 0) parts.completionTries.passed(actor);
  else if (held.length === runs.size) {
    // Nothing else holds the agent back.
    for (const [reason, run] of runs) parts.completionTries.refused(actor, reason, run);
  }
  return findings;
}

/** The open debate that the task requires, and its project; of a task that nobody knows, its agent's. */
function aboutTask(
  { engine }: Services,
  name: string | null,
  { project }: Session,
): { readonly openDebate: string | null; readonly project: string } {
  const none = { openDebate: null, project };
  if (name === null) return none;
  const log = engine.logOf(project);
  const task = findTask(log.state, name, project);
  if (!isTask(task)) return none;
  const openDebate = openDebateOf(log.state, task)?.id ?? null;
  return { openDebate, project: task.project };
}

/**
 * Where the work is: in the caller's directory, if that belongs to the task's project, else in its session's. A directory
 * elsewhere says nothing of the task.
 */
async function placeOf(
  { facts }: Services,
  session: Session,
  project: string,
  cwd: string | null,
): Promise<string> {
  if (cwd === null) return session.cwd;
  const around = await facts.repository(cwd);
  return !("unreachable" in around) && around.project === project ? cwd : session.cwd;
}

/** Without the gate, an agent is still told that the text is no longer the one that a person trusted. */
async function changedText({ checks }: Completing, { cwd }: Session): Promise<GateFinding[]> {
  const all = await checks.for(cwd);
  const isChanged = !("unreachable" in all) && all.trust === "changed";
  return isChanged ? [{ gate: "quality", mode: "warn", missing: [changed] }] : [];
}

async function gateWrite(
  event: HookEvent,
  action: ActionOf<"gate_write">,
  parts: LeadParts,
): Promise<HookOutcome | null> {
  const { engine } = event;
  const actor = event.actor(action);
  const session = engine.state.sessions.live.get(action.session);
  if (session === undefined || action.isOwn) return passed("gate_write");
  const found = await event.ruledFile(action);
  // What cannot be read now holds nobody back: the lock, which comes next, tells of it.
  if (isRefusal(found)) return passed("gate_write");
  const { file, rules } = found;
  const path = pathOf(file);
  if (rules.ignoresAnyway(path) || isKites(session, path)) return passed("gate_write");
  const within = await pathInProject(event, session, file);
  if (within === null) return passed("gate_write");
  const { state } = engine;
  const declaration = state.declarations.live.get(noteKey(actor));
  const lead = leadOf(event, actor, declaration);
  const role = roleFacts(state, actor, session.project);
  const written = { key: file.key, path: action.file, isCode: !isDocument(path), isTest: isTest(within) };
  const facts = { declaration, lead, role, file: written };
  return decided(event, parts, "gate_write", actor, beforeWrite(rules.gates, facts), [path, action.file]);
}

/** Asks before a line's git commands, tests and builds in the project; where only the shell knows the folder, it passes. */
async function gateShell(
  event: HookEvent,
  action: ActionOf<"gate_shell">,
  parts: LeadParts,
): Promise<HookOutcome | null> {
  const { state } = event.engine;
  const actor = event.actor(action);
  const session = state.sessions.live.get(action.session);
  const { role: has, by } = roleOf(state, actor);
  if (session === undefined || rolesBeyond(has).length === 0) return passed("gate_shell");
  const { gates } = await parts.config.rules.at(session);
  if (gatesFor(gates, by).role === "off") return passed("gate_shell");
  const uses: ShellUse[] = [];
  for (const use of await usesWithAliases(event, action, action.cwd))
    if (await isOfProject(event, session.project, use)) uses.push(use);
  const named = (does: ShellUse["does"]) => uses.filter(one => one.does === does).map(({ name }) => name);
  const beyondOwn: string[] = [];
  for (const use of uses)
    if (use.does === "git" && !(use.commits && (await isInOwn(event, session.worktree, use))))
      beyondOwn.push(use.name);
  const role = roleFacts(event.engine.state, actor, session.project);
  const findings = beforeShell(gates, { role, git: named("git"), beyondOwn, runs: named("run") });
  return decided(event, parts, "gate_shell", actor, findings);
}

async function isOfProject({ facts }: Services, project: string, { dir }: ShellUse): Promise<boolean> {
  if (dir === null) return false;
  const repository = await facts.repository(dir);
  return !("unreachable" in repository) && repository.project === project;
}

/** Whether the program runs in the session's worktree, and that is a linked one: a project's agents share its main one. */
async function isInOwn({ facts }: Services, worktree: string, { dir }: ShellUse): Promise<boolean> {
  if (dir === null) return false;
  const repository = await facts.repository(dir);
  if ("unreachable" in repository || repository.worktree !== worktree) return false;
  const { gitDir, project } = repository;
  return gitDir !== null && projectAt(gitDir) !== project;
}

async function gateStop(
  event: HookEvent,
  action: ActionOf<"gate_stop">,
  parts: LeadParts,
): Promise<HookOutcome | null> {
  const { failures, tasks } = parts.calls;
  const actor = event.actor(action);
  const session = event.engine.state.sessions.live.get(action.session);
  const failure = failures.pending(actor);
  if (session === undefined || failure === null) return passed("gate_stop");
  const { gates } = await parts.config.rules.at(session);
  const findings = beforeStop(gates, { failure });
  const outcome = decided(event, parts, "gate_stop", actor, findings);
  if (isHeldBack(event, outcome)) tasks.atWork(actor);
  if (findings.length > 0)
    event.delivery.whenTold(isDelivered => (isDelivered ? failures.told(actor) : undefined));
  return outcome;
}

/**
 * The client calls a task of its own list completed. It does so at each idle of the task's owner, too, when the owner's
 * turn is over. Then no gate is asked, or the owner could never rest.
 */
async function gateComplete(
  event: HookEvent,
  action: ActionOf<"gate_complete">,
  parts: LeadParts,
): Promise<HookOutcome | null> {
  const actor = event.actor(action);
  if (parts.calls.tasks.isAtRest(actor)) return passed("gate_complete");
  const findings = await completionFindings(event, parts, actor, null, action.cwd);
  return decided(event, parts, "gate_complete", actor, findings);
}

function passed(did: GateOutcome["did"]): HookOutcome {
  return { did, ok: true, verdict: "allow", findings: [], isRepeated: false, task: null };
}

/** Returns the outcome with what the agent is to be told; that goes to the trail, and counts as told when the answer is delivered. */
function decided(
  event: HookEvent,
  { gateMemory, calls }: LeadParts,
  did: GateOutcome["did"],
  actor: Actor,
  found: readonly GateFinding[],
  files: readonly string[] = [],
): HookOutcome {
  // The gates know the main agent's declaration and role, and another one may act.
  const findings = event.likelyActor === null ? found : found.map(one => ({ ...one, mode: "warn" as const }));
  if (findings.length === 0) return passed(did);
  const { plan } = event;
  const held = findings.filter(({ mode }) => mode === "enforce");
  const isHeld = held.length > 0;
  const shown = isHeld ? held : gateMemory.unwarned(actor, findings, files);
  const isRepeated = isHeld ? gateMemory.isHeldAgain(actor, held) : shown.length === 0;
  const verdict = gateVerdict(findings, isRepeated);
  const [task] = workedOn(event.engine, actor.session, actor.agent);
  if (verdict !== "allow") {
    event.delivery.whenTold(isDelivered => {
      if (!isDelivered) return;
      if (isHeld) gateMemory.held(actor, shown);
      else gateMemory.warned(actor, shown, files);
    });
    const what = {
      rule: shown.map(({ gate }) => gate).join(","),
      why: whyOf(shown),
      decision: verdict === "deny" ? "deny" : "note",
    } as const;
    const [file = null] = files;
    const by = { ...decidedBy(event, actor), event: plan.event, type: plan.tool, file };
    if (calls.decisions.isFirst(plan, `${did} ${verdict} ${file}`)) event.recorder.note({ ...by, ...what });
  }
  return { did, ok: true, verdict, findings: shown, isRepeated, task: task?.description ?? null };
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
 * Returns the file's path from the top of its worktree. Null if that is not of the session's project: what an agent keeps
 * elsewhere is its own.
 */
async function pathInProject(
  { facts }: Services,
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
function leadOf(services: Services, actor: Actor, declaration: Declaration | undefined): Lead | null {
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

// The actions that ask the gates, and what else of hooks concerns them.

/** Asks before each file until a gate holds the line back; what was not asked of a file before is told once. */
async function gateFiles(
  event: HookEvent,
  action: ActionOf<"gate_files">,
  parts: LeadParts,
): Promise<HookOutcome | null> {
  let warned: HookOutcome | null = null;
  for (const file of action.files) {
    const named = { ...action, do: "gate_write", file, isOwn: false } as const;
    const found = await event.ruledFile(named);
    if (isRefusal(found) || !asksBeforeWrites(event, named, found.rules)) continue;
    if (action.hasNewFiles !== true && !(await isProjectFile(event, found.file))) continue;
    const outcome = await gateWrite(event, named, parts);
    if (outcome === null || !("verdict" in outcome) || outcome.verdict === "allow") continue;
    const ofFile = { ...outcome, did: "gate_files", file } as HookOutcome;
    if (outcome.verdict === "deny") return ofFile;
    warned ??= ofFile;
  }
  return warned;
}

export const gateActions: { readonly [D in GateOutcome["did"]]: ActionHandler<D> } = {
  gate_write: async (event, action, parts: LeadParts) => {
    const found = await event.ruledFile(action);
    // The lock, which comes next, tells why a file is not known.
    const isAsked = !isRefusal(found) && asksBeforeWrites(event, action, found.rules);
    return isAsked ? gateWrite(event, action, parts) : null;
  },
  gate_files: gateFiles,
  gate_shell: gateShell,
  gate_stop: (event, action, parts: LeadParts) => {
    const hasFailed = parts.calls.failures.pending(event.actor(action)) !== null;
    return hasFailed ? gateStop(event, action, parts) : null;
  },
  gate_complete: gateComplete,
};

/** Whether it is a file that is there, and that git does not ignore: build output is no code. */
async function isProjectFile({ facts }: Services, file: FileRef): Promise<boolean> {
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
function asksBeforeWrites(event: HookEvent, action: ActionOf<"gate_write">, rules: Rules): boolean {
  const asksAll = known.get(rules) ?? gatesWrites(rules.gates);
  known.set(rules, asksAll);
  if (asksAll) return true;
  const { state } = event.engine;
  if (state.roles.size === 0 && state.declarations.live.size === 0) return false;
  const { role, by } = roleOf(state, event.actor(action));
  return rolesBeyond(role).length > 0 && gatesFor(rules.gates, by).role !== "off";
}

/** Gates remember what they told an agent for as long as its model does. */
export function gatePart(_: Services, { gateMemory }: Kept<LeadParts>): HookPart {
  return { contextLost: actor => gateMemory.forget(actor) };
}

// What the gates of roles and of quality say before an agent creates tasks, or calls one done.

export const roleGate: TaskGate<LeadServices> = {
  ask: (services, by, step) => {
    const looking = step === "create" ? creationFindings(services, services, by) : null;
    if (looking === null) return null;
    return looking.then(findings => {
      const missing = missingOf(findings, "enforce");
      if (missing.length === 0) return { warnings: missingOf(findings, "warn"), refusal: null, line: null };
      const refusal = refuse("role_limit", missing.join("; "));
      return { warnings: [], refusal, line: { rule: "role", why: "the agent's role does not allow it" } };
    });
  },
};

export const qualityGate: TaskGate<LeadServices> = {
  ask: (services, by, step) => {
    if (step === "create") return null;
    return completionFindings(services, services, by, step.task, step.cwd).then(findings => {
      const missing = missingOf(findings, "enforce");
      const rule = "quality";
      if (missing.length > 0) {
        const refusal = refuse("not_complete", `${step.what}: ${missing.join("; ")}`, { missing });
        return { warnings: [], refusal, line: { rule, why: `missing: ${fieldsOf(missing)}` } };
      }
      const warnings = missingOf(findings, "warn");
      const why = `passed with a warning: ${fieldsOf(warnings)}`;
      return { warnings, refusal: null, line: warnings.length === 0 ? null : { rule, why } };
    });
  },
};

function missingOf(findings: readonly GateFinding[], mode: GateFinding["mode"]): string[] {
  return findings.filter(found => found.mode === mode).flatMap(({ missing }) => missing);
}

// What of a declaration is missing for the gates of a project: what no gate asks for, nobody has to supply.

/** By the part with which a sentence of `missingIn` begins: the gates that ask for it. */
const askers: ReadonlyMap<string, readonly GateName[]> = new Map([
  ["identity", ["identity"]],
  ["understanding", ["understanding", "quality"]],
  ["codeView", ["codeView", "quality"]],
]);

export const askedParts: DeclarePart = async ({ config }, session) => {
  const { gates } = await config.rules.at(session);
  return reply => {
    if (reply?.ok !== true) return reply;
    const missing = Array.isArray(reply["missing"]) ? reply["missing"].map(String) : [];
    return { ...reply, missing: missing.filter(sentence => isAsked(gates, sentence)) };
  };
};

function isAsked(gates: Gates, sentence: string): boolean {
  const [part = ""] = sentence.split(/[.:]/, 1);
  return (askers.get(part) ?? []).some(gate => gates[gate] !== "off");
}

// The gates in force, as `query` shows them: a row for each project.

const gates: Target<GatesRow> = {
  open: async ({ engine, config }: DaemonServices & Needs<"config">, { project }) => {
    const all = [...engine.state.sessions.live.values()].map(session => session.project);
    const wanted = project === undefined ? [...new Set(all)].sort() : [project];
    const rows: GatesRow[] = [];
    // One after the other: the limit per device is everybody's.
    for (const one of wanted) {
      const { gates } = await config.rules.at({ project: one, worktree: one });
      rows.push({ project: one, ...gates });
    }
    return () => rows.map(row => ({ place: 0, key: row.project, row: () => row }));
  },
};

export const gateTargets = { gates };
