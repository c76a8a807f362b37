/** The actions on a session's life and turns. */

import type { HookOutcome } from "../../hooks/seam/plan.ts";
import type { Actor } from "../core/actor.ts";
import { rowsOfSession } from "../core/locks/by-actor.ts";
import { needsTeammate } from "../core/sessions/teammates.ts";
import type { Session } from "../core/state.ts";
import { isRefusal } from "../server/call.ts";
import { beginCommand, endDeadIncarnations, incarnationAt, signOfLife } from "../sessions/commands.ts";
import { type ActionOf, actorOfAction, isLive, propose, type Run, refused } from "./action.ts";
import { agentGone } from "./inbox.ts";

export async function begin({ services }: Run, action: ActionOf<"begin">): Promise<HookOutcome> {
  const { session, cwd, pid = null, revive } = action;
  const known = services.engine.state.sessions.live.get(session);
  const isSame = known?.incarnations.some(i => pid === null || i.anchor?.pid === pid) ?? false;
  signOfLife(services, session);
  const { presence } = services;
  if (known !== undefined && isSame && !revive && presence.of(session).unplaced === null) {
    return { did: "begin", ok: true, name: known.name, project: known.project };
  }
  await endDeadIncarnations(services, session);
  const rest = { project: null, worktree: null, branch: null, name: null };
  const reply = await services.engine.submitAndWait(
    await beginCommand(services, { session, cwd, pid, revive, ...rest }),
  );
  if (isRefusal(reply)) return refused("begin", reply);
  const { unplaced } = presence.of(session);
  const told = unplaced === null ? {} : { unplaced };
  return { did: "begin", ok: true, name: String(reply["name"]), project: String(reply["project"]), ...told };
}

export function heartbeat({ services }: Run, action: ActionOf<"heartbeat">): HookOutcome {
  const { session, active, attention, agentName, teammate, descends, ended = false } = action;
  const { engine, presence } = services;
  const live = engine.state.sessions.live.get(session);
  if (live === undefined) return { did: "heartbeat", ok: true };
  const agent = action.agent ?? (agentName === undefined ? null : agentCalled(live, agentName));
  // An event that says nothing of the agent's turn may come late, so it does not bring the agent back. Nor does the end
  // of a turn: a teammate's end is reported with its last turn, or before it.
  signOfLife(services, session, active === true ? agent : null, agentName ?? null);
  if (teammate !== undefined && needsTeammate(live, agent, teammate))
    engine.submitWithRetry({ type: "teammate_named", session, agent, ...teammate });
  const row = presence.of(session);
  const known = agent === null ? undefined : row.agents.get(agent);
  if (known !== undefined && descends !== undefined) known.descends = descends;
  if (known !== undefined && active !== undefined) known.active = active;
  if (active !== undefined && agent === null) row.active = active;
  if (active === true) services.clientTasks.atWork({ session, agent });
  if (typeof attention === "string") row.attention = { text: attention, agent };
  if (attention === null && row.attention?.agent === agent) row.attention = null;
  if (ended && agent !== null) {
    row.agents.delete(agent);
    services.clientTasks.idle({ session, agent });
    agentGone(services, session, agent);
  }
  return { did: "heartbeat", ok: true };
}

function agentCalled({ agents }: Session, wanted: string): string | null {
  for (const [agent, name] of agents) if (name === wanted) return agent;
  return null;
}

/** Records which of a process's agents makes a call: the call itself cannot say it. */
export function recordToolUse({ services }: Run, action: ActionOf<"record_tool_use">): HookOutcome {
  const { session, agent = null, toolUseId, cwd, command = null } = action;
  services.toolUses.note(toolUseId, { session, agent, cwd, command });
  return { did: "record_tool_use", ok: true };
}

/** Keeps the actor's latest failed call until a call of its succeeds. */
export function recordResult({ services }: Run, action: ActionOf<"record_result">): HookOutcome {
  const { session, agent = null, tool, error } = action;
  if (error === null) services.toolFailures.succeeded({ session, agent });
  else services.toolFailures.failed({ session, agent }, { tool, error });
  return { did: "record_result", ok: true };
}

export async function turnEnd(run: Run, action: ActionOf<"turn_end">): Promise<HookOutcome> {
  if (!isLive(run, action.session)) return { did: "turn_end", ok: true };
  const actor = actorOfAction(run, action);
  if (action.keepPrompt === undefined) run.services.clientTasks.turnEnded(actor);
  return propose(run, "turn_end", { type: "turn_end", actor, keepPrompt: action.keepPrompt ?? null });
}

export async function reconcile(run: Run, action: ActionOf<"reconcile">): Promise<HookOutcome> {
  const { engine, presence } = run.services;
  if (!isLive(run, action.session)) return { did: "reconcile", ok: true };
  const { incarnation } = actorOfAction(run, action);
  const agents = new Set(presence.of(action.session).agents.keys());
  for (const { actor } of rowsOfSession(engine.state.locks.actors, action.session, incarnation)) {
    if (actor.agent !== null) agents.add(actor.agent);
  }
  for (const agent of agents) {
    if (!action.isGone(agent)) continue;
    const actor: Actor = { session: action.session, agent, incarnation };
    await engine.submitAndWait({ type: "turn_end", actor, keepPrompt: null });
    const row = presence.of(action.session);
    row.agents.delete(agent);
    agentGone(run.services, action.session, agent);
    if (row.attention?.agent === agent) row.attention = null;
  }
  return { did: "reconcile", ok: true };
}

export function promptSubmitted(
  { services }: Run,
  { session, promptId, byPerson }: ActionOf<"prompt_submitted">,
): HookOutcome {
  services.hookWakes.prompted(session, promptId, byPerson);
  if (byPerson) services.toolFailures.succeeded({ session, agent: null });
  services.presence.of(session).prompt = promptId;
  return { did: "prompt_submitted", ok: true };
}

export async function awaitRelease(
  { services, call }: Run,
  { session, promptId }: ActionOf<"await_release">,
): Promise<HookOutcome> {
  const freed = await services.hookWakes.wait(services, call, session, promptId);
  return { did: "await_release", ok: true, freed };
}

export function suspend(run: Run, action: ActionOf<"suspend">): Promise<HookOutcome> | HookOutcome {
  const known = run.services.engine.state.sessions.live.get(action.session);
  if (known === undefined) return { did: "suspend", ok: true };
  // The session goes on under another id, and no longer knows what it was refused.
  run.services.hookWakes.forget(action.session);
  if (known.incarnations.length > 1) return end(run, { ...action, cause: "ended" });
  return propose(run, "suspend", { type: "session_suspend", session: action.session });
}

type EndOf = { readonly session: string; readonly pid?: number; readonly cause: string };

export async function end(
  { services }: Run,
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
  const reply = await engine.submitAndWait({ type: "session_end", session, incarnation, cause: "ended" });
  const { name, project } = known;
  const line = { at: clock.wall(), event: "SessionEnd", id: session, agent: null, name, project };
  recorder.note({ ...line, type: "hook", file: null, decision: "note", rule: "session", why: cause });
  return isRefusal(reply) && reply.code !== "session_ended"
    ? refused("end", reply)
    : { did: "end", ok: true };
}
