/**
 * What the hook clients count when the daemon gives no answer. They stop asking for a while after a few failures; a
 * daemon that was stopped, or that a busy machine kept from running, ends that as soon as it runs again.
 */
import { existsSync, rmSync } from "node:fs";

export class HookFailures {
  readonly #file: string;
  readonly #onTrouble: (message: string, error: unknown) => void;
  #told = false;

  /** `onTrouble` hears once that the file cannot be removed. */
  constructor(file: string, onTrouble: (message: string, error: unknown) => void) {
    this.#file = file;
    this.#onTrouble = onTrouble;
  }

  /** Removes what was counted. Cheap when there is nothing. */
  clear(): void {
    if (!existsSync(this.#file)) return;
    try {
      rmSync(this.#file, { force: true });
    } catch (error) {
      if (this.#told) return;
      this.#told = true;
      this.#onTrouble(`hooks may pause without need: ${this.#file} cannot be removed; remove it`, error);
    }
  }
}
