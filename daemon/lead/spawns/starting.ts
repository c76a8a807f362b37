/**
 * Watches the processes of agents that start: one that ends before the agent's session has begun fails the agent at once,
 * not only when its time to register is over.
 */
import { limits } from "../../../protocol/limits.ts";
import type { Spawn } from "../../core/lead/tables/spawns.ts";
import { AnchorWatch } from "../../facts/processes.ts";
import type { Services } from "../../services.ts";

type Needed = Pick<Services, "clock" | "facts"> & {
  readonly engine: Pick<Services["engine"], "state" | "submitWithRetry">;
};

export class StartingAgents {
  readonly #needed: Needed;
  readonly #processes = new AnchorWatch();
  /** The records whose processes are watched: at most as many as there are agents that start. */
  readonly #watched = new Set<string>();
  #isArmed = false;

  constructor(needed: Needed) {
    this.#needed = needed;
    this.#processes.onGone(id => this.#gone(id));
  }

  /** Watches the agent's process until its session begins. A process that the daemon does not see is left to the time. */
  watch(id: string, pid: number): void {
    const anchor = this.#needed.facts.anchor(pid);
    if (anchor === null || this.#starting(id) === null) return;
    this.#watched.add(id);
    this.#processes.add(id, anchor);
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed || this.#watched.size === 0) return;
    this.#isArmed = true;
    const { clock } = this.#needed;
    clock.at(clock.now() + limits.anchorPollMs, () => {
      this.#isArmed = false;
      for (const id of this.#watched) if (this.#starting(id) === null) this.#leave(id);
      void this.#processes.look();
      this.#arm();
    });
  }

  #gone(id: string): void {
    this.#leave(id);
    const { engine, clock } = this.#needed;
    const spawn = this.#starting(id);
    if (spawn === null) return;
    const { name, client, stopping } = spawn;
    const failure = `${client} ended before its session began; see what it said: kite explain ${name} --log`;
    const nothing = { stopping: null, handle: null, worktree: null, branch: null, output: null };
    const state = stopping
      ? ({ state: "stopped", reason: null } as const)
      : ({ state: "failed", reason: failure } as const);
    const command = { type: "spawn_update", by: null, spawn: id, ...nothing, ...state } as const;
    engine.submitWithRetry({ ...command, wallMs: clock.wall() });
  }

  #leave(id: string): void {
    this.#watched.delete(id);
    this.#processes.remove(id);
  }

  /** Returns the record if its agent's session has not begun. */
  #starting(id: string): Spawn | null {
    const spawn = this.#needed.engine.state.spawns.all.get(id);
    return spawn?.state === "starting" ? spawn : null;
  }
}
