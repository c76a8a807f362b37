import type { FileRef } from "../file-ref.ts";

/**
 * What was asked for with other words than its key's own path (through a symbolic link, in another case), by these
 * words. Most is asked for by its own path and is found by its key: it is not in here.
 */
export class OtherWords<Id extends string | number> {
  readonly #ids = new Map<string, Set<Id>>();

  add(file: Pick<FileRef, "lexical" | "key">, id: Id): void {
    if (isOwnPath(file)) return;
    const ids = this.#ids.get(file.lexical);
    if (ids === undefined) this.#ids.set(file.lexical, new Set([id]));
    else ids.add(id);
  }

  remove(file: Pick<FileRef, "lexical" | "key">, id: Id): void {
    const ids = this.#ids.get(file.lexical);
    ids?.delete(id);
    if (ids?.size === 0) this.#ids.delete(file.lexical);
  }

  /** Sorted, so that it does not matter in which order they came. */
  at(lexical: string): readonly Id[] {
    const ids = this.#ids.get(lexical);
    return ids === undefined ? [] : [...ids].sort((a, b) => (a < b ? -1 : 1));
  }

  /** All it knows, sorted. */
  describe(): readonly string[] {
    return [...this.#ids.keys()].sort().map(lexical => `${lexical}: ${this.at(lexical).join(" ")}`);
  }
}

/** The key of a path on a node where no link and no folding is in the way. */
export function plainKey(node: string, lexical: string): string {
  return `${node}:${lexical}`;
}

function isOwnPath({ lexical, key }: Pick<FileRef, "lexical" | "key">): boolean {
  return key.endsWith(lexical) && key.indexOf(":") === key.length - lexical.length - 1;
}
