import { describe, expect, it } from "vitest";
import { diskCode } from "../../daemon/journal/disk.ts";
import { SimulatedDisk } from "../simulation/disk.ts";
import { Random } from "../simulation/random.ts";

/** What a file holds after a power cut, over many seeds; null for no file. */
async function outcomes(prepare: (disk: SimulatedDisk) => Promise<void>): Promise<Set<string | null>> {
  const seen = new Set<string | null>();
  for (let seed = 0; seed < 200; seed++) {
    const disk = new SimulatedDisk();
    disk.mkdir("/d");
    await prepare(disk);
    disk.powerCut(new Random(seed));
    seen.add(disk.size("/d/f") === null ? null : disk.read("/d/f").toString("latin1"));
  }
  return seen;
}

describe("the simulated disk", () => {
  it("keeps what was synced, and any prefix of the rest", async () => {
    const seen = await outcomes(async disk => {
      const file = disk.create("/d/f");
      file.append("ab");
      await file.syncAll();
      await disk.syncDir("/d");
      file.append("cd");
      file.append("ef");
    });
    for (const text of ["ab", "abc", "abcd", "abcde"]) expect(seen).toContain(text);
    for (const text of seen) expect(text?.startsWith("ab")).toBe(true);
    expect([...seen].some(text => text !== null && !"abcdef".startsWith(text))).toBe(true);
  });

  it("may lose a name that was not synced, and bring back what was cut", async () => {
    const unnamed = await outcomes(async disk => {
      const file = disk.create("/d/f");
      file.append("ab");
      await file.syncAll();
    });
    expect(unnamed).toEqual(new Set([null, "ab"]));
    const cut = await outcomes(async disk => {
      const file = disk.create("/d/f");
      file.append("ab");
      await file.syncAll();
      await disk.syncDir("/d");
      file.truncate(1);
    });
    expect(cut).toEqual(new Set(["ab", "a"]));
  });

  it("may keep a renamed file's name without its content", async () => {
    const seen = await outcomes(async disk => {
      disk.create("/d/f.tmp").append("ab");
      disk.rename("/d/f.tmp", "/d/f");
    });
    expect(seen).toContain(null);
    expect(seen).toContain("");
  });

  it("a sync covers what was written before it began, and a crash of the process loses nothing", async () => {
    const disk = new SimulatedDisk();
    disk.mkdir("/d");
    const file = disk.create("/d/f");
    await disk.syncDir("/d");
    file.append("ab");
    disk.holdSyncs = true;
    const synced = file.syncData();
    file.append("cd");
    disk.completeSyncs();
    await synced;
    disk.processCrash();
    expect(disk.read("/d/f").toString()).toBe("abcd");
    expect(() => file.append("e")).toThrow("EBADF");
    disk.powerCut(new Random(3));
    expect(disk.read("/d/f").toString("latin1").startsWith("ab")).toBe(true);
  });

  it("is full at its capacity: a short write first, then ENOSPC", () => {
    const disk = new SimulatedDisk();
    disk.mkdir("/d");
    disk.capacity = 5;
    const file = disk.create("/d/f");
    expect([file.append("abc"), file.append("def")]).toEqual([3, 2]);
    let code: string | null = null;
    try {
      file.append("g");
    } catch (error) {
      code = diskCode(error);
    }
    expect(code).toBe("ENOSPC");
    disk.unlink("/d/f");
    expect(disk.create("/d/g").append("abcde")).toBe(5);
  });

  it("loses its power at the change it was told, in the middle of a write", () => {
    const disk = new SimulatedDisk();
    disk.mkdir("/d");
    const mounted = disk.mount();
    const file = mounted.create("/d/f");
    disk.stopAt = disk.steps + 2;
    file.append("ab");
    expect(() => file.append("cdef")).toThrow("the power went");
    expect(() => file.append("g")).toThrow("the power is off");
    expect(disk.read("/d/f").toString()).toBe("abcd");
    disk.processCrash();
    expect(() => mounted.read("/d/f")).toThrow("the process has ended");
    expect(disk.read("/d/f").toString()).toBe("abcd");
  });
});

describe("the generator", () => {
  it("repeats itself for a seed, differs between neighbours, and covers its range evenly", () => {
    const draw = (seed: number) => {
      const random = new Random(seed);
      return Array.from({ length: 5 }, () => random.bits());
    };
    expect(draw(1)).toEqual(draw(1));
    expect(new Set([0, 1, 2, 3].flatMap(draw)).size).toBe(20);
    const random = new Random(1);
    const counts = new Map<number, number>();
    for (let i = 0; i < 60_000; i++) {
      const drawn = random.int(1, 6);
      counts.set(drawn, (counts.get(drawn) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual([1, 2, 3, 4, 5, 6]);
    for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    expect(random.fork().bits()).not.toBe(random.bits());
  });
});
