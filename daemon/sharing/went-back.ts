/** Notes when the store lacks entries that this machine has seen: a backup was restored, or a standby that lagged took over. */
import type { State } from "../core/state.ts";

export class WentBack {
  #atMs: number | null = null;

  /** Wall time in milliseconds when that was seen last; null: this daemon never saw it. */
  get atMs(): number | null {
    return this.#atMs;
  }

  /** `error`: what ended the log. */
  ended(error: Error | null, wallMs: number): void {
    if (error?.name === "StoreWentBack") this.#atMs = wallMs;
  }

  /** `before`: the state as it was known before this opening; null: none is. */
  opened(before: State | null, now: State, wallMs: number): void {
    if (before !== null && now.seq < before.seq) this.#atMs = wallMs;
  }
}
