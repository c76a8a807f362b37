/** Locks for hooks: one request per tool use, however many of its hooks wait. */

import type { HookAction, HookOutcome } from "../../../hooks/seam/slices.ts";
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { isResource } from "../../../protocol/names.ts";
import type { Actor, FileRef } from "../../core/frame/actors.ts";
import {
  type Ask,
  firstBlocker,
  type HeldAgainst,
  heldAgainst,
  isOfAncestor,
  lentBy,
  type Requester,
  waitersOver,
} from "../../core/locks/blockers.ts";
import { loansOf } from "../../core/locks/inherit.ts";
import type { State } from "../../core/state.ts";
import type { Hold } from "../../core/tables/base-state.ts";
import type { Command, Granted, Reply, Step } from "../../core/tables/entries.ts";
import { actorRow, pathOf } from "../../core/tables/naming.ts";
import type { Services } from "../../options.ts";
import type { Call } from "../../server/call.ts";
import { lockCommand } from "../../sessions/proposals.ts";
import { nameOf } from "../../views/sessions.ts";
import type { Baselines, Writer, Writers, Writing } from "../../worktree/writers.ts";
import type { HookedCommits } from "../guard/memory.ts";

// Who keeps a lock until its work is done.

interface Keeper extends Pick<Hold, "actor" | "since" | "first"> {
  readonly stays: "kept";
}

/**
 * Returns the actor that locked the file until its work is done: its holder, or who lent it to the holder. Null if there is
 * none. A resource has none, since its lock has a lease.
 */
export function keptBy(hold: Hold): Keeper | null {
  const holds = hold.kind === "explicit" ? [hold, ...loansOf(hold)] : loansOf(hold);
  const kept = holds.find(({ bound }) => bound === null);
  return kept === undefined || isResource(hold.lexical)
    ? null
    : { actor: kept.actor, since: kept.since, first: kept.first, stays: "kept" };
}

/**
 * Returns the keeper that `asker` has to wait for. Null also if `asker` lent this lock to an agent of its own, whose turn
 * will end, or works for the holder, whose write passes the lock on when it ends.
 */
export function keeperOf(hold: Hold, asker: Requester): Keeper | null {
  return lentBy(hold, asker.actor) || isOfAncestor(hold, asker) ? null : keptBy(hold);
}

/**
 * Returns the first lock over one of the files that another actor keeps until its work is done. Nobody knows when that is,
 * so an edit does not wait for it. It waits for a lock that a running command holds. Other locks may block the request besides: the
 * keeper's own edit of a file in a directory that it keeps.
 */
export function keptAgainst({ locks }: Pick<State, "locks">, ask: Ask): HeldAgainst | null {
  for (const held of heldAgainst(locks, ask)) if (keeperOf(held.hold, ask) !== null) return held;
  return null;
}

/** Returns the refusal of a request that does not wait for what another actor keeps until its work is done; null: nobody does. */
export function refuseKept(state: State, ask: Ask): Refusal | null {
  const held = keptAgainst(state, ask);
  const keeper = held === null ? null : keeperOf(held.hold, ask);
  if (held === null || keeper === null) return null;
  const { hold, file } = held;
  const { id, name, agent } = actorRow(state, keeper.actor);
  const error = `${name} has locked ${pathOf(hold)} until its work is done; ask it to release that, or ask without unlessKept to wait`;
  return refuse("lock_held", error, {
    file: file.file,
    path: pathOf(file),
    use: keeper.stays,
    held: pathOf(hold),
    ...(hold.dir ? { dir: true } : {}),
    locked_by: id,
    locked_by_name: name,
    locked_by_agent: agent,
    locked_ago: Math.floor((state.t - keeper.since) / 1000),
    queued: false,
  });
}

export type LockAction = Extract<HookAction, { do: "lock" }>;

/** What decisions are made with, which outlive their events. */
interface LockServices extends Services {
  readonly commits: Pick<HookedCommits, "over" | "held">;
  readonly baselines: Baselines;
  readonly writers: Writers;
}

/** What a hook's lock needs of its event. A decision is kept without it, since the connections of all events are many. */
interface LockEvent {
  readonly call: Call;
  readonly observes: boolean;
}

/** The fields of a hook's action that make a lock request. */
type HookAsk = Pick<
  LockAction,
  "session" | "agent" | "toolUseId" | "waitMs" | "promptId" | "ancestors" | "cwd" | "untoldMs" | "beside"
> & {
  /** All of them are granted, or none. */
  readonly files: readonly FileRef[];
  /** The lock yields when it was untouched this long; 0: as soon as no write is in flight. */
  readonly yieldMs: number;
  /** Keys of the files of which a change would be lost: of several that changed, one of these tells. */
  readonly overwritten?: ReadonlySet<string | undefined>;
};

export interface Waited {
  readonly reply: Reply;
  readonly waitedMs: number;
  /** The holder when the wait began; null if there was no wait. */
  readonly before: string | null;
  /** What happened to the files between the start of the wait and the answer. */
  readonly change: Promise<Change>;
  /** Every client that waited is gone: the daemon decided nothing, and no client reads an answer. */
  readonly isAbandoned: boolean;
}

type Change = Pick<Extract<HookOutcome, { did: "lock"; ok: true }>, "changedWhileWaiting" | "changedBy"> & {
  /** The first file that changed. */
  readonly changedFile: string | null;
};

const unchanged = { changedWhileWaiting: false, changedBy: null, changedFile: null } as const;
const unchangedYet = Promise.resolve<Change>(unchanged);

/** The start of a wait. */
interface Parked {
  readonly blocker: Actor | null;
  /** The blocker's name at that time. */
  readonly before: string | null;
  readonly files: readonly ParkedFile[];
}

interface ParkedFile {
  readonly file: FileRef;
  /** Its last reported write, and its latest write without a report. */
  readonly wrote: Writer | null;
  readonly writing: Writing | null;
  /**
   * Its stamps at that time, as far as known. If the blocker was writing it then, its stamp from before that write is
   * among them.
   */
  readonly stamps: Promise<readonly (string | null)[]>;
}

const unasked = -1;

type Commit = NonNullable<ReturnType<HookedCommits["over"]>>;

/** One tool use's lock and the hooks that wait for it. */
interface PendingEditLock {
  readonly action: HookAsk;
  readonly actor: Actor;
  /** What `HookLocks` finds it by. */
  readonly key: string;
  readonly beganMs: number;
  /** The number of its proposal; `unasked`: it waits for a commit before. */
  n: number;
  readonly waited: Promise<Waited>;
  readonly resolve: (waited: Waited) => void;
  readonly calls: Set<Call>;
  joined: number;
  unheard: number;
  /** Null until it waits. */
  parked: Parked | null;
  isDecided: boolean;
}

/**
 * The locks that hooks ask for.
 *
 * Invariants: a tool use has one request at a time. Its decision holds for all its hooks as long as the granted lock
 * does. A request that was given up, or whose grant was undone because no hook received it, is forgotten at once. The
 * next hook then asks anew.
 */
export class HookLocks {
  readonly #services: LockServices;
  readonly #asked = new Map<string, PendingEditLock>();
  /** Requests that wait in the core's queues, by the numbers of their proposals. */
  readonly queued = new Map<number, PendingEditLock>();
  /** When each request was decided, by key; the oldest first. */
  readonly #decided = new Map<string, number>();

  constructor(services: LockServices) {
    this.#services = services;
  }

  /**
   * Asks for the lock, or joins the request of the same tool use (for example if hooks are installed twice). Each
   * client is told at once that it waits. When the last of them is gone, the request is given up. `isFirst`: this is the
   * hook for which the trail has its line.
   */
  ask(
    event: LockEvent,
    action: HookAsk,
    actor: Actor,
  ): {
    readonly waited: Promise<Waited>;
    readonly delivered: (ok: boolean) => void;
    readonly isFirst: boolean;
  } {
    const now = this.#services.clock.now();
    this.#forget(now);
    const key = [action.session, action.agent ?? "", action.toolUseId, ...keysOf(action)].join("\n");
    const pending = this.#asked.get(key) ?? this.#begin(event, action, actor, key, now);
    this.#join(pending, event.call);
    const isFirst = pending.joined === 1;
    return { waited: pending.waited, delivered: ok => this.#settleDelivery(pending, ok), isFirst };
  }

  /** Gives up the requests that wait for what this step locked until its holder's work is done. */
  locked(
    state: Pick<State, "locks">,
    command: Command,
    { reply, answers }: Pick<Step, "reply" | "answers">,
  ): void {
    if (command.type === "lock_request" && reply?.ok === true) this.#granted(state, command);
    // Whatever the command was, it may have freed what somebody waited to keep.
    for (const { grant } of answers) if (grant !== null) this.#granted(state, grant);
  }

  #granted(state: Pick<State, "locks">, { files, kind, bound }: Granted): void {
    if (kind !== "explicit" || bound !== null) return;
    for (const file of files) {
      for (const waiter of waitersOver(state.locks, file)) {
        const pending = waiter.origin === null ? undefined : this.queued.get(waiter.origin.n);
        if (pending !== undefined && keptAgainst(state, waiter) !== null) this.#giveUp(pending);
      }
    }
  }

  #begin(
    { call, observes }: LockEvent,
    asks: HookAsk,
    actor: Actor,
    key: string,
    beganMs: number,
  ): PendingEditLock {
    const services = this.#services;
    const mayWait = call.connection.hasRoomToWait && !observes;
    const action = mayWait ? asks : { ...asks, waitMs: 0 };
    let resolve: (waited: Waited) => void = () => {};
    const waited = new Promise<Waited>(end => {
      resolve = end;
    });
    const pending: PendingEditLock = {
      action,
      actor,
      key,
      beganMs,
      n: unasked,
      waited,
      resolve,
      calls: new Set(),
      joined: 0,
      unheard: 0,
      parked: null,
      isDecided: false,
    };
    this.#asked.set(key, pending);
    const { commits } = services;
    const isHeld = commits.held.size > 0 && mayWait && action.waitMs > 0;
    const commit = isHeld ? commits.over(services, actor, action.files) : null;
    if (commit === null) this.#submit(pending, action);
    else void this.#submitAfter(pending, commit);
    return pending;
  }

  #submit(pending: PendingEditLock, action: HookAsk): void {
    const services = this.#services;
    pending.n = services.engine.submit(commandOf(services, action, pending.actor), {
      answer: reply => this.#answer(pending, reply),
      parked: () => this.#park(pending),
    });
  }

  /** Waits for another actor's commit, whose hook may change the files, before it asks: as long as it may wait at most. */
  async #submitAfter(pending: PendingEditLock, { actor: blocker, over }: Commit): Promise<void> {
    const services = this.#services;
    const { action, beganMs } = pending;
    const files = action.files.map(file => parkedFile(services, file, false));
    pending.parked = { blocker, before: nameOf(services, blocker), files };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, action.waitMs);
    });
    await Promise.race([over, late]);
    clearTimeout(timer);
    // Given up meanwhile.
    if (this.#asked.get(pending.key) !== pending) return;
    this.#submit(pending, {
      ...action,
      waitMs: Math.max(0, action.waitMs - (services.clock.now() - beganMs)),
    });
  }

  #join(pending: PendingEditLock, call: Call): void {
    const { connection } = call;
    pending.joined += 1;
    if (pending.isDecided) return;
    pending.calls.add(call);
    const untie = connection.tie(() => {
      pending.calls.delete(call);
      // An undecided request may still be granted; the reply's handler then undoes the grant.
      if (pending.parked !== null && !pending.isDecided && pending.calls.size === 0) this.#abandon(pending);
    });
    pending.waited.then(untie);
    if (pending.parked !== null && pending.calls.has(call)) wait(call);
  }

  #answer(pending: PendingEditLock, reply: Reply): void {
    const { parked, action, actor } = pending;
    const services = this.#services;
    const waitedMs = services.clock.now() - pending.beganMs;
    this.#decide(pending);
    const change = reply.ok && parked !== null ? changeSince(services, parked, action, actor) : unchangedYet;
    pending.resolve({ reply, waitedMs, before: parked?.before ?? null, change, isAbandoned: false });
  }

  /** Tells the hooks that they wait, or ends the wait at once if nobody awaits it or nobody knows how long it takes. */
  #park(pending: PendingEditLock): void {
    const { action, actor, calls } = pending;
    const services = this.#services;
    const { state } = services.engine;
    this.queued.set(pending.n, pending);
    const ask = { actor, files: action.files, ticket: state.seq, ancestors: action.ancestors };
    pending.parked ??= parkedNow(services, ask);
    if (calls.size === 0) this.#abandon(pending);
    // Locked since the request was made.
    else if (keptAgainst(state, ask) !== null) this.#giveUp(pending);
    for (const call of calls) wait(call);
  }

  /** Ends a wait whose clients are all gone. */
  #abandon(pending: PendingEditLock): void {
    this.queued.delete(pending.n);
    this.#drop(pending);
    if (pending.n !== unasked) this.#services.engine.abandon(pending.n);
    this.#settleGivenUp(pending, refuse("lock_given_up", "the connection closed"), true);
  }

  /** Ends a wait for what somebody keeps until nobody knows when. */
  #giveUp(pending: PendingEditLock): void {
    const { engine } = this.#services;
    this.#decide(pending);
    engine.abandon(pending.n);
    // Once it has left the queue: the refusal tells who else waits.
    const reply = refuse("lock_held", "its holder locked it until its work is done");
    void engine.read(() => this.#settleGivenUp(pending, reply, false));
  }

  /** Undoes a grant that reached none of the hooks. */
  #settleDelivery(pending: PendingEditLock, ok: boolean): void {
    if (ok) return;
    pending.unheard += 1;
    if (pending.unheard !== pending.joined) return;
    const { action, actor } = pending;
    this.#drop(pending);
    this.#services.engine.undelivered(pending.n, { actor, files: action.files });
  }

  /** Tells the hooks that their request was given up. */
  #settleGivenUp({ beganMs, parked, resolve }: PendingEditLock, reply: Refusal, isAbandoned: boolean): void {
    const waitedMs = this.#services.clock.now() - beganMs;
    resolve({ reply, waitedMs, before: parked?.before ?? null, change: unchangedYet, isAbandoned });
  }

  #forget(now: number): void {
    for (const [key, decidedAt] of this.#decided) {
      if (decidedAt + limits.decidedMs > now) break;
      this.#decided.delete(key);
      this.#asked.delete(key);
    }
  }

  #decide(pending: PendingEditLock): void {
    const { n, key } = pending;
    pending.isDecided = true;
    this.queued.delete(n);
    // The decision is kept; the clients' connections, which are many in a busy time, are not.
    pending.calls.clear();
    if (this.#asked.get(key) === pending) this.#decided.set(key, this.#services.clock.now());
  }

  #drop(pending: PendingEditLock): void {
    const { key } = pending;
    if (this.#asked.get(key) !== pending) return;
    this.#asked.delete(key);
    this.#decided.delete(key);
  }
}

/** What the files are like when a wait begins, and who blocks it. */
function parkedNow(services: LockServices, ask: Ask): Parked {
  const { locks } = services.engine.state;
  const blocker = firstBlocker(locks, ask);
  return {
    blocker: blocker?.actor ?? null,
    before: blocker === null ? null : nameOf(services, blocker.actor),
    files: ask.files.map(file => {
      // Of a directory's lock nobody knows which file below it is written.
      const held = blocker?.by === "hold" && blocker.hold.dir ? blocker.hold : undefined;
      const { flights = [] } = locks.holds.get(file.key) ?? held ?? {};
      return parkedFile(services, file, flights.length > 0);
    }),
  };
}

function parkedFile(services: LockServices, file: FileRef, isWriting: boolean): ParkedFile {
  const { writers } = services;
  const stamps = stampsOf(services, file, isWriting);
  return { file, wrote: writers.last(file.key), writing: writers.unreported(file.key), stamps };
}

/** Tells the client that its hook waits. The connection's other requests are answered meanwhile. */
function wait(call: Call): void {
  call.park();
  call.connection.push("\n");
}

function commandOf(services: LockServices, action: HookAsk, actor: Actor) {
  const { waitMs, promptId: prompt, toolUseId: flight, ancestors, files, yieldMs } = action;
  const { hookQueueDepth: depth, placeMs } = limits;
  const { untoldMs, beside } = action;
  const turn = { kind: "turn" as const, waitMs, depth, placeMs, prompt, flight, yieldMs, ancestors };
  const terms = {
    ...(untoldMs === undefined ? {} : { untoldMs }),
    ...(beside === undefined ? {} : { beside }),
  };
  return lockCommand(
    services,
    { actor, files, single: files.length === 1, ...turn, ...terms },
    action.cwd,
    undefined,
  );
}

/**
 * The file's stamps when a wait begins. While the holder writes the file, it is unknown whether its content has changed
 * already, so the stamp from before that write counts as well.
 */
async function stampsOf(
  { facts, baselines }: LockServices,
  file: FileRef,
  isWriting: boolean,
): Promise<readonly (string | null)[]> {
  const before = isWriting ? baselines.seen(file.key) : undefined;
  const now = facts.stampedNow(file.lexical, pathOf(file)) ?? (await facts.stamped(pathOf(file)));
  return [before, now?.stamp].filter(stamp => stamp !== undefined);
}

/** Whether a file changed since the wait began, and who changed it, as far as that is known. */
async function changeSince(
  services: LockServices,
  parked: Parked,
  { overwritten }: Pick<HookAsk, "overwritten">,
  actor: Actor,
): Promise<Change> {
  let found: Change | null = null;
  for (const file of parked.files) {
    const change = await changeOf(services, parked.blocker, file, actor);
    if (change.changedWhileWaiting && overwritten?.has(file.file.key)) return change;
    if (found === null || (change.changedWhileWaiting && !found.changedWhileWaiting)) found = change;
  }
  return found ?? unchanged;
}

async function changeOf(
  { facts, writers }: LockServices,
  blocker: Actor | null,
  { file, wrote, writing, stamps }: ParkedFile,
  actor: Actor,
): Promise<Change> {
  // Two events may have one time, so the write itself tells whether it was reported before.
  const last = writers.last(file.key);
  const reported = last === wrote ? null : last;
  // This write's end was not reported: the report may come after the end of the turn that released the file.
  const unreported = writers.unreported(file.key);
  const isIts = (one: Actor | null) =>
    unreported !== null && unreported.session === one?.session && unreported.agent === one.agent;
  const isKnown = unreported !== null && !isIts(actor) && (unreported !== writing || isIts(blocker));
  const writer = reported ?? (isKnown ? { name: unreported.name, lines: null } : null);
  const changedBy = writer === null ? null : { name: writer.name, lines: writer.lines };
  const now = facts.stampedNow(file.lexical, pathOf(file)) ?? (await facts.stamped(pathOf(file)));
  const were = await stamps;
  // A file that cannot be read does not count as changed.
  const changedWhileWaiting = now !== null && were.some(stamp => stamp !== now.stamp);
  return { changedWhileWaiting, changedBy, changedFile: changedWhileWaiting ? pathOf(file) : null };
}

function keysOf({ files }: HookAsk): string[] {
  return files.map(file => file.key);
}

// What one event's tool was granted, until it is known whether the tool runs. A shell line has several actions: the first may
// give it its files, and a later one may stop it. Then the trail has one denial, and no edit or command that was let through.

/** Writes the trail's line of a grant; `runs`: whether its tool does. */
type Note = (runs: boolean) => void;

/** The lines that wait. A plain list: nearly no tool has one. */
export type Grants = Note[];

/** Writes the lines. Who stops a tool does so before it releases what the tool was granted: the trail tells both in order. */
export function settleGrants(grants: Grants, runs: boolean): void {
  for (const note of grants.splice(0)) note(runs);
}
