/** What held or uncommitted files looked like when the daemon last saw them. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { pathOf, type Spelled } from "../core/tables/naming.ts";
import type { Stamped } from "../facts/paths.ts";

/** How files are read; the daemon's facts implement it. */
interface Looks {
  stamped(path: string): Promise<Stamped | null>;
  stampedNow(lexical: string, path: string): Stamped | null;
}

/**
 * The last seen stamps of files that are held or have uncommitted work. A file that differs after a shell command was
 * changed by it, or by a writer without its lock. In memory only: after a restart the first look sets the baseline.
 */
export class Baselines {
  readonly #seen = new BoundedMap<string, string | null>({ entriesMax: limits.baselinesMax });
  readonly #facts: Looks;

  constructor(facts: Looks) {
    this.#facts = facts;
  }

  /** Makes the file's present stamp its baseline; before this returns, if the stamp is known without waiting. */
  async take(file: Spelled & { readonly lexical: string }): Promise<void> {
    const now = this.#facts.stampedNow(file.lexical, pathOf(file));
    if (now === null) await this.changed(file);
    else this.#seen.set(file.key, now.stamp);
  }

  /** The stamp of the last look; undefined if there was none. */
  seen(key: string): string | null | undefined {
    return this.#seen.get(key);
  }

  /** When the file changed since the last look; null if it did not, or if this is the first look. */
  async changed(file: Spelled): Promise<number | null> {
    const { key } = file;
    const known = this.#seen.get(key);
    const now = await this.#facts.stamped(pathOf(file));
    if (now === null) return null;
    // Another look may have seen the same change meanwhile: only one of them reports it.
    const isOld = known === undefined || this.#seen.get(key) !== known || known === now.stamp;
    this.#seen.set(key, now.stamp);
    return isOld ? null : now.changedAt;
  }
}
