import { apply, dueAt } from "../../daemon/core/apply.ts";
import type { Actor, Origin } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { Command, Entry, Reply, Step, Timer } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { resourceRef } from "../../daemon/facts/facts.ts";
import { type Limits, limits } from "../../protocol/limits.ts";
import { isResource } from "../../protocol/names.ts";
import { lockTerms } from "../lock-terms.ts";

/** A check costs what there is: after the first commands only every so many are followed by one. */
const checkedEach = 300;
const checkedEvery = 50;

/** The core alone, with time in the test's hand: every command is applied at once and every invariant checked. */
export class World {
  readonly state: State;
  readonly steps: Step[] = [];
  readonly answers = new Map<number, { reply: Reply; grant: boolean }>();
  readonly entries: Entry[] = [];
  #timers: Timer[] = [];
  #n = 0;
  now: number;
  node = "n";
  epoch = 0;

  /** `state`: where a former life ended. `now`: when this one begins. */
  constructor(state: State = emptyState(), now = 1_000_000) {
    this.now = now;
    this.state = state;
    this.epoch = state.epoch;
    this.start();
  }

  start(): Reply {
    this.epoch += 1;
    return this.do({ type: "daemon_started", epoch: this.epoch, storeId: "store" });
  }

  /** Applies and returns the reply; `waits` where there is none yet. */
  do(command: Command): Reply {
    return this.step(command).reply ?? waits;
  }

  step(command: Command): Step {
    this.#n += 1;
    const origin: Origin = { node: this.node, epoch: this.epoch, n: this.#n };
    const entry: Entry = { seq: this.state.seq + 1, at: this.now, origin, command };
    this.entries.push(entry);
    const step = apply(this.state, entry);
    this.steps.push(step);
    this.#timers.push(...step.timers);
    for (const { to, reply, grant } of step.answers) this.answers.set(to.n, { reply, grant: grant !== null });
    const isChecked = this.#n <= checkedEach || this.#n % checkedEvery === 0;
    const wrong = isChecked ? check(this.state) : [];
    if (wrong.length > 0) throw new Error(`after ${JSON.stringify(command)}: ${wrong.join("; ")}`);
    return step;
  }

  /** The number of the latest command. */
  get n(): number {
    return this.#n;
  }

  origin(n: number): Origin {
    return { node: this.node, epoch: this.epoch, n };
  }

  /** Lets time pass and proposes what is due on the way, in order. */
  pass(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      this.#timers.sort((a, b) => a.at - b.at);
      const timer = this.#timers[0];
      if (timer === undefined || timer.at > until) break;
      this.#timers.shift();
      const at = dueAt(this.state, timer.due);
      if (at === null) continue;
      if (at > timer.at) {
        this.#timers.push({ at, due: timer.due });
        continue;
      }
      this.now = Math.max(this.now, timer.at);
      this.do({ type: "elapse", due: timer.due });
    }
    this.now = until;
  }

  begin(session: string, more: Partial<Extract<Command, { type: "session_begin" }>> = {}): Reply {
    return this.do({
      type: "session_begin",
      session,
      anchor: null,
      cwd: "/p",
      project: "/p",
      worktree: "/p",
      branch: "main",
      name: null,
      revive: true,
      wallMs: this.now,
      ...more,
    });
  }

  lock(session: string | Actor, files: string | readonly string[], more: Partial<LockRequest> = {}): Reply {
    return this.do(lockOf(session, files, this.now, more));
  }

  unlock(session: string | Actor, files: string | readonly string[] | "all"): Reply {
    const named = files === "all" ? "all" : list(files).map(nameOf);
    return this.do({ type: "lock_release", actor: actor(session), files: named });
  }

  holder(file: string): string | null {
    const hold = this.state.locks.holds.get(nameOf(file).key);
    return hold === undefined
      ? null
      : hold.actor.agent === null
        ? hold.actor.session
        : `${hold.actor.session}/${hold.actor.agent}`;
  }
}

/** The empty state with some bounds so small that a test reaches them in a few steps. */
export function bounded(bounds: Partial<Limits>): State {
  return emptyState(rulesLevel, { ...limits, ...bounds });
}

export const waits: Reply = { ok: true, waits: true };

export function actor(of: string | Actor): Actor {
  return typeof of === "string" ? { session: of, agent: null, incarnation: 0 } : of;
}

export function lockOf(
  session: string | Actor,
  files: string | readonly string[],
  now: number,
  more: Partial<LockRequest> = {},
): Extract<Command, { type: "lock_request" }> {
  return {
    type: "lock_request",
    actor: actor(session),
    files: list(files).map(f => ({ dir: f.endsWith("/"), ...nameOf(f.replace(/\/$/, "")), file: f })),
    ...lockTerms,
    single: typeof files === "string",
    waitMs: 30_000,
    project: "default",
    cwd: "/p",
    wallMs: now,
    ...more,
  };
}

/** A file of /p, or a resource of the project /p. */
function nameOf(file: string) {
  if (isResource(file)) return resourceRef({ node: "n" }, "/p", file);
  return { file, lexical: `/p/${file}`, key: `n:/p/${file}` };
}

function list(files: string | readonly string[]): readonly string[] {
  return typeof files === "string" ? [files] : files;
}
