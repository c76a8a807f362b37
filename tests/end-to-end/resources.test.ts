/** Locks on what is no file, against the built daemon: the wire and what a person types. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { limits } from "../../protocol/limits.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { type Client, Home } from "./daemon.ts";
import { GuardWorld } from "./guard-world.ts";
import { ended, kite, textOf } from "./kite.ts";

let home: Home;
let alice: Client;
let bob: Client;

beforeEach(async () => {
  home = new Home({ work: "shop", kite: "kite" });
  execFileSync("git", ["init", "-q", home.work], { env: home.environment });
  await home.start();
  alice = await home.session("alice", { name: "alice", cwd: home.work, project: undefined });
  bob = await home.session("bob", { name: "bob", cwd: home.work, project: undefined });
});
afterEach(() => home.dispose());

const lock = (id: string, more: object) => ({ type: "file_lock", id, ...more });
const path = (name: string) => join(home.work, name);
const until = (name: string) => `until [ -e ${name} ]; do sleep 0.05; done`;
const locks = async (): Promise<readonly LockRow[]> =>
  JSON.parse((await home.command(["status", "--locks", "--json"])).out).locks;

describe("on the wire a resource", () => {
  test("is queued for and granted by push, and its row says what it is", async () => {
    expect(await alice.ask(lock("alice", { resource: "@DB" }))).toMatchObject({
      ok: true,
      file: "@DB",
      path: "@db",
    });
    bob.send(lock("bob", { resource: "@db", progress: true }));
    expect(await bob.event("lock_queued")).toMatchObject({ files: ["@db"], paths: ["@db"], position: 1 });
    const [row] = await locks();
    expect(row).toMatchObject({ file: "@DB", path: "@db", resource: true, use: "kept", kind: "explicit" });
    expect(row?.leaseLeftMs).toBeGreaterThan(0);
    expect(row?.waiters.map(({ id }) => id)).toEqual(["bob"]);
    expect(await alice.ask({ type: "file_unlock", id: "alice", resource: "@db" })).toEqual({
      ok: true,
      released: ["@db"],
    });
    expect(await bob.reply()).toMatchObject({ ok: true, path: "@db", granted_from_queue: true });
  });

  test("closes a deadlock with a file, is taken together with one, and has a token", async () => {
    const { token } = await alice.ask(lock("alice", { resource: "@db" }));
    expect(await alice.ask({ type: "file_check", id: "alice", resource: "@db", token })).toMatchObject({
      ok: true,
      path: "@db",
    });
    await bob.ask(lock("bob", { file: "a.ts", resource: ["@browser"] }));
    alice.send(lock("alice", { file: "a.ts", progress: true }));
    await alice.event("lock_queued");
    expect(await bob.ask(lock("bob", { resource: "@db" }))).toMatchObject({ code: "lock_deadlock" });
    expect(
      await bob.ask({ type: "file_unlock", id: "bob", file: "a.ts", resource: "@browser" }),
    ).toMatchObject({
      ok: true,
    });
    expect(await alice.reply()).toMatchObject({ ok: true, granted_from_queue: true });
  });

  test.each([
    [{ resource: "db" }, '"db" is no name of a resource'],
    [{ resource: "@" }, '"@" is no name of a resource'],
    [{ resource: ["@db", "@a/b"] }, '"@a/b" is no name of a resource'],
    [{ resource: `@${"x".repeat(64)}` }, "at most 64 characters"],
    [{ resource: "@db\u001b[2J" }, "is no name of a resource: write @ and letters"],
    [{ resource: "@port-65536" }, "a number from 1 to 65535"],
    [{ resource: "@machine" }, "@machine needs a name behind it"],
    [{ resource: [] }, "resource: "],
    [{ file: "a", files: ["b"], resource: "@db" }, "give exactly one of file and files"],
  ])("that is named wrongly is refused with how to name it: %j", async (named, error) => {
    expect(await alice.ask(lock("alice", named))).toMatchObject({
      code: "invalid_request",
      error: expect.stringContaining(error),
    });
  });

  test("of the machine is one in all projects, another one is not", async () => {
    const other = await home.session("carol", { name: "carol", cwd: "/tmp", project: "/elsewhere" });
    await alice.ask(lock("alice", { resource: ["@db", "@port-3000", "@machine/gpu"] }));
    expect(await other.ask(lock("carol", { resource: "@db", waitMs: 0 }))).toMatchObject({ ok: true });
    for (const resource of ["@port-3000", "@machine/gpu"])
      expect(await other.ask(lock("carol", { resource, waitMs: 0 }))).toMatchObject({ code: "lock_held" });
  });
});

describe("kite lock @NAME", () => {
  const run = (...lines: readonly string[]) =>
    home.startKite(["lock", "@db", "--", "sh", "-c", lines.join("\n")], { KITE_SESSION: "alice" });

  test("holds it while the command runs, without a lease, and the next has it then", async () => {
    const first = run("touch begun", until("go"));
    await expect.poll(() => existsSync(path("begun"))).toBe(true);
    const [row] = await locks();
    expect(row).toMatchObject({ path: "@db", use: "command", resource: true });
    expect(row).not.toHaveProperty("leaseLeftMs");
    const second = home.startKite(["lock", "@db", "--", "true"], { KITE_SESSION: "bob" });
    const said = textOf(second);
    await expect.poll(() => said.err).toBe("kite: waiting for @db, held by alice, queue position 1\n");
    writeFileSync(path("go"), "");
    expect(await Promise.all([once(first, "close"), once(second, "close")])).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(await locks()).toEqual([]);
  });

  test("that is killed gives it to the next", async () => {
    const first = run("touch begun", "sleep 30");
    await expect.poll(() => existsSync(path("begun"))).toBe(true);
    bob.send(lock("bob", { resource: "@db", progress: true }));
    await bob.event("lock_queued");
    first.kill("SIGKILL");
    expect(await bob.reply()).toMatchObject({ ok: true, granted_from_queue: true });
  });

  test("holds it over a daemon that is killed", async () => {
    const first = ended(run("touch begun", until("go")));
    await expect.poll(() => existsSync(path("begun"))).toBe(true);
    await home.daemon.kill();
    await home.start();
    await expect
      .poll(async () => (await locks()).map(row => [row.path, row.holder?.id]))
      .toEqual([["@db", "alice"]]);
    writeFileSync(path("go"), "");
    expect((await first).code).toBe(0);
    await expect.poll(locks).toEqual([]);
  });
});

test("a person sees who has it, and takes it from its holder, who is told", async () => {
  await alice.ask({ type: "subscribe", events: ["lock_revoked"] });
  await alice.ask(lock("alice", { resource: "@db" }));
  expect(await home.kite("explain", "@db")).toMatch(
    /^alice holds @db since \S+: its lock ends when alice unlocks it, or in\s+\S+\s+(?:\S+ )?if\s+alice\s+does\s+not\s+lock\s+it\s+again\.\n/,
  );
  expect(await home.kite("log", "--file", "@db")).toContain("@db");
  expect(await home.kite("release", "@DB")).toBe("released: @DB\n");
  expect(await alice.event("lock_revoked")).toMatchObject({ paths: ["@db"] });
  expect(await home.kite("explain", "@db")).toContain("Nobody holds it or waits for it.");
  expect(await home.command(["freeze", "@db"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("kite lock @db -- COMMAND"),
  });
});

describe("where a file is meant", () => {
  const said = 'kite: "@db" names a resource, not a file; the file is "./@db"\n';

  test.each([
    ["whose", "@db"],
    ["history", "@db"],
    ["diff", "@db"],
    ["diff", "@db", "--by", "alice"],
    ["diff", "@db", "--from", "v-1"],
    ["undo", "@db", "--yes"],
    ["thaw", "@db"],
    ["rescue", "purge", "@db"],
  ])("a resource is refused, and how to name the file: kite %s %s", async (...args) => {
    writeFileSync(path("@db"), "not a database\n");
    await expect(home.command(args)).resolves.toEqual({ code: 1, out: "", err: said });
  });

  test.each([
    ["whose", "./@db"],
    ["history", "./@db"],
    ["diff", "./@db"],
    ["diff", "--", "@db"],
  ])("./@db is the file: kite %s %s", async (...args) => {
    writeFileSync(path("@db"), "not a database\n");
    const { code, out } = await home.command(args);
    expect([code, out]).toEqual([0, expect.stringContaining("@db")]);
  });
});

test("an agent explains its own project's resource wherever its shell is", async () => {
  await bob.ask(lock("bob", { resource: "@db" }));
  const elsewhere = home.folder();
  execFileSync("git", ["init", "-q", elsewhere], { env: home.environment });
  const explained = (env: Record<string, string>) => home.command(["explain", "@db"], env, elsewhere);
  expect((await explained({ KITE_SESSION: "alice" })).out).toContain("bob holds @db since");
  expect((await explained({})).out).toContain("Nobody holds it");
  expect((await home.command(["log", "--file", "@db"], { KITE_SESSION: "alice" }, elsewhere)).out).toContain(
    "@db",
  );
  expect(await home.command(["log", "--file", "@browser"])).toMatchObject({
    code: 0,
    err: "kite: the log has no such decision yet\n",
  });
});

test("kite lock alone lists the locks, and without a command it says what is missing", async () => {
  await bob.ask(lock("bob", { resource: "@db" }));
  const listed = await home.command(["lock"]);
  expect(listed).toMatchObject({ code: 0, err: "", out: expect.stringContaining("@db  bob  kept lock") });
  expect((await ended(home.startKite(["lock"]))).out).toContain("@db  bob");
  const { out: json } = await ended(home.startKite(["lock", "--json"]));
  expect(JSON.parse(json).locks).toContainEqual(expect.objectContaining({ file: "@db" }));
  for (const [args, typed] of [
    [["@db"], "@db"],
    [["a b"], "'a b'"],
    [["@db", "npm", "test"], "FILE..."],
  ] as const)
    expect(await ended(home.startKite(["lock", ...args]))).toEqual({
      code: 64,
      out: "",
      err: `kite: give a command to hold the lock for: kite lock ${typed} -- COMMAND...\n`,
    });
});

test("a kept lock ends with its lease: the next has it, and its holder hears of it", async () => {
  const world = new GuardWorld();
  const clock = new SimulatedClock(Date.now());
  try {
    await world.start("deny", claudeCode, { clock });
    const dir = world.repo("lease");
    const begin = (id: string) =>
      world.event(id, dir, { hook_event_name: "SessionStart", source: "startup" });
    const typed = (...args: string[]) =>
      kite({ cwd: dir, env: { ...world.environment, KITE_HOME: world.paths.home } }, args);
    const prompt = { hook_event_name: "UserPromptSubmit", prompt: "go on" };
    await begin("ann");
    await begin("ben");
    const [ann, ben] = [await world.client(), await world.client()];
    await ann.ask(lock("ann", { resource: "@db" }));
    clock.pass(60_000);
    ben.send(lock("ben", { resource: "@db", progress: true, waitMs: limits.waitMaxMs }));
    await ben.event("lock_queued");
    // An agent at work is no silent one, and its work is no request for the resource.
    for (const ms of [200_000, 200_000, limits.resourceLeaseMs - 461_000]) {
      clock.pass(ms);
      await world.event("ann", dir, prompt);
    }
    expect((await typed("explain", "@db")).out).toMatch(/^ann holds @db .* in\s+1s\s+if/);
    clock.pass(1000);
    expect(await ben.reply()).toMatchObject({ ok: true, granted_from_queue: true });
    expect((await typed("explain", "@db")).out).toMatch(/^ben holds @db /);
    expect(await world.event("ann", dir, prompt)).toContain("your lock of @db ended: Kite keeps one for 10");
    expect(await world.event("ann", dir, prompt)).not.toContain("@db");
  } finally {
    await world.dispose();
  }
});
