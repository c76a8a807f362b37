/** lock, unlock: the command line, and what is asked of the daemon for it. */

import { describe, expect, it } from "vitest";
import { hold, type LockRun, parse } from "../../bin/commands/lock.ts";
import { unlock } from "../../bin/commands/unlock.ts";
import { absolute, actingSession } from "../../bin/context/actor.ts";
import { personName } from "../../protocol/names.ts";
import { type Asked, type FakeDaemon, fakeDaemon, fakeWorld, nobody } from "./command-world.ts";
import { lock } from "./view-rows.ts";

describe("the command line of kite lock", () => {
  const flags = { wait: "30", conflictExitCode: "75" };
  const argv = (...words: string[]) => ["node", "kite", "lock", ...words];

  it("splits files from the command at the first --", () => {
    expect(
      parse(["a", "b", "make", "-j", "--", "x"], argv("a", "b", "--", "make", "-j", "--", "x"), flags),
    ).toEqual({
      names: ["a", "b"],
      command: "make",
      args: ["-j", "--", "x"],
      waitMs: 30_000,
      refusedCode: 75,
      json: false,
    });
  });

  it.each([
    [["a"], ["a"], flags, "give a command"],
    [["a"], ["a", "--"], flags, "give a command"],
    [["make"], ["--", "make"], flags, "give a file"],
    [["a", "make"], ["a", "--", "make"], { ...flags, wait: "soon" }, "--wait takes seconds"],
    [["a", "make"], ["a", "--", "make"], { ...flags, wait: "601" }, "--wait takes seconds"],
    [["a", "make"], ["a", "--", "make"], { ...flags, conflictExitCode: "256" }, "--conflict-exit-code takes"],
  ])("refuses %j typed as %j", (words, typed, given, sentence) => {
    expect(parse(words, argv(...typed), given)).toContain(sentence);
  });
});

describe("for whom a command acts", () => {
  it("is the session the environment names, with its agent", () => {
    expect(actingSession({})).toBeNull();
    expect(actingSession({ CLAUDE_CODE_SESSION_ID: "c" })).toEqual({ id: "c" });
    expect(actingSession({ CLAUDE_CODE_SESSION_ID: "c", KITE_SESSION: "k", KITE_AGENT: "x" })).toEqual({
      id: "k",
      agent: "x",
    });
    expect(actingSession({ KITE_SESSION: "", KITE_AGENT: "x" })).toBeNull();
  });

  it("resolves files where it was typed, and keeps a directory's slash", () => {
    expect(absolute("/shop", "src/a.ts")).toBe("/shop/src/a.ts");
    expect(absolute("/shop", "../src/")).toBe("/src/");
    expect(absolute("/shop", "/")).toBe("/");
  });
});

describe("kite lock", () => {
  const run: LockRun = {
    names: ["src/a.ts"],
    command: process.execPath,
    args: ["-e", "process.exit(7)"],
    waitMs: 0,
    refusedCode: 75,
    json: false,
  };
  const file = "/home/ana/code/shop/src/a.ts";
  const granted = { ok: true, file, path: file, token: "k1.3.9" };
  const calm = { subscribe: { ok: true, cursor: "1.1.1" }, "query locks": { ok: true, rows: [] } };
  const changes = (asked: readonly Asked[]) =>
    asked.filter(a => a.type !== "subscribe" && a.type !== "query");
  const commandOf = ({ asked }: FakeDaemon) => asked.find(a => a.type === "file_lock")?.["command"];

  it("locks for the session that asks, runs the command, unlocks, and exits as it did", async () => {
    const daemon = fakeDaemon({ ...calm, file_lock: granted, file_unlock: { ok: true, released: [file] } });
    const world = fakeWorld({ daemon, env: { KITE_SESSION: "s1", KITE_AGENT: "x" } });
    expect(await hold(world, run)).toBe(7);
    const command = commandOf(daemon);
    expect(command).toMatch(new RegExp(`^${process.pid}[.][0-9a-z]+$`));
    expect(changes(daemon.asked)).toEqual([
      { type: "file_lock", id: "s1", agent: "x", command, file, waitMs: 0, bind: true, progress: true },
      { type: "file_unlock", id: "s1", agent: "x", command, file },
    ]);
    expect(world.err()).toBe("");
  });

  it.each([
    ["gone", false, ["file_lock"]],
    ["gone", true, ["file_lock", "file_unlock"]],
    ["restarting", false, ["file_lock", "file_unlock"]],
  ] as const)(
    "at its end waits for no daemon that is gone, only for one that restarts or is back already: %s, %s",
    async (absence, isBack, types) => {
      const daemon: FakeDaemon = fakeDaemon({
        ...calm,
        file_lock: () => {
          // While the command runs.
          daemon.absence = absence;
          daemon.isBack = isBack;
          return granted;
        },
        file_unlock: { ok: true, released: [file] },
      });
      expect(await hold(fakeWorld({ daemon, env: { KITE_SESSION: "s1" } }), run)).toBe(7);
      expect(changes(daemon.asked).map(a => a.type)).toEqual(types);
    },
  );

  it("is a session of its own at a terminal, for as long as it runs", async () => {
    const daemon = fakeDaemon({
      ...calm,
      register: { ok: true },
      deregister: { ok: true },
      file_lock: granted,
      file_unlock: { ok: true, released: [file] },
    });
    const id = `terminal-${process.pid}`;
    await hold(fakeWorld({ daemon, env: { USER: "ana" } }), run);
    const asked = changes(daemon.asked);
    expect(asked.map(a => a.type)).toEqual(["register", "file_lock", "file_unlock", "deregister"]);
    expect(asked[0]).toMatchObject({ id, pid: process.pid, cwd: "/home/ana/code/shop" });
    expect(asked[0]?.["name"]).toBe(personName());
  });

  it.each([
    ["as the environment says", { KITE_LOCK: "1.aa/2.bb" }, "1.aa/2.bb"],
    ["as the process above it says, whatever it lent its lock to", {}, `1.aa/${process.ppid}.bb`],
  ])("runs inside an outer one %s", async (_, env, outer) => {
    const held = (command: string) =>
      lock("src/", "me", { kind: "explicit", holder: { id: "s1", agent: null, name: "me", command } });
    const rows = [held("7.cc"), held(`1.aa/${process.ppid}.bb/9.dd`)];
    const answers = { file_lock: granted, file_unlock: { ok: true, released: [file] } };
    const daemon = fakeDaemon({ ...calm, "query locks": { ok: true, rows }, ...answers });
    expect(await hold(fakeWorld({ daemon, env: { ...env, KITE_SESSION: "s1" } }), run)).toBe(7);
    expect(commandOf(daemon)).toMatch(new RegExp(`^${outer}/${process.pid}[.][0-9a-z]+$`));
    expect(changes(daemon.asked).map(a => a.type)).toEqual(["file_lock", "file_unlock"]);
  });

  it("does not run the command when it is refused, and says who holds the file", async () => {
    const error = "lock queue timeout (1s)";
    const refusal = { ok: false, code: "lock_timeout", error, locked_by_name: "bob", queued: false };
    const daemon = fakeDaemon({ ...calm, file_lock: refusal });
    const world = fakeWorld({ daemon, env: { KITE_SESSION: "s1" } });
    expect(await hold(world, { ...run, refusedCode: 9 })).toBe(9);
    expect(world.err()).toBe(
      `kite: the command did not run: ${run.names.join(", ")} did not get free within 1 s; bob has it. Ask again, ask bob for it (kite message send), or do something else first\n`,
    );
    const asJson = fakeWorld({ daemon, env: { KITE_SESSION: "s1" } });
    await hold(asJson, { ...run, json: true });
    expect(JSON.parse(asJson.err())).toEqual({ is: "refused", code: "lock_timeout", error });
  });

  it("does not run the command without a daemon", async () => {
    const world = fakeWorld();
    expect(await hold(world, run)).toBe(69);
    expect(world.err()).toMatch(/^kite: the command did not run: Kite is not running\. Start it: kite up\n$/);
  });

  it("says that it waits and for whom, and when the lock is lost while the command runs", async () => {
    const other = { id: "s1", agent: null, name: "me", command: "1.aa" };
    const bob = { id: "s2", agent: null, name: "bob" };
    const at = { files: [file], paths: [file] };
    const daemon: FakeDaemon = fakeDaemon({
      ...calm,
      file_lock: ({ command }) => {
        const holder = { id: "s1", agent: null, name: "me", command: String(command) };
        daemon.push({ event: "lock_queued", ...at, waiter: holder, holder: other, position: 3 });
        daemon.push({ event: "lock_queued", ...at, waiter: holder, holder: bob, position: 2 });
        daemon.push({ event: "lock_queued", ...at, waiter: bob, holder, position: 1 });
        setImmediate(() => {
          daemon.push({ event: "lock_revoked", ...at, holder: bob, by: "eve" });
          daemon.push({ event: "lock_released", ...at, holder: other, cause: "unlocked" });
          daemon.push({ event: "lock_revoked", ...at, holder, by: "eve" });
          daemon.push({ event: "lock_released", ...at, holder, cause: "revoked" });
        });
        return granted;
      },
    });
    const world = fakeWorld({ daemon, env: { KITE_SESSION: "s1" } });
    expect(await hold(world, run)).toBe(7);
    expect(world.err().trimEnd().split("\n")).toEqual([
      "kite: waiting for src/a.ts, held by another command of this session, queue position 3",
      "kite: waiting for src/a.ts, held by bob, queue position 2",
      `kite: the lock is lost (revoked by eve); ${process.execPath} still runs, without it`,
    ]);
    expect(daemon.asked.some(a => a.type === "file_unlock")).toBe(false);
  });

  it.each([
    ["/nowhere/no-such-program", [], 127],
    ["/", [], 126],
    [process.execPath, ["-e", "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)"], 143],
  ])("running %s %j exits with %i", async (command, args, code) => {
    const daemon = fakeDaemon({ ...calm, file_lock: granted, file_unlock: { ok: true, released: [file] } });
    const world = fakeWorld({ daemon, env: { KITE_SESSION: "s1" } });
    expect(await hold(world, { ...run, command, args })).toBe(code);
    expect(daemon.asked.at(-1)).toMatchObject({ type: "file_unlock" });
  });

  it("tells its command whose lock it runs under", async () => {
    const daemon = fakeDaemon({ ...calm, file_lock: granted, file_unlock: { ok: true, released: [file] } });
    const isTold = `process.env.KITE_SESSION === "s1" && /^1[.]aa.${process.pid}[.]/.test(process.env.KITE_LOCK)`;
    const args = ["-e", `process.exit(${isTold} ? 5 : 6)`];
    const world = fakeWorld({ daemon, env: { CLAUDE_CODE_SESSION_ID: "s1", KITE_LOCK: "1.aa" } });
    expect(await hold(world, { ...run, args })).toBe(5);
  });
});

describe("kite unlock", () => {
  const path = "/home/ana/code/shop/a.ts";

  it("releases what the session holds", async () => {
    const daemon = fakeDaemon({ file_unlock: { ok: true, released: [path] } });
    const world = fakeWorld({ daemon, env: { KITE_SESSION: "s1" } });
    expect(await unlock(world, ["a.ts"], {})).toBe(0);
    expect(daemon.asked).toEqual([{ type: "file_unlock", id: "s1", file: path }]);
    expect(world.out()).toBe(`released: ${path}\n`);
  });

  it("needs --force where no session asks", async () => {
    const daemon = fakeDaemon({
      whoami: nobody,
      file_unlock: { ok: true, released: [path] },
      "query locks": { ok: true, rows: [{ ...lock("a.ts", "bob"), path }] },
    });
    const world = fakeWorld({ daemon });
    expect(await unlock(world, ["a.ts"], {})).toBe(1);
    expect(daemon.asked.map(({ type }) => type)).not.toContain("file_unlock");
    expect(world.err()).toBe(
      "kite: you hold no lock at this terminal; to release it for its holder: kite unlock --force a.ts\n",
    );
    expect(await unlock(world, ["a.ts"], { force: true, json: true })).toBe(0);
    expect(daemon.asked.at(-1)).toEqual({ type: "file_unlock", file: path, force: true });
    expect(JSON.parse(world.out())).toEqual({ ok: true, released: [path] });
  });

  it("says what is refused", async () => {
    const unheld = { ok: false, code: "not_held", error: "nobody holds a.ts" };
    const daemon = fakeDaemon({ whoami: nobody, file_unlock: unheld });
    const world = fakeWorld({ daemon });
    expect(await unlock(world, ["a.ts"], { force: true })).toBe(1);
    expect(world.err()).toBe("kite: nobody holds a.ts; kite status --locks shows who holds which files\n");
  });
});
