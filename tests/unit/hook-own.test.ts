/** Calls of Kite itself, from the agents' side: which of them makes the call. */
import { describe, expect, it } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { answerOf, type Payload, payload, plan } from "./hook-events.ts";

const mcp = (fields: Payload = {}): Payload => ({
  ...payload("PreToolUse--mcp-tool"),
  tool_name: "mcp__kite__kite_status",
  ...fields,
});
const shell = (command: unknown, fields: Payload = {}): Payload => ({
  ...payload("PreToolUse--Bash-in-subagent"),
  tool_input: { command, description: "look" },
  ...fields,
});
const did = (event: Payload) => plan(event).actions.map(action => action.do);

describe("a call of one of Kite's tools", () => {
  it("says who makes it, and where", () => {
    const { session_id: session, tool_use_id: toolUseId, cwd, prompt_id: promptId } = mcp();
    const call = { toolUseId, cwd, promptId, isBackground: false };
    expect(plan(mcp()).actions.at(-2)).toEqual({ do: "record_tool_use", session, ...call });
    const inSubagent = mcp({ agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" });
    const acts = { do: "record_tool_use", session, agent: "a0954b2b04fdf61ec", ...call };
    expect(plan(inSubagent).actions.at(-2)).toEqual(acts);
    expect(did(inSubagent)).toEqual(["begin", "heartbeat", "record_tool_use", "inbox"]);
    expect(answerOf(plan(inSubagent))).toBeNull();
  });

  it("may come through a plugin", () => {
    expect(did(mcp({ tool_name: "mcp__plugin_kite_kite__kite_lock" }))).toContain("record_tool_use");
  });

  it("is none where the tool is somebody else's", () => {
    for (const tool_name of ["mcp__probe__kite_status", "mcp__kitebox__a", "Task", "kite__x"]) {
      expect(did(mcp({ tool_name }))).not.toContain("record_tool_use");
    }
  });
});

describe("a kite command in the shell", () => {
  const {
    agent_id: agent,
    session_id: session,
    tool_use_id: toolUseId,
    cwd,
    prompt_id: promptId,
  } = shell("");
  const actsOf = (event: Payload) => plan(event).actions.filter(action => action.do === "record_tool_use");

  it("is noted with the agent that types it, and stays as it is: permission rules are held against it", () => {
    const command = "cd src && kite lock a.ts -- make";
    const line = { toolUseId, cwd, command, promptId, isBackground: false };
    expect(actsOf(shell(command))).toEqual([{ do: "record_tool_use", session, agent, ...line }]);
    expect(actsOf(shell("/usr/local/bin/kite status"))).toHaveLength(1);
    expect(answerOf(plan(shell(command)))).toBeNull();
    const main = actsOf(shell(command, { agent_id: undefined }));
    expect(main).toEqual([{ do: "record_tool_use", session, ...line }]);
    const event = shell(command);
    const behind = { ...event, tool_input: { command, run_in_background: true } };
    expect(actsOf(behind)).toMatchObject([{ isBackground: true }]);
  });

  it("is none where the line does not speak of kite", () => {
    for (const command of ["git status", "mykite status", "ls kites", 7, ["kite x"]]) {
      expect(actsOf(shell(command))).toEqual([]);
    }
  });

  it("is remembered within bounds", () => {
    const [acts] = actsOf(shell(`kite context set a ${"x".repeat(100_000)}`));
    expect(acts?.do === "record_tool_use" && acts.command?.length).toBe(limits.typedChars);
  });
});
