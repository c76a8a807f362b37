/** Calls of Kite itself, from the agents' side: which of them makes the call. */
import { describe, expect, it } from "vitest";
import { answerOf, type Payload, payload, plan } from "./hook-events.ts";

const mcp = (fields: Payload = {}): Payload => ({
  ...payload("PreToolUse--mcp-tool"),
  tool_name: "mcp__kite__kite_status",
  ...fields,
});
const shell = (command: string, fields: Payload = {}): Payload => ({
  ...payload("PreToolUse--Bash-in-subagent"),
  permission_mode: "bypassPermissions",
  tool_input: { command, description: "look" },
  ...fields,
});
const did = (event: Payload) => plan(event).actions.map(action => action.do);

describe("a call of one of Kite's tools", () => {
  it("says who makes it, and where", () => {
    const { session_id: session, tool_use_id: toolUseId, cwd } = mcp();
    expect(plan(mcp()).actions.at(-1)).toEqual({ do: "acts", session, toolUseId, cwd });
    const inSubagent = mcp({ agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" });
    const acts = { do: "acts", session, agent: "a0954b2b04fdf61ec", toolUseId, cwd };
    expect(plan(inSubagent).actions.at(-1)).toEqual(acts);
    expect(did(inSubagent)).toEqual(["begin", "seen", "acts"]);
    expect(answerOf(plan(inSubagent))).toBeNull();
  });

  it("may come through a plugin", () => {
    expect(did(mcp({ tool_name: "mcp__plugin_kite_kite__kite_lock" }))).toContain("acts");
  });

  it("is none where the tool is somebody else's", () => {
    for (const tool_name of ["mcp__probe__kite_status", "mcp__kitebox__a", "Task", "kite__x"]) {
      expect(did(mcp({ tool_name }))).not.toContain("acts");
    }
  });
});

describe("a kite command in the shell", () => {
  const agent = shell("kite status")["agent_id"];

  it("is told which agent types it, and keeps the rest of its input", () => {
    expect(answerOf(plan(shell("cd src && kite lock a.ts -- make")))).toEqual({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        updatedInput: {
          command: `export KITE_AGENT='${agent}'; cd src && kite lock a.ts -- make`,
          description: "look",
        },
      },
    });
    expect(answerOf(plan(shell("/usr/local/bin/kite status")))).not.toBeNull();
  });

  it("stays as it is where permission rules are held against it: they would not fit any more", () => {
    for (const permission_mode of ["default", "acceptEdits", "auto", "dontAsk", undefined]) {
      expect(answerOf(plan(shell("kite status", { permission_mode })))).toBeNull();
    }
  });

  it("stays as it is for a main agent, and where it is no such command", () => {
    expect(answerOf(plan(shell("kite status", { agent_id: undefined })))).toBeNull();
    for (const command of ["git status", "mykite status", "ls kites", 7]) {
      expect(answerOf(plan(shell(String(command), { tool_input: { command } })))).toBeNull();
    }
  });

  it("cannot be broken out of by an agent's name", () => {
    const output = answerOf(plan(shell("kite status", { agent_id: "a';rm -rf x;'" })));
    expect(output.hookSpecificOutput.updatedInput.command).toBe(
      "export KITE_AGENT='a'\\'';rm -rf x;'\\'''; kite status",
    );
  });
});
