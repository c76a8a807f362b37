/**
 * Finds what blocks a request, and the deadlock that its wait would close. Other actors' locks and earlier attached waiters that
 * overlap its files block it.
 *
 * Invariants: the queue is first come, first served, without barging. A detached waiter blocks no request. An actor never
 * waits for a file that it already has. Two commands of one actor block each other, unless one runs inside the other. The
 * actor's other requests block no command of its own, and no command blocks them.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { isResource } from "../../../protocol/names.ts";
import type { LockUse } from "../../../protocol/schemas/lock.ts";
import { type Actor, areBeside, type FileRef, runsInside, sameActor } from "../frame/actors.ts";
import { assert } from "../frame/collections.ts";
import type { BaseState, Hold, Loan, Locks, Token, Waiter } from "../tables/base-state.ts";
import type { Reply } from "../tables/entries.ts";
import {
  type ActorLocks,
  type Edge,
  type LockRequest,
  locksOf,
  rowOf,
  rowOrEmpty,
  rowsAround,
  waitingInside,
} from "../tables/locks.ts";
import { actorRow, pathOf as pathOfLocks, tokenText } from "../tables/naming.ts";
import { firstOf, leads, pathOf } from "../tables/waits.ts";

export interface Ask {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Its queue position; a new request is last. */
  readonly ticket: number;
  readonly ancestors: readonly (string | null)[];
}

/** The actor of a request and the agents that it works for. */
export type Requester = Pick<Ask, "actor" | "ancestors">;

/** Another actor's lock over one of a request's files. */
export interface HeldAgainst {
  readonly by: "hold";
  readonly actor: Actor;
  readonly file: FileRef;
  readonly hold: Hold;
}

export type Blocker =
  | HeldAgainst
  | { readonly by: "place"; readonly actor: Actor; readonly file: FileRef; readonly waiter: Waiter };

/** A waiter and one of its files. */
export interface Wanted {
  readonly waiter: Waiter;
  readonly file: FileRef;
}

/** The fields of a lock or a file that say which paths it covers. */
type PathScope = Pick<FileRef, "key" | "dir">;

/** Yields every blocker, holders first. */
export function* blockers(locks: Locks, ask: Ask): Generator<Blocker, void> {
  yield* heldAgainst(locks, ask);
  if (locks.waiters.size === 0) return;
  for (const file of ask.files) {
    if (isCovered(locks, ask, file)) continue;
    for (const waiter of waitersOver(locks, file)) {
      const attached = waiter.origin !== null;
      if (waiter.ticket < ask.ticket && attached && !isMine(waiter.actor, ask.actor)) {
        yield { by: "place", actor: waiter.actor, file, waiter };
      }
    }
  }
}

/** Yields the locks that block the request, however many wait for its files. */
export function* heldAgainst(locks: Locks, ask: Ask): Generator<HeldAgainst, void> {
  for (const file of ask.files) {
    for (const key of locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = holdAt(locks, key);
      const mine = isOwn(hold, ask);
      if (!mine) yield { by: "hold", actor: hold.actor, file, hold };
    }
  }
}

/** Whether what `owner` has is the requester's: its own, or that of a command inside it or around it. */
export function isMine(owner: Actor, requester: Actor): boolean {
  return sameActor(owner, requester) && !areBeside(owner, requester);
}

/** Whether the lock is the actor's own, or an ancestor's without a write in flight, which passes to it at once. */
export function isOwn(hold: Hold, requester: Requester): boolean {
  if (areBeside(hold.actor, requester.actor)) return false;
  if (sameActor(hold.actor, requester.actor)) return true;
  return hold.flights.length === 0 && isOfAncestor(hold, requester);
}

/** Whether an agent that the requester works for has the lock. */
export function isOfAncestor(hold: Hold, { actor, ancestors }: Requester): boolean {
  const { session, agent, incarnation } = hold.actor;
  return session === actor.session && incarnation === actor.incarnation && ancestors.includes(agent);
}

/** Whether `lender` lent this lock to its present holder, directly or through other borrowers. */
export function lentBy(hold: Hold, lender: Actor): boolean {
  for (let { loan } = hold; loan !== null; loan = loan.loan) if (isMine(loan.actor, lender)) return true;
  return false;
}

/** Whether `hold` includes all of `file`, which overlaps it. No waiter for `file` then precedes the holder. */
export function covers(hold: Hold, file: PathScope): boolean {
  if (hold.key === file.key) return hold.dir || !file.dir;
  return hold.dir && hold.key.length < file.key.length;
}

/**
 * Whether the requester already has the file by another lock than `but`. A lent lock counts: it returns to its lender,
 * so no waiter precedes the lender in the queue.
 */
export function isCovered(locks: Locks, requester: Requester, file: FileRef, but?: Hold): boolean {
  for (const key of locks.heldPaths.around(file.key)) {
    const hold = holdAt(locks, key);
    if (hold !== but && covers(hold, file) && (isOwn(hold, requester) || lentBy(hold, requester.actor)))
      return true;
  }
  return false;
}

/** Returns the actors that must act before the requester can have the lock: none if the lock yields by itself. */
export function mustGiveUp(hold: Hold, requester: Actor): Actor[] {
  const lenders = lendersBut(hold, requester);
  return lasts(hold) ? [hold.actor, ...lenders] : [...lenders];
}

/** Whether the lock does not yield to waiters by itself. */
export function lasts({ kind, flights }: Hold): boolean {
  return kind === "explicit" || flights.length > 0;
}

/** Returns why the lock does not yield to waiters by itself; null: it yields. */
export function useOf({ kind, bound, flights }: Hold): LockUse | null {
  if (kind === "explicit") return bound === null ? "kept" : "command";
  return flights.length > 0 ? "writes" : null;
}

/** Returns the lenders to whom the lock returns before the requester. Lenders after the requester do not block it. */
export function lendersBut(hold: Hold, requester: Actor): readonly Actor[] {
  if (hold.loan === null) return noLenders;
  const lenders: Actor[] = [];
  for (let loan: Loan | null = hold.loan; loan !== null && !isMine(loan.actor, requester); loan = loan.loan)
    lenders.push(loan.actor);
  return lenders;
}

const noLenders: readonly Actor[] = [];

export function firstBlocker(locks: Locks, ask: Ask): Blocker | null {
  if (isClear(locks, ask.files)) return null;
  const first = blockers(locks, ask).next();
  return first.done ? null : first.value;
}

/** Whether no holder and no waiter overlaps the files: the fast path of most requests. */
function isClear({ heldPaths, waitedPaths }: Locks, files: readonly FileRef[]): boolean {
  for (const { key, dir } of files) {
    if (heldPaths.touches(key, dir) || waitedPaths.touches(key, dir)) return false;
  }
  return true;
}

/** Returns the waiters that overlap `file`, once for each of their files that does. */
export function requestsOver(locks: Locks, file: PathScope): Iterable<Wanted> {
  const { waitedPaths, waitersAt } = locks;
  if (waitersAt.size === 0) return nobody;
  if (file.dir) return requestsBelow(locks, file);
  if (!waitedPaths.hasFolders) return waitersAt.has(file.key) ? requestsAt(locks, file, [file.key]) : nobody;
  return requestsAt(locks, file, waitedPaths.around(file.key));
}

const nobody: readonly Wanted[] = [];

/** Lazy, because a folder may have many waiters below it. */
function* requestsBelow(locks: Locks, file: PathScope): Generator<Wanted, void> {
  for (const key of locks.waitedPaths.overlapping(file.key, true)) yield* requestsAt(locks, file, [key]);
}

function requestsAt(locks: Locks, file: PathScope, keys: readonly string[]): Wanted[] {
  const found: Wanted[] = [];
  for (const key of keys) {
    for (const [ticket, wanted] of locks.waitersAt.get(key) ?? []) {
      const waiter = locks.waiters.get(ticket);
      assert(waiter !== undefined, () => `request ${ticket} is indexed as waiting, but does not`);
      if (overlaps(wanted, file)) found.push({ waiter, file: wanted });
    }
  }
  return found;
}

/** Yields the waiters that overlap `file`, each once. */
export function* waitersOver(locks: Locks, file: PathScope): Generator<Waiter, void> {
  const seen = new Set<Waiter>();
  for (const { waiter } of requestsOver(locks, file)) {
    if (seen.has(waiter)) continue;
    seen.add(waiter);
    yield waiter;
  }
}

/** Returns the first of `files` that overlaps one of `others`. */
export function overlapOf(files: readonly FileRef[], others: readonly PathScope[]): FileRef | undefined {
  return files.find(file => others.some(other => overlaps(file, other)));
}

export function overlaps(a: PathScope, b: PathScope): boolean {
  return isWithin(a, b) || isWithin(b, a);
}

function isWithin(a: PathScope, b: PathScope): boolean {
  return a.key === b.key || (b.dir && a.key.startsWith(`${b.key}/`));
}

/** Returns the lock of a key that is indexed as held. */
export function holdAt(locks: Locks, key: string): Hold {
  const hold = locks.holds.get(key);
  assert(hold !== undefined, () => `${key} is indexed as held, but is not`);
  return hold;
}

// Finds wait-for cycles: before a request closes one, and after a change has closed one.
//
// Invariants: a cycle consists of locks that do not yield and of queue positions. A turn lock without a write in flight
// yields, so it is in no cycle. The search follows actors only, and starts only from new edges. An actor without a row has
// no lock and no waiter, so no actor waits for it. Only the runner of a command waits for that command.

/** One step of a cycle: `actor` waits for `file` behind `other`, which waits for the next step's actor or is it. */
export interface CycleStep {
  readonly actor: Actor;
  readonly file: string;
  readonly other: Actor;
}

/** The actors that a request waits for, each with the first file that they block. */
type Ahead = ReadonlyMap<ActorLocks, FileRef>;
/** The actors that would wait for an actor, each with its first request that would. */
type Behind = ReadonlyMap<ActorLocks, Wanted>;

/** Returns the cycle that the request would close by waiting, or null. */
export function cycleByWaiting(locks: Locks, ask: Ask): CycleStep[] | null {
  const me = rowOrEmpty(locks.actors, ask.actor);
  if (me === null) return null;
  const ahead = aheadOf(locks, ask);
  const closes = leads(newAhead(me, ahead), [me, ...rowsAround(me)]);
  return closes ? described(locks, me, ahead, new Map()) : null;
}

/** Returns the cycle that a detached waiter would close by attaching again, or null. */
export function cycleByReturning(locks: Locks, place: Waiter): CycleStep[] | null {
  const me = rowOf(place);
  const ahead = aheadOf(locks, place);
  const behind = newlyBehind(locks, me, place.files, other => {
    return other.waiter.ticket > place.ticket && !isCovered(locks, other.waiter, other.file);
  });
  const others = [...behind.keys()];
  const closes = leads(newAhead(me, ahead), [me, ...rowsAround(me), ...others]) || leads([me], others);
  return closes ? described(locks, me, ahead, behind) : null;
}

/**
 * Returns the cycle that a grant would close, or null. A grant closes a cycle only if its holder waits for another lock. Two
 * grants can do that: an ancestor's lock that passes the queue, and a turn lock made explicit, which no longer yields.
 */
export function cycleByGrant(
  locks: Locks,
  taker: Pick<LockRequest, "actor" | "files" | "kind" | "flight">,
): CycleStep[] | null {
  const { actor, files, kind, flight } = taker;
  if (locks.waiters.size === 0 || (kind === "turn" && flight === null)) return null;
  const me = rowOrEmpty(locks.actors, actor);
  if (me === null || (me.ahead.size === 0 && waitingInside(me).length === 0)) return null;
  const passes = ({ waiter: { actor: other, ancestors } }: Wanted) =>
    flight === null &&
    !areBeside(other, actor) &&
    other.session === actor.session &&
    other.incarnation === actor.incarnation &&
    ancestors.includes(actor.agent);
  const taken = files.filter(file => !staysInside(locks, file, taker));
  const behind = newlyBehind(locks, me, taken, other => !passes(other));
  return leads([me], [...behind.keys()]) ? described(locks, me, new Map(), behind) : null;
}

/** Whether a command of the actor has the file, and keeps it while the actor writes. */
function staysInside(
  { holds }: Locks,
  { key }: FileRef,
  { actor, kind }: Pick<LockRequest, "actor" | "kind">,
): boolean {
  const hold = holds.get(key);
  return kind === "turn" && hold !== undefined && runsInside(hold.actor, actor);
}

/** Returns the cycle that the edge is part of, beginning with its waiting actor, or null. */
export function cycleOf(locks: Locks, { from, to }: Edge): CycleStep[] | null {
  if (!leads([to], [from])) return null;
  const path = pathOf(to, [from]) ?? [];
  return [from, ...path].slice(0, -1).flatMap((at, i) => stepOf(locks, at, path[i] ?? from));
}

function aheadOf(locks: Locks, ask: Ask): Ahead {
  const ahead = new Map<ActorLocks, FileRef>();
  for (const blocker of blockers(locks, ask)) {
    const actors = blocker.by === "place" ? [blocker.actor] : mustGiveUp(blocker.hold, ask.actor);
    for (const actor of actors) {
      const row = locksOf(locks.actors, actor);
      if (row !== undefined && !ahead.has(row)) ahead.set(row, blocker.file);
    }
  }
  return ahead;
}

/** Returns the actors of `ahead` for whom `me` does not wait yet. */
function newAhead(me: ActorLocks, ahead: Ahead): ActorLocks[] {
  return [...ahead.keys()].filter(to => !me.ahead.has(to));
}

/** Returns the actors that do not wait for `me` yet, but would if `me` had the files. */
function newlyBehind(
  locks: Locks,
  me: ActorLocks,
  files: readonly FileRef[],
  isBehind: (other: Wanted) => boolean,
): Behind {
  const behind = new Map<ActorLocks, Wanted>();
  for (const file of files) {
    for (const other of requestsOver(locks, file)) {
      if (other.waiter.origin === null || isMine(me.actor, other.waiter.actor)) continue;
      const from = rowOf(other.waiter);
      if (!me.behind.has(from) && !behind.has(from) && isBehind(other)) behind.set(from, other);
    }
  }
  return behind;
}

/** Returns the cycle through `me` if `me` waited for the actors `ahead`, and the actors `behind` waited for `me`. */
function described(locks: Locks, me: ActorLocks, ahead: Ahead, behind: Behind): CycleStep[] {
  const path = pathOf(me, [me, ...rowsAround(me), ...behind.keys()], [...ahead.keys()]);
  assert(path !== null, () => `no cycle leads through ${me.actor.session}`);
  const steps = path.slice(0, -1).flatMap((at, i) => {
    const next = path[i + 1] ?? me;
    const file = i === 0 ? ahead.get(next) : undefined;
    if (file === undefined) return stepOf(locks, at, next);
    return { actor: me.actor, file: file.file, other: next.actor };
  });
  const last = behind.get(path.at(-1) ?? me);
  if (last === undefined) return steps;
  return [...steps, { actor: last.waiter.actor, file: last.file.file, other: me.actor }];
}

/** Returns the actor `from` and the file for which its first request waits for `to`; nothing if `from` runs `to`. */
function stepOf(locks: Locks, from: ActorLocks, to: ActorLocks): CycleStep[] {
  const edge = from.ahead.get(to);
  if (edge === undefined && runsInside(to.actor, from.actor)) return [];
  const waiter = edge === undefined ? undefined : locks.waiters.get(firstOf(edge));
  const file = waiter === undefined ? undefined : aheadOf(locks, waiter).get(to);
  if (waiter === undefined || file === undefined)
    throw new Error(`${from.actor.session} does not wait for ${to.actor.session}`);
  return [{ actor: waiter.actor, file: file.file, other: to.actor }];
}

// The replies and refusals of lock requests, and how locks and actors are named in events.

export function grantReply(
  state: BaseState,
  request: { readonly files: readonly FileRef[]; readonly single: boolean },
  token: Token,
  fromQueue: boolean,
): Reply {
  const [first] = request.files;
  const named =
    request.single && first !== undefined
      ? { file: first.file, path: pathOfLocks(first) }
      : { files: request.files.map(f => f.file), paths: request.files.map(f => pathOfLocks(f)) };
  const reply = { ok: true as const, ...named, token: tokenText(state, token) };
  return fromQueue ? { ...reply, granted_from_queue: true } : reply;
}

/** Returns a refusal's fields about the blocker. `locked_ago` is in seconds; `yours`: a command of the requester's. */
function lockedBy(state: BaseState, requester: Actor, blocker: Blocker): Record<string, unknown> {
  const row = actorRow(state, blocker.actor);
  const since = blocker.by === "hold" ? blocker.hold.since : blocker.waiter.since;
  return {
    file: blocker.file.file,
    path: pathOfLocks(blocker.file),
    locked_by: row.id,
    locked_by_name: row.name,
    locked_by_agent: row.agent,
    locked_ago: Math.floor((state.t - since) / 1000),
    queued: false,
    ...(sameActor(blocker.actor, requester) ? { yours: true } : {}),
  };
}

/** Refuses a request of `requester` that does not wait. */
export function lockHeld(state: BaseState, requester: Actor, blocker: Blocker): Refusal {
  if (sameActor(blocker.actor, requester)) {
    const does = blocker.by === "hold" ? "locked" : "waits for";
    const error = `another command of yours ${does} ${blocker.file.file}; ask again with waitMs to wait for its end`;
    return refuse("lock_held", error, lockedBy(state, requester, blocker));
  }
  if (blocker.by === "hold" && lentBy(blocker.hold, requester)) {
    const [file, user] = [blocker.file.file, actorRow(state, blocker.actor).name];
    return refuse(
      "lock_held",
      `your agent ${user} is using ${file} and will return it to you; ask again with waitMs to wait`,
      { ...lockedBy(state, requester, blocker), lent: true },
    );
  }
  return refuse(
    "lock_held",
    `${lockedWords(blocker)}; ask again with waitMs to wait for it`,
    lockedBy(state, requester, blocker),
  );
}

/** Returns the published beginning of a refusal: who has the file, by the beginning of an id. */
function lockedWords({ actor, file }: Blocker): string {
  return `${isResource(file.lexical) ? file.file : "file"} locked by ${actor.session.slice(0, 8)}`;
}

export function queueFull(state: BaseState, requester: Actor, blocker: Blocker): Refusal {
  return refuse(
    "lock_queue_full",
    `${lockedWords(blocker)}, queue full`,
    lockedBy(state, requester, blocker),
  );
}

export function waitOver(state: BaseState, waiter: Waiter, blocker: Blocker | null): Refusal {
  const by = blocker === null ? { queued: false } : lockedBy(state, waiter.actor, blocker);
  return refuse("lock_timeout", `lock queue timeout (${waiter.waitMs / 1000}s)`, by);
}

/** Returns how a cycle names the actor; two commands of one actor may be in it. */
function waiterName(state: BaseState, actor: Actor): string {
  const { name } = actorRow(state, actor);
  return actor.command === undefined ? name : `a command of ${name}`;
}

/** Refuses a request with the cycle: each actor, the file it waits for, and the actor it waits behind. */
export function deadlock(state: BaseState, cycle: readonly CycleStep[]): Refusal {
  const steps = cycle.map(({ actor, file, other }) => {
    return { waits: waiterName(state, actor), file, for: waiterName(state, other) };
  });
  const words = steps.map(s => `${s.waits} waits for ${s.file} behind ${s.for}`).join(", ");
  return refuse("lock_deadlock", `deadlock: ${words}; release what you hold first`, {
    cycle: steps,
    queued: false,
  });
}
