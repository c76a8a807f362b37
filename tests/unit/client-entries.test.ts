/** The entries of clients that deny a call when a hook's program is missing, and count time in units of their own. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { copilotEvents, geminiEvents } from "../../hooks/clients/clients.ts";
import { copilotHooks } from "../../hooks/install/copilot.ts";
import { geminiEntries } from "../../hooks/install/gemini.ts";

describe("Copilot's file", () => {
  const { version, hooks } = copilotHooks(null);

  test("has one entry an event, with its time in seconds", () => {
    expect(version).toBe(1);
    expect(Object.keys(hooks)).toEqual(copilotEvents.map(({ event }) => event));
    for (const { event, timeoutMs, matcher } of copilotEvents)
      expect(hooks[event]).toMatchObject([
        { type: "command", timeoutSec: timeoutMs / 1000, ...(matcher && { matcher }) },
      ]);
  });

  test("gives the write more time than the longest wait, and names the client", () => {
    expect(hooks["PreToolUse"]?.[0]).toMatchObject({
      timeoutSec: 30,
      bash: expect.stringMatching(/^set -- 17000 '' '' copilot; /),
    });
  });
});

test("Gemini CLI's entries have a name, and their time in milliseconds", () => {
  const groups = new Map(geminiEntries(null));
  expect([...groups.keys()]).toEqual(geminiEvents.map(({ event }) => event));
  expect(groups.get("BeforeTool")).toEqual({
    matcher: "^(?:write_file|replace|run_shell_command|mcp_kite_.*)$",
    hooks: [{ name: "kite", type: "command", command: expect.any(String), timeout: 30_000 }],
  });
});

test.each(["/bin/sh", "/bin/bash"])(
  "where Kite is gone, an entry ends with 0 and says nothing: %s",
  shell => {
    const commands = [
      ...Object.values(copilotHooks(null).hooks).flatMap(entries => entries.map(({ bash }) => bash)),
      ...geminiEntries(null).flatMap(([, { hooks }]) => hooks.map(hook => Reflect.get(hook, "command"))),
    ];
    for (const command of new Set(commands)) {
      const env = { PATH: process.env["PATH"] ?? "", KITE_HOME: "/nowhere/kite", HOME: "/nowhere" };
      const { status, stdout, stderr } = spawnSync(shell, ["-c", command], {
        env,
        input: "{}",
        encoding: "utf8",
      });
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
    }
  },
);
