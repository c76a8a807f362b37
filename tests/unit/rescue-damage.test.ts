/** A store that is damaged, or whose daemon was killed at any step: what was kept comes back, and what was purged does not. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open as openFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { damageTexts } from "../../bin/rescue/shown.ts";
import { contentOf } from "../../bin/rescue/versions.ts";
import { Archive } from "../../daemon/rescue/archive.ts";
import { ContentStore, hashOf, IndexFile, lineOf } from "../../daemon/rescue/contents.ts";
import { isOwn, versionRow } from "../../daemon/rescue/listing.ts";
import type { Version } from "../../daemon/rescue/versions.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-rescue-damage-");
const dayMs = 24 * 3_600_000;
let count = 0;
afterEach(() => vi.restoreAllMocks());

/** A store in a folder; another daemon may start on a copy of it, as after a kill. */
class World {
  readonly dir: string;
  readonly troubles: string[] = [];
  nowMs = 100 * dayMs;

  constructor(copied?: string) {
    count += 1;
    this.dir = join(top, `${count}`, "rescue");
    mkdirSync(dirname(this.dir));
    if (copied !== undefined) cpSync(copied, this.dir, { recursive: true });
  }

  async start(): Promise<Archive> {
    const archive = new Archive({
      dir: this.dir,
      wall: () => this.nowMs,
      dirtyPaths: () => new Set(),
      onTrouble: message => this.troubles.push(message),
    });
    await archive.open();
    return archive;
  }

  get index(): string {
    return join(this.dir, "index");
  }

  async keep(archive: Archive, file: string, text: string): Promise<Version> {
    const content = Buffer.from(text);
    const place = { path: `/w/shop/${file}`, file, worktree: "/w/shop", project: "/w/shop", base: null };
    const by = { session: "s1", agent: null, name: "alice" };
    const what = { by, tool: "Edit", kind: "write", mode: 0o644, added: 2, taken: 1, asSent: false } as const;
    const draft = { ...place, ...what, atMs: this.nowMs };
    const kept = await archive.keep(draft, content, await hashOf(content));
    if (kept === null) throw new Error(`${file} was not kept: ${archive.trouble}`);
    return kept.version;
  }

  /** All bytes of the store. */
  bytes(): string {
    const files = readdirSync(this.dir, { recursive: true, withFileTypes: true }).filter(one => one.isFile());
    return files.map(one => readFileSync(join(one.parentPath, one.name)).toString("latin1")).join("\n");
  }

  /** Takes the labels away, as contents of earlier versions of Kite have none. */
  unlabel(archive: Archive): void {
    for (const { hash } of archive.versions.oldestFirst()) {
      const path = archive.pathOf(hash);
      const { engine } = inflateSync(readFileSync(path), { info: true }) as unknown as {
        engine: { bytesWritten: number };
      };
      truncateSync(path, engine.bytesWritten);
    }
  }
}

const all = (archive: Archive) => [...archive.versions.oldestFirst()];
const files = (archive: Archive) => all(archive).map(({ file }) => file);

describe("60 versions survive an index", () => {
  const damages: readonly (readonly [string, (index: string) => void])[] = [
    ["that is removed", index => rmSync(index)],
    ["that is cut to a third", index => truncateSync(index, Math.floor(readFileSync(index).length / 3))],
    [
      "of which one bit is another",
      index => {
        const bytes = readFileSync(index);
        const at = bytes.indexOf('"file-30.ts"') + 3;
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        writeFileSync(index, bytes);
      },
    ],
    ["that is empty", index => truncateSync(index, 0)],
  ];
  for (const isEnded of [true, false])
    test.each(damages)(`%s, after ${isEnded ? "an end in order" : "a kill"}`, async (_, damage) => {
      const before = new World();
      const first = await before.start();
      for (let n = 0; n < 60; n += 1) await before.keep(first, `file-${n}.ts`, `content ${n}\n`);
      if (isEnded) await first.close();
      const world = new World(before.dir);
      damage(world.index);
      const second = await world.start();
      expect(all(second)).toEqual(all(first));
      for (const [n, version] of all(second).entries())
        expect((await second.contentOf(version))?.toString()).toBe(`content ${n}\n`);
      const { recovered, setAside, lost } = second.damage;
      expect(recovered).toBeGreaterThan(0);
      expect([setAside, lost]).toEqual([0, 0]);
      expect(world.troubles).toEqual([expect.stringContaining(`${recovered} versions came back`)]);
      // Numbers are used once, and a further start finds the index whole.
      expect((await world.keep(second, "new.ts", "new\n")).n).toBe(61 + limits.rescueNumbersSkipped);
      await second.close();
      const third = await world.start();
      expect(third.damage).toMatchObject({ recovered: 0, setAside: 0, lost: 0 });
      expect(third.versions.size).toBe(61);
      await third.close();
      await first.close();
    });
});

describe("a kill at any step", () => {
  /** Runs the work, and copies the store before and after each change on the disk, with what was acknowledged until then. */
  async function steps(world: World, work: (said: { kept: Version[]; purged: string[] }) => Promise<void>) {
    const said: { kept: Version[]; purged: string[] } = { kept: [], purged: [] };
    const copies: {
      readonly dir: string;
      readonly kept: readonly Version[];
      readonly purged: readonly string[];
    }[] = [];
    const copy = () => {
      const dir = join(top, `copy-${count}-${copies.length}`);
      if (!existsSync(world.dir)) return;
      cpSync(world.dir, dir, { recursive: true });
      copies.push({ dir, kept: [...said.kept], purged: [...said.purged] });
    };
    const spied = (type: object, name: string) => {
      const real = (type as Record<string, (...given: unknown[]) => Promise<unknown>>)[name];
      if (real === undefined) throw new Error(`there is no ${name}`);
      vi.spyOn(type as Record<string, typeof real>, name).mockImplementation(async function (
        this: unknown,
        ...given: unknown[]
      ) {
        copy();
        const done = await real.apply(this, given);
        copy();
        return done;
      });
    };
    for (const name of ["place", "remove"]) spied(ContentStore.prototype, name);
    for (const name of ["append", "rewrite"]) spied(IndexFile.prototype, name);
    await work(said);
    vi.restoreAllMocks();
    return copies;
  }

  async function holds(copies: Awaited<ReturnType<typeof steps>>, damage: (index: string) => void) {
    for (const { dir, kept, purged } of copies) {
      const world = new World(dir);
      damage(world.index);
      const next = await world.start();
      const names = new Set(next.versions.paths());
      for (const version of kept) {
        if (purged.includes(version.file)) continue;
        expect(next.versions.get(version.n)?.path).toBe(version.path);
        expect(await next.contentOf(version)).not.toBeNull();
      }
      for (const file of purged) {
        expect(names.has(`/w/shop/${file}`)).toBe(false);
        expect(world.bytes()).not.toContain(`"${file}"`);
      }
      await next.close();
    }
  }

  async function work(world: World, said: { kept: Version[]; purged: string[] }): Promise<void> {
    const archive = await world.start();
    for (const [file, text] of [
      ["a.ts", "shared\n"],
      ["a.ts", "own\n"],
      ["c.ts", "c\n"],
    ] as const)
      said.kept.push(await world.keep(archive, file, text));
    // While it is purged either is right.
    const shared = await world.keep(archive, "b.ts", "shared\n");
    said.kept = said.kept.filter(({ file }) => file !== "a.ts");
    await archive.purge(({ file }) => file === "a.ts");
    said.purged.push("a.ts");
    said.kept.push(shared);
    said.kept.push(await world.keep(archive, "d.ts", "d\n"));
    await archive.close();
  }

  test("loses nothing that was kept, and brings nothing back that was purged", async () => {
    const world = new World();
    const copies = await steps(world, said => work(world, said));
    expect(copies.length).toBeGreaterThan(20);
    await holds(copies, () => {});
  });

  test("nor does one amid a start that mends", async () => {
    const before = new World();
    const said = { kept: [] as Version[], purged: [] as string[] };
    await work(before, said);
    for (const damage of [
      (index: string) => rmSync(index),
      (index: string) => appendFileSync(index, "half"),
    ]) {
      const world = new World(before.dir);
      damage(world.index);
      const copies = await steps(world, async ({ kept, purged }) => {
        kept.push(...said.kept);
        purged.push(...said.purged);
        await (await world.start()).close();
      });
      expect(copies.length).toBeGreaterThan(2);
      await holds(copies, () => {});
      // Once more without an index: only contents say what they are.
      await holds(copies, index => rmSync(index, { force: true }));
    }
  });

  test("a content whose line the kill kept from the index comes back as its version", async () => {
    const world = new World();
    const archive = await world.start();
    const first = await world.keep(archive, "a.ts", "one\n");
    vi.spyOn(IndexFile.prototype, "append").mockImplementation(() => new Promise(() => {}));
    void world.keep(archive, "b.ts", "two\n");
    await expect.poll(() => world.bytes().includes('"f":"b.ts"')).toBe(true);
    vi.restoreAllMocks();
    const next = await new World(world.dir).start();
    expect(all(next)).toMatchObject([
      first,
      { n: 2, file: "b.ts", atMs: world.nowMs, by: { name: "alice" } },
    ]);
    await next.close();
  });

  test("a removal that it interrupted ends with the next start, or is set aside where a line is damaged", async () => {
    const before = new World();
    const archive = await before.start();
    const { n, hash } = await before.keep(archive, "a.ts", "secret\n");
    await before.keep(archive, "b.ts", "b\n");
    appendFileSync(before.index, lineOf({ gone: [n] }));
    const world = new World(before.dir);
    const next = await world.start();
    expect(files(next)).toEqual(["b.ts"]);
    expect(existsSync(next.pathOf(hash))).toBe(false);
    await next.close();
    const damaged = new World(before.dir);
    writeFileSync(damaged.index, readFileSync(damaged.index, "utf8").replace('"b.ts"', '"x.ts"'));
    const third = await damaged.start();
    expect(files(third)).toEqual(["b.ts", hash.slice(0, 12)]);
    expect(damaged.bytes()).not.toContain("a.ts");
    await third.close();
    await archive.close();
  });
});

test("an index that was cut at the end of an earlier run is short, however whole it looks", async () => {
  const world = new World();
  const first = await world.start();
  await world.keep(first, "a.ts", "one\n");
  await first.close();
  const early = readFileSync(world.index);
  const second = await world.start();
  await world.keep(second, "b.ts", "two\n");
  await second.close();
  writeFileSync(world.index, early);
  const third = await world.start();
  expect(files(third)).toEqual(["a.ts", "b.ts"]);
  expect(third.damage).toMatchObject({ recovered: 1, lost: 0 });
  await third.close();
});

test.each([
  ["beginning", 0],
  ["middle", 1],
])("an index that lacks a line at its %s is short, also after an end in order", async (_, at) => {
  const world = new World();
  const first = await world.start();
  for (const file of ["a.ts", "b.ts", "c.ts"]) await world.keep(first, file, `${file}\n`);
  await first.close();
  const lines = readFileSync(world.index, "utf8").split("\n");
  writeFileSync(world.index, lines.toSpliced(at, 1).join("\n"));
  world.nowMs = Date.now() + 2 * dayMs;
  const next = await world.start();
  expect(all(next)).toEqual(all(first));
  expect(next.damage).toMatchObject({ recovered: 1, setAside: 0, lost: 0 });
  await next.close();
});

test("of damaged lines no more is said than that they may have been versions", async () => {
  const world = new World();
  const first = await world.start();
  await world.keep(first, "a.ts", "one\n");
  await first.close();
  truncateSync(world.index, readFileSync(world.index).length - 1);
  const next = await world.start();
  expect(files(next)).toEqual(["a.ts"]);
  expect(damageTexts(next.damage, next.trouble)).toEqual([
    "Kept work was damaged: at most 1 version lost; see kite rescue",
  ]);
  expect(world.troubles).toEqual([expect.stringContaining("at most 1 are lost")]);
  const one = { recovered: 1, setAside: 0, lost: 0 };
  expect(damageTexts(one, null)).toEqual(["Kept work was damaged: 1 version came back; see kite rescue"]);
  await next.close();
});

test("a shared content keeps the name of no purged file", async () => {
  const world = new World();
  const archive = await world.start();
  await world.keep(archive, "secret-plan.ts", "shared\n");
  const other = await world.keep(archive, "b.ts", "shared\n");
  expect(await archive.purge(({ file }) => file === "secret-plan.ts")).toMatchObject({
    alsoIn: [other.path],
  });
  expect(world.bytes()).not.toContain("secret-plan");
  await archive.close();
  rmSync(world.index);
  const next = await world.start();
  expect(all(next)).toMatchObject([{ n: other.n, file: "b.ts" }]);
  await next.close();
});

test("a purged content stays away if the power brings it back, or whoever had moved the folder", async () => {
  const world = new World();
  const archive = await world.start();
  for (const file of ["a.ts", "b.ts", "c.ts"]) await world.keep(archive, file, `${file}\n`);
  const objects = join(world.dir, "objects");
  cpSync(objects, `${objects}-before`, { recursive: true });
  for (const one of ["a.ts", "b.ts"]) await archive.purge(({ file }) => file === one);
  const killed = new World(world.dir);
  cpSync(join(killed.dir, "objects-before"), join(killed.dir, "objects"), { recursive: true });
  rmSync(join(killed.dir, "objects-before"), { recursive: true });
  const next = await killed.start();
  expect(files(next)).toEqual(["c.ts"]);
  expect(killed.bytes()).not.toContain("a.ts");
  await next.close();
  await archive.close();
});

test("after a kill that took nothing the index stays as it is, and its start leaves numbers out", async () => {
  const world = new World();
  const first = await world.start();
  for (const file of ["a.ts", "b.ts"]) await world.keep(first, file, `${file}\n`);
  const killed = new World(world.dir);
  const rewritten = vi.spyOn(IndexFile.prototype, "rewrite");
  const second = await killed.start();
  expect(all(second)).toEqual(all(first));
  expect(rewritten).not.toHaveBeenCalled();
  // The next start knows that these were left out, also if the lines of that run are lost.
  const third = await new World(killed.dir).start();
  expect((await world.keep(third, "c.ts", "c\n")).n).toBe(3 + 2 * limits.rescueNumbersSkipped);
  for (const one of [first, second, third]) await one.close();
});

test("a start that cannot mend a torn index leaves it to the next one", async () => {
  const world = new World();
  const first = await world.start();
  await world.keep(first, "a.ts", "one\n");
  await first.close();
  const early = readFileSync(world.index);
  const second = await world.start();
  const { hash } = await world.keep(second, "b.ts", "two\n");
  await second.close();
  world.unlabel(second);
  writeFileSync(world.index, `${early}half a li`);
  vi.spyOn(ContentStore.prototype, "place").mockRejectedValue(
    Object.assign(new Error("full"), { code: "ENOSPC" }),
  );
  const full = await world.start();
  expect(full.trouble).toContain("cannot be read");
  await full.close();
  vi.restoreAllMocks();
  const next = await world.start();
  expect(files(next)).toEqual(["a.ts", hash.slice(0, 12)]);
  expect(next.damage.setAside).toBe(1);
  await next.close();
});

describe("a content that says nothing", () => {
  async function aside(): Promise<{ world: World; archive: Archive; kept: readonly Version[] }> {
    const world = new World();
    const first = await world.start();
    for (const name of ["a", "b"]) await world.keep(first, `${name}.ts`, `${name}\n`);
    await first.close();
    world.unlabel(first);
    rmSync(world.index);
    return { world, archive: await world.start(), kept: all(first) };
  }

  test("is set aside for a person, under one number and time, also if the index goes again", async () => {
    const { world, archive, kept } = await aside();
    expect(archive.damage).toMatchObject({ recovered: 0, setAside: 2, lost: 0 });
    expect(world.troubles).toEqual([expect.stringContaining("2 contents are set aside")]);
    const found = all(archive);
    expect(found.map(({ file }) => file).sort()).toEqual(kept.map(({ hash }) => hash.slice(0, 12)).sort());
    for (const version of found) {
      expect(version).toMatchObject({ by: null, kind: "set_aside", atMs: world.nowMs });
      expect(dirname(version.path)).toBe(archive.damage.asideFolder);
      const row = versionRow(archive, version);
      expect((await contentOf(row))?.toString()).toMatch(/^[ab]\n$/);
      expect(isOwn({ project: version.project, worktree: version.worktree }, version)).toBe(false);
    }
    await archive.close();
    rmSync(world.index);
    world.nowMs += dayMs;
    const next = await world.start();
    expect(all(next)).toEqual(found);
    await next.close();
  });

  test("goes after 14 days, with the first write", async () => {
    const { world, archive } = await aside();
    world.nowMs += limits.rescueKeptMs + 1;
    await world.keep(archive, "c.ts", "c\n");
    await archive.prune();
    expect(files(archive)).toEqual(["c.ts"]);
    expect(archive.damage.setAside).toBe(0);
    await archive.close();
  });

  test("is purged by its folder, or by its time", async () => {
    const { world, archive, kept } = await aside();
    const [first] = kept;
    const { asideFolder } = archive.damage;
    await archive.purge(({ path, atMs }) => path.startsWith(`${asideFolder}/`) && atMs < world.nowMs + 1);
    expect(archive.versions.size).toBe(0);
    expect(existsSync(archive.pathOf(first?.hash ?? ""))).toBe(false);
    await archive.close();
  });

  test("stays for a day beside a whole index", async () => {
    const world = new World();
    world.nowMs = Date.now();
    const first = await world.start();
    const orphan = first.pathOf("ab".repeat(32));
    mkdirSync(dirname(orphan), { recursive: true });
    writeFileSync(orphan, "x");
    await first.close();
    for (const [hours, isThere] of [
      [0, true],
      [23, true],
      [25, false],
    ] as const) {
      world.nowMs = Date.now() + hours * 3_600_000;
      const next = await world.start();
      expect(existsSync(orphan)).toBe(isThere);
      expect(next.damage).toMatchObject({ recovered: 0, setAside: 0, lost: 0 });
      await next.close();
    }
  });
});

test("versions whose folder was away for a start come back with it, also old ones and those of one content", async () => {
  const world = new World();
  const first = await world.start();
  for (const [file, text] of [
    ["a.ts", "shared\n"],
    ["b.ts", "shared\n"],
    ["c.ts", "c\n"],
  ] as const)
    await world.keep(first, file, text);
  await first.close();
  world.unlabel(first);
  const objects = join(world.dir, "objects");
  renameSync(objects, `${objects}-away`);
  const second = await world.start();
  expect(second.damage).toMatchObject({ recovered: 0, lost: 3 });
  await second.close();
  rmSync(objects, { recursive: true });
  renameSync(`${objects}-away`, objects);
  world.nowMs = Date.now() + 2 * dayMs;
  const third = await world.start();
  expect(all(third)).toEqual(all(first));
  expect(third.damage).toMatchObject({ recovered: 3, setAside: 0, lost: 0 });
  for (const version of all(third)) expect(await third.contentOf(version)).not.toBeNull();
  await third.close();
});

test.each([0, 12])("a content that a power cut left %i bytes of is lost, and counted", async bytes => {
  const world = new World();
  const first = await world.start();
  const cut = await world.keep(first, "a.ts", "one\n".repeat(50));
  await world.keep(first, "b.ts", "two\n");
  const killed = new World(world.dir);
  truncateSync(first.pathOf(cut.hash).replace(world.dir, killed.dir), bytes);
  const next = await killed.start();
  expect(files(next)).toEqual(["b.ts"]);
  expect(next.damage).toMatchObject({ recovered: 0, setAside: 0, lost: 1 });
  // The same content is stored whole again.
  const again = await killed.keep(next, "a.ts", "one\n".repeat(50));
  expect((await next.contentOf(again))?.toString()).toBe("one\n".repeat(50));
  await next.close();
  await first.close();
});

test("a content that the disk does not give stays as it is, is told, and keeps no other from its way back", async () => {
  const world = new World();
  const first = await world.start();
  const [bad, odd] = [await world.keep(first, "a.ts", "a\n"), await world.keep(first, "b.ts", "b\n")];
  await world.keep(first, "c.ts", "c\n");
  await first.close();
  rmSync(world.index);
  // A stream that asks for a dictionary.
  writeFileSync(first.pathOf(odd.hash), Buffer.from([0x78, 0xbb, 1, 2, 3, 4, 5, 6]));
  const real = ContentStore.prototype.read;
  vi.spyOn(ContentStore.prototype, "read").mockImplementation(async function (this: ContentStore, hash) {
    if (hash === bad.hash) throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
    return real.call(this, hash);
  });
  world.nowMs = Date.now() + 2 * dayMs;
  const next = await world.start();
  expect(files(next)).toEqual(["c.ts"]);
  expect(next.damage).toMatchObject({ recovered: 1, setAside: 0, lost: 2 });
  expect(world.troubles[0]).toBe(`${first.pathOf(bad.hash)} cannot be read, and stays as it is`);
  expect(existsSync(first.pathOf(bad.hash))).toBe(true);
  await next.close();
});

describe("while the daemon runs", () => {
  test("a folder that is removed is told before the next write, and comes back if it is put back", async () => {
    const world = new World();
    const archive = await world.start();
    await world.keep(archive, "a.ts", "one\n");
    expect(archive.trouble).toBeNull();
    const objects = join(world.dir, "objects");
    renameSync(objects, `${objects}-aside`);
    expect(archive.trouble).toContain("was removed or cut while the daemon runs");
    await world.keep(archive, "b.ts", "two\n");
    expect(archive.trouble).toBeNull();
    await expect.poll(() => archive.damage.lost).toBe(1);
    expect(files(archive)).toEqual(["b.ts"]);
    cpSync(`${objects}-aside`, objects, { recursive: true });
    await archive.close();
    const next = await world.start();
    expect(files(next)).toEqual(["a.ts", "b.ts"]);
    await next.close();
  });

  test("a folder with a file in its place is told, and takes no answer and no end with it", async () => {
    const world = new World();
    const archive = await world.start();
    await world.keep(archive, "a.ts", "one\n");
    renameSync(world.dir, `${world.dir}-aside`);
    writeFileSync(world.dir, "");
    expect(archive.trouble).toContain(`${world.dir} was removed or cut while the daemon runs`);
    await expect(world.keep(archive, "b.ts", "two\n")).rejects.toThrow("cannot begin anew");
    await archive.close();
    expect(archive.trouble).toContain("cannot begin anew");
  });

  test("a folder that is emptied is told before the next write, which finds what is lost", async () => {
    const world = new World();
    const archive = await world.start();
    for (const file of ["a.ts", "b.ts"]) await world.keep(archive, file, `${file}\n`);
    const objects = join(world.dir, "objects");
    for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true });
    expect(archive.trouble).toContain(`${world.dir} was removed or cut while the daemon runs`);
    await world.keep(archive, "c.ts", "c\n");
    expect(archive.trouble).toBeNull();
    await expect.poll(() => archive.damage.lost).toBe(2);
    expect(files(archive)).toEqual(["c.ts"]);
    expect(world.troubles.length).toBe(2);
    await archive.close();
  });

  test.each(["removed", "cut"])("an index that is %s is told, and written anew", async how => {
    const world = new World();
    const archive = await world.start();
    await world.keep(archive, "a.ts", "one\n");
    if (how === "removed") rmSync(world.index);
    else truncateSync(world.index, 20);
    expect(archive.trouble).toContain("was removed or cut while the daemon runs");
    await world.keep(archive, "b.ts", "two\n");
    expect(archive.trouble).toBeNull();
    await archive.close();
    const next = await world.start();
    expect(files(next)).toEqual(["a.ts", "b.ts"]);
    expect(next.damage).toMatchObject({ recovered: 0, setAside: 0, lost: 0 });
    await next.close();
  });

  test("one sync at a time brings lines to the disk, no write waits for it, and one that fails is told", async () => {
    const world = new World();
    const archive = await world.start();
    const handle = await openFile(world.index);
    const synced = vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, "datasync");
    await handle.close();
    let end: (error?: Error) => void = () => {};
    const held = () =>
      new Promise<void>((resolve, reject) => {
        end = error => (error === undefined ? resolve() : reject(error));
      });
    synced.mockImplementation(held);
    for (const name of ["a", "b", "c"]) await world.keep(archive, `${name}.ts`, `${name}\n`);
    expect(synced).toHaveBeenCalledTimes(1);
    end();
    // What was appended meanwhile is brought there by one more.
    await expect.poll(() => synced.mock.calls.length, { timeout: 60_000 }).toBe(2);
    end(Object.assign(new Error("EIO"), { code: "EIO", syscall: "fdatasync" }));
    await expect.poll(() => archive.trouble).toContain("could not be brought to the disk");
    expect(world.troubles.length).toBe(1);
    vi.restoreAllMocks();
    await archive.close();
  });
});
