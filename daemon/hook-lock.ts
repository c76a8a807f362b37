/** A hook's lock: asked once for each tool use, however many hooks of it wait; answered when the file was looked at. */
import type { HookAction } from "../protocol/adapter.ts";
import { limits } from "../protocol/limits.ts";
import type { Call } from "./call.ts";
import type { Actor, FileRef } from "./core/entry.ts";
import { firstBlocker } from "./core/lock-blockers.ts";
import { pathOf } from "./core/lock-text.ts";
import type { Reply } from "./core/step.ts";
import { lockCommand } from "./requests-lock.ts";
import { nameOf } from "./rows.ts";
import type { Services } from "./services.ts";

export type LockAction = Extract<HookAction, { do: "lock" }>;

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
  /** Clock time at which the wait began; null where there was none. */
  readonly parkedAt: number | null;
  /** Who stood in the way then. */
  readonly before: string | null;
  /** The file as it was then. */
  readonly stamp: Promise<string | null> | null;
}

/** One tool use's lock and the hooks that wait for it. */
interface Asked {
  readonly waited: Promise<Waited>;
  readonly calls: Set<Call>;
  joined: number;
  unheard: number;
  isParked: boolean;
  decidedAt: number | null;
  readonly abandon: () => void;
  readonly undo: () => void;
}

export class HookLocks {
  readonly #asked = new Map<string, Asked>();

  /**
   * Asks for the lock, or joins the same tool use's request (hooks installed twice, say). While it waits, each client
   * hears at once that it does; when the last of them is gone, the place in line is given up.
   */
  ask(
    services: Services,
    call: Call,
    action: HookAsk,
    actor: Actor,
  ): { readonly waited: Promise<Waited>; readonly delivered: (ok: boolean) => void } {
    this.#forget(services.clock.now());
    const key = [action.session, action.agent ?? "", action.toolUseId, ...keysOf(action)].join("\n");
    let asked = this.#asked.get(key);
    if (asked === undefined) {
      asked = this.#begin(services, action, actor);
      this.#asked.set(key, asked);
    }
    join(asked, call);
    const mine = asked;
    return { waited: asked.waited, delivered: ok => heard(mine, ok) };
  }

  #begin(services: Services, action: HookAsk, actor: Actor): Asked {
    const { engine, clock } = services;
    const began = clock.now();
    const calls = new Set<Call>();
    let parkedAt: number | null = null;
    let before: string | null = null;
    let stamp: Promise<string | null> | null = null;
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
      decidedAt: null,
      abandon: () => engine.abandon(n),
      undo: () => engine.undelivered(n, actor),
    };
    const [file] = action.files;
    n = engine.submit(commandOf(services, action, actor), {
      answer: reply => {
        asked.decidedAt = clock.now();
        settle({ reply, waitedMs: clock.now() - began, parkedAt, before, stamp });
      },
      parked: () => {
        asked.isParked = true;
        parkedAt = clock.now();
        const { locks, seq } = engine.state;
        const blocker = firstBlocker(locks, {
          actor,
          files: action.files,
          ticket: seq,
          ancestors: action.ancestors,
        });
        before = blocker === null ? null : nameOf(services, blocker.actor);
        if (file !== undefined) stamp = services.facts.stamp(pathOf(file));
        if (calls.size === 0) asked.abandon();
        for (const call of calls) wait(call);
      },
    });
    return asked;
  }

  #forget(now: number): void {
    for (const [key, { decidedAt }] of this.#asked) {
      if (decidedAt !== null && decidedAt + limits.decidedMs <= now) this.#asked.delete(key);
    }
  }
}

function join(asked: Asked, call: Call): void {
  const { connection } = call;
  asked.joined += 1;
  if (asked.decidedAt !== null || connection.isClosed) return;
  asked.calls.add(call);
  const gone = () => {
    asked.calls.delete(call);
    if (asked.decidedAt === null && asked.calls.size === 0) asked.abandon();
  };
  connection.onClosed.add(gone);
  asked.waited.then(() => connection.onClosed.delete(gone));
  if (asked.isParked) wait(call);
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

function commandOf(services: Services, action: HookAsk, actor: Actor) {
  const { waitMs, promptId: prompt, toolUseId: flight, ancestors, files, yieldMs } = action;
  const { hookQueueDepth: depth, placeMs } = limits;
  const turn = { kind: "turn" as const, waitMs, depth, placeMs, prompt, flight, yieldMs, ancestors };
  return lockCommand(services, { actor, files, single: files.length === 1, ...turn }, action.cwd, undefined);
}

function keysOf({ files }: HookAsk): string[] {
  return files.map(file => file.key);
}
