/**
 * Finishes moves that broke off: when the store opens, when a person's command left something, and by the clock while the
 * store is open.
 *
 * Invariant: one try at a time; after each that fails the pause doubles, from `limits.storeReopenMs` to `limits.storeMovePauseMs`.
 */
import { limits } from "../../protocol/limits.ts";
import type { Clock } from "../engine/clock.ts";
import { finishMoves, hasUnmoved } from "./both-logs.ts";
import type { Copied, Sharing } from "./share.ts";
import type { SharedStore } from "./shared-store.ts";

export interface MoveTriesOptions {
  readonly clock: Clock;
  /** Hears what a try failed by, the same once. */
  readonly onTrouble: (message: string, error: unknown) => void;
  /** Hears what a try moved of a project. */
  readonly onMoved: (sharing: Sharing, copied: Copied) => void;
  /** Hears when a try, or a person's command, has ended. */
  readonly onEnded: () => void;
}

/** They end with the store, since no command is entered then. */
export class MoveTries {
  readonly #store: SharedStore;
  readonly #options: MoveTriesOptions;
  #isUnderWay = false;
  #pauseMs: number = limits.storeReopenMs;
  #cancel: () => void = () => {};

  constructor(store: SharedStore, options: MoveTriesOptions) {
    this.#store = store;
    this.#options = options;
    store.moving.onPersonEnded = () => {
      this.#pauseMs = limits.storeReopenMs;
      this.#tryLater();
      options.onEnded();
    };
  }

  /** Tries now, if no try is under way. One that finds the store away is the last one until it opens. */
  begin(): void {
    this.#pauseMs = limits.storeReopenMs;
    this.#tryNow();
  }

  #tryNow(): void {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#cancel();
    void this.#try().finally(() => {
      this.#isUnderWay = false;
      this.#tryLater();
      this.#pauseMs = Math.min(2 * this.#pauseMs, limits.storeMovePauseMs);
      this.#options.onEnded();
    });
  }

  #tryLater(): void {
    this.#cancel();
    if (this.#isUnderWay || !this.#isOpen() || !hasUnmoved(this.#store)) return;
    const { clock } = this.#options;
    this.#cancel = clock.at(clock.now() + this.#pauseMs, () => {
      if (this.#isOpen()) this.#tryNow();
    });
  }

  #isOpen(): boolean {
    return !this.#store.isOver && this.#store.refusal === null;
  }

  async #try(): Promise<void> {
    const { moving } = this.#store;
    try {
      await finishMoves(this.#store, this.#options.onMoved);
      moving.problem = null;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== moving.problem) this.#options.onTrouble("a move to the store broke off", error);
      moving.problem = problem;
    }
  }
}
