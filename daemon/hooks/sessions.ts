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
import type { Services } from "../options.ts";
import { isRefusal } from "../server/call.ts";
import { beginCommand, endDeadIncarnations, incarnationAt, signOfLife } from "../sessions/proposals.ts";
import {
  type ActionOf,
  type Answer,
  type EndEvent,
  type HookEvent,
  isLive,
  propose,
  refused,
} from "./event.ts";
import { agentGone, hasUrgentNotice, newsOf } from "./inbox.ts";
import type { Needs } from "./parts.ts";
import type { HookPoints, Introduction } from "./points.ts";
import { type Led, leadsNobody } from "./wake.ts";

// The parts that the larger actions need.
type BeginParts = "points" | "edits" | "peers";
type TurnEndParts = "calls" | "guard" | "points";
type PromptParts = "edits" | "calls" | "points";
type WaitParts = "edits" | "points";

export function begin(
  event: HookEvent,
  action: ActionOf<"begin">,
  parts: Needs<BeginParts>,
): Promise<HookOutcome | null> | HookOutcome {
  const { session, cwd, pid, revive, title } = action;
  const known = event.engine.state.sessions.live.get(session);
  const isSame = known?.incarnations.some(i => pid === undefined || i.anchor?.pid === pid) ?? false;
  const row = event.presence.of(session);
  const isSettled = row.settledUntil > row.seenAt;
  const isWhere = row.unplaced === null && (isSettled || !isElsewhere(parts.points, session, cwd));
  const isNewTitle = title !== undefined && row.title !== title;
  // The heartbeat of the same event is the sign of life.
  if (known !== undefined && isSame && !revive && isWhere && !isNewTitle)
    return { did: "begin", ok: true, name: known.name, project: known.project };
  return beginAnew(event, action, parts);
}

/** Registers the session, or its process or place if these are new. */
async function beginAnew(
  event: HookEvent,
  action: ActionOf<"begin">,
  parts: Needs<BeginParts>,
): Promise<HookOutcome | null> {
  const { session, cwd, pid = null, revive, title, goesOnUnless } = action;
  const { presence, engine, plan } = event;
  const { points } = parts;
  signOfLife(event, session).settledUntil = 0;
  await endDeadIncarnations(event, session);
  if (goesOnUnless !== undefined && pid !== null)
    await suspendCleared(event, parts, { session, pid, client: plan.client, unless: goesOnUnless });
  const introduction = pid === null ? null : introductionOf(points, session, pid);
  const wanted = title ?? introduction?.name ?? null;
  const name = wanted === null ? null : sayable(plain(wanted, limits.nameBytes));
  if (title !== undefined) presence.of(session).title = title;
  const rest = { project: null, worktree: null, branch: null, name: null, spawn: plan.spawn ?? null };
  const { client } = plan;
  const where = revive ? await beginningIn(points, session, cwd) : cwd;
  const command = await beginCommand(event, { session, cwd: where, pid, revive, client, ...rest });
  const reply = await engine.submitAndWait({ ...command, name, named: "title" });
  if (isRefusal(reply)) return refused("begin", reply);
  if (introduction !== null) await engine.submitAndWait(introduction.command);
  const { unplaced } = presence.of(session);
  const place = unplaced === null ? {} : { unplaced };
  return { did: "begin", ok: true, name: String(reply["name"]), project: String(reply["project"]), ...place };
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
  { engine, facts }: HookEvent,
  parts: Needs<BeginParts>,
  { session, pid, client, unless }: Cleared,
): Promise<void> {
  const { sessions } = engine.state;
  const anchor = sessions.live.has(session) ? null : facts.anchor(pid);
  if (anchor === null) return;
  const before = sessionsAt(sessions, anchor).findLast(one => one.client === client);
  if (before === undefined || before.incarnations.length > 1) return;
  const args = processWords(pid)?.args ?? unless;
  if (args.some(arg => unless.includes(arg))) return;
  forgetTold(parts, before.id);
  await engine.submitAndWait({ type: "session_suspend", session: before.id });
}

/** The session goes on under another id, and no longer knows what it was refused and told. */
function forgetTold({ edits, peers }: Needs<"edits" | "peers">, session: string): void {
  edits.wakes.forget(session);
  peers.memory.forget(session);
}

function isElsewhere(points: HookPoints, session: string, cwd: string): boolean {
  for (const part of points) if (part.isElsewhere?.(session, cwd) === true) return true;
  return false;
}

function introductionOf(points: HookPoints, session: string, pid: number): Introduction | null {
  for (const part of points) {
    const introduction = part.introduction?.(session, pid) ?? null;
    if (introduction !== null) return introduction;
  }
  return null;
}

async function beginningIn(points: HookPoints, session: string, cwd: string): Promise<string> {
  let where = cwd;
  for (const { beginsIn } of points) if (beginsIn !== undefined) where = await beginsIn(session, where);
  return where;
}

export function heartbeat(
  event: HookEvent,
  action: ActionOf<"heartbeat">,
  parts: Needs<"points" | "calls">,
): HookOutcome | null {
  const { points, calls } = parts;
  const { session, active, attention, agentName, descends } = action;
  const { ended = false, stopped = false, failed = false, teammate } = action;
  const { engine, presence } = event;
  const live = engine.state.sessions.live.get(session);
  if (live === undefined) return { did: "heartbeat", ok: true };
  const agent = action.agent ?? (agentName === undefined ? null : agentCalled(live, agentName));
  // An event that says nothing of the agent's turn may come late, so it does not bring the agent back. Nor does the end
  // of a turn: a teammate's end is reported with its last turn, or before it.
  const row = signOfLife(event, session, active === true ? agent : null, agentName ?? null);
  const known = agent === null ? undefined : row.agents.get(agent);
  if (known !== undefined && descends !== undefined) known.descends = descends;
  if (active !== undefined) presence.turn(session, agent, active, failed);
  if (active === true && calls.tasks.resting.size > 0) calls.tasks.atWork({ session, agent });
  const own = agent === null ? row : known;
  const isWork = active === true && !failed && !ended && teammate === undefined && row.dialogs.size === 0;
  const isSettled = own !== undefined && own.settledUntil > row.seenAt && own.settledUnder === event.settings;
  if (isWork && typeof attention !== "string" && isSettled) {
    own.signAt = row.seenAt;
    return { did: "heartbeat", ok: true };
  }
  if (typeof attention === "string") row.dialogs.set(agent, { text: attention, at: event.clock.now() });
  if (attention === null) row.dialogs.delete(agent);
  const whose = { session, agent };
  const sign = { ...action, whose };
  if (teammate !== undefined) for (const part of points) part.teammate?.({ ...sign, teammate });
  for (const part of points) part.alive?.(sign);
  if (ended && agent !== null) {
    row.agents.delete(agent);
    calls.tasks.idle(whose);
    agentGone(event, session, agent, stopped);
  }
  for (const part of points) part.changed?.(whose);
  // Other settings may have a shorter limit, so the next sign under them is passed on.
  if (own !== undefined) own.settledUnder = event.settings;
  return { did: "heartbeat", ok: true };
}

function agentCalled({ agents }: Session, wanted: string): string | null {
  for (const [agent, name] of agents) if (name === wanted) return agent;
  return null;
}

/** Records which of a process's agents makes a call: the call itself cannot say it. */
export function recordToolUse(
  _: HookEvent,
  action: ActionOf<"record_tool_use">,
  { calls }: Needs<"calls">,
): HookOutcome | null {
  const { session, agent = null, toolUseId, cwd, command = null, promptId: prompt, isBackground } = action;
  calls.uses.note(toolUseId, { session, agent, cwd, command, prompt, isBackground });
  return { did: "record_tool_use", ok: true };
}

/** Keeps the actor's latest failed call until a call of its succeeds. */
export function recordResult(
  event: HookEvent,
  action: ActionOf<"record_result">,
  { calls }: Needs<"calls">,
): HookOutcome | null {
  const { failures } = calls;
  const { tool, error } = action;
  const actor = event.actor(action);
  if (error === null) failures.succeeded(actor);
  else failures.failed(actor, { tool, error });
  return { did: "record_result", ok: true };
}

/** The actor has lost its context: the gates tell it in full again. */
export function contextLost(
  event: HookEvent,
  action: ActionOf<"context_lost">,
  { points }: Needs<"points">,
): HookOutcome | null {
  const actor = event.actor(action);
  for (const part of points) part.contextLost?.(actor);
  return { did: "context_lost", ok: true };
}

export async function turnEnd(
  event: HookEvent,
  action: ActionOf<"turn_end">,
  parts: Needs<TurnEndParts>,
): Promise<HookOutcome | null> {
  const { calls, guard, points } = parts;
  const { session, agent = null, keepPrompt = null } = action;
  calls.uses.turnEnded(session, agent, keepPrompt);
  guard.stashLines.turnEnded({ session, agent }, keepPrompt);
  guard.commitLines.turnEnded({ session, agent }, keepPrompt);
  if (!isLive(event, session)) return { did: "turn_end", ok: true };
  const actor = event.actor(action);
  if (action.keepPrompt === undefined) calls.tasks.turnEnded(actor);
  if (action.keepPrompt === undefined && actor.agent === null) turnOver(points, session);
  return propose(event, "turn_end", { type: "turn_end", actor, keepPrompt });
}

/** The turn of the session's main agent is over. */
export function turnOver(points: HookPoints, session: string): void {
  for (const part of points) part.turnOver?.(session);
}

export async function reconcile(
  event: HookEvent,
  action: ActionOf<"reconcile">,
  { points }: Needs<"points">,
): Promise<HookOutcome | null> {
  const { engine, presence } = event;
  if (!isLive(event, action.session)) return { did: "reconcile", ok: true };
  const { incarnation } = event.actor(action);
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
    for (const part of points) part.changed?.({ session: action.session, agent });
    agentGone(event, action.session, agent);
  }
  // A dialog may be told of after its agent's end.
  const { dialogs } = presence.of(action.session);
  for (const [agent] of dialogs.entries()) if (agent !== null && action.isGone(agent)) dialogs.delete(agent);
  return { did: "reconcile", ok: true };
}

export function promptSubmitted(
  event: HookEvent,
  action: ActionOf<"prompt_submitted">,
  parts: Needs<PromptParts>,
): HookOutcome | null {
  const { edits, calls, points } = parts;
  const { session, promptId, byPerson } = action;
  edits.wakes.prompted(session, promptId, byPerson);
  if (byPerson) calls.failures.succeeded(event.actor(action));
  if (byPerson) for (const part of points) part.prompted?.(session);
  event.presence.prompted(session, promptId);
  return { did: "prompt_submitted", ok: true };
}

export async function awaitRelease(
  event: HookEvent,
  action: ActionOf<"await_release">,
  parts: Needs<WaitParts>,
): Promise<HookOutcome | null> {
  const { session, promptId, unattended } = action;
  const { edits, points } = parts;
  const { engine, presence, call, delivery } = event;
  const waits = points.map(part => part.waitsFor?.(session) ?? {});
  if (unattended && !waits.some(({ isAlone }) => isAlone === true))
    return { did: "await_release", ok: true, freed: null, health: [] };
  const hasNotice = () => hasUrgentNotice(engine.state, session);
  const led: Led = Object.assign({}, leadsNobody, ...waits, { hasNotice });
  const woken = await edits.wakes.wait(event, call, { session, prompt: promptId, led });
  if (woken !== null && engine.state.sessions.live.has(session)) presence.of(session).woken = true;
  const freed = woken?.why === "freed" ? woken.freed : null;
  const health = woken?.why === "stalled" ? newsOf(points, { session, agent: null }, delivery) : [];
  const cameBack = woken?.why === "came_back" ? { cameBack: woken.cameBack } : {};
  const notices = woken?.why === "notice" ? ({ hasNotice: true } as const) : {};
  return { did: "await_release", ok: true, freed, health, ...cameBack, ...notices };
}

export function suspend(
  event: EndEvent,
  action: ActionOf<"suspend">,
  parts: Needs<"edits" | "peers">,
): Promise<HookOutcome> | HookOutcome {
  const known = event.engine.state.sessions.live.get(action.session);
  if (known === undefined) return { did: "suspend", ok: true };
  forgetTold(parts, action.session);
  if (known.incarnations.length > 1) return end(event, { ...action, cause: "ended" }, parts);
  return propose(event, "suspend", { type: "session_suspend", session: action.session });
}

type EndOf = { readonly session: string; readonly pid?: number; readonly cause: string };

export async function end(
  event: EndEvent,
  { session, pid, cause }: ActionOf<"end"> | EndOf,
  { peers }: Needs<"peers">,
): Promise<HookOutcome> {
  const { engine, recorder, clock } = event;
  const known = engine.state.sessions.live.get(session);
  if (known === undefined) return { did: "end", ok: true };
  const incarnation = incarnationAt(event, session, pid ?? null);
  const isOthers =
    incarnation === null && pid !== undefined && known.incarnations.every(i => i.anchor !== null);
  // The event came from another process: the session's own live on.
  if (isOthers) return { did: "end", ok: true };
  peers.memory.forget(session);
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
export function clientTask(
  event: HookEvent,
  action: ActionOf<"client_task">,
  { calls }: Needs<"calls">,
): HookOutcome | null {
  const { engine, clock } = event;
  const { session, agent = null, list, isOwnList, task, subject, owner, state } = action;
  const project = engine.state.sessions.live.get(session)?.project;
  if (project !== undefined) {
    const report = { list, isOwnList, task, subject, owner, state, project };
    calls.tasks.report({ ...report, actor: { session, agent }, wallMs: clock.wall() });
  }
  return { did: "client_task", ok: true };
}

export function clientIdle(
  _: HookEvent,
  action: ActionOf<"client_idle">,
  parts: Needs<"calls" | "points">,
): HookOutcome | null {
  const { calls, points } = parts;
  const { session, agent = null, team } = action;
  calls.tasks.idle({ session, agent });
  if (team !== null) for (const part of points) part.teamIdle?.(team);
  return { did: "client_idle", ok: true };
}

/** Forgets the lists of sessions that ended in a step; the trail says how many of their tasks were open. */
export function forgetEndedLists(
  { recorder, clock, calls }: Pick<Services, "recorder" | "clock"> & Needs<"calls">,
  events: readonly { readonly event: KiteEvent }[],
): void {
  for (const { event } of events) {
    if (event.event !== "session_ended") continue;
    const { id, name, project } = event;
    for (const { list, tasks, open } of calls.tasks.sessionEnded(id)) {
      const why = `the client's own task list ${list} ended with ${open} of ${tasks} tasks open`;
      const line = { at: clock.wall(), event: "client_task", id, agent: null, name, project, type: null };
      recorder.note({ ...line, file: null, decision: "note", rule: "client_task", why });
    }
  }
}

/**
 * Keeps where the session's client writes what it does: there the daemon looks for signs of life. And whether it runs in a
 * container.
 */
export function noteClient({ engine, presence, plan, view }: HookEvent): undefined {
  const { session, transcript } = plan;
  if (session === null || !engine.state.sessions.live.has(session)) return;
  const row = presence.of(session);
  if (transcript !== null) row.transcript = transcript;
  row.isContained = view !== null;
}

/** Says where the session's client keeps its files, whether or not Kite is off for it. */
export function tellHome({ plan }: HookEvent, _: Answer, { points }: Needs<"points">): undefined {
  const { session, home } = plan;
  if (session === null || home === null) return;
  for (const part of points) part.homeTold?.(session, home);
}
