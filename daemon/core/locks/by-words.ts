/** Finds locks and waiters by the path that a request spelled. */
import type { FileRef } from "../file-ref.ts";
import { addToSet, removeFromSet, type Sets } from "../sets.ts";

/**
 * Index of locks or waiters by the path as the request spelled it, if that differs from the key's path (a symbolic
 * link, another case). Invariant: an entry whose spelling equals its key's path is not in here; its key finds it.
 */
export class OtherWords<Id extends string | number> {
  readonly #ids: Sets<string, Id> = new Map();

  add(file: Pick<FileRef, "lexical" | "key">, id: Id): void {
    if (!isOwnPath(file)) addToSet(this.#ids, file.lexical, id);
  }

  remove(file: Pick<FileRef, "lexical" | "key">, id: Id): void {
    if (this.#ids.size > 0) removeFromSet(this.#ids, file.lexical, id);
  }

  /** Returns the ids under this spelling, sorted, so that the result does not depend on the order of insertion. */
  at(lexical: string): readonly Id[] {
    const ids = this.#ids.get(lexical);
    return ids === undefined ? [] : [...ids].sort((a, b) => (a < b ? -1 : 1));
  }

  /** Returns all entries as text, sorted. */
  describe(): readonly string[] {
    return [...this.#ids.keys()].sort().map(lexical => `${lexical}: ${this.at(lexical).join(" ")}`);
  }
}

/** Returns the key that a path has if it holds no symbolic link and the node folds no case. */
export function plainKey(node: string, lexical: string): string {
  return `${node}:${lexical}`;
}

function isOwnPath({ lexical, key }: Pick<FileRef, "lexical" | "key">): boolean {
  return key.endsWith(lexical) && key.indexOf(":") === key.length - lexical.length - 1;
}
