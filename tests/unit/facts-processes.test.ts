/** Processes: their anchors, their parents and their signs of life. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, test } from "vitest";
import type { Anchor } from "../../daemon/core/frame/actors.ts";
import { parentAgent } from "../../daemon/facts/facts.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { gitCommandOf, parseLsof, parsePsRows } from "../../daemon/facts/git/running.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import {
  type ProcessRow,
  type ProcessTable,
  PsTable,
  parsePs,
  parseStat,
  type Seen,
  systemTable,
} from "../../daemon/facts/process-table.ts";
import {
  AnchorWatch,
  isAlive,
  lifeSigns,
  likelySubagent,
  parentOf,
  processAnchor,
  youngestChildMs,
} from "../../daemon/facts/processes.ts";
import { agentFile } from "../../hooks/claude-code/adapter.ts";
import { lifeFiles } from "../../hooks/claude-code/transcripts.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { uncollected } from "../uncollected.ts";

describe("processes", () => {
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
});

// Looks at real processes and real files.
describe("signs of life", () => {
  const session = "65bca144-cfa5-454f-b470-e84bd4e53d4c";
  const started: ChildProcess[] = [];
  const home = temporaryFolder("kite-life-");

  afterAll(() => {
    for (const child of started) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
    }
  });

  /** A shell that waits for lines; `sleep` in one begins a child. */
  async function shell(): Promise<{ child: ChildProcess; anchor: Anchor }> {
    const child = spawn("/bin/sh", ["-c", "echo up; while read line; do $line & echo begun; done"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    started.push(child);
    await once(child.stdout ?? child, "data");
    const anchor = processAnchor(child.pid ?? 0);
    if (anchor === null) throw new Error("a process that was started should be seen");
    return { child, anchor };
  }

  it("tells how long the youngest child of a process has run", async () => {
    const { child, anchor } = await shell();
    expect(youngestChildMs(anchor)).toBe(process.platform === "linux" ? "none" : "unknown");
    child.stdin?.write("sleep 600\n");
    await once(child.stdout ?? child, "data");
    const ms = youngestChildMs(anchor);
    if (process.platform !== "linux") {
      expect(ms).toBe("unknown");
      return;
    }
    expect(ms).toBeTypeOf("number");
    // Times of processes are counted in hundredths of a second.
    expect(Number(ms)).toBeGreaterThanOrEqual(-10);
    expect(youngestChildMs({ ...anchor, startTime: "another" })).toBe("unknown");
  });

  it("tells once that a signal stopped a process, and once that it runs on", async () => {
    const { child, anchor } = await shell();
    const watch = new AnchorWatch();
    const told: string[] = [];
    watch.onStopped((key, isStopped) => told.push(`${key} ${isStopped}`));
    watch.add("a", anchor);
    await watch.look();
    const until = async (count: number) => {
      while (told.length < count) await watch.look();
    };
    child.kill("SIGSTOP");
    await until(1);
    await watch.look();
    child.kill("SIGCONT");
    await until(2);
    await watch.look();
    watch.close();
    expect(told).toEqual(["a true", "a false"]);
  });

  it("reads the end of a transcript and the status of the process, and nothing else", async () => {
    const { anchor } = await shell();
    const folder = join(home, "projects", "p");
    mkdirSync(folder, { recursive: true });
    mkdirSync(join(home, "sessions"));
    const transcript = join(folder, `${session}.jsonl`);
    const asked = { session, agent: null, transcript, anchor };
    const outside = new BudgetedFs();
    expect(await lifeSigns(outside, [lifeFiles], asked)).toMatchObject({ transcript: null, status: null });

    writeFileSync(transcript, `${"x".repeat(400_000)}\n`);
    appendFileSync(transcript, `${JSON.stringify({ type: "user", message: { content: "Do it." } })}\n`);
    writeFileSync(
      join(home, "sessions", `${anchor.pid}.json`),
      JSON.stringify({ sessionId: session, status: "busy" }),
    );
    const found = await lifeSigns(outside, [lifeFiles], asked);
    expect(found).toMatchObject({ transcript: { end: "model" }, status: { status: "busy" } });
    expect(found.transcript?.sizeBytes).toBeGreaterThan(400_000);
    expect(await lifeSigns(outside, [], asked)).toMatchObject({ transcript: null, status: null });
    expect(await lifeSigns(outside, [lifeFiles], { ...asked, anchor: null })).toMatchObject({
      childMs: "unknown",
    });
  });

  it("reads who acts at the end of a transcript, whatever its size and whoever writes it meanwhile", async () => {
    const folder = join(home, "projects", "q");
    mkdirSync(folder, { recursive: true });
    const transcript = join(folder, `${session}.jsonl`);
    const outside = new BudgetedFs();
    const acting = (path = transcript) => likelySubagent(outside, [lifeFiles], { session, transcript: path });
    const line = (id: string, subagent_type: string, pad = "") =>
      `${JSON.stringify({
        type: "assistant",
        message: { content: [{ type: "tool_use", id, name: "Task", input: { subagent_type, pad } }] },
      })}\n`;

    expect(await acting()).toBeNull();
    writeFileSync(transcript, "");
    expect(await acting()).toBeNull();

    // Each byte of the end's first character may be the first that is read.
    const end = line("b", "reviewer");
    for (let cut = 0; cut < 4; cut += 1) {
      const before = 256 * 1024 - end.length - 1 - cut;
      writeFileSync(
        transcript,
        `${line("a", "other", "🪁".repeat(90_000)).trimEnd()}${"\n".repeat(before % 2)}`,
      );
      appendFileSync(transcript, `${" ".repeat(cut)}\n${end}`);
      expect(await acting(), `${cut}`).toMatchObject({ type: "reviewer", others: 0 });
    }

    // The client is in the middle of a line.
    appendFileSync(transcript, line("c", "late").slice(0, -20));
    expect(await acting()).toMatchObject({ type: "reviewer" });
    appendFileSync(transcript, line("c", "late").slice(-20));
    expect(await acting()).toMatchObject({ type: "late", others: 1 });

    // Older than the lines that are read.
    appendFileSync(transcript, `${JSON.stringify({ type: "progress" })}\n`.repeat(200));
    expect(await acting()).toBeNull();

    writeFileSync(transcript, "");
    truncateSync(transcript, 2 ** 30);
    appendFileSync(transcript, `\n${end}`);
    const began = process.memoryUsage().arrayBuffers;
    expect(await acting()).toMatchObject({ type: "reviewer" });
    expect(process.memoryUsage().arrayBuffers - began).toBeLessThan(8 * 1024 * 1024);

    expect(await acting(join(home, "elsewhere", `${session}.jsonl`))).toBeNull();
    expect(await likelySubagent(outside, [], { session, transcript })).toBeNull();
  });

  it("reads who acts while the client writes", async () => {
    const folder = join(home, "projects", "r");
    mkdirSync(folder, { recursive: true });
    const transcript = join(folder, `${session}.jsonl`);
    const content = [{ type: "tool_use", id: "a", name: "Task", input: { subagent_type: "reviewer" } }];
    writeFileSync(transcript, `${JSON.stringify({ type: "assistant", message: { content } })}\n`);
    // Half a line, then its rest: fewer lines in all than are read.
    const script = `for i in $(seq 100); do printf '{"type":'; printf '"progress"}\\n'; done >> "$0"`;
    const writer = spawn("/bin/sh", ["-c", script, transcript]);
    started.push(writer);
    const outside = new BudgetedFs();
    let hasEnded = false;
    writer.once("exit", () => {
      hasEnded = true;
    });
    while (!hasEnded)
      expect(await likelySubagent(outside, [lifeFiles], { session, transcript })).toMatchObject({
        type: "reviewer",
      });
  });
});

describe("an agent", () => {
  const folder = join(temporaryFolder("kite-agent-"), "projects", "p", "s", "subagents");
  mkdirSync(folder, { recursive: true });

  test("an agent's parent is what the client's file says, or none; what cannot be read now is not none", async () => {
    const file = join(folder, "agent-1.meta.json");
    const outside = new BudgetedFs();
    expect(await parentAgent(outside, [agentFile], file)).toBeNull();
    writeFileSync(file, '{"parentAgentId":"helper"}');
    expect(await parentAgent(outside, [agentFile], file)).toBe("helper");
    expect(await parentAgent(outside, [agentFile], "/etc/passwd")).toBeNull();
    const failing = {
      ...nodeProber,
      readSmall: () => Promise.reject(Object.assign(new Error("no"), { code: "EIO", syscall: "open" })),
    };
    expect(await parentAgent(new BudgetedFs(failing), [agentFile], file)).toMatchObject({
      unreachable: expect.stringContaining("EIO"),
    });
  });
});

describe("git processes", () => {
  test.each([
    ["git commit -m x", "git commit", null],
    ["/usr/lib/git-core/git -c a=b -C dir --no-pager rebase main", "git rebase", null],
    ["git --git-dir /r/.git --work-tree=/r add a", "git add", "/r/.git"],
    ["git --git-dir=/r/.git gc", "git gc", "/r/.git"],
  ])("%s may hold a lock file", (words, name, gitDir) => {
    expect(gitCommandOf(words.split(" "))).toEqual({ name, gitDir });
  });

  test.each([
    "git",
    "git --version",
    "git fsmonitor--daemon run",
    "git maintenance run --auto",
    "git gc --auto --quiet",
    "git cat-file --batch",
    "git -C /r log",
  ])("%s holds none", words => {
    expect(gitCommandOf(words.split(" "))).toBeNull();
  });

  test("as ps and lsof tell them", () => {
    const ps = "  412     1 03-01:02:03 /usr/bin/git commit\n   7   412       00:09 vim a b\n\nno row";
    expect(parsePsRows(ps)).toEqual([
      { pid: 412, parent: 1, ranMs: 262_923_000, words: ["/usr/bin/git", "commit"] },
      { pid: 7, parent: 412, ranMs: 9_000, words: ["vim", "a", "b"] },
    ]);
    expect([...parseLsof("p412\nfcwd\nn/r/with space\np9\nfcwd\n")]).toEqual([[412, "/r/with space"]]);
  });
});
