/** How far the log went is known outside its segments: a start that finds less is refused, and says what is missing. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { JournalDamaged } from "../../daemon/journal/journal.ts";
import { inspectJournal } from "../../daemon/journal/remains.ts";
import { limits } from "../../protocol/limits.ts";
import { Random } from "../simulation/random.ts";
import { type Client, wants } from "./commands.ts";
import { dir, FileWorld } from "./file-world.ts";

/** Entries, each written alone. */
async function write(world: FileWorld, client: Client, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    client.propose(wants(`entry ${n}`));
    await world.settle();
  }
}

function lastLog(world: FileWorld): string {
  return join(dir, world.names(".log").at(-1) ?? "");
}

/** Keeps the first `count` lines of a file. */
function keepLines(world: FileWorld, path: string, count: number): void {
  const lines = world.disk.read(path).toString("latin1").split("\n");
  rewrite(
    world,
    path,
    lines
      .slice(0, count)
      .map(line => `${line}\n`)
      .join(""),
  );
}

function rewrite(world: FileWorld, path: string, text: string): void {
  const file = world.disk.open(path);
  file.truncate(0);
  file.append(Buffer.from(text, "latin1"));
  file.close();
}

async function refusal(world: FileWorld): Promise<string> {
  const names = world.names("");
  const error: unknown = await world.open().then(
    () => null,
    reason => reason,
  );
  if (!(error instanceof JournalDamaged)) throw new Error(`not refused, but ${error}`);
  expect(inspectJournal(dir, world.disk).damage).toBe(error.message);
  expect(world.names("")).toEqual(names);
  return error.message;
}

async function found(world: FileWorld): Promise<number> {
  expect(inspectJournal(dir, world.disk).damage).toBeNull();
  return (await world.open()).found.length;
}

describe("a last segment that is missing", () => {
  it.each([
    ["after the process was killed", false],
    ["after a stop in order", true],
  ])("is named, %s", async (_how, inOrder) => {
    const world = new FileWorld({ segmentBytes: 400 });
    const client = await world.open();
    await write(world, client, 20);
    expect(world.names(".log").length).toBeGreaterThan(3);
    if (inOrder) await client.journal.close();
    const path = lastLog(world);
    const bytes = world.disk.read(path).toString("latin1");
    world.disk.unlink(path);
    const message = await refusal(world);
    expect(message).toContain(`${path} is missing`);
    expect(message).toMatch(/restore .* from a backup, or move it away/);
    // Back in its place everything is there.
    world.disk.create(path).append(Buffer.from(bytes, "latin1"));
    expect(await found(world)).toBe(20);
  });

  it("is named where nothing but its beginning was ever stored", async () => {
    const world = new FileWorld();
    await write(world, await world.open(), 3);
    await world.open();
    world.disk.unlink(lastLog(world));
    expect(await refusal(world)).toContain("is missing");
  });

  it("is named where others before it are missing with it, or all of them", async () => {
    const world = new FileWorld({ segmentBytes: 400 });
    await write(world, await world.open(), 20);
    for (let left = world.names(".log").length; left > 0; left--) {
      world.disk.unlink(lastLog(world));
      expect(await refusal(world)).toContain("is missing");
    }
  });

  it("can be done without, if a person says so", async () => {
    const world = new FileWorld({ segmentBytes: 400 });
    await write(world, await world.open(), 18);
    world.disk.unlink(lastLog(world));
    const message = await refusal(world);
    const manifest = /remove (\S+\.manifest)/.exec(message)?.[1] ?? "";
    world.disk.unlink(manifest);
    expect(await found(world)).toBe(16);
  });
});

describe("an end that is missing", () => {
  it("shows after a stop in order, wherever the file was cut", async () => {
    for (let count = 0; count < 5; count++) {
      const world = new FileWorld({ segmentBytes: 1 << 20 });
      const client = await world.open();
      await write(world, client, 5);
      await client.journal.close();
      keepLines(world, lastLog(world), count);
      expect(await refusal(world)).toContain(
        `the log ends with entry ${count}, but entries up to 5 were safe`,
      );
    }
  });

  it("shows where a file was cut by more than the manifest may lag behind", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20 });
    const client = await world.open();
    const count = 3 * limits.manifestEntries;
    for (let n = 0; n < count; n++) {
      await write(world, client, 1);
      client.journal.sync();
      await world.settle();
    }
    keepLines(world, lastLog(world), count - limits.manifestEntries);
    expect(await refusal(world)).toMatch(/entries up to \d+ were safe/);
  });

  it("garbled after it was safe is damage, however little", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20 });
    const client = await world.open();
    await write(world, client, 3);
    await client.journal.close();
    const path = lastLog(world);
    world.disk.garble(path, (world.disk.size(path) ?? 0) - 5);
    expect(await refusal(world)).toContain("the log ends with entry 2, but entries up to 3 were safe");
  });

  it("that no sync promised may be missing: power cuts do that", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20 });
    await write(world, await world.open(), 5);
    keepLines(world, lastLog(world), 2);
    expect(await found(world)).toBe(2);
  });
});

describe("what one torn write leaves", () => {
  /** Five entries in one write each, none of them promised. */
  async function unsynced(): Promise<{ world: FileWorld; path: string; lines: string[] }> {
    const world = new FileWorld({ segmentBytes: 1 << 20 });
    await write(world, await world.open(), 5);
    const path = lastLog(world);
    const lines = world.disk.read(path).toString("latin1").split("\n").slice(0, 5);
    return { world, path, lines };
  }
  const flip = (line: string) => `${line.slice(0, -2)}#${line.slice(-1)}`;

  it("is cut off: an end inside a line, zeros, or anything in which no entry begins", async () => {
    const tails = [
      (last: string) => last.slice(0, 30),
      (last: string) => `${last.slice(0, 30)}${"\0".repeat(3000)}`,
      (last: string) => `${flip(last)}\n`,
      (last: string) => `${last.slice(0, 12)}\n\xff\n${"\x80\n".repeat(100)}`,
    ];
    for (const tail of tails) {
      const { world, path, lines } = await unsynced();
      rewrite(world, path, `${lines.slice(0, 4).join("\n")}\n${tail(lines[4] ?? "")}`);
      expect(inspectJournal(dir, world.disk).notes).toEqual([expect.stringContaining("are a torn write")]);
      expect(await found(world)).toBe(4);
    }
  });

  it("is nothing in which a further entry begins, be it damaged as well", async () => {
    for (const from of [0, 1, 3]) {
      const { world, path, lines } = await unsynced();
      const text = lines.map((line, n) => (n < from ? line : flip(line))).join("\n");
      for (const end of ["\n", ""]) {
        rewrite(world, path, `${text}${end}`);
        expect(await refusal(world)).toContain(`line ${from + 1} does not fit its checksum`);
      }
    }
  });

  it("is no longer than a write may be", async () => {
    const { world, path, lines } = await unsynced();
    const whole = `${lines.join("\n")}\n`;
    rewrite(world, path, `${whole}${"\0".repeat(limits.recordBytes)}`);
    expect(await found(world)).toBe(5);
    rewrite(world, path, `${whole}${"\0".repeat(limits.recordBytes + 1)}`);
    await expect(world.open()).rejects.toThrow(/line 6 .* longer than one write/);
    rewrite(world, path, `${whole}${`${"x".repeat(80)}\n`.repeat(limits.recordBytes / 80)}`);
    await expect(world.open()).rejects.toThrow(/line 6 .* longer than one write/);
  });

  it("one write never exceeds that bound, in bytes and not in characters", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20, recordBytes: 4096 });
    const client = await world.open();
    const before = world.disk.steps;
    client.propose(...Array.from({ length: 8 }, () => wants("漢".repeat(500))));
    await world.settle();
    expect(client.delivered.length).toBe(8);
    expect(client.batches).toEqual([2, 2, 2, 2]);
    expect(world.disk.steps - before).toBe(4);
  });
});

describe("the manifest", () => {
  const withoutManifest = (world: FileWorld) => {
    for (const name of world.names(".manifest")) world.disk.unlink(join(dir, name));
  };

  it("of a journal that has none yet is made by the start", async () => {
    const world = new FileWorld({ segmentBytes: 400 });
    await write(world, await world.open(), 20);
    withoutManifest(world);
    expect(await found(world)).toBe(20);
    expect(world.names(".manifest").length).toBe(1);
    world.disk.unlink(lastLog(world));
    expect(await refusal(world)).toContain("is missing");
  });

  it("is one file without content, renamed now and then", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20 });
    const client = await world.open();
    const renames: string[] = [];
    for (let n = 0; n < 2 * limits.manifestEntries; n++) {
      await write(world, client, 1);
      client.journal.sync();
      await world.settle();
      const [name = "", ...more] = world.names(".manifest");
      expect(more).toEqual([]);
      expect(world.disk.size(join(dir, name))).toBe(0);
      if (renames.at(-1) !== name) renames.push(name);
    }
    expect(renames.length).toBeLessThanOrEqual(3);
  });

  it("is not needed if the disk is full: the journal opens, and says no more than it knows", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20 });
    const client = await world.open();
    await write(world, client, 3);
    const { rename } = world.disk;
    world.disk.rename = () => {
      throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    };
    const next = await world.open();
    await write(world, next, 1);
    await next.journal.close();
    expect(next.fatal).toEqual([]);
    world.disk.rename = rename;
    expect(await found(world)).toBe(4);
  });

  it("left over by another is held to as well, and goes", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20 });
    const client = await world.open();
    await write(world, client, 3);
    await client.journal.close();
    world.disk.create(join(dir, "0000000001-0000000000000001-0000000000000002.manifest")).close();
    expect(await found(world)).toBe(3);
    expect(world.names(".manifest").length).toBe(1);
    world.disk.create(join(dir, "0000000001-0000000000000001-0000000000000009.manifest")).close();
    expect(await refusal(world)).toContain("entries up to 9 were safe");
  });

  it("never says more than is there, at whatever change the power goes", async () => {
    for (let stop = 1; stop < 60; stop++) {
      for (let seed = 0; seed < 5; seed++) {
        const world = new FileWorld({ segmentBytes: 300 });
        world.disk.stopAt = stop;
        const client = await world.open().catch(() => null);
        for (let n = 0; client !== null && n < 12 && !world.disk.isOff; n++) {
          await write(world, client, 1);
          if (n % 2 === 0) client.journal.sync();
          await world.settle();
        }
        await client?.journal.close().catch(() => {});
        if (seed > 0) world.disk.powerCut(new Random(stop * 10 + seed));
        else world.disk.processCrash();
        const next = await world.open();
        expect(next.found.length).toBeGreaterThanOrEqual(client?.journal.durableSeq ?? 0);
      }
    }
  });
});
