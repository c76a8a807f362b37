/**
 * The file in which hook clients count failures while the daemon does not answer. After a few failures they stop asking
 * for a while. A daemon that runs again removes the file, so that they ask at once.
 */
import { existsSync, rmSync } from "node:fs";

export class HookFailures {
  readonly #file: string;
  readonly #onTrouble: (message: string, error: unknown) => void;
  #told = false;

  /** `onTrouble` is called once if the file cannot be removed. */
  constructor(file: string, onTrouble: (message: string, error: unknown) => void) {
    this.#file = file;
    this.#onTrouble = onTrouble;
  }

  /** Removes the file. Cheap if there is none. */
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
