/**
 * Taking locks and passing them on.
 *
 * Invariants: a path has at most one holder, its subtree included; the line is first come, first served among
 * attached requests that overlap; several files are granted all or none, and a waiting request holds nothing;
 * what becomes free is granted in the same step; every grant's token is greater than all before it.
 */
import { limits } from "../../protocol/limits.ts";
import type { Due, FileRef, LockRequest, Origin } from "./entry.ts";
import { firstBlocker, waitersOver } from "./lock-blockers.ts";
import { addHold, attachWaiter, removeWaiter, renewHold } from "./lock-table.ts";
import { actorRow, fileLists, grantReply } from "./lock-text.ts";
import { keepReply } from "./replies.ts";
import type { State, Token, Waiter } from "./state.ts";
import type { Reply, Step } from "./step.ts";

type Request = Pick<LockRequest, "actor" | "files" | "kind" | "prompt" | "bound"> & {
  readonly retry?: LockRequest["retry"] | null;
};

/**
 * Makes the actor the holder of all files; nothing may block it. Files that it holds under one token already keep
 * it; else all get a new one.
 */
export function take(state: State, request: Request, origin: Origin, step: Step): Token {
  const { locks } = state;
  const held = request.files.map(f => locks.holds.get(f.key));
  const [sample] = held;
  const all = held.every(h => h !== undefined && h.token.grant === sample?.token.grant);
  if (!all || sample === undefined) locks.grants += 1;
  const token: Token =
    all && sample !== undefined ? sample.token : { epoch: state.epoch, grant: locks.grants };
  for (const file of request.files) {
    const hold = locks.holds.get(file.key);
    if (hold === undefined) {
      addHold(locks, {
        ...file,
        actor: request.actor,
        kind: request.kind,
        prompt: request.prompt,
        bound: request.bound,
        token,
        first: token,
        since: state.t,
        touched: state.t,
        origin,
        askedAgain: false,
        retry: request.retry ?? null,
      });
    } else {
      renewHold(locks, hold, { ...request, file });
      hold.token = token;
      hold.touched = state.t;
      hold.askedAgain = true;
    }
    if (request.kind === "turn") {
      const due: Due = { what: "turn_lease_over", key: file.key, token: token.grant };
      step.timers.push({ at: state.t + limits.turnLeaseMs, due });
    }
  }
  return token;
}

/** Answers a waiting request, keeping the answer for a retry. */
export function answerWaiter(state: State, waiter: Waiter, reply: Reply, isGrant: boolean, step: Step): void {
  if (waiter.retry !== null) keepReply(state, waiter.retry, reply);
  if (waiter.origin !== null)
    step.answers.push({ to: waiter.origin, reply, grant: isGrant ? waiter.actor : null });
}

/** Grants whatever can be granted now that `freed` are held or waited for by fewer. */
export function passOn(state: State, freed: readonly FileRef[], step: Step): void {
  const { locks } = state;
  if (locks.waiters.size === 0) return;
  const candidates = new Set<Waiter>();
  for (const file of freed) for (const waiter of waitersOver(locks, file)) candidates.add(waiter);
  for (const waiter of [...candidates].sort((a, b) => a.ticket - b.ticket)) {
    if (waiter.origin !== null && firstBlocker(locks, waiter) === null)
      grantWaiter(state, waiter, waiter.origin, step);
  }
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
