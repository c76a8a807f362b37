import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Anchor } from "../../daemon/core/frame/actors.ts";
import {
  type ProcessRow,
  type ProcessTable,
  PsTable,
  parsePs,
  parseStat,
  type Seen,
  systemTable,
} from "../../daemon/facts/process-table.ts";
import { AnchorWatch, isAlive, parentOf, processAnchor } from "../../daemon/facts/processes.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { uncollected } from "../uncollected.ts";

const env = { PATH: "/usr/bin:/bin" };
const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

async function sleeper(program = "sleep"): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn(program, ["600"], { env, stdio: "ignore" });
  started.push(child);
  await once(child, "spawn");
  if (child.pid === undefined) throw new Error("a process that was started has a pid");
  return { child, pid: child.pid };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

function anchorOf(pid: number): Anchor {
  const anchor = processAnchor(pid);
  if (anchor === null) throw new Error(`process ${pid} should be seen`);
  return anchor;
}

/** A table that shows what it is told to. */
class ToldTable implements ProcessTable {
  readonly shown = new Map<number, ProcessRow>();
  /** The lists that the watch asked for. */
  readonly asked: (readonly number[])[] = [];
  readable = true;
  ours = true;

  show(pid: number, startTime: string, zombie = false, stopped = false): Anchor {
    this.shown.set(pid, { pid, parent: 1, zombie, stopped, startTime });
    return { pid, startTime };
  }

  row(pid: number): ProcessRow | "absent" | "unknown" {
    return this.readable ? (this.shown.get(pid) ?? "absent") : "unknown";
  }

  isOurs(): boolean {
    return this.ours;
  }

  youngestChildMs(): "unknown" {
    return "unknown";
  }

  async rows(pids: readonly number[]): Promise<readonly Seen[]> {
    this.asked.push(pids);
    return pids.map(pid => this.row(pid));
  }
}

describe("an anchor", () => {
  test("is a process of ours, until it is killed", async () => {
    const { child, pid } = await sleeper();
    const anchor = anchorOf(pid);
    expect(anchor.pid).toBe(pid);
    expect(processAnchor(pid)).toEqual(anchor);
    expect(isAlive(anchor)).toBe(true);
    expect(isAlive({ pid, startTime: "of another process" })).toBe(false);
    expect(parentOf(pid)).toBe(process.pid);
    await kill(child);
    expect(isAlive(anchor)).toBe(false);
    expect(processAnchor(pid)).toBeNull();
    expect(parentOf(pid)).toBeNull();
  });

  test("is known though its name holds blanks and parentheses", async () => {
    const dir = temporaryFolder("kite-name-");
    const program = join(dir, "a) Z 1 (b");
    symlinkSync("/bin/sleep", program);
    const { pid } = await sleeper(program);
    expect(isAlive(anchorOf(pid))).toBe(true);
  });

  test("is no zombie", async () => {
    const { parent, pid } = await uncollected();
    started.push(parent);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => systemTable().row(pid)).toMatchObject({ zombie: true });
    expect(processAnchor(pid)).toBeNull();
  });

  test("is nobody else's, and no nonsense", () => {
    const table = new ToldTable();
    table.show(7, "then");
    expect(processAnchor(7, table)).toEqual({ pid: 7, startTime: "then" });
    table.ours = false;
    expect(processAnchor(7, table)).toBeNull();
    for (const pid of [0, -1, 1.5, Number.NaN, 2 ** 53]) expect(processAnchor(pid)).toBeNull();
  });

  test("is not given up because the table cannot be read", () => {
    const table = new ToldTable();
    const anchor = table.show(7, "then");
    table.readable = false;
    expect(isAlive(anchor, table)).toBe(true);
    expect(processAnchor(7, table)).toBeNull();
  });
});

describe("the watch", () => {
  function watch(table?: ProcessTable) {
    const anchors = new AnchorWatch(table === undefined ? {} : { table });
    const gone: string[] = [];
    anchors.onGone((key, anchor) => gone.push(`${key} ${anchor.pid}`));
    return { anchors, gone };
  }

  test("tells once who is gone", async () => {
    const [a, b] = [await sleeper(), await sleeper()];
    const { anchors, gone } = watch();
    anchors.add("first", anchorOf(a.pid));
    anchors.add("second", anchorOf(a.pid));
    anchors.add("other", anchorOf(b.pid));
    await anchors.look();
    expect(gone).toEqual([]);
    await kill(a.child);
    await anchors.look();
    expect(gone).toEqual([`first ${a.pid}`, `second ${a.pid}`]);
    await anchors.look();
    expect(gone).toHaveLength(2);
    anchors.close();
  });

  test("tells of thousands in several turns of the event loop", async () => {
    const table = new ToldTable();
    const { anchors, gone } = watch(table);
    const count = 3 * limits.anchorBatchMax;
    for (let n = 1; n <= count; n += 1) anchors.add(`k${n}`, table.show(n, "then"));
    table.shown.clear();
    const looked = anchors.look();
    const sizes: number[] = [];
    for (let before = -1; gone.length !== count; ) {
      await new Promise(resolve => setImmediate(resolve));
      if (before >= 0) sizes.push(gone.length - before);
      before = gone.length;
    }
    await looked;
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limits.anchorBatchMax);
    expect(new Set(gone).size).toBe(count);
  });

  test("takes zombies and reused numbers for gone, an unreadable table for nothing", async () => {
    const table = new ToldTable();
    const { anchors, gone } = watch(table);
    anchors.add("zombie", table.show(1, "a"));
    anchors.add("reused", table.show(2, "b"));
    anchors.add("alive", table.show(3, "c"));
    table.show(1, "a", true);
    table.show(2, "later");
    table.readable = false;
    await anchors.look();
    expect(gone).toEqual([]);
    table.readable = true;
    await anchors.look();
    expect(gone).toEqual(["zombie 1", "reused 2"]);
  });

  test("says nothing of who was removed or renewed while it looked", async () => {
    const table = new ToldTable();
    const { anchors, gone } = watch(table);
    anchors.add("removed", { pid: 1, startTime: "a" });
    anchors.add("renewed", { pid: 2, startTime: "b" });
    const looked = anchors.look();
    anchors.remove("removed");
    anchors.add("renewed", table.show(3, "c"));
    await looked;
    expect(gone).toEqual([]);
  });

  test("judges who came while it looked at the next look", async () => {
    const table = new ToldTable();
    const { anchors, gone } = watch(table);
    anchors.add("early", table.show(1, "a"));
    const looked = anchors.look();
    anchors.add("late", { pid: 1, startTime: "b" });
    await looked;
    expect(gone).toEqual([]);
    await anchors.look();
    expect(gone).toEqual(["late 1"]);
    await anchors.look();
    expect(gone).toHaveLength(1);
  });

  test("asks for the same list until a process comes or goes, and makes nothing of what it saw before", async () => {
    const table = new ToldTable();
    const { anchors } = watch(table);
    const stops: string[] = [];
    anchors.onStopped((key, isStopped) => stops.push(`${key} ${isStopped}`));
    anchors.add("a1", table.show(1, "a"));
    anchors.add("b", table.show(2, "b"));
    await anchors.look();
    anchors.add("a2", { pid: 1, startTime: "a" });
    await anchors.look();
    expect(table.asked[1]).toBe(table.asked[0]);
    table.show(1, "a", false, true);
    await anchors.look();
    await anchors.look();
    expect(stops).toEqual(["a1 true", "a2 true"]);
    anchors.remove("b");
    await anchors.look();
    expect(table.asked.at(-1)).toEqual([1]);
  });

  test("looks at many in several goes", async () => {
    const absent = Array.from({ length: limits.anchorBatchMax * 2 }, (_, n) => 2 ** 23 + n);
    const looked = systemTable().rows([...absent, process.pid]);
    let hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
    });
    const seen = await looked;
    expect(hasTurned).toBe(true);
    expect(new Set(seen.slice(0, -1))).toEqual(new Set(["absent"]));
    expect(seen.at(-1)).toMatchObject({ pid: process.pid });
  });
});

if (process.platform === "linux")
  describe("files of processes that are watched", () => {
    const openFiles = (pid: number) =>
      readdirSync("/proc/self/fd").filter(fd => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(`/proc/${pid}/stat`);
        } catch {
          // The descriptor that read the directory is closed by now.
          return false;
        }
      }).length;

    test("stay open, show what happens, and are closed when nobody asks for them", async () => {
      const table = systemTable();
      const { child, pid } = await sleeper();
      const list = [pid];
      const [first] = await table.rows(list);
      expect(first).toEqual(table.row(pid));
      for (let look = 0; look < 3; look += 1) expect((await table.rows(list))[0]).toBe(first);
      expect(openFiles(pid)).toBe(2);
      child.kill("SIGSTOP");
      await expect.poll(async () => (await table.rows(list))[0]).toMatchObject({ pid, stopped: true });
      expect(await table.rows([process.pid])).toMatchObject([{ pid: process.pid }]);
      expect(openFiles(pid)).toBe(0);
      expect((await table.rows([pid]))[0]).toMatchObject({ pid, stopped: true });
      await kill(child);
      expect(await table.rows([pid])).toEqual(["absent"]);
      expect(openFiles(pid)).toBe(0);
      await table.rows([]);
    });

    test("show at once that a process has ended, though nobody collected it", async () => {
      const table = systemTable();
      const { parent, pid } = await uncollected();
      started.push(parent);
      expect((await table.rows([pid]))[0]).toMatchObject({ zombie: false });
      process.kill(pid, "SIGKILL");
      await expect.poll(() => table.row(pid)).toMatchObject({ zombie: true });
      // The look right after a whole one would do with less.
      expect((await table.rows([pid]))[0]).toMatchObject({ zombie: true });
      await table.rows([]);
    });

    test("are so many at most, and the others are read all the same", async () => {
      const table = systemTable();
      const all = readdirSync("/proc")
        .filter(name => /^\d+$/.test(name))
        .map(Number);
      const children = await Promise.all(
        Array.from({ length: Math.max(0, limits.statsOpenMax + 5 - all.length) }, () => sleeper()),
      );
      const pids = [...all, ...children.map(({ pid }) => pid)];
      const rows = await table.rows(pids);
      expect(rows.slice(all.length)).toMatchObject(children.map(({ pid }) => ({ pid })));
      const open = readdirSync("/proc/self/fd").length;
      await table.rows([]);
      expect(open - readdirSync("/proc/self/fd").length).toBe(limits.statsOpenMax);
    });
  });

test("the name in /proc/<pid>/stat does not shift its fields", () => {
  const fields = Array.from({ length: 30 }, (_, i) => String(i + 6)).join(" ");
  const text = `42 (a) S 7 (b) Z 1 5 ${fields}\n`;
  expect(parseStat(text, "boot")).toEqual({
    pid: 42,
    parent: 1,
    zombie: true,
    stopped: false,
    startTime: "22@boot",
  });
  expect(parseStat("42 (cut", "boot")).toBeNull();
});

test("the lines of ps are read as on macOS and on Linux", () => {
  const text = [
    "  501     1   502 Ss   Mon Jan  5 09:41:07 2026    ",
    "  777   501   502 Z+   Mon Jan 15 09:41:07 2026",
    "",
  ].join("\n");
  const { rows, uids } = parsePs(text);
  expect([...rows.values()]).toEqual([
    { pid: 501, parent: 1, zombie: false, stopped: false, startTime: "Mon Jan 5 09:41:07 2026" },
    { pid: 777, parent: 501, zombie: true, stopped: false, startTime: "Mon Jan 15 09:41:07 2026" },
  ]);
  expect(uids.get(777)).toBe(502);
});

test("ps, where there is one, shows what it should; where there is none nobody is declared dead", async () => {
  const table = new PsTable();
  const { child, pid } = await sleeper();
  const row = table.row(pid);
  if (row === "unknown") {
    expect(await table.rows([pid])).toEqual(["unknown"]);
    return;
  }
  expect(row).toMatchObject({ pid, parent: process.pid, zombie: false });
  expect(table.isOurs(pid)).toBe(true);
  expect((await table.rows([process.pid, pid]))[1]).toEqual(row);
  await kill(child);
  expect(table.row(pid)).toBe("absent");
  expect(await table.rows([pid])).toEqual(["absent"]);
});
