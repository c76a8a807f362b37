import type { BigIntStats } from "node:fs";
import type { Prober } from "../../daemon/facts/prober.ts";

export const types = { ext4: 0xef53, vfat: 0x4d44, apfs: 0x1a, autofs: 0x0187 } as const;

/** How a directory finds names: `exact`; `case` without composition, as FAT; `all`, as macOS; `composed`. */
export type Finding = "exact" | "case" | "composed" | "all";

interface Node {
  readonly is: "directory" | "file" | "link";
  readonly dev: bigint;
  readonly ino: bigint;
  readonly target: string;
  nlink: bigint;
  readonly finding: Finding;
  readonly type: number;
  /** By the name as the directory finds it. */
  readonly names: Map<string, { readonly name: string; readonly node: Node }>;
}

/** The name a directory finds `name` by: of letters alone, so that it is not what is tested. */
export function foundAs(name: string, finding: Finding): string {
  const composed = finding === "all" || finding === "composed" ? name.normalize("NFC") : name;
  return finding === "all" || finding === "case" ? composed.toLowerCase() : composed;
}

class Missing extends Error {
  readonly syscall = "fake";
  constructor(readonly code: string) {
    super(code);
  }
}

/** A filesystem in memory whose directories find names as they are told to. */
export class FakeVolume {
  readonly root: Node;
  /** Paths asked for, in order. */
  readonly asked: string[] = [];
  #inodes = 0n;

  constructor(finding: Finding = "exact", type: number = types.ext4) {
    this.root = this.#node("directory", { finding, type, dev: 1n });
  }

  /** Makes a directory and those above it; a new one finds names as the one above it, unless told. */
  directory(path: string, of: { finding?: Finding; type?: number; dev?: bigint } = {}): Node {
    let at = this.root;
    for (const word of path.split("/").filter(w => w !== "")) {
      const found = at.names.get(foundAs(word, at.finding))?.node;
      at = found ?? this.#enter(at, word, this.#node("directory", { ...at, ...of }));
    }
    return at;
  }

  file(path: string): Node {
    const [parent, name] = this.#split(path);
    return (
      parent.names.get(foundAs(name, parent.finding))?.node ??
      this.#enter(parent, name, this.#node("file", parent))
    );
  }

  link(path: string, target: string): void {
    const [parent, name] = this.#split(path);
    this.#enter(parent, name, this.#node("link", { ...parent, target }));
  }

  hardLink(path: string, node: Node): void {
    const [parent, name] = this.#split(path);
    node.nlink += 1n;
    this.#enter(parent, name, node);
  }

  remove(path: string): void {
    const [parent, name] = this.#split(path);
    parent.names.delete(foundAs(name, parent.finding));
  }

  /** What is at a real path, or null. */
  at(path: string): Node | null {
    let at = this.root;
    for (const word of path.split("/").filter(w => w !== "")) {
      const next = at.names.get(foundAs(word, at.finding))?.node;
      if (next === undefined) return null;
      at = next;
    }
    return at;
  }

  readonly prober: Prober = {
    lstat: async path => this.#stat(this.#get(path)),
    realpath: async path => this.#spelled(path),
    readlink: async path => this.#get(path).target,
    filesystem: async path => this.#get(path).type,
    names: async (path, max) => [...this.#get(path).names.values()].map(n => n.name).slice(0, max),
    readSmall: async path => (this.#get(path).is === "file" ? "ref: refs/heads/main\n" : null),
    tail: async () => null,
    mounts: async () => [{ point: "/", local: true }],
  };

  #get(path: string): Node {
    this.asked.push(path);
    const node = this.at(path);
    if (node === null) throw new Missing("ENOENT");
    return node;
  }

  /** As its directories spell it. */
  #spelled(path: string): string {
    let at = this.root;
    let spelled = "";
    for (const word of path.split("/").filter(w => w !== "")) {
      const found = at.names.get(foundAs(word, at.finding));
      if (found === undefined) throw new Missing("ENOENT");
      spelled += `/${found.name}`;
      at = found.node;
    }
    return spelled === "" ? "/" : spelled;
  }

  #split(path: string): [Node, string] {
    const cut = path.lastIndexOf("/");
    return [this.directory(path.slice(0, cut)), path.slice(cut + 1)];
  }

  #enter(parent: Node, name: string, node: Node): Node {
    parent.names.set(foundAs(name, parent.finding), { name, node });
    return node;
  }

  #node(is: Node["is"], of: { finding: Finding; type: number; dev: bigint; target?: string }): Node {
    this.#inodes += 1n;
    const { finding, type, dev, target = "" } = of;
    return { is, dev, ino: this.#inodes, target, nlink: 1n, finding, type, names: new Map() };
  }

  #stat({ is, dev, ino, nlink }: Node): BigIntStats {
    const stat = { dev, ino, nlink, birthtimeNs: ino, isDirectory: () => is === "directory" };
    // The rest of a stat is never looked at.
    return { ...stat, isSymbolicLink: () => is === "link", isFile: () => is === "file" } as BigIntStats;
  }
}
