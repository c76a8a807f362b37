/** The actions of one hook event, carried out in order up to the first refusal. */

import { isAbsolute, relative } from "node:path";
import type { LockNote, MergeNote } from "../../hooks/seam/notices.ts";
import type { HookAction, HookOutcome, HookPlan } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/actor.ts";
import { rowsOfSession } from "../core/locks/by-actor.ts";
import { pathOf } from "../core/locks/replies.ts";
import type { Session } from "../core/state.ts";
import { listOf } from "../core/tasks/table.ts";
import { refs } from "../facts/file-refs.ts";
import { type Call, isRefusal } from "../server/call.ts";
import { beginCommand, endDeadIncarnations, incarnationAt, signOfLife } from "../sessions/commands.ts";
import { noteIgnored, noteLock } from "../trail/decisions.ts";
import { lockRows, nameOf, sessionRows, workedOn } from "../views/sessions-and-locks.ts";
import {
  type ActionOf,
  actorOfAction,
  ancestorsOf,
  contested,
  isLive,
  propose,
  type Run,
  refused,
  rulesFor,
} from "./action.ts";
import type { Delivery } from "./delivery.ts";
import type { LockAction } from "./edit-lock.ts";
import { guard, indexEnd } from "./git-guard.ts";
import type { HookServices } from "./hook-services.ts";
import { agentGone, inbox, notes, unreadOf } from "./inbox.ts";
import { flightEnd, judge, shellEnd } from "./write-actions.ts";

type Act<D extends HookAction["do"]> = (run: Run, action: ActionOf<D>) => Promise<HookOutcome> | HookOutcome;

const acts: { readonly [D in HookAction["do"]]: Act<D> } = {
  begin,
  seen,
  lock,
  guard,
  flight_end: flightEnd,
  shell_end: shellEnd,
  index_end: indexEnd,
  renew: (run, action) => propose(run, "renew", { type: "lease_renew", actor: actorOfAction(run, action) }),
  acts: noteUse,
  turn_end: turnEnd,
  reconcile,
  suspend,
  inbox,
  notes,
  end,
  look,
  prompted,
  wake,
};

/** Carries the plan out. Who calls settles `delivery` when it is known whether the client got the answer. */
export async function carryOut(
  services: HookServices,
  call: Call,
  plan: HookPlan,
  delivery: Delivery,
): Promise<readonly HookOutcome[]> {
  const run: Run = { services, call, plan, delivery };
  const outcomes: HookOutcome[] = [];
  let isRefused = false;
  for (const action of plan.actions) {
    // A session that cannot be registered wipes others' work like any other.
    if (isRefused && action.do !== "inbox" && action.do !== "guard") continue;
    const outcome = await act(run, action.do, action);
    outcomes.push(outcome);
    isRefused ||= !outcome.ok;
  }
  return outcomes;
}

function act<D extends HookAction["do"]>(
  run: Run,
  name: D,
  action: HookAction,
): Promise<HookOutcome> | HookOutcome {
  // The table has one entry a name; the compiler cannot see that `action.do` is `name`.
  return acts[name](run, action as ActionOf<D>);
}

async function begin({ services }: Run, action: ActionOf<"begin">): Promise<HookOutcome> {
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

function seen({ services }: Run, action: ActionOf<"seen">): HookOutcome {
  const { session, active, attention, agentName, descends, ended = false } = action;
  const { engine, presence } = services;
  const live = engine.state.sessions.live.get(session);
  if (live === undefined) return { did: "seen", ok: true };
  const agent = action.agent ?? (agentName === undefined ? null : agentCalled(live, agentName));
  // What says nothing of the agent's turn may come late: it does not bring the agent back.
  // The end of a turn does not either: a teammate that has ended says so with its last turn, or before it.
  signOfLife(services, session, active === true ? agent : null, agentName ?? null);
  const row = presence.of(session);
  const known = agent === null ? undefined : row.agents.get(agent);
  if (known !== undefined && descends !== undefined) known.descends = descends;
  if (known !== undefined && active !== undefined) known.active = active;
  if (active !== undefined && agent === null) row.active = active;
  if (typeof attention === "string") row.attention = { text: attention, agent };
  if (attention === null && row.attention?.agent === agent) row.attention = null;
  if (ended && agent !== null) {
    row.agents.delete(agent);
    agentGone(services, session, agent);
  }
  return { did: "seen", ok: true };
}

function agentCalled({ agents }: Session, wanted: string): string | null {
  for (const [agent, name] of agents) if (name === wanted) return agent;
  return null;
}

/** What the call itself cannot say: which of a process's agents makes it. */
function noteUse({ services }: Run, action: ActionOf<"acts">): HookOutcome {
  const { session, agent = null, toolUseId, cwd, command = null } = action;
  services.toolUses.note(toolUseId, { session, agent, cwd, command });
  return { did: "acts", ok: true };
}

async function turnEnd(run: Run, action: ActionOf<"turn_end">): Promise<HookOutcome> {
  if (!isLive(run, action.session)) return { did: "turn_end", ok: true };
  const actor = actorOfAction(run, action);
  await judge(run.services, actor);
  return propose(run, "turn_end", { type: "turn_end", actor, keepPrompt: action.keepPrompt ?? null });
}

async function reconcile(run: Run, action: ActionOf<"reconcile">): Promise<HookOutcome> {
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

function prompted({ services }: Run, { session, promptId, byPerson }: ActionOf<"prompted">): HookOutcome {
  services.hookWakes.prompted(session, promptId, byPerson);
  services.presence.of(session).prompt = promptId;
  return { did: "prompted", ok: true };
}

async function wake({ services, call }: Run, { session, promptId }: ActionOf<"wake">): Promise<HookOutcome> {
  const freed = await services.hookWakes.wait(services, call, session, promptId);
  return { did: "wake", ok: true, freed };
}

function suspend(run: Run, action: ActionOf<"suspend">): Promise<HookOutcome> | HookOutcome {
  const known = run.services.engine.state.sessions.live.get(action.session);
  if (known === undefined) return { did: "suspend", ok: true };
  // What it was told before is forgotten by then.
  run.services.hookWakes.forget(action.session);
  if (known.incarnations.length > 1) return end(run, { ...action, cause: "ended" });
  return propose(run, "suspend", { type: "session_suspend", session: action.session });
}

async function end(
  { services }: Run,
  { session, pid, cause }: ActionOf<"end"> | EndOf,
): Promise<HookOutcome> {
  const { engine, recorder, clock } = services;
  const known = engine.state.sessions.live.get(session);
  if (known === undefined) return { did: "end", ok: true };
  const incarnation = incarnationAt(services, session, pid ?? null);
  const isOthers =
    incarnation === null && pid !== undefined && known.incarnations.every(i => i.anchor !== null);
  // It came from a process that is none of the session's: those that are live on.
  if (isOthers) return { did: "end", ok: true };
  const reply = await engine.submitAndWait({ type: "session_end", session, incarnation, cause: "ended" });
  const { name, project } = known;
  const line = { at: clock.wall(), event: "SessionEnd", id: session, agent: null, name, project };
  recorder.note({ ...line, type: "hook", file: null, decision: "note", why: cause });
  return isRefusal(reply) && reply.code !== "session_ended"
    ? refused("end", reply)
    : { did: "end", ok: true };
}

function look({ services }: Run, { session }: ActionOf<"look">): HookOutcome {
  const { engine } = services;
  const { state } = engine;
  const self = state.sessions.live.get(session);
  if (self === undefined) return { did: "look", ok: true, self: session.slice(0, 8), ...nobody };
  const sessions = [...sessionRows(services)].map(r => r.row());
  const locks: LockNote[] = [];
  for (const { row: make } of lockRows(services)) {
    if (locks.length === limits.rowsDefault) break;
    const row = make();
    if (row.project !== self.project || row.holder === null || row.holder.id === session) continue;
    const { path: file, holder, heldMs, waiters } = row;
    const more = { doing: null, edited: [], yieldsInMs: null };
    locks.push({ file, holder: holder.name, heldMs, waiters: waiters.length, ...more });
  }
  const others = sessions.filter(s => s.project === self.project && s.id !== session);
  const readyTasks = listOf(state.tasks, "ready", self.project).size;
  const work = { readyTasks, ownTasks: workedOn(state, session), unread: unreadOf(state, session) };
  return { did: "look", ok: true, self: self.name, sessions: others, locks, ...work };
}

const nobody = { sessions: [], locks: [], readyTasks: 0, ownTasks: [], unread: 0 } as const;

async function lock(run: Run, asked: LockAction): Promise<HookOutcome> {
  const { services, call, plan } = run;
  const files = await refs(services, asked.cwd, [asked.file]);
  if (isRefusal(files)) return refused("lock", files);
  const [found] = files;
  if (found === undefined) throw new Error("one name gave no file");
  const file = { ...found, file: nearName(asked.cwd, asked.file) };
  const actor = actorOfAction(run, asked);
  await judge(services, actor);
  const rules = await rulesFor(services, asked.session, file);
  if (rules.ignores(pathOf(file))) {
    noteIgnored(services, plan.event, actor, asked.file);
    return { did: "ignored", ok: true };
  }
  const waitMs = Math.min(asked.waitMs, rules.lockWaitMs);
  const action = { ...asked, waitMs, ancestors: await ancestorsOf(services, asked) };
  if (action.agent !== undefined) signOfLife(services, action.session, action.agent);
  services.presence.touched(action.session, pathOf(file), file.key);
  const ask = { ...action, files: [file], yieldMs: rules.yieldMs };
  const { waited, delivered } = services.hookLocks.ask(services, call, ask, actor);
  const { reply, waitedMs, before, change, isAbandoned } = await waited;
  if (isAbandoned && isRefusal(reply)) return refused("lock", reply);
  noteLock(services, plan.event, actor, action.file, reply, waitedMs);
  services.hookWakes.decided(services, { actor, file, prompt: action.promptId }, reply);
  if (isRefusal(reply)) return { ...contested("lock", services, actor, [file], reply), waitMs };
  run.delivery.whenSettled(delivered);
  const { changedWhileWaiting, changedBy } = await change;
  void services.baselines.take(file);
  if (changedWhileWaiting && action.overwrites) {
    // The answer will be to read again: nothing is written now.
    await services.engine.submitAndWait({
      type: "flight_end",
      actor,
      flight: action.toolUseId,
      wrote: false,
    });
  } else {
    const { session, agent } = actor;
    const writing = { session, agent, name: nameOf(services, actor), at: services.clock.now() };
    services.writers.began(file.key, { ...writing, flight: action.toolUseId });
  }
  const granted = { ...reply, token: String(reply["token"]) };
  const mergeRisks = takeRisks(run, actor.session);
  return {
    did: "lock",
    ok: true,
    reply: granted,
    waitedMs,
    changedWhileWaiting,
    changedBy,
    before,
    mergeRisks,
  };
}

/** Files at risk that the session was not told of; told when the answer was heard. */
function takeRisks({ services, delivery }: Run, session: string): readonly MergeNote[] {
  const { engine, riskNotes } = services;
  const { notes, ids } = riskNotes.take(engine.state, session);
  delivery.whenSettled(heard => {
    if (!heard) riskNotes.untold(session, ids);
    else if (ids.length > 0)
      engine.submitWithRetry({ type: "notes_told", session, agent: null, notes: [], risks: ids });
  });
  return notes;
}

/** A file below the working directory by its name from there, as people would write it. */
function nearName(cwd: string, file: string): string {
  const near = relative(cwd, file);
  return isAbsolute(file) && near !== "" && !near.startsWith("..") ? near : file;
}

type EndOf = { readonly session: string; readonly pid?: number; readonly cause: string };
