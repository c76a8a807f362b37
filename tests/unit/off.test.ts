/** kite off and kite on, what the daemon makes of them, and how changed files are found. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { status } from "../../bin/commands/status.ts";
import { durationOf, off, on, switchOff, switchOn } from "../../bin/settings/off.ts";
import {
  isChanged,
  isOff,
  markSeen,
  nothingOff,
  OffSwitchReader,
  parseOffSwitches,
  SeenFiles,
  strangeWorktree,
  withoutWaits,
} from "../../daemon/config/off-switch.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import { hook } from "../../daemon/requests/hook.ts";
import type { Call } from "../../daemon/server/call.ts";
import { actionTraits, type HookAction } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeWorld, fakeDaemon, fakeWorld } from "./command-world.ts";
import { now, session } from "./view-rows.ts";

// kite off and kite on: what they write, what the daemon makes of it, and what people are told.

const id = "3f8a2b4c-0000-4000-8000-000000000001";
const hour = 3_600_000;

describe("what is silenced", () => {
  const who = { session: id, places: ["/home/ana/shop/src", "/home/ana/shop/.git"] };
  const of = (more: Partial<typeof nothingOff>) => ({ ...nothingOff, ...more });

  it("everything, until its time", () => {
    expect(isOff(nothingOff, who, now)).toBe(false);
    expect(isOff(of({ all: { until: null } }), who, now)).toBe(true);
    expect(isOff(of({ all: { until: now + 1 } }), who, now)).toBe(true);
    expect(isOff(of({ all: { until: now } }), who, now)).toBe(false);
  });

  it("a session, by its id alone", () => {
    const sessions = new Map([[id, { until: null, name: "alice" }]]);
    expect(isOff(of({ sessions }), who, now)).toBe(true);
    expect(isOff(of({ sessions }), { ...who, session: "alice" }, now)).toBe(false);
    expect(isOff(of({ sessions }), { ...who, session: null }, now)).toBe(false);
  });

  it("a directory with all that is in it, and no neighbour", () => {
    const projects = (directory: string) => of({ projects: new Map([[directory, { until: null }]]) });
    expect(isOff(projects("/home/ana/shop"), who, now)).toBe(true);
    expect(isOff(projects("/home/ana/sho"), who, now)).toBe(false);
    expect(isOff(projects("/home/ana/shop/src/x"), who, now)).toBe(false);
  });

  it("takes away what waits and what is said, not what begins and ends", () => {
    const use = { cwd: "/", toolUseId: "t", promptId: null, waitMs: 0 };
    const bare = { ...use, ancestors: [], parentFile: null };
    const acts: HookAction[] = [
      { do: "begin", session: id, cwd: "/", revive: false },
      { do: "list_peers", session: id },
      {
        do: "guard",
        session: id,
        ...bare,
        commands: [],
        aliases: [],
        unread: null,
        line: "git",
        typed: "git stash",
      },
      { do: "turn_end", session: id },
    ];
    const plan = {
      event: "Stop",
      session: id,
      agent: null,
      tool: null,
      file: null,
      doing: null,
      home: null,
      transcript: null,
      actions: acts,
    };
    const made = withoutWaits({ ...plan, answer: () => ({ output: "words", exitCode: 2, env: ["A=1"] }) });
    expect(made.actions.map(a => a.do)).toEqual(["begin", "turn_end"]);
    expect(made.answer([])).toEqual({ output: "" });
  });

  it("keeps of all actions those that keep what is known true", () => {
    // An action by its name alone: nothing else of it is read.
    const actions = Object.keys(actionTraits).map(name => ({ do: name }) as HookAction);
    const plan = {
      event: "Stop",
      session: id,
      agent: null,
      tool: null,
      file: null,
      doing: null,
      home: null,
      transcript: null,
      actions,
    };
    const kept = withoutWaits({ ...plan, answer: () => ({ output: "" }) }).actions.map(a => a.do);
    const gone = Object.keys(actionTraits).filter(name => !kept.some(one => one === name));
    expect(gone.sort()).toEqual([
      "await_release",
      "gate_complete",
      "gate_files",
      "gate_shell",
      "gate_stop",
      "gate_team",
      "gate_write",
      "glance",
      "guard",
      "inbox",
      "keep_work",
      "list_peers",
      "lock",
      "notes",
      "plain_files",
    ]);
  });

  it.each(["", "{}", "[]", '{"projects":{},"sessions":{"a":1}}', '{"projects":{"/a":{}},"sessions":{}}'])(
    "is nothing where the file is not Kite's: %j",
    text => expect(parseOffSwitches(text)).toBeNull(),
  );
});

describe("the daemon", () => {
  it("hears of each switch once, whenever it looks, and of none that was there before", async () => {
    const home = temporaryFolder("kite-off-");
    await switchOff(home, { is: "project", directory: "/old" }, null, now);
    const heard: unknown[] = [];
    const reader = new OffSwitchReader(home, ({ scope, of, until }) => heard.push([scope, of, until]));
    reader.read();
    expect(heard).toEqual([]);
    await switchOff(home, { is: "session", id, name: "alice" }, now + hour, now);
    await switchOff(home, { is: "all" }, null, now);
    reader.read();
    reader.read();
    expect(heard).toEqual([
      ["all", null, null],
      ["session", id, now + hour],
    ]);
    await switchOn(home, { is: "all" }, now);
    await switchOn(home, { is: "project", directory: "/old" }, now);
    await switchOn(home, { is: "session", id, name: null }, now);
    reader.read();
    // It is over before the daemon looks.
    await switchOff(home, { is: "session", id, name: "alice" }, now - hour, now - 2 * hour);
    reader.read();
    expect(heard.slice(2)).toEqual([["session", id, now - hour]]);
  });
});

describe("kite off", () => {
  let root: string;
  let shop: string;
  let world: FakeWorld;
  let reader: OffSwitchReader;

  beforeEach(() => {
    root = temporaryFolder("kite-off-");
    shop = join(root, "shop");
    mkdirSync(join(shop, ".git"), { recursive: true });
    mkdirSync(join(shop, "src"));
    world = make();
    reader = new OffSwitchReader(world.paths.home);
  });

  function make(sessions = [session("alice", { id }), session("bob")]): FakeWorld {
    const daemon = fakeDaemon({
      "query sessions": { ok: true, rows: sessions },
      whoami: { ok: false, code: "unknown_session", error: "no session is above these" },
    });
    return { ...fakeWorld({ daemon, home: join(root, "kite") }), cwd: join(shop, "src") };
  }

  it("switches everything off, for good or for a while, and on again", async () => {
    expect(await off(world, {})).toBe(0);
    expect(world.out()).toBe("Kite is off everywhere: edits are not coordinated. Switch it on: kite on\n");
    expect(reader.read().all).toEqual({ until: null });
    expect(await off(world, { for: "1h" })).toBe(0);
    expect(world.out()).toContain("off everywhere until 15:00:00: ");
    expect(reader.read().all).toEqual({ until: now + hour });
    // What a client has to look at: empty, or a time to come.
    const file = statSync(join(world.paths.home, "off"));
    expect([file.size > 0, file.mtimeMs, file.mode & 0o777]).toEqual([true, now + hour, 0o600]);
    expect(await on(world, {})).toBe(0);
    expect(world.out()).toMatch(/\nKite is on\.\n$/);
    expect(reader.read()).toEqual(nothingOff);
    await on(world, {});
    expect(world.out()).toMatch(/Kite was not off\.\n$/);
  });

  it("switches a project and a session off beside each other, and names what stays off", async () => {
    await off(world, { project: true });
    expect(await off(world, { session: "alice", for: "90s", json: true })).toBe(0);
    expect(world.out()).toMatch(
      new RegExp(`\\{"ok":true,"scope":"session","name":"alice","until":${now + 90_000}\\}\\n$`),
    );
    expect([...reader.read().projects]).toEqual([[shop, { until: null }]]);
    expect([...reader.read().sessions]).toEqual([[id, { until: now + 90_000, name: "alice" }]]);
    expect(await on(world, { project: shop })).toBe(0);
    expect(world.out()).toMatch(
      /\nKite is on in .*shop\.\nKite is off for session alice until 14:01:30\. .*kite on --session 3f8a2b4c\n$/,
    );
    await on(world, { session: "alice" });
    expect(existsSync(join(world.paths.home, "off.json"))).toBe(false);
    expect(reader.read()).toEqual(nothingOff);
  });

  it("switches on without options what keeps Kite off here, and says where", async () => {
    await off(world, { project: true });
    const elsewhere = { ...world, cwd: root };
    expect(await on(elsewhere, {})).toBe(0);
    expect(world.out()).toMatch(/\nKite was not off\.\nKite is off in .*shop\. Switch it on: [^\n]+\n$/);
    expect(await on(world, {})).toBe(0);
    expect(world.out()).toMatch(/\nKite is on in .*shop\.\n$/);
    expect(reader.read()).toEqual(nothingOff);
    await off(world, {});
    await off(world, { project: true });
    await on(world, {});
    expect(world.out()).toMatch(/\nKite is on\.\nKite is on in .*shop\.\n$/);
    await off(world, { project: true });
    await on(world, { json: true });
    expect(JSON.parse(world.out().trim().split("\n").at(-1) ?? "")).toEqual({
      ok: true,
      scope: "project",
      name: shop,
      was: "off",
      stillOff: [],
    });
  });

  it("means by a name the session of this project, if others have one of that name", async () => {
    const elsewhere = session("alice", { id: "5b2e-elsewhere", project: "/elsewhere" });
    const here = session("alice", { id, project: join(realpathSync(shop), "src") });
    expect(await off(make([elsewhere, here]), { session: "alice" })).toBe(0);
    expect([...reader.read().sessions.keys()]).toEqual([id]);
    const twice = make([elsewhere, { ...elsewhere, id: "5b2e-another", project: "/other" }]);
    expect(await off(twice, { session: "alice" })).toBe(1);
    expect(twice.err()).toContain("alice can be alice (5b2e-elsewhere), alice (5b2e-another)");
  });

  it("forgets what has passed when it is written again", async () => {
    await off(world, { session: "bob", for: "1s" });
    const later = { ...world, now: () => now + 2_000 };
    await off(later, { project: shop });
    expect(reader.read().sessions.size).toBe(0);
  });

  it("lets an agent switch off its own session, and nothing beyond", async () => {
    const agent = { isAgent: async () => true };
    const own = { ...world, env: { ...world.env, KITE_SESSION: id } };
    expect(await off(own, { session: "alice" }, agent)).toBe(0);
    expect([...reader.read().sessions.keys()]).toEqual([id]);
    for (const flags of [{}, { project: true as const }, { session: "bob" }, { for: "1h" }])
      expect(await off(own, flags, agent)).toBe(1);
    expect(own.err()).toContain(
      "kite: only a person switches Kite off beyond an agent's own session; ask your user to run in a terminal of their own: cd ",
    );
    expect(reader.read()).toMatchObject({ all: null, projects: new Map() });
    expect([...reader.read().sessions.keys()]).toEqual([id]);
  });

  it("does not guess whom a name means", async () => {
    expect(await off(world, { session: "carol" })).toBe(1);
    expect(await off(make([session("a", { id: "x1" }), session("b", { id: "x2" })]), { session: "x" })).toBe(
      1,
    );
    const alone = { ...fakeWorld({ home: join(root, "kite") }), cwd: shop };
    expect(await off(alone, { session: "alice" })).toBe(1);
    expect(alone.err()).toContain("give its whole id");
    expect(await off(alone, { session: id })).toBe(0);
    expect(alone.out()).toContain("off for session 3f8a2b4c.");
    expect(await off(world, { project: true, session: "bob" })).toBe(1);
    expect(await off(world, { for: "soon" })).toBe(1);
    expect(reader.read().all).toBeNull();
  });

  it("leaves a file alone that it did not write, and then nothing of it is off", async () => {
    await off(world, { project: shop });
    const file = join(world.paths.home, "off.json");
    writeFileSync(file, "mine");
    expect(reader.read()).toEqual(nothingOff);
    await expect(off(world, { project: shop })).rejects.toThrow("remove it");
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  it("has a bound", async () => {
    await off(world, { project: shop });
    const some = Array.from({ length: limits.silencedMax }, (_, i) => [`/p${i}`, { until: null }]);
    const text = JSON.stringify({ version: 1, projects: Object.fromEntries(some), sessions: {} });
    writeFileSync(join(world.paths.home, "off.json"), text);
    await expect(off(world, { project: shop })).rejects.toThrow("is already off for");
  });

  it("is seen in kite status, also without a daemon", async () => {
    await off(world, { for: "1h" });
    const alone = fakeWorld({ home: world.paths.home });
    expect(await status(alone, false)).toBe(3);
    expect(alone.out()).toContain("! Kite is off everywhere until 15:00:00");
    const asked = fakeWorld({ home: world.paths.home });
    await status(asked, true);
    expect(JSON.parse(asked.out()).warnings).toHaveLength(1);
  });
});

it.each([
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["365d", 365 * 24 * hour],
  ["366d", null],
  ["0s", null],
  ["1", null],
  ["-1h", null],
  ["1w", null],
])("--for %s", (text, ms) => expect(durationOf(text)).toBe(ms));

/** Looks with these files there; real paths are as they are written. */
function look(
  place: { readonly project: string; readonly worktree: string; readonly gitDir: string },
  files: Readonly<Record<string, string>> = {},
) {
  const reader = {
    text: async (path: string) => files[path] ?? null,
    real: async (path: string) => path,
  };
  return strangeWorktree({ ...place, branch: "main" }, reader);
}

const strange = expect.stringContaining("does not know it as a worktree");

describe("a worktree is its repository's own", () => {
  it("where git made it", async () => {
    const plain = { project: "/shop", worktree: "/shop", gitDir: "/shop/.git" };
    expect(await look(plain)).toBeNull();
    const added = { project: "/shop", worktree: "/side", gitDir: "/shop/.git/worktrees/side" };
    expect(await look(added, { [`${added.gitDir}/gitdir`]: "/side/.git\n" })).toBeNull();
    const module = { project: "/shop/.git/modules/x", worktree: "/shop/x", gitDir: "/shop/.git/modules/x" };
    expect(await look(module, { [`${module.gitDir}/config`]: "[core]\n\tbare = false\n" })).toBeNull();
  });

  it("and not where a folder only names a repository", async () => {
    const added = { project: "/shop", worktree: "/evil", gitDir: "/shop/.git/worktrees/side" };
    expect(await look(added, { [`${added.gitDir}/gitdir`]: "/side/.git\n" })).toEqual(strange);
    const packed = { project: "/shop", worktree: "/evil", gitDir: "/evil/.git" };
    expect(await look(packed, { "/evil/.git/commondir": "../../shop/.git\n" })).toEqual(strange);
    const bare = { project: "/shop", worktree: "/evil", gitDir: "/evil" };
    expect(await look(bare, { "/evil/commondir": "../shop/.git\n" })).toEqual(strange);
    const served = { project: "/srv.git", worktree: "/evil", gitDir: "/srv.git" };
    expect(await look(served, { "/srv.git/config": "[core]\n\tbare = true\n" })).toEqual(strange);
  });
});

// The copies that tell who changed Kite's own files, where the system does not let anybody look at them.
describe("copies that tell who changed a file", () => {
  let home: string;
  const paths = () => ({
    seen: join(home, "seen"),
    config: join(home, "config.json"),
    trusted: join(home, "trusted.json"),
  });

  beforeEach(() => {
    home = temporaryFolder("kite-seen-");
    writeFileSync(paths().config, "{}");
  });

  it("nothing is known where the folder of copies cannot be opened, and the daemon goes on", () => {
    const told: unknown[] = [];
    markSeen(paths(), "config");
    const files = new SeenFiles(
      paths(),
      () => null,
      row => told.push(row),
    );
    writeFileSync(paths().config, '{"mode":"observe"}');
    expect(files.changed()).toHaveLength(1);
    rmSync(paths().seen, { recursive: true });
    // As a folder without permission, but for root, too: a stat of what is below it fails.
    symlinkSync(paths().seen, paths().seen);
    expect(files.changed()).toEqual([]);
    expect(isChanged(paths(), "config")).toBe(false);
    expect(told).toHaveLength(1);
  });
});

it("counts for an event whose actor is looked up meanwhile", async () => {
  const looks = {
    switches: nothingOff,
    likelySubagent: async () => {
      await Promise.resolve();
      looks.switches = { ...nothingOff, all: { until: null } };
      return null;
    },
  };
  const plan = {
    ...{
      event: "Stop",
      session: id,
      agent: null,
      transcript: "/t.jsonl",
      home: null,
      tool: null,
      file: null,
    },
    ...{ doing: null, actions: [], answer: () => ({ output: "told" }) },
  };
  const adapter = { name: "c", limits: { lockWaitMaxMs: 0 }, plan: () => plan };
  const recorder = { note: () => {} };
  const services = {
    ...{ node: "n", clock: { now: () => 0, wall: () => now }, engine: { state: emptyState() }, presence: {} },
    ...{ facts: { likelySubagent: looks.likelySubagent }, recorder, points: [], calls: { ids: {} } },
    entry: {
      ...{ adapters: new Map([[undefined, adapter]]), socket: "", counts: new Map() },
      untoldAgents: new Set([id]),
    },
    config: {
      settings: { values: { mode: "act", lockWaitMs: 0, clientLockWaitMs: {} } },
      ...{ ownFiles: { home: "" }, offSwitches: { read: () => looks.switches } },
    },
  } as unknown as Parameters<typeof hook>[0];
  const reply = await new Promise<object>((resolve, reject) => {
    const connection = { markHook: () => {}, view: null, push: () => {} };
    const alone = (work: Promise<void>) => void work.catch(reject);
    const call = { connection, alone, reply: resolve, wasParked: true } as unknown as Call;
    hook(services, { event: {} }, call);
  });
  expect(reply).toEqual({ ok: true, output: "" });
});
