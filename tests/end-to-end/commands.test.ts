/** The commands as a person types them, against the real daemon, in a directory of their own. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { allOldWords } from "../../bin/entry.ts";
import { version } from "../../bin/version.ts";
import { KiteClient } from "../../client/client.ts";
import { personName } from "../../protocol/names.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { Home } from "./daemon.ts";
import { ended, type KiteProcess, kiteProgram, type Ran, textOf } from "./kite.ts";

let home: Home;
let shop: string;
let paths: KitePaths;
let clients: KiteClient[];

beforeEach(() => {
  home = new Home({ work: "shop", kite: "kite" });
  ({ work: shop, paths } = home);
  execFileSync("git", ["init", "-q", "-b", "main", shop], { env: home.environment });
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.close();
  await home.dispose();
});

const person = { USER: "ana", TZ: "UTC", COLUMNS: "80" };

/** Starts a command that runs a program, waits for a signal or follows what happens. */
function start(args: readonly string[], env: Record<string, string> = {}): KiteProcess {
  return home.startKite(args, { ...person, ...env });
}

/** Runs `kite lock` to its end: what its command prints is the process's. */
const lock = (...args: readonly string[]): Promise<Ran> => ended(start(["lock", ...args]));

function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return home.command(args, { ...person, ...env });
}

async function connect(reconnect = false): Promise<KiteClient> {
  const client = await KiteClient.connect({ paths, name: "test", reconnect });
  clients.push(client);
  return client;
}

/** alice holds src/auth.ts. */
async function aliceHolds(): Promise<KiteClient> {
  await home.start();
  const client = await connect();
  await client.request("register", { id: "alice-0001", cwd: shop, name: "alice", pid: process.pid });
  const answer = await client.request("file_lock", { id: "alice-0001", file: "src/auth.ts" });
  expect(answer.ok).toBe(true);
  return client;
}

describe("without a daemon", () => {
  test("everything says so, says what to do, and exits as documented", async () => {
    expect(await run(["status"])).toEqual({
      code: 3,
      out: "Kite is not running. Start it: kite up\n",
      err: "",
    });
    for (const args of [["sessions"], ["locks"], ["locks", "--watch"], ["unlock", "--force", "a"]]) {
      const ran = await run(args);
      expect({ args, code: ran.code, out: ran.out }).toEqual({ args, code: 3, out: "" });
      expect(ran.err).toMatch(/^kite: Kite is not running\. Start it: kite up/);
    }
    const locked = await lock("a", "--", "true");
    expect(locked.code).toBe(69);
    expect(locked.err).toContain("the command did not run");
    expect(await run(["log"])).toEqual({ code: 0, out: "", err: "" });
    const doctor = await run(["doctor"]);
    expect(doctor.code).toBe(0);
    expect(doctor.out).toMatch(/^warn {2}daemon +not running\n +-> start it: kite up$/m);
  });
});

describe("with a daemon", () => {
  test("status, sessions and locks show who holds what and who waits", async () => {
    const alice = await aliceHolds();
    await alice.request("register", { id: "bob-0002", cwd: shop, name: "bob", pid: process.pid });
    const waiting = alice.request("file_lock", { id: "bob-0002", file: "src/auth.ts", waitMs: 60_000 });
    const shown = async () =>
      (await run(["status"])).out
        .split("\n")
        .slice(2)
        .map(line => line.replace(/\b(now|\d+s)\b/g, "AGE").replace(/(\S) +/g, "$1 "));
    await expect
      .poll(shown)
      .toEqual([
        "Sessions: 2, 1 waiting",
        "  shop ~/shop",
        "    bob main waits AGE for src/auth.ts behind alice",
        "    alice main idle AGE holds 1 lock",
        "",
        "Locks",
        "  src/auth.ts alice kept lock AGE",
        "    then bob AGE",
        "",
      ]);
    const json = JSON.parse((await run(["status", "--json"])).out);
    expect(json).toMatchObject({ running: true, stats: { version, sessions: 2, locks: 1, waiters: 1 } });
    expect(json.locks).toMatchObject([
      { file: "src/auth.ts", holder: { name: "alice" }, waiters: [{ name: "bob" }] },
    ]);
    expect((await run(["sessions"])).out).toContain(`alice-0001, pid ${process.pid}, since`);
    expect((await run(["locks"])).out).toContain("then bob");
    await alice.request("file_unlock", { id: "alice-0001", all: true });
    expect(await waiting).toMatchObject({ ok: true, granted_from_queue: true });
  });

  test("lock holds while its command runs, exits with its code, and lets go", async () => {
    await home.start();
    const inside = `${process.execPath} ${kiteProgram} locks --json; exit 7`;
    const ran = await lock("src/", "a.ts", "--", "sh", "-c", inside);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 7, err: "" });
    const { locks } = JSON.parse(ran.out);
    expect(locks.map((l: { path: string }) => l.path).sort()).toEqual([
      join(shop, "a.ts"),
      join(shop, "src"),
    ]);
    expect(locks[0].holder.name).toBe(personName());
    expect(JSON.parse((await run(["status", "--json"])).out)).toMatchObject({ sessions: [], locks: [] });
  });

  test("lock within lock is the same actor's: it neither waits nor lets go", async () => {
    await home.start();
    const inner = `${process.execPath} ${kiteProgram} lock --wait 0 src/a.ts -- true`;
    const after = `${process.execPath} ${kiteProgram} locks --json`;
    const ran = await lock("src/", "--", "sh", "-c", `${inner} && ${after}`);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out).locks).toMatchObject([{ path: join(shop, "src") }]);
  });

  test("lock waits its turn, or gives up with the code asked for", async () => {
    const alice = await aliceHolds();
    const tooLate = await run(["lock", "--wait", "0", "src/auth.ts", "--", "true"]);
    expect(tooLate.code).toBe(75);
    expect(tooLate.err).toMatch(
      /^kite: the command did not run: alice has had src\/auth\.ts for \d+ s; to wait for it: --wait SECONDS\n$/,
    );
    expect((await run(["lock", "--wait", "0.1", "-E", "9", "src/auth.ts", "--", "true"])).code).toBe(9);
    const child = start(["lock", "src/auth.ts", "--", "echo", "my turn"]);
    const text = textOf(child);
    await expect
      .poll(() => text.err)
      .toBe("kite: waiting for src/auth.ts, held by alice, queue position 1\n");
    await alice.request("file_unlock", { id: "alice-0001", file: "src/auth.ts" });
    expect(await once(child, "close")).toEqual([0, null]);
    expect(text.out).toBe("my turn\n");
  });

  test("a signal ends the wait, and the place in line with it", async () => {
    await aliceHolds();
    const child = start(["lock", "src/auth.ts", "--", "true"]);
    const text = textOf(child);
    await expect.poll(() => text.err).toContain("waiting");
    child.kill("SIGTERM");
    expect(await once(child, "close")).toEqual([143, null]);
    await expect
      .poll(async () => JSON.parse((await run(["locks", "--json"])).out).locks[0].waiters)
      .toEqual([]);
  });

  test("signals reach the command, which decides", async () => {
    await home.start();
    const trapping = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    const child = start(["lock", "a.ts", "--", "sh", "-c", trapping]);
    const text = textOf(child);
    await expect.poll(() => text.out).toBe("ready\n");
    child.kill("SIGTERM");
    expect(await once(child, "close")).toEqual([3, null]);
    expect(text.out).toBe("ready\ncaught\n");
    expect((await lock("a.ts", "--", "sh", "-c", "kill -KILL $$")).code).toBe(137);
  });

  test("a lock that is killed lets go with its connection", async () => {
    await home.start();
    await home.session("s-1");
    const child = start(["lock", "a.ts", "--", "sleep", "60"], { KITE_SESSION: "s-1" });
    const heldBy = async () => JSON.parse((await run(["locks", "--json"])).out).locks.length;
    await expect.poll(heldBy).toBe(1);
    child.kill("SIGKILL");
    await expect.poll(heldBy).toBe(0);
  });

  test("unlock --force takes a lock away, and the one who held it says so", async () => {
    await home.start();
    const untilLet = "echo held; while [ ! -e let-go ]; do sleep 0.05; done";
    const child = start(["lock", "a.ts", "--", "sh", "-c", untilLet]);
    const text = textOf(child);
    await expect.poll(() => text.out).toBe("held\n");
    expect((await run(["unlock", "a.ts"])).code).toBe(1);
    const forced = await run(["unlock", "--force", "a.ts"]);
    expect(forced).toEqual({ code: 0, out: `released: ${join(shop, "a.ts")}\n`, err: "" });
    const lost = `kite: the lock is lost (revoked by ${personName()}); sh still runs, without it\n`;
    await expect.poll(() => text.err).toBe(lost);
    writeFileSync(join(shop, "let-go"), "");
    expect(await once(child, "close")).toEqual([0, null]);
  });

  test("a daemon that is killed and comes back finds the lock still held", async () => {
    await home.start();
    const child = start(["lock", "a.ts", "--", "sh", "-c", "echo held; exec sleep 60"]);
    const text = textOf(child);
    await expect.poll(() => text.out).toBe("held\n");
    const before = JSON.parse((await run(["locks", "--json"])).out).locks[0];
    await home.daemon.kill();
    await home.start();
    const after = JSON.parse((await run(["locks", "--json"])).out).locks[0];
    expect(after).toMatchObject({ path: before.path, token: before.token, holder: before.holder });
    child.kill("SIGTERM");
    expect((await once(child, "close"))[0]).toBe(143);
    expect(text.err).toBe("");
    expect(JSON.parse((await run(["locks", "--json"])).out).locks).toEqual([]);
  });

  test("locks --watch in a pipe tells each change in a line", async () => {
    const alice = await aliceHolds();
    const child = start(["locks", "--watch"]);
    const text = textOf(child);
    await expect.poll(() => text.out).toContain("src/auth.ts  alice  kept lock");
    await alice.request("file_unlock", { id: "alice-0001", file: "src/auth.ts" });
    await expect
      .poll(() => text.out)
      .toMatch(/released {2}\S+src\/auth\.ts by alice: its holder unlocked it\n$/);
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([0, null]);
  });

  test("log tells what was decided, filtered, and goes on with what comes", async () => {
    const alice = await aliceHolds();
    await run(["lock", "--wait", "0", "src/auth.ts", "--", "true"]);
    const denied = () => run(["log", "--file", "src"], { COLUMNS: "200" });
    await expect.poll(async () => (await denied()).out.split("\n").length).toBe(3);
    const [first, second] = (await denied()).out.split("\n");
    expect(first).toMatch(/^\d\d:\d\d:\d\d {2}allow {2}alice +file lock +src\/auth\.ts/);
    expect(second).toMatch(
      new RegExp(` {2}deny {3}${personName()} +file lock +src/auth\\.ts {2}alice had the file$`),
    );
    const unknown = await run(["log", "--agent", "nobody"]);
    expect(unknown).toMatchObject({ code: 1, out: "" });
    expect(unknown.err).toMatch(/^kite: the log knows no agent nobody; it knows .*alice/);
    const asked = ["log", "--session", "alice", "--decision", "allow", "--json"];
    const lines = (await run(asked)).out.trimEnd().split("\n");
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { id: "alice-0001", decision: "allow", rule: "lock", file: join(shop, "src/auth.ts") },
    ]);

    const child = start(["log", "-n", "0", "--follow"]);
    const text = textOf(child);
    await expect
      .poll(async () => {
        await alice.request("file_lock", { id: "alice-0001", file: "later.ts" });
        return text.out;
      })
      .toContain("later.ts");
    expect(text.out).not.toContain("auth.ts");
    child.kill("SIGTERM");
    expect(await once(child, "close")).toEqual([0, null]);
  });

  test("doctor finds nothing wrong, and what is wrong", async () => {
    await home.start();
    // Whoever runs the test may have a kite of their own in PATH, or none.
    const bin = join(home.root, "bin");
    mkdirSync(bin);
    symlinkSync(join(dirname(dirname(kiteProgram)), "bin", "kite"), join(bin, "kite"));
    const PATH = `${bin}:${process.env["PATH"] ?? ""}`;
    const well = JSON.parse((await run(["doctor", "--json"], { PATH })).out);
    const results = well.checks.map((c: { check: string; result: string }) => `${c.check}: ${c.result}`);
    expect(well.ok).toBe(true);
    expect(results).toEqual([
      "node: ok",
      "tools: ok",
      "home: ok",
      "socket path: ok",
      "path: ok",
      "client: ok",
      "daemon: ok",
      "answers: ok",
      "lock: ok",
      "journal: ok",
      "disk: ok",
      "size: ok",
      "bugs: ok",
      "logs: ok",
      "config: ok",
      "hooks: warn",
    ]);
    writeFileSync(paths.config, '{"lockWaitMS": 5}');
    const warned = await run(["doctor"]);
    expect(warned.code).toBe(0);
    expect(warned.out.replace(/\s+/g, " ")).toContain(
      'the key "lockWaitMS" is not known; did you mean lockWaitMs?',
    );
    chmodSync(paths.home, 0o755);
    const failed = await run(["doctor"]);
    expect(failed.code).toBe(1);
    expect(failed.out).toMatch(/^fail {2}home /m);
    expect(failed.out).toContain("1 failed");
    for (const line of failed.out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    chmodSync(paths.home, 0o700);
  });

  test.each([
    ["sessions", "--json"],
    ["sessions", "--all"],
    ["locks", "--json"],
    ["locks", "--all"],
    ["broadcast", "main is red"],
    ["stop", "nobody", "--json"],
    ["replace", "nobody", "--json"],
    ["attach", "nobody"],
    ["trust", "--list", "--json"],
    ["inbox", "--json"],
    ["ls", "--all"],
  ])("%s goes on working, word for word: %j", async (word, ...rest) => {
    await aliceHolds();
    const steady = ({ code, out, err }: Ran) => ({
      code,
      err,
      // Ages and message numbers go on between two commands.
      out: out
        .replace(/"(heldMs|lastSeenMs|quietMs)":\d+/g, '"$1":0')
        .replace(/m-\w+/g, "m")
        .replace(/\b\d+ms\b/g, ""),
    });
    const present = allOldWords().get(word) ?? [];
    expect(steady(await run([word, ...rest]))).toEqual(steady(await run([...present, ...rest])));
  });

  test("config tells each value and where it comes from", async () => {
    mkdirSync(paths.home, { mode: 0o700 });
    writeFileSync(paths.config, '{"yieldMs": 9000}');
    const shown = await run(["config"], {
      KITE_LOCK_WAIT_MS: "20000",
      KITE_CLIENT_LOCK_WAIT_MS: '{"copilot": 5000, "codex": 20000}',
    });
    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(/^lockWaitMs +20000 +KITE_LOCK_WAIT_MS$/m);
    expect(shown.out).toMatch(/^yieldMs +9000 +~\/kite\/config\.json$/m);
    expect(shown.out).toMatch(/^clientLockWaitMs +codex 20000, copilot 5000 +KITE_CLIENT_LOCK_WAIT_MS$/m);
    expect(shown.out).toMatch(/^logLevel +info +default\n {4}level of the daemon's own log$/m);
    const json = JSON.parse((await run(["config", "--json"])).out);
    expect(json.settings.yieldMs).toEqual({ value: 9000, source: paths.config });
    writeFileSync(paths.config, "{");
    const broken = await run(["config"]);
    expect(broken.code).toBe(1);
    expect(broken.out).toContain("is ignored");
  });
});

describe("a wrong command line", () => {
  test.each([
    [["lokcs"], 1, "kite: there is no command lokcs; did you mean kite status --locks? See kite --help\n"],
    [["help", "lokcs"], 1, "kite: no command and no chapter is called lokcs; see kite help all\n"],
    [["unlock"], 1, "kite: kite unlock needs FILE; see kite unlock --help\n"],
    [["task", "add", "--bogus"], 1, "kite: kite task add has no option --bogus; see kite task add --help\n"],
    [["lock", "a.ts"], 64, "kite: give a command to hold the lock for: kite lock a.ts -- COMMAND...\n"],
    [
      ["lock", "--bogus", "a", "--", "true"],
      64,
      "kite: kite lock has no option --bogus; see kite lock --help\n",
    ],
  ])("is told so, and where help is: %j", async (args, code, err) => {
    expect(await run(args)).toEqual({ code, out: "", err });
  });
});

describe("help", () => {
  test("shows the names of today, and the earlier ones work", async () => {
    const { out } = await run(["help", "all"]);
    expect(out).toMatch(/^ {2}freeze {2,}/m);
    expect(out).toMatch(/^ {2}thaw {2,}/m);
    expect(out).not.toMatch(/^ {2}(?:hold|resume) /m);
    expect(await run(["hold", "--help"])).toEqual(await run(["freeze", "--help"]));
    expect(await run(["help", "resume"])).toEqual(await run(["help", "thaw"]));
  });

  test.each([
    "status",
    "agent",
    "lock",
    "unlock",
    "task",
    "declare",
    "role",
    "log",
    "explain",
    "stats",
    "report",
    "doctor",
    "config",
  ])("%s documents its JSON, its exit codes and an example", async name => {
    const { code, out } = await run([name, "--help"]);
    expect(code).toBe(0);
    expect(out).toContain("--json");
    expect(out).toContain("Exit codes: ");
    expect(out).toMatch(new RegExp(`Examples?:\\n {2}\\$ kite ${name}`));
  });

  test.each(Object.keys(commands))("%s has no line wider than 120 columns", async name => {
    const { code, out } = await run([name, "--help"]);
    expect(code).toBe(0);
    for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(120);
  });
});
