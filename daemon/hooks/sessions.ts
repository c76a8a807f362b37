/** The actions on a session's life and turns. */

import type { HookOutcome } from "../../hooks/seam/slices.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";
import type { Actor } from "../core/frame/actors.ts";
import { sayable } from "../core/sessions/names.ts";
import type { Session } from "../core/tables/base-state.ts";
import { declarationsOf } from "../core/tables/declarations.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import { sessionsAt } from "../core/tables/sessions.ts";
import { processWords } from "../facts/programs.ts";
import { isRefusal } from "../server/call.ts";
import { beginCommand, endDeadIncarnations, incarnationAt, signOfLife } from "../sessions/proposals.ts";
import { type ActionOf, actorOfAction, type EventRun, isLive, propose, type Run, refused } from "./event.ts";
import { agentGone, hasUrgentNotice, newsOf } from "./inbox.ts";
import type { HookServices } from "./parts.ts";
import type { Introduction } from "./points.ts";
import { type Led, leadsNobody } from "./wake.ts";

export function begin(run: Run, action: ActionOf<"begin">): Promise<HookOutcome> | HookOutcome {
  const { services } = run;
  const { session, cwd, pid, revive, title } = action;
  const known = services.engine.state.sessions.live.get(session);
  const isSame = known?.incarnations.some(i => pid === undefined || i.anchor?.pid === pid) ?? false;
  const row = services.presence.of(session);
  const isWhere = row.unplaced === null && !isElsewhere(services, session, cwd);
  const isNewTitle = title !== undefined && row.title !== title;
  // The heartbeat of the same event is the sign of life.
  if (known !== undefined && isSame && !revive && isWhere && !isNewTitle)
    return { did: "begin", ok: true, name: known.name, project: known.project };
  return beginAnew(run, action);
}

/** Registers the session, or its process or place if these are new. */
async function beginAnew({ services, plan }: Run, action: ActionOf<"begin">): Promise<HookOutcome> {
  const { session, cwd, pid = null, revive, title, goesOnUnless } = action;
  const { presence } = services;
  signOfLife(services, session);
  await endDeadIncarnations(services, session);
  if (goesOnUnless !== undefined && pid !== null)
    await suspendCleared(services, { session, pid, client: plan.client, unless: goesOnUnless });
  const introduction = pid === null ? null : introductionOf(services, session, pid);
  const said = title ?? introduction?.name ?? null;
  const name = said === null ? null : sayable(plain(said, limits.nameBytes));
  if (title !== undefined) presence.of(session).title = title;
  const rest = { project: null, worktree: null, branch: null, name: null, spawn: plan.spawn ?? null };
  const { client } = plan;
  const where = revive ? await beginningIn(services, session, cwd) : cwd;
  const command = await beginCommand(services, { session, cwd: where, pid, revive, client, ...rest });
  const reply = await services.engine.submitAndWait({ ...command, name, named: "title" });
  if (isRefusal(reply)) return refused("begin", reply);
  if (introduction !== null) await services.engine.submitAndWait(introduction.command);
  const { unplaced } = presence.of(session);
  const told = unplaced === null ? {} : { unplaced };
  return { did: "begin", ok: true, name: String(reply["name"]), project: String(reply["project"]), ...told };
}

interface Cleared {
  /** The session that begins in place of the cleared one. */
  readonly session: string;
  readonly pid: number;
  readonly client: string | undefined;
  readonly unless: readonly string[];
}

/**
 * Suspends the session of this process that its person cleared, so that the one that begins goes on with its name, inbox and
 * tasks. One that several terminals have open is left, and so are those of a process that may run others'.
 */
async function suspendCleared(
  services: HookServices,
  { session, pid, client, unless }: Cleared,
): Promise<void> {
  const { engine, facts } = services;
  const { sessions } = engine.state;
  const anchor = sessions.live.has(session) ? null : facts.anchor(pid);
  if (anchor === null) return;
  const before = sessionsAt(sessions, anchor).findLast(one => one.client === client);
  if (before === undefined || before.incarnations.length > 1) return;
  const args = processWords(pid)?.args ?? unless;
  if (args.some(arg => unless.includes(arg))) return;
  forgetTold(services, before.id);
  await engine.submitAndWait({ type: "session_suspend", session: before.id });
}

/** The session goes on under another id, and no longer knows what it was refused and told. */
function forgetTold({ hookWakes, peerMemory }: HookServices, session: string): void {
  hookWakes.forget(session);
  peerMemory.forget(session);
}

function isElsewhere(services: HookServices, session: string, cwd: string): boolean {
  for (const part of services.points.isElsewhere) if (part.isElsewhere(services, session, cwd)) return true;
  return false;
}

function introductionOf(services: HookServices, session: string, pid: number): Introduction | null {
  for (const part of services.points.introduction) {
    const said = part.introduction(services, session, pid);
    if (said !== null) return said;
  }
  return null;
}

async function beginningIn(services: HookServices, session: string, cwd: string): Promise<string> {
  let where = cwd;
  for (const part of services.points.beginsIn) where = await part.beginsIn(services, session, where);
  return where;
}

export function heartbeat({ services }: Run, action: ActionOf<"heartbeat">): HookOutcome {
  const { session, active, attention, agentName, descends } = action;
  const { ended = false, stopped = false, failed = false } = action;
  const { engine, presence, points } = services;
  const live = engine.state.sessions.live.get(session);
  if (live === undefined) return { did: "heartbeat", ok: true };
  const agent = action.agent ?? (agentName === undefined ? null : agentCalled(live, agentName));
  // An event that says nothing of the agent's turn may come late, so it does not bring the agent back. Nor does the end
  // of a turn: a teammate's end is reported with its last turn, or before it.
  const row = signOfLife(services, session, active === true ? agent : null, agentName ?? null);
  const known = agent === null ? undefined : row.agents.get(agent);
  if (known !== undefined && descends !== undefined) known.descends = descends;
  if (active !== undefined) presence.turn(session, agent, active, failed);
  if (active === true) services.clientTasks.atWork({ session, agent });
  if (typeof attention === "string") row.dialogs.set(agent, { text: attention, at: services.clock.now() });
  if (attention === null) row.dialogs.delete(agent);
  const whose = { session, agent };
  const sign = { ...action, whose };
  const { teammate } = action;
  if (teammate !== undefined)
    for (const part of points.teammate) part.teammate(services, { ...sign, teammate });
  for (const part of points.alive) part.alive(services, sign);
  if (ended && agent !== null) {
    row.agents.delete(agent);
    services.clientTasks.idle(whose);
    agentGone(services, session, agent, stopped);
  }
  for (const part of points.changed) part.changed(services, whose);
  return { did: "heartbeat", ok: true };
}

function agentCalled({ agents }: Session, wanted: string): string | null {
  for (const [agent, name] of agents) if (name === wanted) return agent;
  return null;
}

/** Records which of a process's agents makes a call: the call itself cannot say it. */
export function recordToolUse({ services }: Run, action: ActionOf<"record_tool_use">): HookOutcome {
  const { session, agent = null, toolUseId, cwd, command = null, promptId: prompt, isBackground } = action;
  services.toolUses.note(toolUseId, { session, agent, cwd, command, prompt, isBackground });
  return { did: "record_tool_use", ok: true };
}

/** Keeps the actor's latest failed call until a call of its succeeds. */
export function recordResult(run: Run, action: ActionOf<"record_result">): HookOutcome {
  const { tool, error } = action;
  const { toolFailures } = run.services;
  const actor = actorOfAction(run, action);
  if (error === null) toolFailures.succeeded(actor);
  else toolFailures.failed(actor, { tool, error });
  return { did: "record_result", ok: true };
}

/** The actor has lost its context: the gates tell it in full again. */
export function contextLost(run: Run, action: ActionOf<"context_lost">): HookOutcome {
  const actor = actorOfAction(run, action);
  for (const part of run.services.points.contextLost) part.contextLost(run.services, actor);
  return { did: "context_lost", ok: true };
}

export async function turnEnd(run: Run, action: ActionOf<"turn_end">): Promise<HookOutcome> {
  const { session, agent = null, keepPrompt = null } = action;
  run.services.toolUses.turnEnded(session, agent, keepPrompt);
  run.services.stashLines.turnEnded({ session, agent }, keepPrompt);
  if (!isLive(run, session)) return { did: "turn_end", ok: true };
  const actor = actorOfAction(run, action);
  if (action.keepPrompt === undefined) run.services.clientTasks.turnEnded(actor);
  if (action.keepPrompt === undefined && actor.agent === null) turnOver(run.services, session);
  return propose(run, "turn_end", { type: "turn_end", actor, keepPrompt });
}

/** The turn of the session's main agent is over. */
export function turnOver(services: HookServices, session: string): void {
  for (const part of services.points.turnOver) part.turnOver(services, session);
}

export async function reconcile(run: Run, action: ActionOf<"reconcile">): Promise<HookOutcome> {
  const { engine, presence } = run.services;
  if (!isLive(run, action.session)) return { did: "reconcile", ok: true };
  const { incarnation } = actorOfAction(run, action);
  const { sessions, declarations, locks } = engine.state;
  // Those that were named are known after a kill of the daemon, too, which takes presence along.
  const named = sessions.live.get(action.session)?.agents.keys() ?? [];
  const agents = new Set([...presence.of(action.session).agents.keys(), ...named]);
  const others = [
    ...rowsOfSession(locks.actors, action.session, incarnation).map(({ actor }) => actor),
    ...declarationsOf(declarations, action.session),
  ];
  for (const { agent } of others) if (agent !== null) agents.add(agent);
  for (const agent of agents) {
    if (!action.isGone(agent)) continue;
    const actor: Actor = { session: action.session, agent, incarnation };
    await engine.submitAndWait({ type: "turn_end", actor, keepPrompt: null });
    const row = presence.of(action.session);
    row.agents.delete(agent);
    for (const part of run.services.points.changed)
      part.changed(run.services, { session: action.session, agent });
    agentGone(run.services, action.session, agent);
  }
  // A dialog may be told of after its agent's end.
  const { dialogs } = presence.of(action.session);
  for (const [agent] of dialogs.entries()) if (agent !== null && action.isGone(agent)) dialogs.delete(agent);
  return { did: "reconcile", ok: true };
}

export function promptSubmitted(run: Run, action: ActionOf<"prompt_submitted">): HookOutcome {
  const { services } = run;
  const { session, promptId, byPerson } = action;
  services.hookWakes.prompted(session, promptId, byPerson);
  if (byPerson) services.toolFailures.succeeded(actorOfAction(run, action));
  if (byPerson) for (const part of services.points.prompted) part.prompted(services, session);
  services.presence.prompted(session, promptId);
  return { did: "prompt_submitted", ok: true };
}

export async function awaitRelease(
  { services, call, delivery }: Run,
  { session, promptId, unattended }: ActionOf<"await_release">,
): Promise<HookOutcome> {
  const { hookWakes, engine, presence, points } = services;
  const waits = points.waitsFor.map(part => part.waitsFor(services, session));
  if (unattended && !waits.some(({ isAlone }) => isAlone === true))
    return { did: "await_release", ok: true, freed: null, health: [] };
  const hasNotice = () => hasUrgentNotice(engine.state, session);
  const led: Led = Object.assign({}, leadsNobody, ...waits, { hasNotice });
  const woken = await hookWakes.wait(services, call, { session, prompt: promptId, led });
  if (woken !== null && engine.state.sessions.live.has(session)) presence.of(session).woken = true;
  const freed = woken?.why === "freed" ? woken.freed : null;
  const health = woken?.why === "stalled" ? newsOf(services, { session, agent: null }, delivery) : [];
  const cameBack = woken?.why === "came_back" ? { cameBack: woken.cameBack } : {};
  const notices = woken?.why === "notice" ? ({ hasNotice: true } as const) : {};
  return { did: "await_release", ok: true, freed, health, ...cameBack, ...notices };
}

export function suspend(run: EventRun, action: ActionOf<"suspend">): Promise<HookOutcome> | HookOutcome {
  const known = run.services.engine.state.sessions.live.get(action.session);
  if (known === undefined) return { did: "suspend", ok: true };
  forgetTold(run.services, action.session);
  if (known.incarnations.length > 1) return end(run, { ...action, cause: "ended" });
  return propose(run, "suspend", { type: "session_suspend", session: action.session });
}

type EndOf = { readonly session: string; readonly pid?: number; readonly cause: string };

export async function end(
  { services }: EventRun,
  { session, pid, cause }: ActionOf<"end"> | EndOf,
): Promise<HookOutcome> {
  const { engine, recorder, clock } = services;
  const known = engine.state.sessions.live.get(session);
  if (known === undefined) return { did: "end", ok: true };
  const incarnation = incarnationAt(services, session, pid ?? null);
  const isOthers =
    incarnation === null && pid !== undefined && known.incarnations.every(i => i.anchor !== null);
  // The event came from another process: the session's own live on.
  if (isOthers) return { did: "end", ok: true };
  services.peerMemory.forget(session);
  const reply = await engine.submitAndWait({ type: "session_end", session, incarnation, cause: "ended" });
  const { name, project } = known;
  const line = { at: clock.wall(), event: "SessionEnd", id: session, agent: null, name, project };
  recorder.note({ ...line, type: "hook", file: null, decision: "note", rule: "session", why: cause });
  return isRefusal(reply) && reply.code !== "session_ended"
    ? refused("end", reply)
    : { did: "end", ok: true };
}

// The actions on tasks of the client's own list, and the end of such a list.

/** A session that is not live reports nothing: its event came late, and its list has ended. */
export function clientTask({ services }: Run, action: ActionOf<"client_task">): HookOutcome {
  const { session, agent = null, list, isOwnList, task, subject, owner, state } = action;
  const { engine, clock, clientTasks } = services;
  const project = engine.state.sessions.live.get(session)?.project;
  if (project !== undefined) {
    const said = { list, isOwnList, task, subject, owner, state, project };
    clientTasks.report({ ...said, actor: { session, agent }, wallMs: clock.wall() });
  }
  return { did: "client_task", ok: true };
}

export function clientIdle({ services }: Run, action: ActionOf<"client_idle">): HookOutcome {
  const { session, agent = null, team } = action;
  services.clientTasks.idle({ session, agent });
  if (team !== null) for (const part of services.points.teamIdle) part.teamIdle(services, team);
  return { did: "client_idle", ok: true };
}

/** Forgets the lists of sessions that ended in a step; the trail says how many of their tasks were open. */
export function forgetEndedLists(
  { clientTasks, recorder, clock }: Pick<HookServices, "clientTasks" | "recorder" | "clock">,
  events: readonly { readonly event: KiteEvent }[],
): void {
  for (const { event } of events) {
    if (event.event !== "session_ended") continue;
    const { id, name, project } = event;
    for (const { list, tasks, open } of clientTasks.sessionEnded(id)) {
      const why = `the client's own task list ${list} ended with ${open} of ${tasks} tasks open`;
      const line = { at: clock.wall(), event: "client_task", id, agent: null, name, project, type: null };
      recorder.note({ ...line, file: null, decision: "note", rule: "client_task", why });
    }
  }
}
