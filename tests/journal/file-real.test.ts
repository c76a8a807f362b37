import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Disk, type DiskFile, diskCode, nodeDisk } from "../../daemon/journal/disk.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import { inspectJournal } from "../../daemon/journal/remains.ts";
import { Client, microtasks, wants } from "./commands.ts";
import { journalSuite, type World } from "./suite.ts";

function temporary(): string {
  return mkdtempSync(join(tmpdir(), "kite-journal-"));
}

/** The real disk, and how much of its work is not done yet. */
function countingDisk(): { disk: Disk; busy: () => boolean } {
  let pending = 0;
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    pending += 1;
    try {
      return await work;
    } finally {
      pending -= 1;
    }
  };
  const wrap = (file: DiskFile): DiskFile => ({
    get size() {
      return file.size;
    },
    append: data => file.append(data),
    appendLarge: data => counted(file.appendLarge(data)),
    truncate: size => file.truncate(size),
    isAt: (path, bytes) => file.isAt(path, bytes),
    syncData: () => counted(file.syncData()),
    syncAll: () => counted(file.syncAll()),
    close: () => file.close(),
  });
  const disk: Disk = {
    ...nodeDisk,
    create: path => wrap(nodeDisk.create(path)),
    open: path => wrap(nodeDisk.open(path)),
    syncDir: dir => counted(nodeDisk.syncDir(dir)),
  };
  return { disk, busy: () => pending > 0 };
}

/** Real files, a real event loop; a journal that was left behind has nothing more to do. */
function realWorld(): World {
  const home = temporary();
  const { disk, busy } = countingDisk();
  let current: FileJournal | null = null;
  return {
    start: () => {
      current = new FileJournal({
        dir: join(home, "journal"),
        disk,
        bounds: { segmentBytes: 500, reserveBytes: 4096 },
      });
      return current;
    },
    settle: async () => {
      do {
        await current?.barrier();
        await microtasks();
      } while (busy());
      await current?.barrier();
    },
    end: () => rmSync(home, { recursive: true }),
  };
}

journalSuite("the file journal on a real disk", realWorld);

describe("the real disk", () => {
  it("makes directories and files for their owner alone", async () => {
    const home = temporary();
    try {
      const dir = join(home, "deep", "journal");
      const client = await Client.open(new FileJournal({ dir }));
      client.propose(wants("one"));
      await client.journal.barrier();
      await client.journal.saveSnapshot(1, [Buffer.from("x")]);
      expect(statSync(dir).mode & 0o777).toBe(0o700);
      for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
      expect(readdirSync(dir).sort()).toEqual([
        "0000000001-0000000000000001-0000000000000000.manifest",
        "0000000001-0000000000000001.log",
        "0000000001-0000000000000001.snapshot",
        "reserve",
      ]);
      expect(statSync(join(dir, "reserve")).blocks * 512).toBeGreaterThanOrEqual(1024 * 1024);
      await client.journal.close();
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it("never gives two who open at once the same epoch", async () => {
    const home = temporary();
    try {
      const journals = Array.from({ length: 5 }, () => new FileJournal({ dir: home }));
      const opened = await Promise.all(
        journals.map(journal =>
          journal.open(
            0,
            () => {},
            () => {},
          ),
        ),
      );
      expect(new Set(opened.map(({ epoch }) => epoch)).size).toBe(5);
      await Promise.all(journals.map(journal => journal.close()));
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it("cuts off a torn tail, and goes on behind it", async () => {
    const home = temporary();
    try {
      const first = await Client.open(new FileJournal({ dir: home }));
      first.propose(wants("one"));
      await first.journal.barrier();
      await first.journal.close();
      appendFileSync(join(home, "0000000001-0000000000000001.log"), 'deadbeef {"seq":2,"at');
      expect(inspectJournal(home).notes[0]).toContain("the last 21 bytes");
      const second = await Client.open(new FileJournal({ dir: home }));
      expect(second.found).toEqual(first.delivered);
      second.propose(wants("two"));
      await second.journal.barrier();
      await second.journal.close();
      expect(inspectJournal(home)).toMatchObject({ lastSeq: 2, epoch: 2, damage: null, notes: [] });
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it("throws with the codes the journal asks for", async () => {
    const home = temporary();
    const codeOf = (action: () => unknown) => {
      try {
        action();
        return "none";
      } catch (error) {
        return diskCode(error);
      }
    };
    try {
      const path = join(home, "file");
      const file = nodeDisk.create(path);
      expect(codeOf(() => nodeDisk.create(path))).toBe("EEXIST");
      expect(codeOf(() => nodeDisk.open(join(home, "none")))).toBe("ENOENT");
      expect(codeOf(() => nodeDisk.unlink(join(home, "none")))).toBe("ENOENT");
      expect(nodeDisk.size(join(home, "none"))).toBeNull();
      expect(file.append("añb")).toBe(4);
      file.truncate(1);
      expect(await file.appendLarge(Buffer.from("cd"))).toBe(2);
      expect(file.size).toBe(3);
      await file.syncData();
      file.close();
      const again = nodeDisk.open(path);
      again.append("e");
      await again.syncAll();
      again.close();
      expect(nodeDisk.read(path).toString()).toBe("acde");
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
