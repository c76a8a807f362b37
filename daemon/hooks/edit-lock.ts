/** A hook's lock: asked once for each tool use, however many hooks of it wait; answered when the file was looked at. */

import type { HookAction, HookOutcome } from "../../hooks/seam/plan.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/actor.ts";
import type { FileRef } from "../core/file-ref.ts";
import { firstBlocker } from "../core/locks/blockers.ts";
import { pathOf } from "../core/locks/replies.ts";
import type { Reply } from "../core/outcome.ts";
import type { Call } from "../server/call.ts";
import type { Services } from "../services.ts";
import { lockCommand } from "../sessions/commands.ts";
import { nameOf } from "../views/sessions-and-locks.ts";
import type { Baselines } from "../worktree/baselines.ts";
import type { Writers } from "../worktree/writers.ts";

export type LockAction = Extract<HookAction, { do: "lock" }>;

/** What a lock of a hook needs. */
interface LockServices extends Services {
  readonly baselines: Baselines;
  readonly writers: Writers;
}

/** What of a hook's action asks for a lock. */
export type HookAsk = Pick<
  LockAction,
  "session" | "agent" | "toolUseId" | "waitMs" | "promptId" | "ancestors" | "cwd"
> & {
  /** All are had, or none. */
  readonly files: readonly FileRef[];
  /** Untouched this long it yields; 0: as soon as it is not in flight. */
  readonly yieldMs: number;
};

export interface Waited {
  readonly reply: Reply;
  readonly waitedMs: number;
  /** Who stood in the way when the wait began; null when there was no wait. */
  readonly before: string | null;
  /** What happened to the file between the begin of the wait and the answer. */
  readonly change: Promise<Change>;
  /** Every client that waited has gone: nothing was decided, and nobody hears of it. */
  readonly isAbandoned: boolean;
}

type Change = Pick<Extract<HookOutcome, { did: "lock"; ok: true }>, "changedWhileWaiting" | "changedBy">;

const unchanged: Promise<Change> = Promise.resolve({ changedWhileWaiting: false, changedBy: null });

/** The begin of a wait. */
interface Parked {
  /** Clock time. */
  readonly at: number;
  readonly blocker: Actor | null;
  /**
   * Stamps of the file as it was then, as far as they are known; and when the blocker was writing it, as it was before
   * that.
   */
  readonly stamps: Promise<readonly (string | null)[]>;
}

/** One tool use's lock and the hooks that wait for it. */
interface Asked {
  readonly waited: Promise<Waited>;
  readonly calls: Set<Call>;
  joined: number;
  unheard: number;
  isParked: boolean;
  isDecided: boolean;
  /** Nobody waits for it any more. */
  readonly abandon: () => void;
  /** Nobody heard that it was granted. */
  readonly undo: () => void;
}

/**
 * The locks that hooks ask for.
 *
 * Invariants: a tool use has one request at a time; its decision holds for all its hooks as long as the lock does
 * that was granted with it. A request that was given up, or whose grant was undone because no hook heard of it, is
 * forgotten at once: the hook that comes then asks anew.
 */
export class HookLocks {
  readonly #asked = new Map<string, Asked>();
  /** When the requests were decided that were, by key; the oldest first. */
  readonly #decided = new Map<string, number>();

  /**
   * Asks for the lock, or joins the same tool use's request (hooks installed twice, say). While it waits, each client
   * hears at once that it does; when the last of them is gone, the request is given up.
   */
  ask(
    services: LockServices,
    call: Call,
    action: HookAsk,
    actor: Actor,
  ): { readonly waited: Promise<Waited>; readonly delivered: (ok: boolean) => void } {
    this.#forget(services.clock.now());
    const key = [action.session, action.agent ?? "", action.toolUseId, ...keysOf(action)].join("\n");
    const asked = this.#asked.get(key) ?? this.#begin(services, action, actor, key);
    join(asked, call);
    return { waited: asked.waited, delivered: ok => heard(asked, ok) };
  }

  #begin(services: LockServices, action: HookAsk, actor: Actor, key: string): Asked {
    const { engine, clock } = services;
    const began = clock.now();
    const calls = new Set<Call>();
    let before: string | null = null;
    let parked: Parked | null = null;
    let n = 0;
    let settle: (waited: Waited) => void = () => {};
    const waited = new Promise<Waited>(resolve => {
      settle = resolve;
    });
    const asked: Asked = {
      waited,
      calls,
      joined: 0,
      unheard: 0,
      isParked: false,
      isDecided: false,
      abandon: () => {
        this.#drop(key, asked);
        engine.abandon(n);
        const reply = refuse("lock_given_up", "the connection closed");
        settle({ reply, waitedMs: clock.now() - began, before, change: unchanged, isAbandoned: true });
      },
      undo: () => {
        this.#drop(key, asked);
        engine.undelivered(n, { actor, files: action.files });
      },
    };
    this.#asked.set(key, asked);
    const [file] = action.files;
    n = engine.submit(commandOf(services, action, actor), {
      answer: reply => {
        asked.isDecided = true;
        // The decision is remembered; their connections, which are many in a busy time, are not.
        calls.clear();
        if (this.#asked.get(key) === asked) this.#decided.set(key, clock.now());
        const change =
          reply.ok && parked !== null && file !== undefined
            ? changeSince(services, parked, file, actor)
            : unchanged;
        settle({ reply, waitedMs: clock.now() - began, before, change, isAbandoned: false });
      },
      parked: () => {
        asked.isParked = true;
        const { locks, seq } = engine.state;
        const blocker = firstBlocker(locks, {
          actor,
          files: action.files,
          ticket: seq,
          ancestors: action.ancestors,
        });
        before = blocker === null ? null : nameOf(services, blocker.actor);
        const isWriting = blocker?.by === "hold" && blocker.hold.flights.length > 0;
        if (file !== undefined) {
          const stamps = stampsOf(services, file, isWriting);
          parked = { at: clock.now(), blocker: blocker?.actor ?? null, stamps };
        }
        if (calls.size === 0) asked.abandon();
        for (const call of calls) wait(call);
      },
    });
    return asked;
  }

  #forget(now: number): void {
    for (const [key, decidedAt] of this.#decided) {
      if (decidedAt + limits.decidedMs > now) break;
      this.#decided.delete(key);
      this.#asked.delete(key);
    }
  }

  #drop(key: string, asked: Asked): void {
    if (this.#asked.get(key) !== asked) return;
    this.#asked.delete(key);
    this.#decided.delete(key);
  }
}

function join(asked: Asked, call: Call): void {
  const { connection } = call;
  asked.joined += 1;
  if (asked.isDecided) return;
  asked.calls.add(call);
  const untie = connection.tie(() => {
    asked.calls.delete(call);
    // What is not decided yet may be granted any moment: that is undone, then, by who answers.
    if (asked.isParked && !asked.isDecided && asked.calls.size === 0) asked.abandon();
  });
  asked.waited.then(untie);
  if (asked.isParked && asked.calls.has(call)) wait(call);
}

/** The client hears that its hook waits; what else it asks on this connection is answered meanwhile. */
function wait(call: Call): void {
  call.park();
  call.connection.push("\n");
}

/** A grant that none of the hooks could be told is undone. */
function heard(asked: Asked, ok: boolean): void {
  if (ok) return;
  asked.unheard += 1;
  if (asked.unheard === asked.joined) asked.undo();
}

function commandOf(services: LockServices, action: HookAsk, actor: Actor) {
  const { waitMs, promptId: prompt, toolUseId: flight, ancestors, files, yieldMs } = action;
  const { hookQueueDepth: depth, placeMs } = limits;
  const turn = { kind: "turn" as const, waitMs, depth, placeMs, prompt, flight, yieldMs, ancestors };
  return lockCommand(services, { actor, files, single: files.length === 1, ...turn }, action.cwd, undefined);
}

/**
 * What the file is when a wait begins. While its holder writes it, nobody knows whether that has happened yet: then
 * what it was before that write counts as well.
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

/** Whether the file is not what it was when the wait began, and who changed it as far as that is known. */
async function changeSince(
  { facts, writers }: LockServices,
  { at, blocker, stamps }: Parked,
  file: FileRef,
  actor: Actor,
): Promise<Change> {
  const reported = writers.since(file.key, at);
  // Its end was not told, perhaps because the report comes after the end of the turn that freed the file.
  const unreported = writers.unreported(file.key);
  const isIts = (one: Actor | null) =>
    unreported !== null && unreported.session === one?.session && unreported.agent === one.agent;
  const isKnown = unreported !== null && !isIts(actor) && (unreported.at >= at || isIts(blocker));
  const writer = reported ?? (isKnown ? { name: unreported.name, lines: null } : null);
  const changedBy = writer === null ? null : { name: writer.name, lines: writer.lines };
  const now = facts.stampedNow(file.lexical, pathOf(file)) ?? (await facts.stamped(pathOf(file)));
  const were = await stamps;
  // What cannot be looked at is not called changed.
  return { changedWhileWaiting: now !== null && were.some(stamp => stamp !== now.stamp), changedBy };
}

function keysOf({ files }: HookAsk): string[] {
  return files.map(file => file.key);
}
