/** `kite`, `kite status` and its parts. */
import { describe, expect, it } from "vitest";
import { sessions } from "../../bin/commands/home-screen.ts";
import { locks } from "../../bin/commands/live-locks.ts";
import { status, statusOrHelp, warnings } from "../../bin/commands/status.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import { type FakeDaemon, fakeDaemon, fakeWorld } from "./command-world.ts";
import { busy, lock, session } from "./view-rows.ts";

// status, sessions, locks: what they ask, print and exit with.

const stats: StatsReply = {
  ok: true,
  ...busy.stats,
  storeId: "k1",
  epoch: 3,
  seq: 40,
  waiters: 2,
  connections: 6,
  subscribers: 0,
  requests: 100,
  refused: 1,
  journalBytes: 4096,
  storeFull: false,
  voided: [],
  trailDropped: 0,
  rssBytes: 50_000_000,
  hooks: {},
};

function busyDaemon(): FakeDaemon {
  return fakeDaemon({
    overview: {
      ok: true,
      project: null,
      off: [],
      stats,
      sessions: { ok: true, rows: busy.sessions },
      locks: { ok: true, rows: busy.locks },
      holds: { ok: true, rows: busy.holds },
      refusals: { ok: true, rows: busy.refusals },
      risks: { ok: true, rows: busy.risks },
      watched: { ok: true, rows: busy.watched },
    },
    whoami: { ok: false, code: "unknown_session", error: "none" },
    subscribe: { ok: true, cursor: "3.40.0" },
    "query sessions": { ok: true, rows: busy.sessions },
    "query transcripts": { ok: true, rows: [] },
    "query locks": { ok: true, rows: busy.locks },
    "query refusals": { ok: true, rows: busy.refusals },
    "query risks": { ok: true, rows: busy.risks },
    "query task_watched": { ok: true, rows: busy.watched },
    "query holds": { ok: true, rows: busy.holds },
  });
}

const never = new AbortController().signal;

describe("kite status", () => {
  it("shows what the daemon answers, as wide as a pipe is taken to be", async () => {
    const world = fakeWorld({ daemon: busyDaemon() });
    expect(await status(world, false)).toBe(0);
    expect(world.out().split("\n").slice(0, 4)).toEqual([
      "Needs a person: carol (Bash: npm publish)",
      "Kite 0.1.0 · pid 4711 · up 2h 5m since 11:55:00 · ~/.kite/kite.sock",
      "",
      "Sessions: 5 in 2 projects, 1 needs you, 1 waiting",
    ]);
    expect(world.out()).not.toContain("\u001b");
  });

  it("names first who needs a person: in every project on a person's terminal, in its own to an agent", async () => {
    const blog = busy.sessions.find(({ name }) => name === "hana")?.project ?? "";
    const first = async (env: Record<string, string>, answer: object) => {
      const daemon = busyDaemon();
      daemon.answers["whoami"] = answer;
      daemon.answers["overview"] = { ...(daemon.answers["overview"] as object), project: blog };
      const world = fakeWorld({
        daemon,
        env: { NO_COLOR: "1", ...env },
        terminal: { columns: 80, rows: 24 },
      });
      await status(world, false);
      return world.out().split("\n")[0];
    };
    const nobody = { ok: false, code: "unknown_session", error: "none" };
    expect(await first({}, nobody)).toBe("Needs you: carol in shop (Bash: npm publish)");
    expect(await first({ CLAUDECODE: "1" }, nobody)).toMatch(/^Kite /);
    expect(await first({}, { ok: true, id: "carol-0000-4000" })).toMatch(/^Kite /);
  });

  it("fits COLUMNS in a pipe and the terminal where there is one", async () => {
    for (const options of [{ env: { COLUMNS: "40" } }, { terminal: { columns: 40, rows: 20 } }]) {
      const world = fakeWorld({ daemon: busyDaemon(), ...options });
      await status(world, false);
      expect(world.out()).toContain("\nup 2h 5m since 11:55:00");
    }
  });

  it("colours a terminal, unless told not to", async () => {
    const terminal = { columns: 80, rows: 24 };
    const colored = fakeWorld({ daemon: busyDaemon(), terminal });
    const plain = fakeWorld({ daemon: busyDaemon(), terminal, env: { NO_COLOR: "1" } });
    await status(colored, false);
    await status(plain, false);
    expect(colored.out()).toContain("\u001b[33mneeds you");
    expect(plain.out()).not.toContain("\u001b");
  });

  it("gives rows as they came as JSON, in one line", async () => {
    const world = fakeWorld({ daemon: busyDaemon() });
    expect(await status(world, true)).toBe(0);
    expect(world.out().trimEnd().split("\n")).toHaveLength(1);
    expect(JSON.parse(world.out())).toEqual({
      running: true,
      stats,
      socket: "/home/ana/.kite/kite.sock",
      sessions: busy.sessions,
      locks: busy.locks,
      holds: [],
      refusals: busy.refusals,
      risks: [],
      watched: [],
      wiped: [],
      warnings: [],
    });
  });

  it("says in one line that no daemon runs, and exits with 3", async () => {
    const world = fakeWorld();
    expect(await status(world, false)).toBe(3);
    expect([world.out(), world.err()]).toEqual(["Kite is not running. Start it: kite up\n", ""]);
    const asJson = fakeWorld();
    expect(await status(asJson, true)).toBe(3);
    expect(JSON.parse(asJson.out())).toEqual({
      running: false,
      socket: "/home/ana/.kite/kite.sock",
      start: "kite up",
    });
  });

  it("asks page by page", async () => {
    const daemon = busyDaemon();
    const sessions = { ok: true, rows: [session("first")], next: "first-0000-4000" };
    daemon.answers["overview"] = { ...daemon.answers["overview"], sessions };
    daemon.answers["query sessions"] = { ok: true, rows: [session("second")] };
    const world = fakeWorld({ daemon });
    await status(world, true);
    const names = JSON.parse(world.out()).sessions.map((s: { name: string }) => s.name);
    expect(names).toEqual(["first", "second"]);
    expect(daemon.asked.find(a => a["after"] !== undefined)).toMatchObject({ after: "first-0000-4000" });
  });

  it("says what a daemon refuses", async () => {
    const daemon = busyDaemon();
    daemon.answers["overview"] = { ok: false, code: "restarting", error: "the daemon goes down; come back" };
    const world = fakeWorld({ daemon });
    expect(await status(world, false)).toBe(1);
    expect([world.out(), world.err()]).toEqual(["", "kite: the daemon goes down; come back\n"]);
    const asJson = fakeWorld({ daemon });
    expect(await status(asJson, true)).toBe(1);
    expect(JSON.parse(asJson.out())).toMatchObject({ ok: false, code: "restarting" });
  });

  it("does not show rows it cannot read", async () => {
    const daemon = busyDaemon();
    const locks = { ok: true, rows: [{ file: "a.ts" }] };
    daemon.answers["overview"] = { ...daemon.answers["overview"], locks };
    const world = fakeWorld({ daemon });
    expect(await status(world, false)).toBe(1);
    expect(world.err()).toContain(
      "kite: the daemon (version 0.1.0) sends locks in an unknown form; restart it",
    );
    daemon.answers["overview"] = { ok: false, code: "unknown_type", error: "unknown type" };
    const older = fakeWorld({ daemon });
    expect(await status(older, false)).toBe(1);
    expect(older.err()).toBe(
      "kite: the daemon (version 0.1.0) knows no overview; restart it: kite down && kite up\n",
    );
  });

  it("warns of a full disk, of bugs, and of another version", () => {
    expect(warnings(stats, "0.1.0")).toEqual([]);
    const said = warnings({ ...stats, storeFull: true, voided: [7, 9] }, "0.2.0");
    expect(said.map(s => s.split(" ").slice(0, 4).join(" "))).toEqual([
      "The disk is full:",
      "2 requests failed inside",
      "The daemon is version",
    ]);
  });
});

describe("kite status --sessions and kite status --locks", () => {
  it("print rows or say that no daemon runs", async () => {
    const world = fakeWorld({ daemon: busyDaemon() });
    expect(await sessions(world, true)).toBe(0);
    expect(await locks(world, { json: true }, never)).toBe(0);
    const printed = world
      .out()
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line));
    expect(printed).toEqual([{ sessions: busy.sessions }, { locks: busy.locks }]);
    const absent = fakeWorld();
    expect(await sessions(absent, false)).toBe(3);
    expect(await locks(absent, { watch: true }, never)).toBe(3);
    expect(absent.err()).toBe("kite: Kite is not running. Start it: kite up\n".repeat(2));
    expect(absent.out()).toBe("");
  });
});

describe("kite status --locks --watch", () => {
  /** Starts watching and waits until the first rows were shown. */
  async function watch(options: Parameters<typeof fakeWorld>[0], flags: { json?: boolean } = {}) {
    const world = fakeWorld(options);
    const ending = new AbortController();
    const code = locks(world, { watch: true, ...flags }, ending.signal);
    await expect.poll(world.out).not.toBe("");
    return { world, ending, code };
  }
  const released = {
    event: "lock_released",
    files: ["a.ts"],
    paths: ["/shop/a.ts"],
    holder: { id: "a", agent: null, name: "alice" },
    cause: "unlocked",
  } as const;

  it("prints what is held and then a line for each change, in a pipe", async () => {
    const daemon = busyDaemon();
    daemon.answers["query locks"] = { ok: true, rows: [lock("a.ts", "alice")] };
    const { world, ending, code } = await watch({ daemon });
    daemon.push(released);
    ending.abort();
    expect(await code).toBe(0);
    expect(world.out().split("\n")).toEqual([
      "  shop  ~/code/shop",
      "    a.ts  alice  edit lock  12s",
      "14:00:00  released  /shop/a.ts by alice: its holder unlocked it",
      "",
    ]);
    expect(daemon.listeners()).toBe(0);
  });

  it("prints events as they came, as JSON", async () => {
    const daemon = busyDaemon();
    const { world, ending, code } = await watch({ daemon }, { json: true });
    daemon.push(released);
    ending.abort();
    await code;
    const [first, second] = world
      .out()
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line));
    expect(first).toEqual({ locks: busy.locks });
    expect(second).toEqual({ type: "event", ...released });
  });

  it("draws again in place on a change and every second, on a terminal", async () => {
    const daemon = busyDaemon();
    daemon.answers["query locks"] = { ok: true, rows: [lock("a.ts", "alice")] };
    const terminal = { columns: 80, rows: 24 };
    const { world, ending, code } = await watch({ daemon, terminal, env: { NO_COLOR: "1" } });
    const first = world.out();
    expect(first).toBe("\u001b[?25l\r\u001b[J  shop  ~/code/shop\n    a.ts  alice  edit lock  12s\n");
    daemon.answers["query locks"] = { ok: true, rows: [] };
    daemon.push(released);
    await expect.poll(world.out).toBe(`${first}\u001b[?25l\u001b[2A\r\u001b[JNo locks.\n`);
    daemon.answers["query locks"] = { ok: true, rows: [lock("b.ts", "bob")] };
    world.tick();
    await expect.poll(world.out).toContain("\u001b[1A\r\u001b[J  shop  ~/code/shop\n    b.ts  bob");
    ending.abort();
    expect(await code).toBe(0);
    expect(world.out().endsWith("\u001b[?25h")).toBe(true);
  });

  it("never draws more lines than the terminal has", async () => {
    const daemon = busyDaemon();
    const rows = Array.from({ length: 40 }, (_, i) => lock(`f${i}.ts`, "alice"));
    daemon.answers["query locks"] = { ok: true, rows };
    const { world, ending, code } = await watch({ daemon, terminal: { columns: 80, rows: 10 } });
    const lines = world.out().trimEnd().split("\n");
    expect(lines).toHaveLength(9);
    expect(lines.at(-1)).toBe("and 33 more lines: kite status --locks");
    ending.abort();
    await code;
  });

  it("ends when the daemon is gone for good", async () => {
    const daemon = busyDaemon();
    const { world, code } = await watch({ daemon });
    daemon.die();
    expect(await code).toBe(3);
    expect(world.err()).toBe("kite: Kite is not running. Start it: kite up\n");
  });
});

describe("`kite` without a word", () => {
  const terminal = { columns: 80, rows: 24 };
  const none = { ok: true, rows: [] };

  /** What `kite status` asks of a daemon with these rows. */
  function overview(rows: { readonly sessions?: object[]; readonly locks?: object[] }) {
    const lists = { sessions: none, locks: none, holds: none, refusals: none, risks: none, watched: none };
    const [sessions, locks] = [rows.sessions ?? [], rows.locks ?? []].map(all => ({ ok: true, rows: all }));
    const stats = { version: "0.1.0", storeFull: false, voided: [], startedAt: 0, pid: 1, tasks: {} };
    return { ok: true, project: null, off: [], stats, ...lists, sessions, locks };
  }

  const busy = fakeDaemon({
    "query transcripts": { ok: true, rows: [] },
    overview: overview({ sessions: [session("alice")], locks: [lock("a.ts", "alice")] }),
    whoami: { ok: false, code: "unknown_session", error: "none" },
  });
  const idle = fakeDaemon({ overview: overview({}) });

  it.each([
    ["a terminal where somebody is at work", { daemon: busy, terminal }, /alice/],
    ["a terminal where nobody is", { daemon: idle, terminal }, /^the help\n$/],
    ["a terminal without a daemon", { terminal }, /^the help\n$/],
    ["a pipe", { daemon: busy }, /^the help\n$/],
  ])("on %s", async (_where, options, shown) => {
    const world = fakeWorld(options);
    expect(await statusOrHelp(world, "the help\n")).toBe(0);
    expect(world.out()).toMatch(shown);
    expect(world.err()).toBe("");
  });
});
