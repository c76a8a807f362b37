/** What both clients leave for the next daemon of an event that ends something and that nobody took. */
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { answer, HookWorld, hookPrograms, type Run, silent } from "./hook-clients.ts";

const ids = { session_id: "s-1", agent_id: "aalice-5d0b10a1332e636f", tool_use_id: "toolu_01.x:y" };
const post = {
  ...ids,
  cwd: "/p",
  hook_event_name: "PostToolUse",
  tool_name: "Edit",
  tool_input: { file_path: "/p/a", new_string: '"agent_id":"b"' },
  duration_ms: 4,
};

describe.each(hookPrograms)("the $name client", program => {
  let world: HookWorld;
  const file = () => join(world.home, "unheard-ends");
  const lines = (path = file()) =>
    existsSync(path)
      ? readFileSync(path, "utf8")
          .trimEnd()
          .split("\n")
          .map(line => JSON.parse(line))
      : [];

  beforeEach(() => {
    world = new HookWorld(program);
  });

  afterEach(() => world.dispose());

  async function leaves(event: unknown, options: Run = {}): Promise<unknown[]> {
    const before = lines().length;
    const stdin = typeof event === "string" ? event : JSON.stringify(event);
    expect(await world.run({ stdin, ...options })).toEqual(silent);
    return lines()
      .slice(before)
      .map(({ event: left }) => left);
  }

  const only = (name: string, more = {}) => ({ ...ids, hook_event_name: name, ...more });

  test.each(["PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "StopFailure", "SessionEnd"])(
    "leaves the ids of a %s, its process and its time",
    async name => {
      const from = Math.floor(Date.now() / 1000) * 1000;
      const event = { ...post, hook_event_name: name, last_assistant_message: "secret", prompt: "secret" };
      await leaves(event, { env: { CLAUDE_PID: "4711" } });
      expect(readFileSync(file(), "utf8")).not.toContain("secret");
      expect(lines()).toEqual([
        { at: expect.any(Number), pid: 4711, event: { ...only(name), tool_name: "Edit" } },
      ]);
      expect(lines()[0].at).toBeGreaterThanOrEqual(from);
      expect(lines()[0].at).toBeLessThanOrEqual(Date.now());
    },
  );

  test("of another client: an interrupted turn, by its name, and never the process of Claude Code", async () => {
    const interrupted = only("Interrupt");
    await leaves(interrupted, { env: { CLAUDE_PID: "4711" }, more: ["", "", "codex"] });
    expect(lines()).toEqual([
      { at: expect.any(Number), pid: process.pid, event: interrupted, client: "codex" },
    ]);
  });

  test.each(["AfterTool", "AfterAgent"])("of Gemini CLI: %s", async name => {
    const event = only(name);
    expect(await leaves(event, { more: ["", "", "gemini"] })).toEqual([event]);
  });

  test("of Copilot: an agent's, with its parent", async () => {
    const event = only("Stop", { agent_id: "a-1", parent_agent_id: "s-1" });
    expect(await leaves(event, { more: ["", "", "copilot"] })).toEqual([event]);
  });

  test("names its parent where the client names no process", async () => {
    await leaves(only("Stop"), { env: { CLAUDE_PID: "x" } });
    expect(lines()).toMatchObject([{ pid: process.pid }]);
  });

  test.each([
    "PreToolUse",
    "UserPromptSubmit",
    "SessionStart",
    "SubagentStart",
    "Notification",
    "PostToolUses",
  ])("leaves nothing of a %s", async name => {
    const { stdout, ...ended } = await world.run({
      stdin: JSON.stringify({ ...post, hook_event_name: name }),
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(lines()).toEqual([]);
  });

  test.each([
    [
      "a text that is a whole event",
      { tool_input: { content: JSON.stringify(only("Stop", { agent_id: "b" })) } },
    ],
    ["fields of the same names further in", { tool_input: { a: [{ agent_id: "b", session_id: "b" }] } }],
    ["names as values", { permission_mode: "agent_id", agent_type: "session_id" }],
    ["odd ends of texts", { prompt: '\\",\\"agent_id\\":\\"b\\",', x: "\\\\", y: '"', z: "{[" }],
    ["brackets in keys", { "{[": 1, '"agent_id': "b", "agent_id ": "b" }],
    ["long texts", { prompt: `"${"agent_id ".repeat(100_000)}`, tool_response: { x: "{".repeat(100_000) } }],
    ["text beyond ASCII", { prompt: '漢"\u2028', tool_response: ["\u0000"] }],
  ])("takes no id from %s", async (_, more) => {
    expect(await leaves({ ...more, ...post, ...more })).toEqual([only("PostToolUse", { tool_name: "Edit" })]);
  });

  test.each([
    ["an agent that is no text", { agent_id: 7 }],
    ["an agent that is empty", { agent_id: "" }],
    ["an agent that is an object", { agent_id: { a: 1 } }],
    ["an agent with other signs", { agent_id: "a b" }],
    ["an agent that is too long", { agent_id: "a".repeat(limits.idBytes + 1) }],
    ["no session", { session_id: null }],
    ["a session that is a list", { session_id: ["s"] }],
    ["a name that is no end", { hook_event_name: "Stop2" }],
  ])("leaves nothing of %s", async (_, more) => {
    expect(await leaves({ ...post, ...more })).toEqual([]);
  });

  test("an agent that is null is none", async () => {
    const { agent_id: _, ...rest } = only("Stop");
    expect(await leaves({ ...only("Stop"), agent_id: null })).toEqual([rest]);
  });

  test.each([
    "",
    "null",
    "[]",
    "{",
    '{"hook_event_name":"Stop","session_id":"s"',
    '{"hook_event_name":"Stop","session_id":"s"}}',
  ])("leaves nothing of %j", async stdin => {
    expect(await leaves(stdin)).toEqual([]);
  });

  test("leaves nothing where Kite is off, of a second hook, or where a daemon answers", async () => {
    expect(await leaves(only("Stop"), { env: { KITE: "off" } })).toEqual([]);
    writeFileSync(join(world.home, "off"), "");
    expect(await leaves(only("Stop"))).toEqual([]);
    writeFileSync(join(world.home, "off"), "x");
    expect(await leaves(only("Stop"), { wake: true })).toEqual([]);
    expect(await leaves(only("Stop"), { more: ["statusline"] })).toEqual([]);
    await world.daemon(socket => socket.end(answer()));
    expect(await leaves(only("Stop"))).toEqual([]);
  });

  test("leaves it where the daemon goes before it answers, or says nothing", async () => {
    const gone = await world.daemon(socket => socket.destroy());
    expect(await leaves(only("Stop"))).toHaveLength(1);
    await gone.close();
    await world.daemon(() => undefined);
    expect(await leaves(only("Stop"), { budget: "100" })).toHaveLength(1);
  });

  test("keeps to its bound, and drops the older half", async () => {
    const old = (n: number) => `${JSON.stringify({ at: n, pid: 1, event: {} })}\n`;
    const half = limits.unheardEndsBytes / 2;
    const text = old(1).repeat(Math.floor(half / old(1).length));
    writeFileSync(file(), text);
    writeFileSync(`${file()}.old`, old(0));
    expect(await world.run({ stdin: JSON.stringify(only("Stop")) })).toEqual(silent);
    expect(readFileSync(`${file()}.old`, "utf8")).toBe(text);
    expect(lines()).toMatchObject([{ event: only("Stop") }]);
    expect(statSync(file()).size + statSync(`${file()}.old`).size).toBeLessThanOrEqual(
      limits.unheardEndsBytes,
    );
  });

  test("writes to no link", async () => {
    const other = join(world.home, "other");
    writeFileSync(other, "");
    symlinkSync(other, file());
    await world.run({ stdin: JSON.stringify(only("Stop")) });
    expect(readFileSync(other, "utf8")).toBe("");
  });
});
