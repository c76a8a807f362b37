/** Tells who looks on what became of the store and of its machines, once for each change. */
import type { StoreState } from "../../protocol/schemas/store.ts";
import type { SharedStore } from "./shared-store.ts";
import { storeState } from "./show.ts";

export class StoreNews {
  readonly #store: SharedStore;
  readonly #tell: (state: StoreState, before: StoreState) => void;
  /** The state that was told last, or that there was at the start. */
  #told: StoreState;

  constructor(store: SharedStore, tell: (state: StoreState, before: StoreState) => void) {
    this.#store = store;
    this.#tell = tell;
    this.#told = storeState(store);
  }

  /** Something may have changed. While the store is open its nodes make entries, and so a machine that fell silent is seen, too. */
  look(): void {
    const [state, before] = [storeState(this.#store), this.#told];
    if (JSON.stringify(state) === JSON.stringify(before)) return;
    this.#told = state;
    this.#tell(state, before);
  }
}
