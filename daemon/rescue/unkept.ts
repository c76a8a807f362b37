/** Files that agents wrote and that are not kept, with the reason: the latest of them, in memory only. */
import { limits } from "../../protocol/limits.ts";
import type { UnkeptRow } from "../../protocol/schemas/rescue.ts";
import { BoundedMap } from "../bounded-map.ts";

export class UnkeptFiles {
  readonly #files = new BoundedMap<string, UnkeptRow & { readonly n: number }>({
    entriesMax: limits.rescueUnkeptMax,
  });
  #n = 0;

  note(row: UnkeptRow): void {
    this.#n += 1;
    this.#files.set(row.path, { ...row, n: this.#n });
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** The file is kept now. */
  forget(path: string): void {
    this.#files.delete(path);
  }

  /** The oldest first; `n` rises. */
  all(): Iterable<UnkeptRow & { readonly n: number }> {
    return this.#files.values();
  }
}
