/**
 * Which of many path keys lie above or below another one. A key is `node:/absolute/path`, the root `node:`.
 *
 * Invariants: a path is linked to its parent exactly while it is a member or has linked children; adding and
 * removing costs the number of new folders, not the number of members; only members added with `dir` are found
 * from below.
 */
interface Member {
  plain: number;
  dir: number;
}

export class PathIndex {
  readonly #members = new Map<string, Member>();
  readonly #children = new Map<string, Set<string>>();
  #dirs = 0;

  add(key: string, dir: boolean): void {
    const member = this.#members.get(key);
    if (dir) this.#dirs += 1;
    if (member !== undefined) {
      if (dir) member.dir += 1;
      else member.plain += 1;
      return;
    }
    this.#members.set(key, dir ? { plain: 0, dir: 1 } : { plain: 1, dir: 0 });
    if (!this.#children.has(key)) this.#link(key);
  }

  remove(key: string, dir: boolean): void {
    const member = this.#members.get(key);
    if (member === undefined) throw new Error(`path index: ${key} is not a member`);
    if (dir) {
      member.dir -= 1;
      this.#dirs -= 1;
    } else member.plain -= 1;
    if (member.plain > 0 || member.dir > 0) return;
    this.#members.delete(key);
    if (!this.#children.has(key)) this.#unlink(key);
  }

  /** Members that overlap `key`: itself, folders above it that count with their subtree, and, if `dir`, all below. */
  *overlapping(key: string, dir: boolean): Generator<string, void> {
    if (this.#members.has(key)) yield key;
    if (this.#dirs > 0) {
      for (let up = parentOf(key); up !== null; up = parentOf(up)) {
        if ((this.#members.get(up)?.dir ?? 0) > 0) yield up;
      }
    }
    if (dir) yield* this.#below(key);
  }

  /** All it knows, sorted: two indexes of the same members describe themselves alike. */
  describe(): readonly string[] {
    const members = [...this.#members].map(([key, m]) => `${key} ${m.plain} ${m.dir}`);
    const links = [...this.#children].flatMap(([dir, names]) => [...names].map(name => `${dir} > ${name}`));
    return [...members, ...links].sort();
  }

  /** Sorted, so that what is found first does not depend on what came and went before. */
  #below(key: string): string[] {
    const found: string[] = [];
    const stack = [...(this.#children.get(key) ?? [])];
    for (let path = stack.pop(); path !== undefined; path = stack.pop()) {
      if (this.#members.has(path)) found.push(path);
      const children = this.#children.get(path);
      if (children !== undefined) for (const child of children) stack.push(child);
    }
    return found.sort();
  }

  #link(key: string): void {
    for (let path = key; ; ) {
      const parent = parentOf(path);
      if (parent === null) return;
      const siblings = this.#children.get(parent);
      if (siblings !== undefined) {
        siblings.add(path);
        return;
      }
      this.#children.set(parent, new Set([path]));
      if (this.#members.has(parent)) return;
      path = parent;
    }
  }

  #unlink(key: string): void {
    for (let path = key; ; ) {
      const parent = parentOf(path);
      if (parent === null) return;
      const siblings = this.#children.get(parent);
      siblings?.delete(path);
      if (siblings === undefined || siblings.size > 0) return;
      this.#children.delete(parent);
      if (this.#members.has(parent)) return;
      path = parent;
    }
  }
}

function parentOf(key: string): string | null {
  const cut = key.lastIndexOf("/");
  return cut === -1 ? null : key.slice(0, cut);
}
