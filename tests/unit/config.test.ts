import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { adapters } from "../../bin/adapters.ts";
import { loadConfig } from "../../daemon/config/config.ts";
import { healthDefaults } from "../../daemon/lead/settings.ts";
import { gatePresets, gatesUnset } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { nearest } from "../../protocol/text.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-config-");
let count = 0;

interface World {
  readonly user?: unknown;
  readonly project?: unknown;
  readonly env?: Record<string, string>;
}

/** Loads a configuration; texts are written as they are, other values as JSON. */
async function load({ user, project, env = {} }: World) {
  const dir = join(top, String(count++));
  const config = join(dir, "config.json");
  const projectDir = join(dir, "project");
  const projectFile = join(projectDir, ".kite", "config.json");
  mkdirSync(join(projectDir, ".kite"), { recursive: true });
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  if (user !== undefined) writeFileSync(config, text(user));
  if (project !== undefined) writeFileSync(projectFile, text(project));
  return { ...(await loadConfig({ env, paths: { config }, projectDir })), config, projectFile };
}

const defaults = {
  mode: "act",
  lockWaitMs: limits.hookWaitMs,
  clientLockWaitMs: {},
  yieldMs: limits.yieldMs,
  idleExitMs: limits.idleExitMs,
  logLevel: "info",
  treeGuard: "deny",
  keepLockUntil: "turn",
  gates: gatesUnset,
  spawnMax: 8,
  spawnDepth: 1,
  spawn: {},
  notify: {},
  teams: "enforce",
  health: healthDefaults,
  ignore: [],
  rescue: "on",
  rescueNever: [],
  store: "",
  storeGoneMs: limits.storeGoneMs,
  titles: "client",
};

/** The source of a yieldMs that nobody set, beside a lockWaitMs that somebody did. */
const follows = "0.3 of lockWaitMs";

describe("the configuration", () => {
  test("has defaults, and they keep their order", async () => {
    const { values, sources, problems } = await load({});
    expect(values).toEqual(defaults);
    expect(new Set(Object.values(sources))).toEqual(new Set(["default"]));
    expect(problems).toEqual([]);
    expect(limits.yieldMs).toBeLessThan(limits.hookWaitMs);
    expect(limits.hookWaitMs).toBeLessThan(limits.hookWriteBudgetMs);
  });

  test("takes variables before the user's file before the defaults", async () => {
    const { values, sources, problems, config } = await load({
      env: {
        KITE_LOCK_WAIT_MS: "40000",
        KITE_CLIENT_LOCK_WAIT_MS: '{"copilot": 5000}',
        KITE_IGNORE: "*.md:dist/**",
        KITE_LOG_LEVEL: "",
        KITE_HOME: "/k",
        KITE_GATES: "team",
        KITE_SPAWN: "a-1-1",
        KITE_SPAWN_DEPTH: "2",
        KITE_TEAMS: "warn",
        KITE_HEALTH: "release",
        KITE_RESCUE: "off",
        KITE_RESCUE_NEVER: "*.sqlite:private/",
      },
      user: {
        spawnMax: 3,
        spawn: { other: ["agent", "{prompt}"] },
        lockWaitMs: 30_000,
        logLevel: "debug",
        idleExitMs: 0,
        treeGuard: "warn",
      },
    });
    expect(values).toEqual({
      mode: "act",
      lockWaitMs: 40_000,
      clientLockWaitMs: { copilot: 5000 },
      yieldMs: 12_000,
      idleExitMs: 0,
      logLevel: "debug",
      treeGuard: "warn",
      keepLockUntil: "turn",
      gates: gatePresets.team,
      spawnMax: 3,
      spawnDepth: 2,
      spawn: { other: ["agent", "{prompt}"] },
      notify: {},
      teams: "warn",
      health: { ...healthDefaults, stalled: "release" },
      ignore: ["*.md", "dist/**"],
      rescue: "off",
      rescueNever: ["*.sqlite", "private/"],
      store: "",
      storeGoneMs: limits.storeGoneMs,
      titles: "client",
    });
    expect(sources).toEqual({
      mode: "default",
      lockWaitMs: "KITE_LOCK_WAIT_MS",
      clientLockWaitMs: "KITE_CLIENT_LOCK_WAIT_MS",
      yieldMs: follows,
      idleExitMs: config,
      logLevel: config,
      treeGuard: config,
      keepLockUntil: "default",
      gates: "KITE_GATES",
      spawnMax: config,
      spawnDepth: "KITE_SPAWN_DEPTH",
      spawn: config,
      teams: "KITE_TEAMS",
      health: "KITE_HEALTH",
      notify: "default",
      ignore: "KITE_IGNORE",
      rescue: "KITE_RESCUE",
      rescueNever: "KITE_RESCUE_NEVER",
      store: "default",
      storeGoneMs: "default",
      titles: "default",
    });
    expect(problems).toEqual([]);
  });

  test.each([
    [{ other: ["agent"] }, /\{prompt\}/],
    [{ other: [] }, /spawn/],
    [{ "-o": ["agent", "{prompt}"] }, /spawn/],
    [["agent", "{prompt}"], /spawn/],
  ])("takes a client to spawn only if its command says where the prompt goes: %j", async (spawn, says) => {
    const { values, problems } = await load({ user: { spawn } });
    expect(values.spawn).toEqual({});
    expect(problems).toEqual([expect.stringMatching(says)]);
  });

  test("lets no project say which program a spawned agent is, or how many there are", async () => {
    const { values, problems } = await load({ project: { spawn: { other: ["{prompt}"] }, spawnMax: 100 } });
    expect(values).toEqual(defaults);
    expect(problems).toHaveLength(2);
  });

  test("takes single times of health over the defaults, and those of dangerous tasks are never the shorter", async () => {
    const { values, problems } = await load({ user: { health: { quietMs: 1000, stalledMs: 5_000_000 } } });
    expect(values.health).toEqual({
      ...healthDefaults,
      quietMs: 1000,
      stalledMs: 5_000_000,
      stalledRedMs: 5_000_000,
      stalledCriticalMs: 5_000_000,
    });
    expect(problems).toEqual([]);
    const wrong = await load({ user: { health: { quietMs: 0 } }, project: { health: "release" } });
    expect(wrong.values.health).toEqual(healthDefaults);
    expect(wrong.problems.join()).toMatch(
      /health is ignored: expected tell, release or replace.*may not set health/,
    );
  });

  test("lets a project tighten", async () => {
    const { values, sources, problems, projectFile, config } = await load({
      user: { ignore: ["*.md"] },
      project: { lockWaitMs: 20_000, ignore: ["*.md", "*.lock"], keepLockUntil: "edit" },
    });
    expect(values).toMatchObject({ lockWaitMs: 20_000, ignore: ["*.md", "*.lock"], keepLockUntil: "edit" });
    expect(sources).toMatchObject({
      lockWaitMs: projectFile,
      keepLockUntil: projectFile,
      ignore: `${config}, ${projectFile}`,
    });
    expect(problems).toEqual([]);
  });

  test("takes the wait of single clients, each up to its client's longest", async () => {
    for (const { name, limits: of } of adapters) {
      const most = await load({ user: { clientLockWaitMs: { [name]: of.lockWaitMaxMs } } });
      expect([most.values.clientLockWaitMs, most.problems]).toEqual([{ [name]: of.lockWaitMaxMs }, []]);
      const above = await load({ user: { clientLockWaitMs: { [name]: of.lockWaitMaxMs + 1 } } });
      expect(above.values).toEqual(defaults);
      expect(above.problems.join()).toContain(
        `clientLockWaitMs is ignored: expected a whole number of milliseconds from 1 to ${of.lockWaitMaxMs} for ${name}`,
      );
    }
  });

  test("names the clients and their longest waits where the wait of a client has another form", async () => {
    const unknown = await load({ user: { clientLockWaitMs: { cursor: 5000 } } });
    expect([unknown.values, unknown.problems]).toEqual([
      defaults,
      [expect.stringMatching(/clientLockWaitMs is ignored: it has no key cursor; .* copilot up to 15000/)],
    ]);
    const number = await load({ user: { clientLockWaitMs: 5000 } });
    expect(number.problems).toEqual([expect.stringContaining('such as {"copilot": 5000}')]);
    const project = await load({ project: { clientLockWaitMs: { copilot: 1 } } });
    expect([project.values, project.problems]).toEqual([
      defaults,
      [expect.stringContaining("a project may not set clientLockWaitMs")],
    ]);
  });

  test("takes an object from its variable as JSON", async () => {
    const { values, sources } = await load({
      env: { KITE_SPAWN_CLIENTS: '{"other": ["agent", "{prompt}"]}', KITE_HEALTH: '{"stalledMs": 5000}' },
    });
    expect(values.spawn).toEqual({ other: ["agent", "{prompt}"] });
    expect(values.health.stalledMs).toBe(5000);
    expect(sources.spawn).toBe("KITE_SPAWN_CLIENTS");
    const broken = await load({ env: { KITE_SPAWN_CLIENTS: '{"other": [' } });
    expect(broken.problems).toEqual([
      expect.stringContaining("KITE_SPAWN_CLIENTS is ignored: expected an object"),
    ]);
  });

  test("takes gates by preset and singly, and lets a project only make them stricter", async () => {
    const user = { gates: { preset: "team", quality: "warn", identity: "enforce" } };
    const { values, problems } = await load({ user });
    expect(values.gates).toEqual({ ...gatePresets.team, quality: "warn", identity: "enforce" });
    expect(problems).toEqual([]);
    const more = await load({ user, project: { gates: { quality: "enforce", identity: "off" } } });
    expect(more.values.gates).toEqual({ ...gatePresets.team, identity: "enforce" });
    expect(more.sources.gates).toBe(more.projectFile);
    const less = await load({ user, project: { gates: "off" } });
    expect(less.values.gates).toEqual(values.gates);
    expect(less.problems).toEqual([expect.stringContaining("a project may only make them stricter")]);
  });

  test("knows whether a person set the gate of roles, by name or with a preset", async () => {
    const isGiven = async (gates: unknown) => (await load({ user: { gates } })).values.gates.givenRole;
    expect(await isGiven({ quality: "warn" })).toBe("enforce");
    for (const gates of ["off", "team", { preset: "off" }, { role: "off" }, { role: "warn" }])
      expect([gates, await isGiven(gates)]).toEqual([gates, undefined]);
    expect(await isGiven({ role: "warn", givenRole: "enforce" })).toBe("enforce");
    // What `kite config --json` shows may be written back.
    const shown = (await load({})).values.gates;
    expect((await load({ user: { gates: shown } })).values.gates).toEqual(shown);
  });

  test("has a project neither loosen nor tighten what counts for given roles", async () => {
    const off = await load({ user: { gates: "off" }, project: { gates: { quality: "enforce" } } });
    expect(off.values.gates).toEqual({ ...gatePresets.off, quality: "enforce" });
    const unset = await load({ project: { gates: { role: "warn" } } });
    expect(unset.values.gates).toEqual({ ...gatesUnset, role: "warn" });
    const less = await load({ project: { gates: "off" } });
    expect(less.values.gates).toEqual(gatesUnset);
    expect(less.problems).toEqual([
      expect.stringContaining("only make them stricter (givenRole=enforce, else off)"),
    ]);
    expect((await load({ project: { gates: { identity: "off" } } })).problems).toEqual([]);
    expect((await load({ user: { gates: "off" }, project: { gates: {} } })).problems).toEqual([]);
  });

  test("lets a project only make the rules of teams stricter", async () => {
    const more = await load({ user: { teams: "warn" }, project: { teams: "enforce" } });
    expect([more.values.teams, more.sources.teams, more.problems]).toEqual(["enforce", more.projectFile, []]);
    const less = await load({ project: { teams: "off" } });
    expect(less.values.teams).toBe("enforce");
    expect(less.problems).toEqual([expect.stringContaining("a project may only make it stricter")]);
  });

  test("lets a project do nothing else", async () => {
    const longer = await load({ project: { lockWaitMs: limits.hookWaitMs + 500 } });
    expect(longer.values).toEqual(defaults);
    expect(longer.problems).toEqual([expect.stringContaining("only lower")]);
    const others = await load({
      project: { yieldMs: 1, logLevel: "silent", idleExitMs: 1, treeGuard: "off" },
    });
    expect(others.values).toEqual(defaults);
    expect(others.problems).toHaveLength(4);
    expect(others.problems[0]).toContain("a project may not set yieldMs");
  });

  test("takes a store from the user's file alone, and never one with a password", async () => {
    const address = "postgresql://ada@db.example/kite";
    const own = await load({ user: { store: address } });
    expect([own.values.store, own.sources.store, own.problems]).toEqual([address, own.config, []]);
    const env = await load({ env: { KITE_STORE: address } });
    expect([env.values, env.problems]).toEqual([
      defaults,
      [
        "the environment variable KITE_STORE is ignored: a store is set for all your projects: " +
          "kite store join writes it into your own config.json",
      ],
    ]);
    const both = await load({ env: { KITE_STORE: "postgresql://eve@evil/kite" }, user: { store: address } });
    expect([both.values.store, both.sources.store]).toEqual([address, both.config]);
    const project = await load({ project: { store: address } });
    expect([project.values, project.problems]).toEqual([
      defaults,
      [expect.stringContaining("a project may not set store; a store is set for all your projects")],
    ]);
    const secret = await load({ user: { store: "postgresql://ada:hunter2@db.example/kite" } });
    expect([secret.values, secret.problems]).toEqual([
      defaults,
      [expect.stringContaining("store is ignored: the store's address has a password")],
    ]);
    expect(secret.problems.join()).not.toContain("hunter2");
    const none = await load({ user: { store: 5 } });
    expect(none.problems).toEqual([expect.stringContaining("expected an address as a text")]);
  });

  test("refuses what it does not know, naming what was meant, and takes the rest", async () => {
    const { values, problems } = await load({
      user: { lockWaitMS: 1, yield_ms: 2, colour: "red", logLevel: "warn" },
      env: { KITE_LOCK_WAIT: "1", KITE_LOKC_WAIT_MS: "2", KITE_SURF_SPOT: "x" },
    });
    expect(values).toEqual({ ...defaults, logLevel: "warn" });
    const text = problems.join("\n");
    expect(text).toContain('"lockWaitMS" is not known; did you mean lockWaitMs?');
    expect(text).toContain('"yield_ms" is not known; did you mean yieldMs?');
    expect(text).toContain('"colour" is not known; known are mode, lockWaitMs, ');
    expect(text).toContain("KITE_LOCK_WAIT is not known; did you mean KITE_LOCK_WAIT_MS?");
    expect(text).toContain("KITE_LOKC_WAIT_MS is not known; did you mean KITE_LOCK_WAIT_MS?");
    expect(text).not.toContain("KITE_SURF_SPOT");
    expect(problems).toHaveLength(5);
  });

  test("takes the earlier names of settings, and today's before them", async () => {
    const old = await load({ user: { hold: "edit" } });
    expect([old.values.keepLockUntil, old.problems]).toEqual(["edit", []]);
    const env = await load({ env: { KITE_HOLD: "edit" } });
    expect([env.values.keepLockUntil, env.sources.keepLockUntil]).toEqual(["edit", "KITE_KEEP_LOCK_UNTIL"]);
    const both = await load({
      user: { hold: "edit", keepLockUntil: "turn" },
      env: { KITE_HOLD: "edit", KITE_KEEP_LOCK_UNTIL: "turn" },
    });
    expect([both.values.keepLockUntil, both.problems]).toEqual(["turn", []]);
    const project = await load({ project: { hold: "edit" } });
    expect([project.values.keepLockUntil, project.problems]).toEqual(["edit", []]);
  });

  test("refuses wrong values, one by one", async () => {
    const bad: Record<string, readonly unknown[]> = {
      lockWaitMs: [0, -1, 1.5, "50", null, limits.hookWriteBudgetMs],
      yieldMs: [0, true],
      idleExitMs: [-1, 1e12],
      logLevel: ["loud", 3],
      treeGuard: ["no", false],
      keepLockUntil: ["forever", 1],
      gates: ["loose", 1, { quality: "maybe" }, { preset: "lax" }, { speed: "warn" }, []],
      teams: ["loose", true],
      ignore: ["*.md", [""], [1], ["*.{a,b}"], ["!x"], ["/"], ["x".repeat(limits.globBytes + 1)]],
    };
    for (const [key, values] of Object.entries(bad)) {
      for (const value of values) {
        const loaded = await load({ user: { [key]: value } });
        expect(loaded.values, `${key}: ${JSON.stringify(value)}`).toEqual(defaults);
        expect(loaded.problems).toHaveLength(1);
        expect(loaded.problems[0]).toContain(key);
      }
    }
    const env = await load({ env: { KITE_LOCK_WAIT_MS: "50s" } });
    expect(env.values).toEqual(defaults);
    expect(env.problems[0]).toContain(
      "KITE_LOCK_WAIT_MS is ignored: expected a whole number of milliseconds",
    );
  });

  test("takes a wait alone, however it is said: what is not set of yieldMs follows it", async () => {
    const byVariable = await load({ env: { KITE_LOCK_WAIT_MS: "10000" } });
    const byUser = await load({ user: { lockWaitMs: 10_000 } });
    const byProject = await load({ project: { lockWaitMs: 10_000 } });
    for (const { values, problems } of [byVariable, byUser, byProject]) {
      expect(problems).toEqual([]);
      expect(values).toMatchObject({ lockWaitMs: 10_000, yieldMs: 3000 });
    }
    expect(byVariable.sources).toMatchObject({ lockWaitMs: "KITE_LOCK_WAIT_MS", yieldMs: follows });
    expect(byUser.sources).toMatchObject({ lockWaitMs: byUser.config, yieldMs: follows });
    expect(byProject.sources).toMatchObject({ lockWaitMs: byProject.projectFile, yieldMs: follows });
    const lowered = await load({ user: { lockWaitMs: 20_000 }, project: { lockWaitMs: 5000 } });
    expect(lowered.values).toMatchObject({ lockWaitMs: 5000, yieldMs: 1500 });
    expect(lowered.problems).toEqual([]);
  });

  test("keeps yieldMs below lockWaitMs, and that below what a hook has, for every wait it takes", async () => {
    expect(limits.hookWriteBudgetMs).toBeLessThan(limits.hookWriteTimeoutMs);
    const longest = limits.hookWriteBudgetMs - limits.firstByteMs;
    for (const wait of [2, 3, 4, 10, 999, 15_000, 15_001, limits.hookWaitMs, longest]) {
      const said = [
        await load({ env: { KITE_LOCK_WAIT_MS: String(wait) } }),
        await load({ user: { lockWaitMs: wait } }),
        await load({ user: { lockWaitMs: longest }, project: { lockWaitMs: wait } }),
      ];
      for (const { values, problems } of said) {
        expect(problems, String(wait)).toEqual([]);
        expect(values.lockWaitMs).toBe(wait);
        expect(values.lockWaitMs).toBeLessThan(limits.hookWriteBudgetMs);
        expect(values.yieldMs).toBeGreaterThanOrEqual(1);
        expect(values.yieldMs).toBeLessThan(wait);
      }
    }
    expect((await load({ user: { lockWaitMs: longest + 1 } })).problems).toHaveLength(1);
    expect((await load({ project: { lockWaitMs: 1 } })).problems).toHaveLength(1);
  });

  test("leaves a yieldMs out that is not less than lockWaitMs, and nothing else", async () => {
    const spelled = [
      await load({ user: { lockWaitMs: 5000 }, env: { KITE_YIELD_MS: "5000" } }),
      await load({ user: { yieldMs: 5000 }, env: { KITE_LOCK_WAIT_MS: "5000" } }),
      await load({ user: { yieldMs: 6000, lockWaitMs: 5000 } }),
      await load({ env: { KITE_YIELD_MS: "6000", KITE_LOCK_WAIT_MS: "5000" } }),
    ];
    for (const { values, sources, problems } of spelled) {
      expect(values).toEqual({ ...defaults, lockWaitMs: 5000, yieldMs: 1500 });
      expect(sources.yieldMs).toBe(follows);
      expect(problems).toHaveLength(1);
    }
    expect(spelled[0]?.problems[0]).toContain(
      "yieldMs (5000, KITE_YIELD_MS) must be less than lockWaitMs (5000, ",
    );
    expect(spelled[0]?.problems[0]).toContain("1500 is used");
    const alone = await load({ user: { yieldMs: limits.hookWaitMs } });
    expect(alone.values).toEqual(defaults);
    expect(alone.problems).toHaveLength(1);
    expect((await load({ user: { lockWaitMs: 5000, yieldMs: 4999 } })).problems).toEqual([]);
    expect((await load({ user: { yieldMs: 20_000 } })).values).toMatchObject({ yieldMs: 20_000 });
  });

  test("moves the yieldMs that a user set below a project's wait, unless its holds yield at once", async () => {
    for (const user of [{ user: { yieldMs: 9000 } }, { env: { KITE_YIELD_MS: "9000" } }]) {
      const tooShort = await load({ ...user, project: { lockWaitMs: 9000 } });
      expect(tooShort.values).toEqual({ ...defaults, lockWaitMs: 9000, yieldMs: 2700 });
      expect(tooShort.sources.yieldMs).toBe(follows);
      expect(tooShort.problems).toEqual([]);
      const longer = await load({ ...user, project: { lockWaitMs: 9001 } });
      expect(longer.values).toMatchObject({ lockWaitMs: 9001, yieldMs: 9000 });
      expect(longer.problems).toEqual([]);
      const atOnce = await load({ ...user, project: { lockWaitMs: 9000, keepLockUntil: "edit" } });
      expect(atOnce.values).toMatchObject({ lockWaitMs: 9000, keepLockUntil: "edit" });
      expect(atOnce.problems).toEqual([]);
    }
  });

  test("goes on without a file that is damaged", async () => {
    const damages = [
      "",
      "{",
      "[]",
      "null",
      '"x"',
      " ".repeat(limits.smallFileBytes + 1),
      '{"__proto__":{"x":1}}',
    ];
    for (const damage of damages) {
      const { values, problems } = await load({ user: damage, project: damage });
      expect(values, damage.slice(0, 20)).toEqual(defaults);
      expect(problems, damage.slice(0, 20)).toHaveLength(2);
    }
  });

  test("does not wait for a FIFO, and follows a link", async () => {
    const dir = join(top, String(count++));
    mkdirSync(dir);
    const config = join(dir, "config.json");
    execFileSync("mkfifo", [config]);
    expect((await loadConfig({ env: {}, paths: { config } })).problems).toHaveLength(1);
    rmSync(config);
    writeFileSync(join(dir, "dotfiles.json"), '{"logLevel":"debug"}');
    symlinkSync("dotfiles.json", config);
    expect((await loadConfig({ env: {}, paths: { config } })).values.logLevel).toBe("debug");
  });

  test("has one file for both in the home directory", async () => {
    const home = join(top, String(count++));
    mkdirSync(join(home, ".kite"), { recursive: true });
    const paths = { config: join(home, ".kite", "config.json") };
    writeFileSync(paths.config, '{"treeGuard":"warn"}');
    const { values, problems } = await loadConfig({ env: {}, paths, projectDir: home });
    expect([values.treeGuard, problems]).toEqual(["warn", []]);
  });

  test("is read the way it is told", async () => {
    const asked: string[] = [];
    const read = async (path: string) => {
      asked.push(path);
      return "{}";
    };
    await loadConfig({ env: {}, paths: { config: "/k/config.json" }, projectDir: "/p", read });
    expect(asked).toEqual(["/k/config.json", "/p/.kite/config.json"]);
  });
});

describe("the nearest word", () => {
  const known = ["file_lock", "file_unlock", "file_check", "query", "ping"];

  test("is found for slips of the finger", () => {
    expect(nearest("file_lokc", known)).toBe("file_lock");
    expect(nearest("filelock", known)).toBe("file_lock");
    expect(nearest("FILE-UNLOCK", known)).toBe("file_unlock");
    expect(nearest("querry", known)).toBe("query");
    expect(nearest("pong", known)).toBe("ping");
    expect(nearest("ping", known)).toBe("ping");
  });

  test("is nothing for other words", () => {
    for (const word of ["", "x", "subscribe", "pingpong", "file", "q".repeat(100_000)]) {
      expect(nearest(word, known), word.slice(0, 20)).toBeNull();
    }
    expect(nearest("ping", [])).toBeNull();
  });
});

test.each([
  [{ notify: "yes" }, /^\S+: notify is ignored: expected an object, such as \{"command": \["notify-send"\]/],
  [{ notify: { waitMs: 5 } }, /notify is ignored: expected an object, .* whole milliseconds from 1000 to/],
  [{ spawn: ["x"] }, /spawn is ignored: expected an object of lists of words, such as \{"other"/],
  [{ spawn: { other: ["x"] } }, /spawn is ignored: expected an object of lists of words/],
  [{ ignore: "*.md" }, /ignore is ignored: expected a list of globs, such as \["\*\.lock", "gen\/"\]$/],
  [{ treeGuard: "yes" }, /treeGuard is ignored: expected deny, warn or off$/],
  [
    { storeGoneMs: 9_999 },
    /storeGoneMs is ignored: expected a whole number of milliseconds from 10000 to 2592000000$/,
  ],
  [{ teams: 1 }, /teams is ignored: expected off, warn or enforce$/],
])("says in words what is expected: %j", async (file, problem) => {
  const { problems } = await loadConfig({
    env: {},
    paths: { config: "/c" },
    read: async path => (path === "/c" ? JSON.stringify(file) : null),
  });
  expect(problems).toEqual([expect.stringMatching(problem)]);
});
