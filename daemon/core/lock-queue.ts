/**
 * Taking locks and passing them on.
 *
 * Invariants: a path has at most one holder, its subtree included; the line is first come, first served among
 * attached requests that overlap; several files are granted all or none, and a waiting request holds nothing;
 * what becomes free is granted in the same step; every grant's token is greater than all before it.
 */
import { sameActor } from "./actors.ts";
import type { Due, FileRef, LockRequest, Origin } from "./entry.ts";
import { type CycleStep, findCycleOf, firstBlocker, waitersOver } from "./lock-blockers.ts";
import { leaseMsOf, yieldLater } from "./lock-flight.ts";
import { passHold } from "./lock-loan.ts";
import { addHold, attachWaiter, removeWaiter, renewHold } from "./lock-table.ts";
import { actorRow, deadlock, fileLists, grantReply } from "./lock-text.ts";
import { keepReply } from "./replies.ts";
import type { Hold, Locks, State, Token, Waiter } from "./state.ts";
import type { Reply, Step } from "./step.ts";

type Request = Pick<
  LockRequest,
  "actor" | "files" | "kind" | "prompt" | "bound" | "flight" | "yieldMs" | "ancestors"
> & {
  readonly retry?: LockRequest["retry"] | null;
};

/**
 * Makes the actor the holder of all files; nothing may block it. Files that it holds under one token already keep
 * it; else all get a new one.
 */
export function take(state: State, request: Request, origin: Origin, step: Step): Token {
  const { locks } = state;
  const token = heldAs(locks, request) ?? { epoch: state.epoch, grant: ++locks.grants };
  for (const file of request.files) {
    const hold = locks.holds.get(file.key);
    if (hold !== undefined && !sameActor(hold.actor, request.actor)) {
      passHold(state, hold, request, token, origin);
    } else if (hold === undefined) {
      addHold(locks, newHold(file, request, token, state.t, origin));
    } else {
      renewHold(locks, hold, { ...request, file });
      hold.token = token;
      hold.touched = state.t;
      hold.renewed = null;
      hold.askedAgain = true;
      hold.retry = request.retry ?? hold.retry;
    }
    const mine = locks.holds.get(file.key);
    if (mine === undefined) throw new Error(`${file.key} was not taken`);
    if (request.flight !== null) mine.flights = [request.flight];
    if (mine.kind === "turn") {
      const due: Due = { what: "turn_lease_over", key: file.key, first: mine.first.grant };
      step.timers.push({ at: state.t + leaseMsOf(mine), due });
      yieldLater(state, mine, step);
    }
  }
  return token;
}

/** The one token under which the actor holds all files already, or null. */
function heldAs(locks: Locks, request: Request): Token | null {
  let token: Token | null = null;
  for (const { key } of request.files) {
    const hold = locks.holds.get(key);
    if (hold === undefined || !sameActor(hold.actor, request.actor)) return null;
    if (token !== null && token.grant !== hold.token.grant) return null;
    token = hold.token;
  }
  return token;
}

/** In a function of its own: the engine's compiler makes objects of this size cheaply only so (twice as fast, measured). */
function newHold(file: FileRef, request: Request, token: Token, t: number, origin: Origin): Hold {
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
    since: t,
    touched: t,
    renewed: null,
    yieldMs: request.yieldMs,
    flights: noFlights,
    ancestors: request.ancestors,
    loan: null,
    origin,
    askedAgain: false,
    retry: request.retry ?? null,
  };
}

const noFlights: readonly string[] = [];

/** Answers a waiting request, keeping the answer for a retry; a place that nobody listens at gets none. */
export function answerWaiter(state: State, waiter: Waiter, reply: Reply, isGrant: boolean, step: Step): void {
  const { origin: to, retry } = waiter;
  if (to === null) return;
  if (retry !== null) keepReply(state, retry, reply, to);
  step.answers.push({ to, reply, grant: isGrant ? waiter.actor : null });
}

/**
 * Grants whatever can be granted now that `freed` are held or waited for by fewer. A grant can let another one
 * through: what it takes passes on to descendants of its actor.
 */
export function passOn(state: State, freed: readonly FileRef[], step: Step): void {
  const { locks } = state;
  for (let files = freed; files.length > 0 && locks.waiters.size > 0; ) {
    const candidates = new Set<Waiter>();
    for (const file of files) for (const waiter of waitersOver(locks, file)) candidates.add(waiter);
    const granted: FileRef[] = [];
    for (const waiter of [...candidates].sort((a, b) => a.ticket - b.ticket)) {
      if (waiter.origin === null || firstBlocker(locks, waiter) !== null) continue;
      const circle = circleByGrant(state, waiter);
      if (circle === null) grantWaiter(state, waiter, waiter.origin, step);
      else dismiss(state, waiter, deadlock(state, circle), "deadlock", step);
      granted.push(...waiter.files);
    }
    files = granted;
  }
}

/**
 * A grant can close a circle where its new holder waits elsewhere: what comes from an ancestor comes past the line,
 * and a turn hold that becomes explicit yields no more.
 */
function circleByGrant(state: State, waiter: Waiter): CycleStep[] | null {
  const lasts = waiter.kind === "explicit" || waiter.flight !== null;
  if (!lasts) return null;
  return findCycleOf(state.locks, waiter.actor, { owned: waiter.files, without: waiter.ticket });
}

/** The request at the head of its line becomes the holder. */
export function grantWaiter(state: State, waiter: Waiter, origin: Origin, step: Step): void {
  removeWaiter(state.locks, waiter);
  const token = take(state, waiter, origin, step);
  const reply = grantReply(state, waiter, token, true);
  answerWaiter(state, waiter, reply, true, step);
  announceGrant(state, waiter, String(reply["token"]), state.t - waiter.since, step);
}

export function announceGrant(
  state: State,
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
    project: state.sessions.live.get(actor.session)?.project ?? "",
  });
}

/** Leaves the waiter's place in line without anybody to answer, for `ms`; who stands behind is passed on to. */
export function leavePlace(state: State, waiter: Waiter, ms: number, step: Step): void {
  attachWaiter(state.locks, waiter, null);
  waiter.deadline = state.t + ms;
  step.timers.push({ at: waiter.deadline, due: { what: "place_over", ticket: waiter.ticket } });
}

/** Removes the waiter from the line and tells it why; the caller passes on. */
export function dismiss(state: State, waiter: Waiter, reply: Reply, cause: string, step: Step): void {
  removeWaiter(state.locks, waiter);
  answerWaiter(state, waiter, reply, false, step);
  step.events.push({
    event: {
      event: "lock_wait_ended",
      ...fileLists(waiter.files),
      waiter: actorRow(state, waiter.actor),
      cause,
    },
    about: [waiter.actor.session],
    project: state.sessions.live.get(waiter.actor.session)?.project ?? "",
  });
}
