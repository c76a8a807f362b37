/** Finishes moves that broke off: each time that the store opens, and by the clock while it is open and something is left. */
import { limits } from "../../protocol/limits.ts";
import type { Clock } from "../engine/clock.ts";
import { finishMoves, hasUnmoved } from "./both-logs.ts";
import type { SharedStore } from "./shared-store.ts";

/** One try at a time; they end with the store, since no command is entered then. */
export class MoveTries {
  readonly #store: SharedStore;
  readonly #clock: Clock;
  readonly #onTrouble: (message: string, error: unknown) => void;
  #isUnderWay = false;
  #cancel: () => void = () => {};
  /** What the last try failed by: the same is said once. */
  #problem = "";

  constructor(
    store: SharedStore,
    {
      clock,
      onTrouble,
    }: { readonly clock: Clock; readonly onTrouble: (message: string, error: unknown) => void },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
  }

  /** Tries now, if no try is under way. One that finds the store away is the last one until it opens. */
  begin(): void {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#cancel();
    void this.#try().finally(() => {
      this.#isUnderWay = false;
      const { isOver, refusal } = this.#store;
      if (isOver || refusal !== null || !hasUnmoved(this.#store)) return;
      const at = this.#clock.now() + limits.storeReopenMs;
      this.#cancel = this.#clock.at(at, () => {
        const isOpen = !this.#store.isOver && this.#store.refusal === null;
        if (isOpen) this.begin();
      });
    });
  }

  async #try(): Promise<void> {
    try {
      await finishMoves(this.#store);
      this.#problem = "";
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.#problem) this.#onTrouble("a move to the store broke off", error);
      this.#problem = problem;
    }
  }
}
