/** File systems that fold case, on a made-up volume. */
import type { BigIntStats } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { folded } from "../../daemon/facts/case-folding.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { PathFacts } from "../../daemon/facts/paths.ts";
import type { Prober } from "../../daemon/facts/prober.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";

const types = { ext4: 0xef53, vfat: 0x4d44, apfs: 0x1a, autofs: 0x0187 } as const;

/** How a directory finds names: `exact`; `case` without composition, as FAT; `all`, as macOS; `composed`. */
type Finding = "exact" | "case" | "composed" | "all";

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
function foundAs(name: string, finding: Finding): string {
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
class FakeVolume {
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

const composedE = "\u00e9";
const splitE = "e\u0301";

function factsOf(volume: FakeVolume, platform: NodeJS.Platform = "linux") {
  const facts = new PathFacts({ outside: new BudgetedFs(volume.prober), platform });
  const fact = async (path: string) => {
    const found = await facts.resolve("/", path);
    if ("unreachable" in found) throw new Error(found.unreachable);
    return found;
  };
  return { facts, fact, key: async (path: string) => (await fact(path)).key };
}

describe("a name is folded", () => {
  const all = { case: true, composed: true };
  test.each([
    ["README.md", "readme.md"],
    [`Caf${splitE}`, `caf${composedE}`],
    [`CAF\u00c9`, `caf${composedE}`],
    ["Stra\u00dfe", "strasse"],
    ["\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c3"],
    ["\u03c3\u03b1\u03c2", "\u03c3\u03b1\u03c3"],
    ["\u212a", "k"],
  ])("%s as %s", (name, expected) => {
    expect(folded(name, all)).toBe(expected);
    expect(folded(folded(name, all), all)).toBe(folded(name, all));
  });

  test("not where its directory does not", () => {
    for (const name of ["README", `Caf${splitE}`])
      expect(folded(name, { case: false, composed: false })).toBe(name);
    expect(folded(`Caf${splitE}`, { case: false, composed: true })).toBe(`Caf${composedE}`);
    expect(folded(`CAF${splitE}`, { case: true, composed: false })).toBe(`caf${splitE}`);
    expect(folded("Stra\u00dfe", { case: true, composed: false })).toBe("stra\u00dfe");
    expect(folded("\u0131", all)).not.toBe(folded("i", all));
  });
});

describe("keys are folded where directories were seen to fold", () => {
  test("on a volume as macOS has them, and shown as they are spelled", async () => {
    const volume = new FakeVolume("all", types.apfs);
    volume.file("/Users/alice/Shop/README.md");
    const { fact, key } = factsOf(volume, "darwin");
    expect(await fact("/users/ALICE/shop/Readme.md")).toEqual({
      lexical: "/users/ALICE/shop/Readme.md",
      real: "/users/ALICE/shop/Readme.md",
      key: "/users/alice/shop/readme.md",
      dir: false,
    });
    expect(await key(`/Users/alice/Shop/New/Caf${splitE}.ts`)).toBe(
      `/users/alice/shop/new/caf${composedE}.ts`,
    );
  });

  test("on a volume of macOS that tells case apart, for composition alone", async () => {
    const volume = new FakeVolume("composed", types.apfs);
    volume.file("/Users/alice/README.md");
    const { key } = factsOf(volume, "darwin");
    expect(await key("/Users/alice/Readme.md")).toBe("/Users/alice/Readme.md");
    expect(await key(`/Users/alice/${splitE}`)).toBe(`/Users/alice/${composedE}`);
  });

  test("directory by directory on Linux", async () => {
    const volume = new FakeVolume();
    volume.file("/home/Shop/README");
    volume.directory("/home/Shop/Media", { finding: "all" });
    volume.file("/home/Shop/Media/Logo.PNG");
    const { key } = factsOf(volume);
    expect(await key("/home/Shop/Media/LOGO.png")).toBe("/home/Shop/Media/logo.png");
    expect(await key("/home/Shop/Media/Sub/X")).toBe("/home/Shop/Media/sub/x");
    expect(await key("/home/Shop/README")).toBe("/home/Shop/README");
    expect(await key("/home/Shop/Readme")).toBe("/home/Shop/Readme");
  });

  test("on FAT, where composition is not, and also while it is empty", async () => {
    const volume = new FakeVolume();
    volume.directory("/media");
    volume.directory("/media/Stick", { finding: "case", type: types.vfat, dev: 2n });
    const { key } = factsOf(volume);
    expect(await key("/media/Stick/New/A.txt")).toBe("/media/Stick/new/a.txt");
    volume.file(`/media/Stick/A${splitE}.txt`);
    expect(await key(`/media/Stick/A${splitE}.TXT`)).toBe(`/media/Stick/a${splitE}.txt`);
    expect(await key(`/media/Stick/A${composedE}.TXT`)).toBe(`/media/Stick/a${composedE}.txt`);
  });

  test("not because two names are one file", async () => {
    const volume = new FakeVolume();
    const node = volume.file("/src/a");
    volume.hardLink("/src/A", node);
    const { key } = factsOf(volume);
    expect(await key("/src/A")).toBe("/src/A");
    expect(await key("/src/a")).toBe("/src/a");
  });

  test("not because a name went away while it was looked at", async () => {
    const volume = new FakeVolume("all", types.apfs);
    volume.file("/Gone");
    volume.file("/Stays");
    const { lstat } = volume.prober;
    const vanishing = {
      ...volume.prober,
      lstat: async (path: string) => {
        const stat = await lstat(path);
        if (path === "/Gone") volume.remove("/Gone");
        return stat;
      },
    };
    const facts = new PathFacts({ outside: new BudgetedFs(vanishing), platform: "darwin" });
    expect(await facts.resolve("/", "/Gone")).toMatchObject({ key: "/gone" });
  });

  test("without asking for a name where that may mount something", async () => {
    const volume = new FakeVolume();
    volume.directory("/net", { type: types.autofs });
    volume.file("/net/server/src/a");
    const { key } = factsOf(volume);
    expect(await key("/net/server/src/a")).toBe("/net/server/src/a");
    expect(volume.asked).not.toContain("/net/SERVER");
  });

  test("looking at a directory once", async () => {
    const volume = new FakeVolume();
    for (const name of ["a", "b", "c"]) volume.file(`/home/shop/src/${name}`);
    const { key } = factsOf(volume);
    await key("/home/shop/src/a");
    volume.asked.length = 0;
    await key("/home/shop/src/b");
    expect(volume.asked.filter(path => path === "/home/shop/SRC" || path === "/HOME")).toEqual([]);
  });
});

test("a directory named in another case is the same project", async () => {
  const volume = new FakeVolume("all", types.apfs);
  volume.file("/Users/alice/Shop/.git/HEAD");
  for (const name of ["objects", "refs"]) volume.directory(`/Users/alice/Shop/.git/${name}`);
  volume.directory("/Users/alice/Notes");
  const outside = new BudgetedFs(volume.prober);
  const git = new GitFacts({ outside, paths: new PathFacts({ outside, platform: "darwin" }) });
  for (const cwd of ["/Users/alice/Shop", "/users/ALICE/shop"]) {
    const root = "/Users/alice/Shop";
    expect(await git.repositoryOf(cwd)).toMatchObject({ project: root, worktree: root, branch: "main" });
  }
  expect(await git.repositoryOf("/users/alice/notes")).toMatchObject({ project: "/Users/alice/Notes" });
});

describe("of any tree", () => {
  const word = fc.constantFrom("a", "A", "b", "Ab", "aB", composedE, splitE, "\u00c9", "1");
  const finding = fc.constantFrom<Finding>("exact", "case", "all", "composed");
  const platform = fc.constantFrom<NodeJS.Platform>("linux", "darwin");
  const path = fc.array(word, { minLength: 1, maxLength: 4 });

  /** Where a path leads: the deepest thing there is, and the rest as its directory would find it. */
  function reference(volume: FakeVolume, words: readonly string[]): string {
    let at = volume.root;
    for (const [i, w] of words.entries()) {
      const next = at.names.get(foundAs(w, at.finding))?.node;
      if (next === undefined)
        return `${at.ino}/${words
          .slice(i)
          .map(r => foundAs(r, at.finding))
          .join("/")}`;
      at = next;
    }
    return `${at.ino}`;
  }

  test("two spellings of one file have one key, two files never, before and after they are made", async () => {
    await fc.assert(
      fc.asyncProperty(
        platform,
        finding,
        fc.array(path, { minLength: 1, maxLength: 8 }),
        fc.array(path, { minLength: 2, maxLength: 8 }),
        async (system, found, files, asked) => {
          // macOS has no volume that tells compositions apart, Linux none that folds these alone.
          const kind =
            system === "darwin"
              ? found === "all"
                ? "all"
                : "composed"
              : found === "composed"
                ? "exact"
                : found;
          const type = system === "darwin" ? types.apfs : kind === "case" ? types.vfat : types.ext4;
          const volume = new FakeVolume(kind, type);
          // A name with letters of both cases is there from the start, as it is in any directory of people.
          volume.file("/Seen");
          const tree = (words: readonly string[]) => `/${words.join("/")}`;
          for (const words of files) if (isFree(volume, words)) volume.file(tree(words));
          const { key } = factsOf(volume, system);
          const before = await Promise.all(asked.map(words => key(tree(words))));
          for (const [i, a] of asked.entries()) {
            for (const [j, b] of asked.entries()) {
              const same = reference(volume, a) === reference(volume, b);
              expect(before[i] === before[j], `${tree(a)} and ${tree(b)}`).toBe(same);
            }
          }
          for (const words of asked) if (isFree(volume, words)) volume.file(tree(words));
          expect(await Promise.all(asked.map(words => key(tree(words))))).toEqual(before);
        },
      ),
      { numRuns: 300 },
    );
  });

  /** Whether a file can be made there: nothing above it is a file. */
  function isFree(volume: FakeVolume, words: readonly string[]): boolean {
    return words.every((_, i) => {
      const node = volume.at(`/${words.slice(0, i + 1).join("/")}`);
      return node === null || (i < words.length - 1 && node.is === "directory");
    });
  }
});
