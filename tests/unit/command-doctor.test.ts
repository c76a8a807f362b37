/** The checks of `kite doctor`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkClientSettings, checkClients, relation } from "../../bin/doctor/clients.ts";
import {
  checkConfig,
  checkHome,
  checkNode,
  checkSocketPath,
  checkTools,
  leaving,
} from "../../bin/doctor/configuration.ts";
import { checkDaemon, textOf } from "../../bin/doctor/daemon.ts";
import { doctor } from "../../bin/doctor/doctor.ts";
import {
  checkDiskUse,
  checkJournal,
  checkLogs,
  checkSpace,
  checkVoided,
  diskUse,
} from "../../bin/doctor/files.ts";
import { helpOf } from "../../bin/help.ts";
import { clients } from "../../bin/install/clients.ts";
import { version } from "../../bin/version.ts";
import { TimedOut } from "../../client/errors.ts";
import { statFields } from "../../daemon/facts/process-table.ts";
import { processAnchor } from "../../daemon/facts/processes.ts";
import { findProgram } from "../../daemon/facts/programs.ts";
import { writeDaemonFile } from "../../daemon/instance/socket.ts";
import { segmentName } from "../../daemon/journal/disk.ts";
import { contextRow } from "../../daemon/views/messages.ts";
import versions from "../../hooks/claude-code/client-versions.json" with { type: "json" };
import { limits } from "../../protocol/limits.ts";
import type { ContextRow } from "../../protocol/schemas/context.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeWorld, fakeDaemon, fakeWorld } from "./command-world.ts";
import { busy } from "./view-rows.ts";

// The checks of kite doctor, each on a home that is well and on one that is not.
describe("the checks", () => {
  const stats: StatsReply = {
    ok: true,
    ...busy.stats,
    storeId: "k1",
    epoch: 3,
    seq: 40,
    waiters: 0,
    connections: 1,
    subscribers: 0,
    requests: 1,
    refused: 0,
    journalBytes: 0,
    storeFull: false,
    voided: [],
    trailDropped: 0,
    rssBytes: 0,
    hooks: {},
  };

  let root: string;
  let home: string;
  let world: FakeWorld;

  beforeEach(() => {
    root = temporaryFolder("kite-doctor-");
    home = join(root, "kite");
    mkdirSync(home, { mode: 0o700 });
    world = { ...fakeWorld({ home }), cwd: root };
  });

  describe("the machine", () => {
    it.each([
      ["20.18.9", "fail"],
      ["20.19.0", "ok"],
      ["18.20.0", "fail"],
      ["22.1.0", "ok"],
    ])("Node %s: %s", (node, result) => {
      expect(checkNode(node).result).toBe(result);
    });

    it("wants a directory that is one, ours, and closed to others", () => {
      expect(checkHome(world)).toMatchObject({ result: "ok", detail: `${home}, yours alone (mode 0700)` });
      expect(checkHome(world, 12345)).toMatchObject({ result: "fail" });
      chmodSync(home, 0o750);
      expect(checkHome(world)).toMatchObject({
        result: "fail",
        todo: `if only Kite uses it: chmod 700 ${home}`,
      });
      const link = join(root, "link");
      symlinkSync(home, link);
      expect(checkHome(fakeWorld({ home: link }))).toMatchObject({
        result: "fail",
        detail: `${link} is a link`,
      });
      writeFileSync(join(root, "file"), "");
      expect(checkHome(fakeWorld({ home: join(root, "file") })).detail).toContain("is not a directory");
      expect(checkHome(fakeWorld({ home: join(root, "none") })).result).toBe("ok");
    });

    it("wants a socket path that the system does not cut", () => {
      expect(checkSocketPath(world).result).toBe("ok");
      const fits = fakeWorld({ home: `/${"h".repeat(103 - "//kite.sock".length)}` });
      const long = fakeWorld({ home: `/${"h".repeat(104 - "//kite.sock".length)}` });
      expect([checkSocketPath(fits).result, checkSocketPath(long).result]).toEqual(["ok", "fail"]);
    });

    it("looks for programs in PATH", () => {
      const bin = join(root, "bin");
      mkdirSync(bin);
      const poor = { ...world, env: { PATH: `relative:${bin}` } };
      const find: typeof findProgram = (name, search) => {
        const found = findProgram(name, search);
        return found?.path.startsWith(bin) ? found : null;
      };
      expect(checkTools(poor, "linux", find)).toMatchObject({
        result: "warn",
        detail: "flock not found, perl not found, git not found",
      });
      expect(checkTools(poor, "darwin", find).result).toBe("fail");
      writeFileSync(join(bin, "perl"), "", { mode: 0o755 });
      expect(checkTools(poor, "darwin", find)).toMatchObject({
        result: "ok",
        detail: "flock not found, perl found, git not found",
      });
      writeFileSync(join(bin, "git"), "", { mode: 0o755 });
      chmodSync(join(bin, "git"), 0o777);
      expect(checkTools(poor, "darwin", find)).toMatchObject({
        result: "warn",
        detail: "flock not found, perl found, git passed over",
        todo: expect.stringContaining("no program in a project"),
      });
    });
  });

  describe("the daemon", () => {
    const self = processAnchor(process.pid);
    const file = {
      pid: process.pid,
      startTime: self?.startTime ?? "",
      version,
      protocol: 1,
      storeId: "k1",
      epoch: 3,
      socket: "kite.sock",
    };

    it("is missed, and it is said whether hooks may start it", async () => {
      expect(await checkDaemon(world)).toMatchObject({
        checks: [{ check: "daemon", result: "warn", detail: "not running", todo: "start it: kite up" }],
        stats: null,
      });
      writeFileSync(world.paths.downFile, "");
      expect((await checkDaemon(world)).checks[0]?.detail).toContain("hooks do not start it");
    });

    const patienceMs = 300;
    const children: ChildProcess[] = [];

    afterEach(() => {
      for (const child of children.splice(0)) child.kill("SIGKILL");
    });

    const asleep = "$| = 1; print 1; sleep";
    const atWork = "$| = 1; print 1; 1 while 1";

    /** Puts a process in the daemon's place that runs this program of perl; resolves when it has started. */
    async function inItsPlace(lines: string): Promise<ChildProcess> {
      const child = spawn("perl", ["-e", lines], { stdio: ["ignore", "pipe", "ignore"] });
      children.push(child);
      await once(child.stdout, "data");
      const pid = child.pid ?? 0;
      // On a busy machine it falls asleep some time after its word. What it does until then is work.
      const state = () => statFields(textOf(`/proc/${pid}/stat`))[0] || "S";
      if (lines === asleep) await expect.poll(state).toBe("S");
      writeDaemonFile(world.paths, { ...file, pid, startTime: processAnchor(pid)?.startTime ?? "" });
      return child;
    }

    /** A world in which each connection is made, or fails, as the next of `outcomes` says; the last one stays. */
    function connecting(...outcomes: readonly ("late" | "answers")[]) {
      const daemon = fakeDaemon({ ping: { ok: true, pong: true }, stats });
      let n = 0;
      const connect = () => {
        const outcome = outcomes[Math.min(n, outcomes.length - 1)];
        n += 1;
        if (outcome === "late") return Promise.reject(new TimedOut("no answer in time"));
        return Promise.resolve({ ...daemon.client, daemon: { ...daemon.client.daemon, version } });
      };
      return { ...world, connect };
    }

    it("is found out when its process lives, does nothing and does not listen", async () => {
      const { pid } = await inItsPlace(asleep);
      expect((await checkDaemon(world, patienceMs)).checks).toMatchObject([
        {
          result: "fail",
          detail: expect.stringContaining("does not listen"),
          todo: expect.stringContaining(`kill -9 ${pid} && kite up`),
          fix: { does: `kill -9 ${pid} && kite up` },
        },
      ]);
      writeDaemonFile(world.paths, { ...file, startTime: "another process of that number" });
      expect((await checkDaemon(world, patienceMs)).checks).toMatchObject([{ result: "warn" }]);
    });

    it("is asked again, longer, and not ended when it is merely slow", async () => {
      await inItsPlace(asleep);
      const { checks, stats: told } = await checkDaemon(connecting("late", "answers"), patienceMs);
      expect(checks.find(({ check }) => check === "answers")).toMatchObject({
        result: "warn",
        detail: expect.stringContaining("an earlier request got no answer in time"),
        todo: expect.stringContaining("needs no restart"),
      });
      expect(told).toEqual(stats);
      expect(checks.every(({ fix }) => !fix?.does.includes("kill"))).toBe(true);
    });

    it("is not ended while its process works", async () => {
      await inItsPlace(atWork);
      // Long enough for a second try: what the process does in between counts.
      const [check] = (await checkDaemon(connecting("late"), 3 * limits.retryPauseMaxMs)).checks;
      expect(check).toMatchObject({
        result: "fail",
        todo: expect.stringMatching(/^wait, then run kite doctor/),
      });
      expect(check?.detail).toContain("at work");
      expect(check).not.toHaveProperty("fix");
    });

    it("is not ended if it answers at last, when a person says yes to it", async () => {
      const child = await inItsPlace(asleep);
      const [check] = (await checkDaemon(connecting("late", "late", "answers"), patienceMs)).checks;
      expect(await check?.fix?.work(world, null)).toBe("it answers now, so nothing was ended");
      expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    });

    it("answers, is of this version, and is the one that daemon.json names", async () => {
      const daemon = fakeDaemon({ ping: { ok: true, pong: true }, stats });
      const running = { ...daemon.client.daemon, version, pid: process.pid };
      const asked = { ...world, connect: () => Promise.resolve({ ...daemon.client, daemon: running }) };
      const results = async (of: typeof asked) =>
        (await checkDaemon(of)).checks.map(c => `${c.check} ${c.result}`);
      expect(await results(asked)).toEqual(["daemon ok", "answers ok", "lock fail"]);
      writeDaemonFile(world.paths, file);
      expect(await results(asked)).toEqual(["daemon ok", "answers ok", "lock ok"]);
      const older = { ...daemon.client, daemon: { ...running, version: "0.0.1", pid: 1 } };
      const other = { ...world, connect: () => Promise.resolve(older) };
      expect(await results(other)).toEqual(["daemon warn", "answers ok", "lock fail"]);
      expect((await checkDaemon(asked)).stats).toEqual(stats);
    });
  });

  describe("the store", () => {
    it("explains a damaged journal", () => {
      expect(checkJournal(world, false)).toEqual({ check: "journal", result: "ok", detail: "none yet" });
      mkdirSync(world.paths.journal);
      expect(checkJournal(world, false).result).toBe("ok");
      writeFileSync(join(world.paths.journal, segmentName(1, 1)), "no record\nno record\n");
      writeFileSync(join(world.paths.journal, segmentName(2, 9)), "no record\n");
      expect(checkJournal(world, false)).toMatchObject({
        result: "fail",
        detail: expect.stringContaining(segmentName(1, 1)),
        todo: expect.stringContaining("kite repair && kite up"),
      });
    });

    it("tells a full store and bugs", () => {
      expect(checkSpace(world, stats).result).toBe("ok");
      expect(checkSpace(world, { ...stats, storeFull: true })).toMatchObject({
        result: "fail",
        detail: expect.stringContaining("the journal's disk is full"),
      });
      expect(checkVoided(stats, "log").result).toBe("ok");
      expect(checkVoided({ ...stats, voided: [3, 5, 8, 13, 21, 34] }, "log")).toMatchObject({
        result: "warn",
        detail: "6 requests failed inside Kite and changed nothing (entry 3, 5, 8, 13, 21, ...)",
      });
    });

    it("adds up the logs and tells lines that are missing", () => {
      mkdirSync(world.paths.trail);
      writeFileSync(join(world.paths.trail, "trail-1.ndjson"), "x".repeat(2048));
      writeFileSync(join(world.paths.trail, "other"), "x".repeat(2048));
      writeFileSync(world.paths.log, "x".repeat(1024));
      expect(checkLogs(world, stats)).toEqual({
        check: "logs",
        result: "ok",
        detail: "the daemon's own log 1 KiB, log of decisions 2 KiB",
      });
      expect(checkLogs(world, { ...stats, trailDropped: 1 })).toMatchObject({
        result: "warn",
        detail:
          "the daemon's own log 1 KiB, log of decisions 2 KiB; the daemon could not write 1 line of the log in time",
      });
    });
  });

  describe("the settings", () => {
    it("names each thing that was not taken", async () => {
      expect(await checkConfig(world)).toEqual([
        { check: "config", result: "ok", detail: "every value is valid" },
      ]);
      writeFileSync(world.paths.config, '{"yieldMS": 1, "logLevel": "loud"}');
      const found = await checkConfig(world);
      expect(found.map(c => c.result)).toEqual(["warn", "warn"]);
      expect(found.map(c => c.detail).join(" ")).toContain("did you mean yieldMs?");
    });
  });

  it("the project's configuration is never left out without a word", async () => {
    writeFileSync(world.paths.config, '{"logLevel": "loud"}');
    const found = await checkConfig(world, () => Promise.resolve({ unreachable: "the disk did not answer" }));
    expect(found.map(({ result, detail }) => `${result} ${detail}`)).toEqual([
      `warn the configuration of the project around ${root} was not read: the disk did not answer`,
      expect.stringContaining("logLevel is ignored"),
    ]);
  });

  describe("the client's settings", () => {
    it("of the machine's administrator can keep all hooks from running", () => {
      const managed = join(root, "managed.json");
      const of = () => checkClientSettings(world, [managed]).map(c => `${c.result} ${c.detail}`);
      expect(of()).toEqual(["warn not installed; sessions do not register"]);
      writeFileSync(managed, '{"allowManagedHooksOnly": true}');
      expect(of()).toEqual([
        `fail "allowManagedHooksOnly" is true in ${managed}, the settings of this machine's administrator: Claude Code runs no hooks of yours`,
        "warn not installed; sessions do not register",
      ]);
      writeFileSync(managed, "no JSON");
      expect(of()).toHaveLength(1);
    });

    it("of a project that is gone are nothing to mend", () => {
      const install = { backup: null, madeFile: true, madeFolder: true, sha256: null, created: null };
      const file = join(root, "gone", ".claude", "settings.local.json");
      writeFileSync(world.paths.installs, JSON.stringify({ version: 1, installs: [{ ...install, file }] }));
      expect(checkClientSettings(world, [])).toMatchObject([
        { result: "warn", detail: expect.stringContaining("not installed") },
      ]);
      mkdirSync(join(root, "gone"));
      expect(checkClientSettings(world, [])).toMatchObject([
        {
          result: "fail",
          detail: expect.stringContaining("was removed"),
          todo: `install again: kite install --project ${join(root, "gone")}`,
        },
      ]);
    });
  });

  describe("kite doctor", () => {
    it("exits with 1 when a check fails, and gives all of them as JSON", async () => {
      expect(await doctor(world, clients, { json: true })).toBe(0);
      chmodSync(home, 0o755);
      const failing = { ...fakeWorld({ home }), cwd: root };
      expect(await doctor(failing, clients, { json: true })).toBe(1);
      const { ok, checks } = JSON.parse(failing.out());
      expect(ok).toBe(false);
      expect(checks.filter((c: { result: string }) => c.result === "fail")).toMatchObject([
        { check: "home" },
      ]);
    });
  });
});

// What kite doctor says of the client's version, and of what Kite takes on disk.
describe("clients and disk", () => {
  let root: string;
  let home: string;
  let world: FakeWorld;

  beforeEach(() => {
    root = temporaryFolder("kite-doctor-");
    home = join(root, "kite");
    mkdirSync(home, { mode: 0o700 });
    mkdirSync(join(root, "bin"), { mode: 0o755 });
    world = fakeWorld({ home, env: { PATH: `${join(root, "bin")}:/usr/bin:/bin` } });
  });

  function client(lines: string): void {
    writeFileSync(join(root, "bin", "claude"), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  }

  describe("the client's version", () => {
    const range = { tested: "2.1.30", oldest: "2.1.9" };

    it.each([
      ["2.1.30", "ok", /^Claude Code 2\.1\.30, the version that Kite is tested with$/],
      ["2.1.100", "ok", /^Claude Code 2\.1\.100, newer than 2\.1\.30, the version/],
      ["2.1.10", "ok", /^Claude Code 2\.1\.10, which Kite supports; it is tested with 2\.1\.30$/],
      ["2.1.9", "ok", /which Kite supports/],
      ["2.1.8", "warn", /2\.1\.8 is older than 2\.1\.9, the oldest that Kite supports/],
      ["2.1.9-beta.1", "warn", /older than 2\.1\.9/],
    ])("%s: %s", (installed, result, detail) => {
      expect(relation(installed, range)).toMatchObject({ result, detail: expect.stringMatching(detail) });
    });

    it("is the one that the program on the PATH says", async () => {
      client(`echo "${versions.tested} (Claude Code)"`);
      expect(await checkClients(world)).toEqual({
        check: "client",
        result: "ok",
        detail: `Claude Code ${versions.tested}, the version that Kite is tested with`,
      });
      client("echo 1.0.3");
      expect(await checkClients(world)).toMatchObject({ result: "warn", todo: "update it: claude update" });
    });

    it("is not made up if the program says none", async () => {
      client("echo what; exit 1");
      expect(await checkClients(world)).toMatchObject({
        result: "warn",
        detail: expect.stringContaining("does not say its version"),
      });
    });

    it("is the one that README names", () => {
      const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8").replaceAll(
        /\s+/g,
        " ",
      );
      expect(readme).toContain(`tested with Claude Code ${versions.tested}`);
      expect(readme).toContain(`no event that ${versions.oldest} does not know`);
    });
  });

  describe("what Kite takes on disk", () => {
    const block = (n: number) => "x".repeat(n * 4096);

    it("is named by part, the largest first", () => {
      mkdirSync(join(home, "journal", "deep"), { recursive: true });
      writeFileSync(join(home, "journal", "deep", "a"), block(200));
      mkdirSync(join(home, "trail"));
      writeFileSync(join(home, "trail", "trail-1.ndjson"), block(100));
      writeFileSync(join(home, "daemon.log"), block(30));
      writeFileSync(join(home, "daemon.log.1"), block(30));
      writeFileSync(join(home, "config.json"), "{}");
      expect(diskUse(home).parts.map(([name]) => name)).toEqual(["journal", "trail", "log", "other files"]);
      const { result, detail } = checkDiskUse(world);
      expect(result).toBe("ok");
      expect(detail).toMatch(
        /takes 1\.\d MiB: journal 8\d\d KiB, decisions 4\d\d KiB, log 240 KiB, other files \d/,
      );
    });

    it("follows no link out of the directory, or in a circle", () => {
      mkdirSync(join(root, "far"));
      writeFileSync(join(root, "far", "large"), block(500));
      symlinkSync(join(root, "far"), join(home, "far"));
      symlinkSync(home, join(home, "circle"));
      const { total, isWhole } = diskUse(home);
      expect([total < 100 * 4096, isWhole]).toEqual([true, true]);
    });

    it("ends at a bound, says so, and still names every part", () => {
      mkdirSync(join(home, "aaa"));
      for (let n = 0; n < 20; n += 1) writeFileSync(join(home, "aaa", `f${n}`), block(1));
      mkdirSync(join(home, "journal"));
      writeFileSync(join(home, "daemon.log"), block(3));
      const found = diskUse(home, 10);
      expect(found.isWhole).toBe(false);
      expect(found.parts.map(([name]) => name)).toContain("log");
      expect(diskUse(home, 1000).isWhole).toBe(true);
    });

    it("says that it is more than what was counted", () => {
      mkdirSync(join(home, "merges"));
      for (let n = 0; n <= 5_000; n += 1) writeFileSync(join(home, "merges", String(n)), "");
      expect(checkDiskUse(world).detail).toMatch(/takes more than /);
    });
  });
});

// The shared values that doctor names before they go, and the manual's chapter about what is in the way.
describe("shared values that end", () => {
  const day = 24 * 60 * 60 * 1000;
  const item = {
    ...{ project: "/p/.git", key: "port", value: 1, bytes: 1, from: null, node: "n", at: 0, version: 1 },
    ...{ durable: true, endsAt: null, usedAt: 0 },
  };
  const row = (key: string, leavesAt?: number): ContextRow =>
    contextRow({ ...item, key, ...(leavesAt === undefined ? {} : { leavesAt }) }, 0);

  it("names the values that go, the next one first, and how to keep one", () => {
    expect(leaving([row("a"), row("b", 5 * day), row("c", 2 * day)])).toEqual([
      {
        check: "context",
        result: "warn",
        detail: "2 shared values that nobody used for long will go: c of /p in 2d, b of /p in 5d",
        todo: "to keep one, read it or set it again, such as: cd /p && kite context get c",
      },
    ]);
  });

  it("says nothing while all are used, and names ten at most", () => {
    expect(leaving([row("a")])).toEqual([]);
    const many = Array.from({ length: 14 }, (_, n) => row(`k${n}`, day));
    expect(leaving(many)[0]?.detail).toMatch(/^14 shared values .*, 4 more$/);
  });

  it.each(["in-my-way", "waiting"])("kite help %s shows the chapter", topic => {
    const text = helpOf(["help", topic], {}, 80);
    expect(text).toMatch(/^KITE IS IN MY WAY/);
    expect(text).toContain("kite explain --last");
    expect(text).toContain("kite doctor --bundle");
  });
});
