/** The plugin that `kite plugin` makes, as the real client checks, installs and uses it. */
import { beforeEach, expect, test } from "vitest";
import { programs } from "./programs.ts";
import { call, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.create(programs, false);
  await world.up();
  await world.kite("plugin", world.path("plugin"));
  return () => world.dispose();
});

/** Installs the plugin for a session that is yet to start, by the two commands that `kite plugin` names. */
async function installed(name: string): Promise<void> {
  await world.claude(name, "plugin", "marketplace", "add", world.path("plugin"));
  await world.claude(name, "plugin", "install", "kite@kite");
}

/** Starts a session that writes a file, and waits for its end. */
async function write(name: string): Promise<ClaudeSession> {
  const script = [
    call("toolu_1", "Write", { file_path: world.path("notes.txt"), content: "noted\n" }),
    say("Done."),
  ];
  const env = { KITE_HOME: world.paths.home };
  const session = await world.session(name, script, { settings: world.settings(name), env });
  expect(await session.ended).toBe(0);
  expect(session.model.surprises).toEqual([]);
  return session;
}

/** How often the daemon heard of the events that a session with one call of Write has. */
async function heard(): Promise<Record<string, number | undefined>> {
  const counts = await world.heard();
  const names = ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"];
  return Object.fromEntries(names.map(name => [name, counts[name]]));
}

const once = { SessionStart: 1, UserPromptSubmit: 1, PreToolUse: 1, Stop: 1, SessionEnd: 1 };

test("the client finds nothing wrong with the marketplace and the plugin", async () => {
  for (const folder of ["plugin", "plugin/kite"]) {
    const said = await world.claude("first", "plugin", "validate", world.path(folder), "--strict");
    expect(said).toContain("Validation passed");
    expect(said).not.toMatch(/refuses a submission|ignored at runtime/);
  }
});

test("alone it forwards each event once, and its tools and commands work", async () => {
  await installed("first");
  await write("first");
  expect(await heard()).toEqual(once);
  const second = await world.session(
    "first",
    [call("toolu_1", "mcp__plugin_kite_kite__kite_status", {}), say("Done.")],
    { settings: world.settings("first"), env: { KITE_HOME: world.paths.home }, prompt: "/kite:status" },
  );
  expect(await second.ended).toBe(0);
  expect(second.model.prompts.join("\n")).toContain("Call the tool kite_status.");
  const { text, isError } = second.model.result("toolu_1");
  expect([isError, text]).toEqual([false, expect.stringMatching(/^You are ".+", in project /)]);
});

test("beside the hooks of kite install each event comes once, and agents have each tool once", async () => {
  await installed("first");
  await world.kiteFor("first", "install");
  const session = await write("first");
  expect(await heard()).toEqual(once);
  expect(session.log).toContain('Suppressing plugin MCP server "plugin:kite:kite"');
});

test("beside a project's committed hooks each event comes once", async () => {
  await installed("first");
  await world.kiteFor("first", "install", "--shared", world.repository);
  await write("first");
  expect(await heard()).toEqual(once);
});

test("a project's committed hooks and those of kite install together forward each event once", async () => {
  await world.kiteFor("first", "install", "--shared", world.repository);
  await world.kiteFor("first", "install");
  await write("first");
  expect(await heard()).toEqual(once);
});

test("one command brings a new plugin into new sessions", async () => {
  await installed("first");
  world.write("plugin/kite/commands/status.md", "---\ndescription: old\n---\nWords of an earlier version.\n");
  const prompts = async () => {
    const more = {
      settings: world.settings("first"),
      env: { KITE_HOME: world.paths.home },
      prompt: "/kite:status",
    };
    const session = await world.session("first", [say("Done.")], more);
    expect(await session.ended).toBe(0);
    return session.model.prompts.join("\n");
  };
  expect(await prompts()).toContain("Words of an earlier version.");
  await world.kite("plugin", world.path("plugin"));
  expect(await prompts()).toContain("Call the tool kite_status.");
});
