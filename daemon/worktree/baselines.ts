import { limits } from "../../protocol/limits.ts";
import { pathOf, type Spelled } from "../core/locks/replies.ts";
import type { Stamped } from "../facts/paths.ts";

/** How files are looked at; see the daemon's facts. */
interface Looks {
  stamped(path: string): Promise<Stamped | null>;
  stampedNow(lexical: string, path: string): Stamped | null;
}

/**
 * Files that are held or hold uncommitted work, as they were last seen: what is different after a shell command was
 * changed by it, or past everybody. In memory only: after a restart the first look begins anew.
 */
export class Baselines {
  readonly #seen = new Map<string, string | null>();
  readonly #facts: Looks;

  constructor(facts: Looks) {
    this.#facts = facts;
  }

  /** Takes the file as it is now for what it should be; before this returns, when that can be had without waiting. */
  async take(file: Spelled & { readonly lexical: string }): Promise<void> {
    const now = this.#facts.stampedNow(file.lexical, pathOf(file));
    if (now === null) await this.changed(file);
    else this.#keep(file.key, now.stamp);
  }

  /** The stamp of the last look; undefined when there was none. */
  seen(key: string): string | null | undefined {
    return this.#seen.get(key);
  }

  /** When the file changed since the last look; null where it did not, or this is the first look. */
  async changed(file: Spelled): Promise<number | null> {
    const { key } = file;
    const known = this.#seen.get(key);
    const now = await this.#facts.stamped(pathOf(file));
    if (now === null) return null;
    // Meanwhile another look may have seen the same change: it is told once.
    const isOld = known === undefined || this.#seen.get(key) !== known || known === now.stamp;
    this.#keep(key, now.stamp);
    return isOld ? null : now.changedAt;
  }

  #keep(key: string, stamp: string | null): void {
    this.#seen.delete(key);
    this.#seen.set(key, stamp);
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= limits.baselinesMax) break;
      this.#seen.delete(oldest);
    }
  }
}
