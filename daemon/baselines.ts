import { limits } from "../protocol/limits.ts";
import { pathOf, type Spelled } from "./core/lock-text.ts";

/** What a file was when it was last looked at. */
export interface Stamped {
  /** Changes when the file does; null where there is none. */
  readonly stamp: string | null;
  /** When it was last changed in any way, by the system's clock, in milliseconds. */
  readonly changedAt: number;
}

/**
 * Files that are held or hold uncommitted work, as they were last seen: what is different after a shell command was
 * changed by it, or past everybody. In memory only: after a restart the first look begins anew.
 */
export class Baselines {
  readonly #seen = new Map<string, string | null>();
  readonly #look: (path: string) => Promise<Stamped | null>;

  /** `look` gives null where the file could not be looked at. */
  constructor(look: (path: string) => Promise<Stamped | null>) {
    this.#look = look;
  }

  /** Takes the file as it is now for what it should be. */
  async take(file: Spelled): Promise<void> {
    await this.changed(file);
  }

  /** When the file changed since the last look; null where it did not, or this is the first look. */
  async changed(file: Spelled): Promise<number | null> {
    const { key } = file;
    const known = this.#seen.get(key);
    const now = await this.#look(pathOf(file));
    if (now === null) return null;
    // Meanwhile another look may have seen the same change: it is told once.
    const isOld = known === undefined || this.#seen.get(key) !== known || known === now.stamp;
    this.#seen.delete(key);
    this.#seen.set(key, now.stamp);
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= limits.baselinesMax) break;
      this.#seen.delete(oldest);
    }
    return isOld ? null : now.changedAt;
  }
}
