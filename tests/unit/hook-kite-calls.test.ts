/** Calls of Kite itself, by its tools and in the shell. */
import { describe, expect, it } from "vitest";
import { claudeCodeClient } from "../../hooks/claude-code/adapter.ts";
import { hiddenDeed } from "../../hooks/plans/kite-calls.ts";
import { limits } from "../../protocol/limits.ts";
import { answerOf, type Payload, payload, plan } from "./hook-events.ts";

// Calls of Kite itself, from the agents' side: which of them makes the call.

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

// Lines that run a person's command of Kite so that Kite cannot tell whose it is: an agent's hook refuses them.
describe("a hidden call of Kite", () => {
  it.each<[string, string]>([
    ["env -u CLAUDECODE kite role bob lead", "kite role"],
    ["env -u CLAUDECODE -u CLAUDE_CODE_SESSION_ID kite task approve 1a", "kite task"],
    ["env -i HOME=/h kite agents stop bob", "kite agents"],
    ["env - kite off", "kite off"],
    ["setsid kite release bob", "kite release"],
    ["setsid -f nohup /usr/bin/env -u KITE_SESSION ~/bin/kite thaw", "kite thaw"],
    ["nohup kite check --trust --yes &", "kite check"],
    ["unset CLAUDECODE; kite down --yes", "kite down"],
    ["CLAUDECODE= kite unlock --force a.ts", "kite unlock"],
    ["KITE_SESSION=alice kite release bob", "kite release"],
    ["export CLAUDE_CODE_SESSION_ID=x && kite stop bob", "kite stop"],
    ["bash -c 'env -u CLAUDECODE kite install'", "kite install"],
    ['cd /p && (setsid sh -c "kite config set treeGuard off")', "kite config"],
    ["env -u CLAUDECODE kite store leave --yes", "kite store"],
    ["timeout 9 env --ignore-environment kite doctor --fix --yes", "kite doctor"],
  ])("%s", (line, deed) => {
    expect(hiddenDeed(line, "/p", claudeCodeClient.words.agentVariables)).toBe(deed);
  });

  it.each([
    "kite role bob lead",
    "kite release bob",
    "env -u CLAUDECODE kite status",
    "setsid kite task list",
    "env -u NODE_OPTIONS kite task done 1a",
    "nohup npm start & kite task done 1a",
    "KITE_HOME=/tmp/k kite task done 1a",
    "git commit -m 'kite role works under setsid and nohup'",
    "echo 'env -u CLAUDECODE kite role bob lead'",
    "grep -rn 'nohup kite down' docs",
    "env -u CLAUDECODE kite unlock a.ts",
    "env -u CLAUDECODE kite store --json",
  ])("%s is not one", line => {
    expect(hiddenDeed(line, "/p", claudeCodeClient.words.agentVariables)).toBeNull();
  });
});
