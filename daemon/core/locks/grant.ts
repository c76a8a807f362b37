/**
 * Takes locks and grants queued requests.
 *
 * Invariants: a path, its subtree included, has at most one holder. Overlapping attached waiters are served in queue order.
 * Several files are granted all or none, and a waiter holds nothing. A step grants the waiters that it unblocks; later steps
 * grant those beyond `limits.grantsPerStepMax`. No deadlock outlasts a step. Every grant's token is greater than all before
 * it.
 */

import { limits } from "../../../protocol/limits.ts";
import type { FileRef, Origin } from "../frame/actors.ts";
import { type Actor, runsInside, sameActor } from "../frame/actors.ts";
import { assert } from "../frame/collections.ts";
import type { BaseState, Hold, Locks, Token, Waiter } from "../tables/base-state.ts";
import { keepReply } from "../tables/base-state.ts";
import type { Due, Reply, Step } from "../tables/entries.ts";
import type { Edge, LockRequest } from "../tables/locks.ts";
import { actorRow, fileLists, projectOf } from "../tables/naming.ts";
import { firstOf } from "../tables/waits.ts";
import { cycleByGrant, cycleOf, deadlock, grantReply } from "./blockers.ts";
import { addHold, attachWaiter, removeWaiter, renewHold, setFlights } from "./holds.ts";
import { holdBehind, loanOf, noOrigins, passHold, toldAgain } from "./inherit.ts";
import { countUntold, leaseMsOf, leaseResource, yieldLater } from "./leases.ts";

type Request = Pick<
  LockRequest,
  "actor" | "files" | "kind" | "prompt" | "bound" | "flight" | "yieldMs" | "ancestors"
> & {
  readonly untoldMs?: LockRequest["untoldMs"] | undefined;
  readonly beside?: LockRequest["beside"] | undefined;
  readonly retry?: LockRequest["retry"] | null;
};

/**
 * Makes the actor the holder of all files and returns their token; the caller has checked that nothing blocks it.
 * Re-entrancy: if the actor holds all files under one token already, they keep it; else all get a new one.
 */
export function take(state: BaseState, request: Request, origin: Origin, step: Step): Token {
  const { locks } = state;
  // A lock that is passed on stays in its session.
  state.sessions.revisions.changed(request.actor.session);
  const token = heldAs(locks, request) ?? { epoch: state.epoch, grant: ++locks.grants };
  for (const file of request.files) {
    const hold = locks.holds.get(file.key);
    if (hold !== undefined && passesTo(hold, request)) {
      const passed = passHold(state, hold, request, token, origin);
      if (request.actor.command !== undefined) renewHold(locks, passed, { ...request, file });
    } else if (hold !== undefined && staysBehind(hold, request)) {
      holdBehind(state, hold, request, token, origin);
    } else if (hold === undefined) {
      addHold(locks, newHold(file, request, token, state.t, origin));
    } else {
      renewHold(locks, hold, { ...request, file });
      const writable = locks.preimages.writable(hold);
      writable.token = token;
      writable.touched = state.t;
      writable.renewed = null;
      writable.askedAgain = toldAgain(hold, origin);
      writable.retry = request.retry ?? hold.retry;
    }
    const mine = locks.holds.get(file.key);
    assert(mine !== undefined, () => `${file.key} was not taken`);
    const { flight, beside } = request;
    if (flight !== null) setFlights(locks, mine, beside === true ? flightsWith(mine, flight) : [flight]);
    if (request.untoldMs !== undefined) countUntold(state, mine, request.untoldMs, step);
    if (mine.kind === "turn") {
      const due: Due = { what: "turn_lease_over", key: file.key, first: mine.first.grant };
      step.timers.push({ at: state.t + leaseMsOf(mine), due });
      yieldLater(mine, step);
    } else if (mine.lexical.startsWith("@")) leaseResource(state, mine, step);
  }
  return token;
}

/** The actor's writes in the file, the latest last. */
function flightsWith({ flights }: Hold, flight: string): readonly string[] {
  return [...flights.filter(one => one !== flight), flight].slice(-limits.flightsOfHoldMax);
}

/** Whether the grant takes the lock over: an ancestor's, or that of what runs the requesting command. */
function passesTo(hold: Hold, { actor }: Pick<Request, "actor">): boolean {
  return !sameActor(hold.actor, actor) || runsInside(actor, hold.actor);
}

/** Whether the grant leaves the lock to a command inside the requester, and counts from the command's end. */
function staysBehind(hold: Hold, { actor, kind }: Pick<Request, "actor" | "kind">): boolean {
  return kind === "explicit" && runsInside(hold.actor, actor);
}

/** Returns the one token under which the actor holds all files already, or null. */
function heldAs(locks: Locks, request: Request): Token | null {
  let token: Token | null = null;
  for (const { key } of request.files) {
    const hold = locks.holds.get(key);
    if (hold === undefined || passesTo(hold, request)) return null;
    const own = staysBehind(hold, request) ? loanOf(hold, request.actor)?.token : hold.token;
    if (own === undefined || (token !== null && token.grant !== own.grant)) return null;
    token = own;
  }
  return token;
}

/** A separate function because V8 then creates objects of this size twice as fast (measured). */
export function newHold(file: FileRef, request: Request, token: Token, t: number, origin: Origin): Hold {
  return {
    file: file.file,
    lexical: file.lexical,
    key: file.key,
    path: file.path,
    dir: file.dir,
    actor: request.actor,
    kind: request.kind,
    prompt: request.prompt,
    bound: request.bound,
    token,
    first: token,
    place: token.grant,
    since: t,
    touched: t,
    renewed: null,
    yieldMs: request.yieldMs,
    flights: noFlights,
    unseen: undefined,
    expiredFlights: undefined,
    ancestors: request.ancestors,
    loan: null,
    origin,
    askedAgain: noOrigins,
    retry: request.retry ?? null,
    row: null,
    placeInRow: 0,
  };
}

const noFlights: readonly string[] = [];

/** Answers a waiter and keeps the reply for a retry. A detached waiter gets no answer. */
export function answerWaiter(
  state: BaseState,
  waiter: Waiter,
  reply: Reply,
  isGrant: boolean,
  step: Step,
): void {
  const { origin: to, retry } = waiter;
  if (to === null) return;
  if (retry !== null) keepReply(state, retry, reply, to);
  step.answers.push({ to, reply, grant: isGrant ? waiter : null });
}

/**
 * Grants unblocked waiters in queue order and breaks deadlocks. Every step ends with this call, so no handler needs
 * to know which waiters its change unblocks.
 */
export function grantWaiters(state: BaseState, step: Step): void {
  const { graph } = state.locks;
  for (let left: number = limits.grantsPerStepMax; ; ) {
    for (; left > 0 && graph.freeCount > 0; left -= 1) grantNext(state, step);
    const [edge] = graph.fresh;
    if (edge === undefined) break;
    endCycle(state, edge, step);
  }
  if (graph.freeCount > 0) step.timers.push({ at: state.t, due: { what: "grants_left" } });
}

/** Grants or refuses the first waiter that nothing blocks. */
function grantNext(state: BaseState, step: Step): void {
  const { graph, waiters } = state.locks;
  const waiter = graph.takeFree(waiters);
  assert(waiter !== null && waiter.origin !== null, () => "a request is free, but does not wait");
  const cycle = cycleByGrant(state.locks, waiter);
  if (cycle === null) grantWaiter(state, waiter, waiter.origin, step);
  else dismiss(state, waiter, deadlock(state, cycle), "deadlock", step);
}

/**
 * Refuses a waiter if the new edge closed a deadlock. An edge can arise without a request: an actor released a
 * lock it also waits for, or the lock passed to a descendant. The same request, sent now, would be refused too.
 */
function endCycle(state: BaseState, edge: Edge, step: Step): void {
  const { graph, waiters } = state.locks;
  const cycle = cycleOf(state.locks, edge);
  const waiter = waiters.get(firstOf(edge));
  if (cycle === null || waiter === undefined) graph.fresh.delete(edge);
  else dismiss(state, waiter, deadlock(state, cycle), "deadlock", step);
}

/** Makes the waiter the holder of its files and answers it. */
export function grantWaiter(state: BaseState, waiter: Waiter, origin: Origin, step: Step): void {
  removeWaiter(state.locks, waiter);
  const token = take(state, waiter, origin, step);
  const reply = grantReply(state, waiter, token, true);
  answerWaiter(state, waiter, reply, true, step);
  announceGrant(state, waiter, String(reply["token"]), state.t - waiter.since, step);
}

export function announceGrant(
  state: BaseState,
  { actor, files }: Pick<LockRequest, "actor" | "files">,
  token: string,
  waitedMs: number,
  step: Step,
): void {
  const event = {
    event: "lock_granted" as const,
    ...fileLists(files),
    token,
    holder: actorRow(state, actor),
    waitedMs,
  };
  step.events.push({
    event,
    about: [actor.session],
    project: projectOf(state, actor) ?? "",
  });
}

/** Detaches the waiter: it keeps its queue position for `ms`, gets no answer, and no longer blocks later waiters. */
export function detachWaiter(state: BaseState, waiter: Waiter, ms: number, step: Step): void {
  attachWaiter(state.locks, waiter, null);
  state.preimages.writable(waiter).deadline = state.t + ms;
  step.timers.push({ at: waiter.deadline, due: { what: "place_over", ticket: waiter.ticket } });
}

/** Removes the waiter from the queue and answers it with the reason; the end of the step grants other waiters. */
export function dismiss(state: BaseState, waiter: Waiter, reply: Reply, cause: string, step: Step): void {
  dismissAll(state, waiter.actor, [waiter], reply, cause, step);
}

/** Dismisses any number of one actor's waiters. */
export function dismissAll(
  state: BaseState,
  actor: Actor,
  waiters: readonly Waiter[],
  reply: Reply,
  cause: string,
  step: Step,
): void {
  if (waiters.length === 0) return;
  // Computed once: a session may have thousands of waiters, and its end is one step.
  const row = actorRow(state, actor);
  const about = [actor.session];
  const project = projectOf(state, actor) ?? "";
  for (const waiter of waiters) {
    removeWaiter(state.locks, waiter);
    answerWaiter(state, waiter, reply, false, step);
    const event = { event: "lock_wait_ended" as const, ...fileLists(waiter.files), waiter: row, cause };
    step.events.push({ event, about, project });
  }
}
