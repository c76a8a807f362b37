/**
 * Which of many path keys lie above or below another one. A key is `node:/absolute/path`, the root `node:`.
 *
 * Invariants: only members added with `dir` are found from below. The tree, from folders to what is in them, is made
 * when somebody first asks what is below a folder, since few ever do; from then on a path is linked to its parent
 * exactly while it is a member or has linked children, and adding and removing costs the number of new folders, not
 * the number of members.
 */
export class PathIndex {
  /** How often a path was added. */
  readonly #members = new Map<string, number>();
  /** Of these, how often with its subtree. */
  readonly #dirs = new Map<string, number>();
  #tree: Map<string, Set<string>> | null = null;

  add(key: string, dir: boolean): void {
    if (dir) this.#dirs.set(key, (this.#dirs.get(key) ?? 0) + 1);
    const count = this.#members.get(key) ?? 0;
    this.#members.set(key, count + 1);
    if (count === 0 && this.#tree !== null && !this.#tree.has(key)) this.#link(this.#tree, key);
  }

  remove(key: string, dir: boolean): void {
    const count = this.#members.get(key);
    if (count === undefined) throw new Error(`path index: ${key} is not a member`);
    if (dir) decrease(this.#dirs, key);
    decrease(this.#members, key);
    if (count === 1 && this.#tree !== null && !this.#tree.has(key)) this.#unlink(this.#tree, key);
  }

  /** Whether there may be members that overlap `key`; false is certain. */
  touches(key: string, dir: boolean): boolean {
    return this.#members.size > 0 && (dir || this.#dirs.size > 0 || this.#members.has(key));
  }

  /** Members that overlap `key`: itself, folders above it that count with their subtree, and, if `dir`, all below. */
  *overlapping(key: string, dir: boolean): Generator<string, void> {
    if (this.#members.has(key)) yield key;
    if (this.#dirs.size > 0) {
      for (let up = parentOf(key); up !== null; up = parentOf(up)) if (this.#dirs.has(up)) yield up;
    }
    if (dir && this.#members.size > 0) yield* this.#below(key);
  }

  /** All it knows, sorted: two indexes of the same members describe themselves alike. */
  describe(): readonly string[] {
    const members = [...this.#members].map(([key, n]) => `${key} ${n} ${this.#dirs.get(key) ?? 0}`);
    const links = [...this.#made()].flatMap(([dir, names]) => [...names].map(name => `${dir} > ${name}`));
    return [...members, ...links].sort();
  }

  /** Sorted, so that what is found first does not depend on what came and went before. */
  #below(key: string): string[] {
    const tree = this.#made();
    const found: string[] = [];
    const stack = [...(tree.get(key) ?? [])];
    for (let path = stack.pop(); path !== undefined; path = stack.pop()) {
      if (this.#members.has(path)) found.push(path);
      const children = tree.get(path);
      if (children !== undefined) for (const child of children) stack.push(child);
    }
    return found.sort();
  }

  #made(): Map<string, Set<string>> {
    if (this.#tree !== null) return this.#tree;
    const tree = new Map<string, Set<string>>();
    for (const key of this.#members.keys()) if (!tree.has(key)) this.#link(tree, key);
    this.#tree = tree;
    return tree;
  }

  #link(tree: Map<string, Set<string>>, key: string): void {
    for (let path = key; ; ) {
      const parent = parentOf(path);
      if (parent === null) return;
      const siblings = tree.get(parent);
      if (siblings !== undefined) {
        siblings.add(path);
        return;
      }
      tree.set(parent, new Set([path]));
      path = parent;
    }
  }

  #unlink(tree: Map<string, Set<string>>, key: string): void {
    for (let path = key; ; ) {
      const parent = parentOf(path);
      if (parent === null) return;
      const siblings = tree.get(parent);
      siblings?.delete(path);
      if (siblings === undefined || siblings.size > 0) return;
      tree.delete(parent);
      if (this.#members.has(parent)) return;
      path = parent;
    }
  }
}

function decrease(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
}

function parentOf(key: string): string | null {
  const cut = key.lastIndexOf("/");
  return cut === -1 ? null : key.slice(0, cut);
}
