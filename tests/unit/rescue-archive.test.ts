import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Bounds } from "../../daemon/rescue/archive.ts";
import { Archive, recordOf } from "../../daemon/rescue/archive.ts";
import { hashOf, IndexFile } from "../../daemon/rescue/contents.ts";
import type { Draft, Version } from "../../daemon/rescue/versions.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-rescue-");
let count = 0;
const open: Archive[] = [];

afterEach(async () => {
  for (const archive of open.splice(0)) await archive.close();
});

const dayMs = 24 * 3_600_000;

class World {
  readonly dir = join(top, String(count++), "rescue");
  readonly troubles: string[] = [];
  readonly dirty = new Set<string>();
  nowMs = 100 * dayMs;
  bounds: Bounds = { bytesMax: 1e9, versionsMax: 1e6, keptMs: 14 * dayMs };

  async start(): Promise<Archive> {
    const archive = new Archive({
      dir: this.dir,
      wall: () => this.nowMs,
      dirtyPaths: () => this.dirty,
      onTrouble: message => this.troubles.push(message),
      bounds: this.bounds,
    });
    open.push(archive);
    await archive.open();
    return archive;
  }

  /** What a daemon that was killed leaves, read by the next one. */
  async restart(before: Archive): Promise<Archive> {
    await before.close();
    return this.start();
  }

  async keep(archive: Archive, file: string, content: string | Buffer): Promise<Version | null> {
    const bytes = Buffer.from(content);
    return (await archive.keep(this.draft(file), bytes, await hashOf(bytes)))?.version ?? null;
  }

  draft(file: string): Draft {
    return {
      path: `/w/shop/${file}`,
      file,
      worktree: "/w/shop",
      project: "/w/shop",
      by: { session: "s1", agent: null, name: "alice" },
      tool: "Edit",
      kind: "write",
      atMs: this.nowMs,
      base: "1234567",
      mode: 0o644,
      added: 2,
      taken: 1,
      asSent: false,
    };
  }

  /** The names of all contents on the disk. */
  contents(): string[] {
    const objects = join(this.dir, "objects");
    return readdirSync(objects).flatMap(folder =>
      readdirSync(join(objects, folder)).map(name => folder + name),
    );
  }
}

function textsOf(archive: Archive): Promise<(string | undefined)[]> {
  const versions = [...archive.versions.oldestFirst()];
  return Promise.all(versions.map(async version => (await archive.contentOf(version))?.toString()));
}

describe("the rescue store", () => {
  test("keeps versions over a restart, the same content once, in files of this user alone", async () => {
    const world = new World();
    const first = await world.start();
    await world.keep(first, "a.ts", "one\n");
    await world.keep(first, "b.ts", "one\n");
    await world.keep(first, "a.ts", "two\n");
    const archive = await world.restart(first);
    expect([...archive.versions.oldestFirst()]).toEqual([...first.versions.oldestFirst()]);
    expect([...archive.versions.oldestFirst()].map(({ n, file }) => [n, file])).toEqual([
      [1, "a.ts"],
      [2, "b.ts"],
      [3, "a.ts"],
    ]);
    expect(await textsOf(archive)).toEqual(["one\n", "one\n", "two\n"]);
    expect(archive.versions.latestOf("/w/shop/a.ts")?.n).toBe(3);
    expect(world.contents().length).toBe(2);
    expect(archive.versions.bytes).toBe(
      world.contents().reduce((sum, hash) => sum + statSync(archive.pathOf(hash)).size, 0),
    );
    expect(statSync(world.dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(world.dir, "index")).mode & 0o777).toBe(0o600);
    for (const hash of world.contents()) expect(statSync(archive.pathOf(hash)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(world.dir, "CACHEDIR.TAG"), "utf8")).toMatch(
      /^Signature: 8a477f597d28d172789f06886806bc55/,
    );
    expect(world.troubles).toEqual([]);
  });

  test("keeps no version that equals the latest one of its file", async () => {
    const world = new World();
    const archive = await world.start();
    const first = await world.keep(archive, "a.ts", "one\n");
    expect(await world.keep(archive, "a.ts", "one\n")).toBe(first);
    expect(archive.versions.size).toBe(1);
    await world.keep(archive, "a.ts", "two\n");
    await world.keep(archive, "a.ts", "one\n");
    expect([...archive.versions.latestFirst()].map(({ n }) => n)).toEqual([3, 2, 1]);
  });

  test("cuts a torn line off and goes on behind it", async () => {
    const world = new World();
    const first = await world.start();
    await world.keep(first, "a.ts", "one\n");
    await world.keep(first, "b.ts", "two\n");
    await first.close();
    const index = join(world.dir, "index");
    // A power cut takes what was not on the disk, in the middle of a line.
    truncateSync(index, readFileSync(index, "utf8").lastIndexOf('"k":"write"'));
    const second = await world.start();
    // The content names the version whose line is torn.
    expect([...second.versions.oldestFirst()]).toEqual([...first.versions.oldestFirst()]);
    expect(world.troubles).toEqual([expect.stringContaining("1 versions came back, 0 contents are set")]);
    // What somebody noted of a lost version names no other one.
    expect((await world.keep(second, "c.ts", "three\n"))?.n).toBe(3 + limits.rescueNumbersSkipped);
    const third = await world.restart(second);
    expect(await textsOf(third)).toEqual(["one\n", "two\n", "three\n"]);
    expect((await world.keep(third, "c.ts", "four\n"))?.n).toBe(4 + limits.rescueNumbersSkipped);
  });

  test("takes from its content what a damaged line said, and says so", async () => {
    const world = new World();
    const first = await world.start();
    for (const file of ["a.ts", "b.ts", "c.ts"]) await world.keep(first, file, `${file}\n`);
    await first.close();
    const index = join(world.dir, "index");
    writeFileSync(index, readFileSync(index, "utf8").replace('"b.ts"', '"x.ts"'));
    const second = await world.start();
    expect([...second.versions.oldestFirst()]).toEqual([...first.versions.oldestFirst()]);
    expect(second.damage).toMatchObject({ recovered: 1, setAside: 0, lost: 0 });
    expect((await world.keep(second, "d.ts", "d\n"))?.n).toBe(4 + limits.rescueNumbersSkipped);
    // The index is whole again.
    const third = await world.restart(second);
    expect(third.damage).toMatchObject({ recovered: 0, setAside: 0, lost: 0 });
    expect(await textsOf(third)).toEqual(["a.ts\n", "b.ts\n", "c.ts\n", "d\n"]);
  });

  test("removes temporary files of a daemon that was killed", async () => {
    const world = new World();
    const first = await world.start();
    await world.keep(first, "a.ts", "one\n");
    await first.close();
    writeFileSync(join(world.dir, "objects", "new-1-abc"), "half");
    await world.start();
    expect(readdirSync(join(world.dir, "objects")).filter(name => name.startsWith("new-"))).toEqual([]);
    expect(world.contents().length).toBe(1);
  });

  test("names no version at a start whose content is gone, and says how many", async () => {
    const world = new World();
    const first = await world.start();
    const gone = await world.keep(first, "a.ts", "one\n");
    await world.keep(first, "b.ts", "two\n");
    rmSync(first.pathOf(gone?.hash ?? ""));
    const second = await world.restart(first);
    expect(await textsOf(second)).toEqual(["two\n"]);
    expect(world.troubles).toEqual([expect.stringContaining("1 are lost")]);
    expect(await textsOf(await world.restart(second))).toEqual(["two\n"]);
  });

  test("gives no content that is cut off or replaced", async () => {
    const world = new World();
    const first = await world.start();
    const version = await world.keep(first, "a.ts", "one\n".repeat(100));
    const other = await world.keep(first, "b.ts", "two\n".repeat(100));
    const archive = await world.restart(first);
    if (version === null || other === null) throw new Error("a version was not kept");
    writeFileSync(archive.pathOf(version.hash), readFileSync(archive.pathOf(other.hash)));
    truncateSync(archive.pathOf(other.hash), 5);
    expect(await archive.contentOf(version)).toBeNull();
    expect(await archive.contentOf(other)).toBeNull();
  });

  test("begins anew if somebody removes it while the daemon runs", async () => {
    const world = new World();
    const archive = await world.start();
    const lost = await world.keep(archive, "a.ts", "one\n");
    rmSync(world.dir, { recursive: true });
    expect((await world.keep(archive, "b.ts", "two\n"))?.n).toBe(2);
    // By then there is nothing to put back any more.
    expect(world.troubles[0]).toMatch(/ was removed or cut while the daemon runs, and is begun anew$/);
    if (lost === null) throw new Error("the version was not kept");
    // The same content is stored again.
    await world.keep(archive, "a.ts", "one\n");
    expect(await (await world.restart(archive)).contentOf(lost)).toEqual(Buffer.from("one\n"));
  });

  test("writes the index anew if only that was removed: no version is lost", async () => {
    const world = new World();
    const first = await world.start();
    await world.keep(first, "a.ts", "one\n");
    rmSync(join(world.dir, "index"));
    await world.keep(first, "b.ts", "two\n");
    expect(await textsOf(await world.restart(first))).toEqual(["one\n", "two\n"]);
  });

  test("reports what it cannot store, throws nothing, and goes on when it can", async () => {
    const world = new World();
    const archive = await world.start();
    await world.keep(archive, "a.ts", "one\n");
    // A file in place of the folder: the system refuses as it does on a full disk, whoever runs the test.
    renameSync(join(world.dir, "objects"), join(world.dir, "aside"));
    writeFileSync(join(world.dir, "objects"), "");
    expect(await world.keep(archive, "b.ts", "two\n")).toBeNull();
    expect(archive.trouble).toContain("versions could not be kept");
    rmSync(join(world.dir, "objects"));
    renameSync(join(world.dir, "aside"), join(world.dir, "objects"));
    expect(await world.keep(archive, "b.ts", "two\n")).not.toBeNull();
    expect(archive.trouble).toBeNull();
    expect(await textsOf(await world.restart(archive))).toEqual(["one\n", "two\n"]);
  });

  test("writes nothing over an index that it could not read", async () => {
    const world = new World();
    const first = await world.start();
    await world.keep(first, "a.ts", "one\n");
    await first.close();
    const index = join(world.dir, "index");
    renameSync(index, `${index}.aside`);
    mkdirSync(index);
    const second = await world.start();
    expect(await world.keep(second, "b.ts", "two\n")).toBeNull();
    expect(second.trouble).toContain("cannot be read");
    rmSync(index, { recursive: true });
    renameSync(`${index}.aside`, index);
    world.nowMs += limits.rescueReadAgainMs;
    expect(await world.keep(second, "b.ts", "two\n")).not.toBeNull();
    expect(await textsOf(second)).toEqual(["one\n", "two\n"]);
  });

  test("goes on behind half a line that a full disk left", async () => {
    const world = new World();
    const first = await world.start();
    await world.keep(first, "a.ts", "one\n");
    await first.close();
    appendFileSync(join(world.dir, "index"), '0badc0de {"v":{"n":2,');
    const second = await world.start();
    await world.keep(second, "b.ts", "two\n");
    expect(await textsOf(await world.restart(second))).toEqual(["one\n", "two\n"]);
  });
});

describe("purge", () => {
  test("removes the versions of a file for good, and keeps a content that another version has", async () => {
    const world = new World();
    const archive = await world.start();
    const shared = await world.keep(archive, "a.ts", "shared\n");
    const own = await world.keep(archive, "a.ts", "only here\n");
    await world.keep(archive, "b.ts", "shared\n");
    const removed = await archive.purge(({ path }) => path === "/w/shop/a.ts");
    expect(removed).toMatchObject({ versions: 2, contents: 1 });
    expect(existsSync(archive.pathOf(own?.hash ?? ""))).toBe(false);
    expect(existsSync(archive.pathOf(shared?.hash ?? ""))).toBe(true);
    expect(archive.latestContent("/w/shop/a.ts")).toBeNull();
    expect(await textsOf(await world.restart(archive))).toEqual(["shared\n"]);
    expect((await world.keep(open.at(-1) ?? archive, "a.ts", "new\n"))?.n).toBe(4);
  });

  test("removes a content with the last version that has it", async () => {
    const world = new World();
    const archive = await world.start();
    await world.keep(archive, "a.ts", "shared\n");
    await world.keep(archive, "b.ts", "shared\n");
    await archive.purge(() => true);
    expect(world.contents()).toEqual([]);
    expect(archive.versions.bytes).toBe(0);
  });
});

describe("pruning", () => {
  test("drops what is too old, but the last version of a file with uncommitted work", async () => {
    const world = new World();
    const archive = await world.start();
    await world.keep(archive, "a.ts", "a1\n");
    await world.keep(archive, "a.ts", "a2\n");
    await world.keep(archive, "b.ts", "b1\n");
    world.dirty.add("/w/shop/a.ts");
    world.nowMs += 15 * dayMs;
    await world.keep(archive, "c.ts", "c1\n");
    await archive.prune();
    expect(await textsOf(archive)).toEqual(["a2\n", "c1\n"]);
    expect(world.contents().length).toBe(2);
  });

  test("thins out older versions of a file before it drops the last one of another", async () => {
    const world = new World();
    const archive = await world.start();
    await world.keep(archive, "old.ts", "old\n");
    for (let i = 0; i < 40; i += 1) {
      world.nowMs += 60_000;
      await world.keep(archive, "hot.ts", `${i}\n`);
    }
    world.bounds = { ...world.bounds, versionsMax: 20 };
    const next = await world.restart(archive);
    await next.prune();
    expect(next.versions.size).toBe(18);
    const left = [...next.versions.oldestFirst()];
    expect(left[0]?.file).toBe("old.ts");
    // The latest stays, and what stays of the older ones lies farther apart.
    const hot = left.filter(({ file }) => file === "hot.ts").map(({ n }) => n);
    expect(hot.at(-1)).toBe(41);
    const [first = 0, second = 0] = hot;
    expect(second - first).toBeGreaterThan((hot.at(-1) ?? 0) - (hot.at(-2) ?? 0));
  });

  test("drops a version that brings a wiped file back after all others", async () => {
    const world = new World();
    const archive = await world.start();
    const wiped = await world.keep(archive, "wiped.ts", "wiped\n");
    await archive.noteWipe({
      project: "/w/shop",
      worktree: "/w/shop",
      by: null,
      command: "git checkout",
      atMs: world.nowMs,
      files: [
        {
          path: "/w/shop/wiped.ts",
          file: "wiped.ts",
          version: wiped?.n ?? 0,
          writers: [],
          lines: 1,
          how: "reverted",
        },
      ],
      more: 0,
    });
    for (let i = 0; i < 10; i += 1) await world.keep(archive, `${i}.ts`, `${i}\n`);
    world.bounds = { ...world.bounds, versionsMax: 4 };
    const next = await world.restart(archive);
    await next.prune();
    expect([...next.versions.oldestFirst()].map(({ file }) => file)).toEqual(["wiped.ts", "8.ts", "9.ts"]);
    expect([...next.wipes.all()].map(({ n, command }) => [n, command])).toEqual([[1, "git checkout"]]);
  });

  test("writes the index anew when most of its lines are dead", async () => {
    const world = new World();
    const archive = await world.start();
    for (let i = 0; i < limits.rescueDeadLinesMax + 10; i += 1) {
      world.nowMs += 1_000;
      await world.keep(archive, "a.ts", `${i}\n`);
    }
    world.nowMs += 15 * dayMs;
    const before = statSync(join(world.dir, "index")).size;
    await archive.prune();
    expect(archive.versions.size).toBe(0);
    expect(statSync(join(world.dir, "index")).size).toBeLessThan(before / 100);
    const next = await world.restart(archive);
    expect((await world.keep(next, "a.ts", "new\n"))?.n).toBe(limits.rescueDeadLinesMax + 11);
  });

  test("lets other work run between slices of many versions, at a start and while it prunes", async () => {
    const world = new World();
    const first = await world.start();
    const version = await world.keep(first, "a.ts", "one\n");
    await first.close();
    if (version === null) throw new Error("the version was not kept");
    const many = 20_000;
    const index = new IndexFile(join(world.dir, "index"), error => world.troubles.push(String(error)));
    await index.rewrite(
      Array.from({ length: many }, (_, i) =>
        recordOf({ ...version, n: i + 1, atMs: world.nowMs - many + i }),
      ),
    );
    await index.close();
    const bytes = statSync(join(world.dir, "index")).size;
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const archive = await world.start();
    expect(archive.versions.size).toBe(many);
    expect(turns).toBeGreaterThanOrEqual(bytes / limits.rescueIndexBytesPerTurn);
    const before = turns;
    world.nowMs += 15 * dayMs;
    await archive.prune();
    expect(archive.versions.size).toBe(0);
    expect(turns - before).toBeGreaterThanOrEqual(many / limits.rescuePrunedPerTurn);
    isOver = true;
  });
});
