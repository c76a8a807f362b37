/** What an agent that shares its lead's process is told to use: it has SendMessage, and none of Kite's tools. */
import { describe, expect, test } from "vitest";
import { partsIn } from "../../bin/agents/declare.ts";
import type { GateOutcome, TeamOutcome } from "../../hooks/lead/seam.ts";
import { answerOf, begun, gated, granted, noteOf, payload, plan, refused, team } from "./hook-events.ts";

const mate = { agent_id: "aalice-5d0b10a1332e636f", agent_type: "alice" };
const edit = payload("PreToolUse--Edit");
const byMain = plan(edit);
const bySubagent = plan({ ...edit, agent_id: "a0954b2b04fdf61ec", agent_type: "general-purpose" });
const byTeammate = plan({ ...edit, ...mate });
const completion = payload("TaskCompleted--at-idle-with-open-task");
const letter = payload("PreToolUse--SendMessage-lead-to-teammate");

const all = { identity: "identity.role: x", understanding: "understanding.task: x", codeView: "codeView: x" };
const denied: GateOutcome = {
  ...{ did: "gate_write", ok: true, verdict: "deny", isRepeated: false, task: null },
  findings: Object.entries(all).map(([gate, sentence]) => ({
    ...{ gate: gate as keyof typeof all, mode: "enforce", missing: [sentence] },
  })),
};
const role: GateOutcome = {
  ...denied,
  findings: [{ gate: "role", mode: "enforce", missing: ["role: leave it to bob (kite message send)"] }],
};
const reasonOf = (said: ReturnType<typeof answerOf>): string =>
  said.hookSpecificOutput.permissionDecisionReason;
const contextOf = (said: ReturnType<typeof answerOf>): string => said.hookSpecificOutput.additionalContext;

describe("a teammate within its lead's process", () => {
  test("is sent to the command alone, all others to the tool, too", () => {
    for (const outcome of [denied, { ...denied, isRepeated: true }]) {
      const [main, subagent, teammate] = [byMain, bySubagent, byTeammate].map(one =>
        reasonOf(answerOf(one, begun, outcome)),
      );
      expect(main).toContain("with the tool kite_declare, or:");
      expect(subagent).toBe(main);
      expect(teammate).toBe(main?.replace(" with the tool kite_declare, or:", ":"));
    }
    const task = { ...denied, did: "gate_complete" } as const;
    const { agent_id: _id, agent_type: _type, ...byLead } = completion;
    expect(answerOf(plan(byLead), task).reason).toContain("kite_declare");
    const teammates = answerOf(plan(completion), task).reason;
    expect(teammates).not.toContain("kite_declare");
    expect(teammates).toContain("kite declare --help");
  });

  test("writes to its team with the client's own tool", () => {
    const way = "(SendMessage within your team, else kite message send)";
    expect(reasonOf(answerOf(byMain, begun, role))).toContain("bob (kite message send)");
    expect(reasonOf(answerOf(byTeammate, begun, role))).toContain(`bob ${way}`);
    const refusal = { ok: false, error: "held", code: "lock_held" } as const;
    const held = refused("lock", refusal, { holder: noteOf({ stays: "kept" }) });
    expect(reasonOf(answerOf(byTeammate, begun, held))).toContain(`to release it ${way}`);
    const overlap = { what: "overlap", file: "/p/a.ts", other: "bob", will: "" } as const;
    const same = {
      what: "same_file",
      file: "/p/b.ts",
      other: "bob@desk",
      session: "bob@n2.1.1",
      branch: "pay",
    } as const;
    const health = [
      {
        what: "asked",
        name: "alice",
        state: "stalled",
        forMs: 1,
        tasks: [],
        taskNumbers: [],
        locks: 0,
      } as const,
    ];
    const inbox = {
      did: "inbox",
      ok: true,
      messages: [],
      unread: 0,
      notes: [overlap, same],
      health,
    } as const;
    const said = contextOf(answerOf(byTeammate, begun, granted(), inbox));
    expect(said).toContain('committed changes of the same file on branch "pay": ');
    expect(said.split(way)).toHaveLength(4);
    expect(contextOf(answerOf(byMain, begun, granted(), inbox))).not.toContain("SendMessage");
  });

  test("is not advised to begin a teammate, in its lead's process or in a pane", () => {
    const dead: TeamOutcome["findings"][number] = { rule: "dead_letter", to: "carol" };
    const owner = {
      rule: "unknown_owner",
      task: "1",
      owner: "dan",
      isDead: false,
      members: ["bob"],
    } as const;
    const lead = reasonOf(answerOf(plan(letter), team("deny", dead, owner)));
    expect(lead).toContain("begin a new teammate (Agent)");
    expect(lead).toContain("begin a teammate of that name first (Agent)");
    const teammates = { ...team("deny", dead, owner), isTeammate: true } as TeamOutcome;
    const said = reasonOf(answerOf(plan(letter), teammates));
    expect(said).not.toContain("Agent");
    expect(said).toContain("ask your lead");
  });
});

test("a denial's form names the agent's own file and task, and leaves the rest to its own words", () => {
  const form = (outcome: GateOutcome) => {
    const lines = reasonOf(answerOf(byMain, begun, outcome)).split("\n");
    return lines.slice(lines.indexOf("kite declare - <<'EOF'") + 1, -1);
  };
  const text = form({ ...denied, task: "Page the orders" }).join("\n");
  expect(text).not.toContain("login");
  // As it stands it names what is empty: the role is none.
  expect(partsIn(text, "the form")).toMatchObject({ error: expect.stringContaining("identity.role") });
  expect(partsIn(text.replace('role: ""', "role: tester"), "the form")).toEqual({
    parts: {
      identity: { role: "tester" },
      understanding: { task: "Page the orders", reason: "", plan: [""] },
      codeView: [{ file: expect.stringContaining("a.txt"), sees: "", will: "" }],
    },
  });
  const only = { ...denied, findings: denied.findings.filter(({ gate }) => gate === "codeView") };
  // Whoever copies it keeps what it declared before.
  expect(form(only)).toHaveLength(1);
  expect(answerOf(byMain, gated("gate_write", "deny"))).not.toBeNull();
});
