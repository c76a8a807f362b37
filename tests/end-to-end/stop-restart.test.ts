/** Stopping the daemon below sessions at work, and what a restart leaves of them; settings by command. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home } from "./daemon.ts";

let home: Home;
beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(() => home.dispose());

const ids = {
  alice: "11111111-1111-4111-8111-111111111111",
  bob: "22222222-2222-4222-8222-222222222222",
};

/** Sends an event of the client as its hook does. */
async function event(id: string, name: string, more: object = {}): Promise<void> {
  const client = await home.connect();
  const payload = { hook_event_name: name, session_id: id, cwd: home.work, ...more };
  const reply = await client.ask({ type: "hook", event: payload });
  expect(reply).toMatchObject({ ok: true });
  client.destroy();
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly attention: string | null;
  readonly agents: readonly { readonly agent: string; readonly status: string }[];
  readonly health?: { readonly state: string };
}

async function rows(): Promise<Row[]> {
  const client = await home.connect();
  const { rows: found } = await client.ask({ type: "query", target: "sessions" });
  client.destroy();
  return (found as Row[]).map(({ id, status, attention, agents, health }) => ({
    id,
    status,
    attention,
    agents: agents.map(({ agent, status: now }) => ({ agent, status: now })),
    ...(health === undefined ? {} : { health: { state: health.state } }),
  }));
}

/** Alice needs a person, bob runs a subagent and has one whose turn ended. */
async function atWork(): Promise<void> {
  await event(ids.alice, "SessionStart", { source: "startup" });
  await event(ids.alice, "UserPromptSubmit", { prompt: "x", prompt_id: "p1" });
  await event(ids.alice, "PermissionRequest", { tool_name: "Bash", tool_input: { command: "ls" } });
  await event(ids.bob, "SessionStart", { source: "startup" });
  await event(ids.bob, "UserPromptSubmit", { prompt: "x", prompt_id: "p2" });
  await event(ids.bob, "SubagentStart", { agent_id: "a1", agent_type: "Explore" });
  await event(ids.bob, "SubagentStart", { agent_id: "a2", agent_type: "Explore" });
  await event(ids.bob, "SubagentStop", { agent_id: "a2", agent_type: "Explore" });
}

describe("a stop with sessions at work", () => {
  it("says who they are, and goes on without a terminal", async () => {
    await atWork();
    const said = await home.kite("down");
    expect(said).toMatch(
      /^2 sessions at work: \S+, \S+\nTheir edits are not coordinated until the next kite up\.\nkite stopped: pid \d+\n$/,
    );
    expect(await home.kite("down")).toBe("kite was not running\n");
  });

  it("names them as JSON, and no session at rest", async () => {
    await event(ids.alice, "SessionStart", { source: "startup" });
    expect(JSON.parse(await home.kite("down", "--json"))).toMatchObject({ stopped: true, atWork: [] });
  });
});

it("a restart leaves who needs a person, who is active and which subagents live as they were", async () => {
  await atWork();
  const before = await rows();
  expect(before.find(({ id }) => id === ids.alice)).toMatchObject({
    status: "active",
    attention: expect.stringContaining("permission for Bash"),
  });
  expect(before.find(({ id }) => id === ids.bob)?.agents).toEqual([
    { agent: "a1", status: "active" },
    { agent: "a2", status: "idle" },
  ]);
  await home.kite("down", "--yes");
  await home.start();
  expect(await rows()).toEqual(before);
});

it("after kill -9 who needs a person, who is active and which subagents live is as it was", async () => {
  await atWork();
  const before = await rows();
  // What presence is on disk, a killed daemon cannot write any more. A save may come between two of the events.
  await expect.poll(() => existsSync(home.paths.presence)).toBe(true);
  const stored = () => JSON.parse(readFileSync(home.paths.presence, "utf8")).sessions;
  await expect.poll(stored).toMatchObject({
    [ids.alice]: { active: true, dialogs: [{ text: expect.stringContaining("permission for Bash") }] },
    [ids.bob]: {
      active: true,
      agents: [
        { id: "a1", active: true },
        { id: "a2", active: false },
      ],
    },
  });
  await home.daemon.kill();
  expect(await home.kite("up")).toMatch(/^kite started: /);
  expect(await rows()).toEqual(before);
  await home.kite("down", "--yes");
});

describe("kite config set", () => {
  const config = () => JSON.parse(readFileSync(home.paths.config, "utf8"));
  const failing = (...args: string[]) =>
    home.kite(...args).then(
      () => "done",
      (error: { readonly stderr: string }) => error.stderr,
    );

  it("writes what the daemon takes, and keeps the rest of the file", async () => {
    writeFileSync(home.paths.config, '{\n    "treeGuard": "warn"\n}\n');
    await home.kite("config", "set", "lockWaitMs", "20000");
    await home.kite("config", "set", "logLevel", "debug");
    await home.kite("config", "set", "ignore", "*.lock:dist/**");
    await home.kite("config", "set", "gates", '{"identity":"warn"}');
    expect(readFileSync(home.paths.config, "utf8")).toContain(
      '    "treeGuard": "warn",\n    "lockWaitMs": 20000,\n',
    );
    expect(config()).toEqual({
      treeGuard: "warn",
      lockWaitMs: 20_000,
      logLevel: "debug",
      ignore: ["*.lock", "dist/**"],
      gates: { identity: "warn" },
    });
    await home.kite("config", "unset", "gates");
    expect(config()).not.toHaveProperty("gates");
  });

  it("refuses what the daemon would not take", async () => {
    expect(await failing("config", "set", "lockwaitms", "5")).toBe(
      "kite: lockwaitms is no setting of Kite; did you mean lockWaitMs?\n",
    );
    expect(await failing("config", "set", "logLevel", "loud")).toMatch(/^kite: logLevel was not set: /);
    const withPassword = await failing("config", "set", "store", "postgresql://ada:hunter2@db.example/kite");
    expect(withPassword).toMatch(/^kite: store was not set: the store's address has a password/);
    expect(withPassword).not.toContain("hunter2");
    expect(await failing("config", "set", "yieldMs", "50000")).toMatch(
      /must be less than lockWaitMs \(50000\)/,
    );
    writeFileSync(home.paths.config, "{\n  no JSON\n}");
    expect(await failing("config", "set", "logLevel", "debug")).toMatch(
      /config\.json: it is not valid JSON \(line 2, column 3/,
    );
  });

  it("moves a yieldMs that a shorter wait does not outlast", async () => {
    await home.kite("config", "set", "yieldMs", "9000");
    const said = await home.kite("config", "set", "lockWaitMs", "8000");
    expect(said).toContain("yieldMs was not less than that and is left out: it follows lockWaitMs again");
    expect(config()).toEqual({ lockWaitMs: 8000 });
    const shown = JSON.parse(await home.kite("config", "--json"));
    expect([shown.settings.lockWaitMs.value, shown.settings.yieldMs.value, shown.problems]).toEqual([
      8000,
      2400,
      [],
    ]);
  });

  it("is a person's, not an agent's", async () => {
    const env = { ...home.environment, CLAUDECODE: "1" };
    const said = await home
      .kiteIn(env, "config", "set", "treeGuard", "off")
      .catch((e: { stderr: string }) => e.stderr);
    expect(said).toBe(
      "kite: only a person changes Kite's settings; ask your user to run in a terminal of their own: kite config set treeGuard off\n",
    );
  });
});
