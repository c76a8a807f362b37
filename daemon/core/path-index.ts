/**
 * Which of many path keys lie above or below another one. A key is `node:/absolute/path`, the root `node:`.
 *
 * Invariants: only members added with `dir` are found from below; what is below a folder is found without a look at
 * anything else, and as lazily as it is asked for. While somebody goes through what was found, nothing is added or
 * removed.
 */
import { SortedKeys } from "./sorted-keys.ts";

export class PathIndex {
  /** How often a path was added. */
  readonly #members = new Map<string, number>();
  /** Of these, how often with its subtree. */
  readonly #dirs = new Map<string, number>();
  /** The members in the order of their keys: what is below a folder stands together. */
  readonly #sorted = new SortedKeys();

  add(key: string, dir: boolean): void {
    if (dir) this.#dirs.set(key, (this.#dirs.get(key) ?? 0) + 1);
    const count = this.#members.get(key) ?? 0;
    this.#members.set(key, count + 1);
    if (count === 0) this.#sorted.add(key);
  }

  remove(key: string, dir: boolean): void {
    const count = this.#members.get(key);
    if (count === undefined) throw new Error(`path index: ${key} is not a member`);
    if (dir) decrease(this.#dirs, key);
    decrease(this.#members, key);
    if (count === 1) this.#sorted.delete(key);
  }

  /** Whether there may be members that overlap `key`; false is certain. */
  touches(key: string, dir: boolean): boolean {
    return this.#members.size > 0 && (dir || this.#dirs.size > 0 || this.#members.has(key));
  }

  /** Whether any member counts with its subtree. */
  get hasFolders(): boolean {
    return this.#dirs.size > 0;
  }

  /** Members that overlap `key`: itself, folders above it that count with their subtree, and, if `dir`, all below. */
  overlapping(key: string, dir: boolean): Iterable<string> {
    return dir && this.#members.size > 0 ? this.#aroundAndBelow(key) : this.around(key);
  }

  /** The member `key` itself, and folders above it that count with their subtree. */
  around(key: string): readonly string[] {
    const isMember = this.#members.has(key);
    if (this.#dirs.size === 0) return isMember ? [key] : nothing;
    const found = isMember ? [key] : [];
    for (let up = parentOf(key); up !== null; up = parentOf(up)) if (this.#dirs.has(up)) found.push(up);
    return found;
  }

  /** All it knows, sorted: two indexes of the same members describe themselves alike. */
  describe(): readonly string[] {
    const members = [...this.#members].map(([key, n]) => `${key} ${n} ${this.#dirs.get(key) ?? 0}`);
    return [...members.sort(), ...this.#sorted];
  }

  /** Below in the order of their keys, so that what is found first does not depend on what came and went before. */
  *#aroundAndBelow(key: string): Generator<string, void> {
    yield* this.around(key);
    const folder = `${key}/`;
    for (const member of this.#sorted.from(folder)) {
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
