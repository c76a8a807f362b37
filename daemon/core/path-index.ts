/**
 * An index that finds path keys above or below another key. A key is `node:/absolute/path`, the root `node:`.
 *
 * Invariants: a search upwards finds only members added with `dir`; a search below a folder visits only the members
 * below it, lazily; the caller must not add or remove members while it iterates; while the order is postponed, the first
 * search below a folder makes it.
 */
import { assert } from "./assert.ts";
import { SortedKeys } from "./sorted-keys.ts";

export class PathIndex {
  /** Members, each with how often it was added; or the caller's table. */
  readonly #members: ReadonlyMap<string, unknown>;
  /** The same map; null if the caller keeps the members. */
  readonly #counts: Map<string, number> | null;
  /** Members added with their subtree, each with how often. */
  readonly #dirs = new Map<string, number>();
  /** The members sorted by key, so that the members below a folder are adjacent; null: not yet. */
  #sorted: SortedKeys | null = new SortedKeys();

  /**
   * `members`: a table whose keys are the members; the caller adds each key that it puts there, once, and removes it when
   * it takes it away. Without one the index keeps them, and counts how often each was added.
   */
  constructor(members: ReadonlyMap<string, unknown> | null = null) {
    const counts = new Map<string, number>();
    this.#counts = members === null ? counts : null;
    this.#members = members ?? counts;
  }

  add(key: string, dir: boolean): void {
    if (dir) this.#dirs.set(key, (this.#dirs.get(key) ?? 0) + 1);
    const count = this.#counts?.get(key) ?? 0;
    this.#counts?.set(key, count + 1);
    if (count === 0) this.#sorted?.add(key);
  }

  remove(key: string, dir: boolean): void {
    const counts = this.#counts;
    const count = counts === null ? 1 : counts.get(key);
    assert(count !== undefined, () => `path index: ${key} is not a member`);
    if (dir) decrease(this.#dirs, key);
    if (counts !== null) decrease(counts, key);
    if (count === 1) this.#sorted?.delete(key);
  }

  /** Keeps no order until it is needed: whoever adds and removes many members at once saves to sort each in and out. */
  postponeOrder(): void {
    this.#sorted = null;
  }

  /** Makes the order if it was postponed, and keeps it from now on. */
  makeOrder(): SortedKeys {
    this.#sorted ??= SortedKeys.of([...this.#members.keys()].sort());
    return this.#sorted;
  }

  /** Returns false only if no member overlaps `key`; true may be wrong. */
  touches(key: string, dir: boolean): boolean {
    return this.#members.size > 0 && (dir || this.#dirs.size > 0 || this.#members.has(key));
  }

  /** Whether any member was added with its subtree. */
  get hasFolders(): boolean {
    return this.#dirs.size > 0;
  }

  /** Returns members that overlap `key`: itself, folders above added with their subtree, and, if `dir`, all below. */
  overlapping(key: string, dir: boolean): Iterable<string> {
    return dir && this.#members.size > 0 ? this.#aroundAndBelow(key) : this.around(key);
  }

  /** Returns the member `key` itself, and folders above it added with their subtree. */
  around(key: string): readonly string[] {
    const isMember = this.#members.has(key);
    if (this.#dirs.size === 0) return isMember ? [key] : nothing;
    const found = isMember ? [key] : [];
    for (let up = parentOf(key); up !== null; up = parentOf(up)) if (this.#dirs.has(up)) found.push(up);
    return found;
  }

  /** Returns all entries as text, sorted, so that two indexes of the same members give the same text. */
  describe(): readonly string[] {
    const members = [...this.#members.keys()].map(
      key => `${key} ${this.#counts?.get(key) ?? 1} ${this.#dirs.get(key) ?? 0}`,
    );
    return [...members.sort(), ...this.makeOrder()];
  }

  /** Yields members below in key order, so that the order does not depend on past insertions and removals. */
  *#aroundAndBelow(key: string): Generator<string, void> {
    yield* this.around(key);
    const folder = `${key}/`;
    for (const member of this.makeOrder().from(folder)) {
      if (!member.startsWith(folder)) return;
      yield member;
    }
  }
}

const nothing: readonly string[] = [];

function decrease(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
}

function parentOf(key: string): string | null {
  const cut = key.lastIndexOf("/");
  return cut === -1 ? null : key.slice(0, cut);
}
