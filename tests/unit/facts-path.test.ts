import { execFileSync } from "node:child_process";
import { pbkdf2 } from "node:crypto";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { PathFacts } from "../../daemon/facts/paths.ts";
import { mountsIn, nodeProber, type Prober } from "../../daemon/facts/prober.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const ext4 = 0xef53;
const nfs = 0x6969;
const turn = () => new Promise<void>(resolve => setImmediate(resolve));

const top = temporaryFolder("kite-paths-");
let count = 0;

/** A fresh directory with `src/a.ts` in it. */
function world(): string {
  const dir = join(top, String(count++));
  mkdirSync(join(dir, "src"), { recursive: true });
  writeFileSync(join(dir, "src", "a.ts"), "a");
  return dir;
}

interface Hanging {
  readonly prober: Prober;
  readonly facts: PathFacts;
  /** Probes of the hung mount that have begun. */
  begun(): number;
}

/** The real filesystem, where nothing below `hung` (a mount of its own) is ever answered. */
function hanging(hung: string): Hanging {
  let begun = 0;
  const guard =
    <T>(probe: (path: string) => Promise<T>) =>
    (path: string): Promise<T> => {
      if (path !== hung && !path.startsWith(`${hung}/`)) return probe(path);
      begun++;
      return new Promise<T>(() => {});
    };
  const prober: Prober = {
    lstat: guard(nodeProber.lstat),
    readlink: guard(nodeProber.readlink),
    realpath: guard(nodeProber.realpath),
    filesystem: guard(async () => ext4),
    names: guard(path => nodeProber.names(path, limits.namesSeenMax)),
    readSmall: guard(path => nodeProber.readSmall(path, limits.smallFileBytes)),
    tail: guard(path => nodeProber.tail(path, limits.smallFileBytes)),
    mounts: async () => [
      { point: "/", local: true },
      { point: hung, local: false },
    ],
  };
  const facts = new PathFacts({ outside: new BudgetedFs(prober), platform: "linux" });
  return { prober, facts, begun: () => begun };
}

function factsOn(filesystem: number, now?: () => number, platform: NodeJS.Platform = "linux"): PathFacts {
  const prober: Prober = {
    ...nodeProber,
    filesystem: async () => filesystem,
    mounts: async () => [{ point: "/", local: true }],
  };
  return new PathFacts({ outside: new BudgetedFs(prober, now), platform });
}

describe("resolve", () => {
  const facts = new PathFacts();

  test("names files that exist, that do not, and directories", async () => {
    const dir = world();
    const fact = (file: string) => facts.resolve(dir, file);
    expect(await fact("src/a.ts")).toEqual({
      lexical: `${dir}/src/a.ts`,
      real: `${dir}/src/a.ts`,
      key: `${dir}/src/a.ts`,
      dir: false,
    });
    expect(await fact("src/new/b.ts")).toMatchObject({ real: `${dir}/src/new/b.ts`, dir: false });
    expect(await fact("src")).toMatchObject({ lexical: `${dir}/src`, real: `${dir}/src`, dir: true });
    expect(await fact("src/later/")).toMatchObject({ real: `${dir}/src/later`, dir: true });
    expect(await fact("src/../src/./a.ts")).toMatchObject({ lexical: `${dir}/src/a.ts` });
    expect(await fact("src/a.ts/below")).toMatchObject({ real: `${dir}/src/a.ts/below`, dir: false });
    expect(await facts.resolve("/elsewhere", `${dir}/src/a.ts`)).toMatchObject({ real: `${dir}/src/a.ts` });
    expect(await facts.resolve("relative", "x")).toMatchObject({ lexical: "/relative/x" });
    expect(await facts.resolve("/", "/")).toEqual({ lexical: "/", real: "/", key: "/", dir: true });
  });

  test("follows links, also to what does not exist yet", async () => {
    const dir = world();
    symlinkSync("src", join(dir, "link"));
    symlinkSync("src/a.ts", join(dir, "file-link"));
    symlinkSync("link/../src/later.ts", join(dir, "dangling"));
    symlinkSync(join(dir, "link"), join(dir, "link-to-link"));
    const real = async (file: string) => facts.resolve(dir, file);
    expect(await real("link/a.ts")).toMatchObject({ lexical: `${dir}/link/a.ts`, real: `${dir}/src/a.ts` });
    expect(await real("link/new.ts")).toMatchObject({ real: `${dir}/src/new.ts`, dir: false });
    expect(await real("link")).toMatchObject({ real: `${dir}/src`, dir: true });
    expect(await real("file-link")).toMatchObject({ real: `${dir}/src/a.ts`, dir: false });
    expect(await real("dangling")).toMatchObject({ real: `${dir}/src/later.ts`, dir: false });
    expect(await real("link-to-link/a.ts")).toMatchObject({ real: `${dir}/src/a.ts` });
  });

  test("says why a path cannot be had", async () => {
    const dir = world();
    symlinkSync("round", join(dir, "round"));
    const why = async (file: string) => {
      const fact = await facts.resolve(dir, file);
      return "unreachable" in fact ? fact.unreachable : "";
    };
    expect(await why("round")).toContain("symbolic links");
    expect(await why("a\0b")).toContain("NUL");
    expect(await why("x".repeat(300))).toContain("ENAMETOOLONG");
  });

  test("does not open a FIFO", async () => {
    const dir = world();
    execFileSync("mkfifo", [join(dir, "src", "pipe")]);
    const here = factsOn(ext4);
    expect(await here.resolve(dir, "src/pipe")).toMatchObject({ real: `${dir}/src/pipe`, dir: false });
    expect(here.resolveNow(dir, "src/pipe")).toMatchObject({ real: `${dir}/src/pipe`, dir: false });
    expect(await here.stamped(`${dir}/src/pipe`)).toMatchObject({ stamp: expect.any(String) });
    expect(await nodeProber.readSmall(`${dir}/src/pipe`, 100)).toBeNull();
  });
});

test("a thread pool that is busy is no disk that hangs", async () => {
  const dir = world();
  const jobs = Array.from({ length: 16 }, (_, n) => promisify(pbkdf2)("busy", `${n}`, 100_000, 64, "sha512"));
  const facts = new PathFacts();
  const asked = Array.from({ length: 4 }, (_, n) => facts.resolve(dir, `src/${n}.ts`));
  for (const [n, fact] of (await Promise.all(asked)).entries())
    expect(fact).toMatchObject({ real: `${dir}/src/${n}.ts` });
  await Promise.all(jobs);
});

test("a path that begins nowhere is looked for nowhere", async () => {
  expect(await factsOn(ext4).stamped("a-project/that-is-only-a-word")).toBeNull();
});

describe("a mount that hangs", () => {
  test("costs its own requests an answer, with few probes, and others nothing", async () => {
    const dir = world();
    const { facts, begun } = hanging(`${dir}/hung`);
    const into = Array.from({ length: 20 }, (_, i) => facts.resolve(dir, `hung/${i}/x`));
    expect(await facts.resolve(dir, "src/a.ts")).toMatchObject({ real: `${dir}/src/a.ts` });
    for (const fact of await Promise.all(into)) {
      expect(fact).toEqual({ unreachable: expect.stringContaining(`${limits.factMs} ms`) });
    }
    expect(begun()).toBe(limits.factsPerDeviceMax);
    expect(await facts.resolve(dir, "hung/again/x")).toHaveProperty("unreachable");
    expect(begun()).toBe(limits.factsPerDeviceMax);
    expect(await facts.resolve(dir, "src/b.ts")).toMatchObject({ real: `${dir}/src/b.ts` });
  });

  test("is charged for links that lead into it", async () => {
    const dir = world();
    symlinkSync(`${dir}/hung`, join(dir, "link"));
    const { facts, begun } = hanging(`${dir}/hung`);
    const into = Array.from({ length: 5 }, (_, i) => facts.resolve(dir, `link/${i}`));
    for (const fact of await Promise.all(into)) expect(fact).toHaveProperty("unreachable");
    expect(begun()).toBeLessThanOrEqual(limits.factsPerDeviceMax);
    expect(await facts.resolve(dir, "src/a.ts")).toMatchObject({ real: `${dir}/src/a.ts` });
    expect(await facts.stamped(`${dir}/hung/x`)).toBeNull();
  });

  test("is told apart without a table of mounts where volumes are usually mounted", async () => {
    const { prober } = hanging("/Volumes/hung");
    const outside = new BudgetedFs({
      ...prober,
      lstat: path => (path === "/Volumes" ? prober.lstat("/") : prober.lstat(path)),
      mounts: () => Promise.reject(new Error("no table here")),
    });
    const facts = new PathFacts({ outside, platform: "darwin" });
    const into = Array.from({ length: 5 }, (_, i) => facts.resolve("/Volumes/hung", String(i)));
    for (const fact of await Promise.all(into)) expect(fact).toHaveProperty("unreachable");
    const dir = world();
    expect(await facts.resolve(dir, "src/a.ts")).toMatchObject({ real: `${dir}/src/a.ts` });
  });
});

describe("resolveNow", () => {
  test("answers what resolve answers, once the directory is known", async () => {
    const dir = world();
    const facts = factsOn(ext4);
    for (const file of ["src/a.ts", "src/new.ts", "src/sub/", "src/./a.ts", `${dir}/src/a.ts`]) {
      const first = await facts.resolve(dir, file);
      expect(facts.resolveNow(dir, file)).toEqual(first);
    }
    expect(facts.resolveNow(dir, "src")).toBeNull();
    await facts.resolve(dir, "src");
    expect(facts.resolveNow(dir, "src")).toMatchObject({ real: `${dir}/src`, dir: true });
  });

  test("leaves to resolve what may hang or has to be followed", async () => {
    const dir = world();
    const local = factsOn(ext4);
    expect(local.resolveNow(dir, "src/a.ts")).toBeNull();
    symlinkSync("a.ts", join(dir, "src", "link.ts"));
    await local.resolve(dir, "src/link.ts");
    expect(local.resolveNow(dir, "src/link.ts")).toBeNull();
    expect(local.resolveNow(dir, "src/a\0b")).toBeNull();
    expect(local.resolveNow("/", "/")).toBeNull();
    const remote = factsOn(nfs);
    await remote.resolve(dir, "src/a.ts");
    expect(remote.resolveNow(dir, "src/a.ts")).toBeNull();
    const unknownSystem = factsOn(ext4, undefined, "openbsd");
    await unknownSystem.resolve(dir, "src/a.ts");
    expect(unknownSystem.resolveNow(dir, "src/a.ts")).toBeNull();
  });

  test("trusts on macOS the volumes it runs from, whatever their type's number", async () => {
    const dir = world();
    const rootPretended = new PathFacts({
      outside: new BudgetedFs({
        ...nodeProber,
        // As if the temporary directory were on the volume of "/", which it need not be.
        lstat: path => nodeProber.lstat(path === "/" ? dir : path),
        filesystem: async () => nfs,
        mounts: async () => null,
      }),
      platform: "darwin",
    });
    await rootPretended.resolve(dir, "src/a.ts");
    expect(rootPretended.resolveNow(dir, "src/a.ts")).toMatchObject({ real: `${dir}/src/a.ts` });
  });

  test("sees a directory that was swapped for a link, at any height", async () => {
    const dir = world();
    mkdirSync(join(dir, "src", "deep"));
    const facts = factsOn(ext4);
    await facts.resolve(dir, "src/deep/x.ts");
    expect(facts.resolveNow(dir, "src/deep/x.ts")).toMatchObject({ real: `${dir}/src/deep/x.ts` });
    await turn();
    renameSync(join(dir, "src"), join(dir, "moved"));
    symlinkSync("moved", join(dir, "src"));
    expect(facts.resolveNow(dir, "src/deep/x.ts")).toBeNull();
    const after = await facts.resolve(dir, "src/deep/x.ts");
    expect(after).toMatchObject({
      lexical: `${dir}/src/deep/x.ts`,
      real: `${dir}/moved/deep/x.ts`,
      dir: false,
    });
    expect(facts.resolveNow(dir, "src/deep/x.ts")).toEqual(after);
  });

  test("looks at a file once in a callback, and anew in the next one of the same turn", async () => {
    const dir = world();
    const facts = factsOn(ext4);
    await facts.resolve(dir, "src/a.ts");
    const file = join(dir, "src", "a.ts");
    const first = facts.resolveNow(dir, "src/a.ts");
    rmSync(file);
    mkdirSync(file);
    expect(facts.resolveNow(dir, "src/a.ts")).toBe(first);
    await Promise.resolve();
    expect(facts.resolveNow(dir, "src/a.ts")).toMatchObject({ dir: true });
    await Promise.resolve();
    rmSync(file, { recursive: true });
    symlinkSync("b.ts", file);
    expect(facts.resolveNow(dir, "src/a.ts")).toBeNull();
    expect(facts.resolveNow(dir, "src/a.ts")).toBeNull();
  });

  test("forgets a directory after a while, and keeps one that is in use", async () => {
    const dir = world();
    let now = 0;
    const facts = factsOn(ext4, () => now);
    await facts.resolve(dir, "src/a.ts");
    await turn();
    now += limits.directoryKeptMs + 1;
    expect(facts.resolveNow(dir, "src/a.ts")).toBeNull();

    await facts.resolve(dir, "src/a.ts");
    await turn();
    now += limits.directoryKeptMs - 1;
    expect(facts.resolveNow(dir, "src/a.ts")).not.toBeNull();
    // That use began to look at it anew; a look of our own is behind it in the same lane.
    await facts.resolve(dir, "elsewhere/a.ts");
    await facts.resolve(dir, "elsewhere/b.ts");
    now += limits.directoryKeptMs - 1;
    await turn();
    expect(facts.resolveNow(dir, "src/a.ts")).not.toBeNull();
  });

  test("forgets a directory that went away", async () => {
    const dir = world();
    const facts = factsOn(ext4);
    await facts.resolve(dir, "src/a.ts");
    await turn();
    rmSync(join(dir, "src"), { recursive: true });
    expect(facts.resolveNow(dir, "src/a.ts")).toBeNull();
    expect(await facts.resolve(dir, "src/a.ts")).toMatchObject({ real: `${dir}/src/a.ts`, dir: false });
  });
});

test("a file's stamp changes with the file", async () => {
  const dir = world();
  const file = join(dir, "src", "a.ts");
  const facts = new PathFacts();
  const stamp = async () => (await facts.stamped(file))?.stamp;
  const before = await stamp();
  expect(await stamp()).toBe(before);
  writeFileSync(file, "longer");
  const longer = await stamp();
  expect(longer).not.toBe(before);
  writeFileSync(`${file}.new`, "longer");
  renameSync(`${file}.new`, file);
  expect(await stamp()).not.toBe(longer);
  rmSync(file);
  expect(await stamp()).toBeNull();
});

test("a file's stamp can be had at once in a local directory that was looked at, and is the same", async () => {
  const dir = world();
  const file = join(dir, "src", "a.ts");
  const facts = factsOn(ext4);
  expect(facts.stampedNow(file, file)).toBeNull();
  await facts.resolve(dir, "src/a.ts");
  expect(facts.stampedNow(file, file)).toEqual(await facts.stamped(file));
  writeFileSync(file, "longer");
  expect(facts.stampedNow(file, file)).toEqual(await facts.stamped(file));
  rmSync(file);
  expect(facts.stampedNow(file, file)).toEqual({ stamp: null, changedAt: Number.POSITIVE_INFINITY });
  // A link leads elsewhere: it is not known whether to a local filesystem.
  expect(facts.stampedNow(file, join(dir, "elsewhere", "a.ts"))).toBeNull();
});

test("mount points with blanks in their names are read", () => {
  const text =
    "36 35 98:0 / /mnt/a\\040b\\134c rw shared:1 - nfs4 x:/y rw\n1 1 0:1 / / rw - ext4 /dev/y rw\n";
  expect(mountsIn(text)).toEqual([
    { point: "/mnt/a b\\c", local: false },
    { point: "/", local: true },
  ]);
});

describe("whatever a file is called by", () => {
  test("it has one key, and no other file has it, also when it is made later", async () => {
    const dir = world();
    mkdirSync(join(dir, "src", "deep"));
    writeFileSync(join(dir, "src", "deep", "b.ts"), "b");
    symlinkSync("src", join(dir, "link"));
    symlinkSync(join(dir, "src", "deep"), join(dir, "far"));
    symlinkSync("../src/a.ts", join(dir, "src", "up.ts"));
    symlinkSync("../far/../../link/deep/new.ts", join(dir, "src", "made.ts"));
    const directories = {
      [dir]: ["", "src/../", "./", "src/deep/../../"],
      [`${dir}/src`]: ["src/", "link/", "link/./", "src/deep/../", "src//"],
      [`${dir}/src/deep`]: ["src/deep/", "link/deep/", "far/"],
    };
    const files = ["a.ts", "b.ts", "new.ts", "A.ts"];
    const spellings = Object.entries(directories).flatMap(([real, words]) =>
      words.flatMap(w => files.map(file => ({ asked: w + file, key: `${real}/${file}` }))),
    );
    const links = [
      { asked: "link/up.ts", key: `${dir}/src/a.ts` },
      { asked: "src/made.ts", key: `${dir}/src/deep/new.ts` },
    ];
    for (const isMade of [false, true]) {
      if (isMade) writeFileSync(join(dir, "far", "new.ts"), "made");
      for (const { asked, key } of [...spellings, ...links]) {
        const facts = factsOn(ext4);
        expect(await facts.resolve(dir, asked), asked).toMatchObject({ key });
        await facts.resolve(dirname(join(dir, asked)), "other");
        expect(facts.resolveNow(dir, asked)?.key ?? key, asked).toBe(key);
      }
    }
  });

  test("a link made in its place is another file from then on", async () => {
    const dir = world();
    const facts = factsOn(ext4);
    expect(await facts.resolve(dir, "src/new.ts")).toMatchObject({ key: `${dir}/src/new.ts` });
    symlinkSync("a.ts", join(dir, "src", "new.ts"));
    expect(facts.resolveNow(dir, "src/new.ts")).toBeNull();
    expect(await facts.resolve(dir, "src/new.ts")).toMatchObject({ key: `${dir}/src/a.ts` });
  });

  test("on a volume that folds case, at once as by the long way, also below a directory misspelled", async () => {
    const dir = world();
    const { lstat } = nodeProber;
    const below = (path: string) =>
      path.startsWith(`${dir}/`) ? dir + path.slice(dir.length).toLowerCase() : path;
    const prober: Prober = {
      ...nodeProber,
      lstat: path => lstat(below(path)),
      mounts: async () => [{ point: "/", local: true }],
    };
    const facts = new PathFacts({ outside: new BudgetedFs(prober), platform: "linux" });
    const long = await facts.resolve(dir, "src/README.md");
    expect(long).toMatchObject({ real: `${dir}/src/README.md`, key: `${dir}/src/readme.md` });
    expect(facts.resolveNow(dir, "src/README.md")).toEqual(long);
    expect(facts.resolveNow(dir, "src/Readme.md")).toMatchObject({ key: `${dir}/src/readme.md` });
    expect(await facts.resolve(dir, "SRC/A.ts")).toMatchObject({
      real: `${dir}/SRC/A.ts`,
      key: `${dir}/src/a.ts`,
    });
  });
});
