import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refuse } from "../../protocol/codes.ts";
import { codexPayload, codexPlan, codexRecorded } from "./codex-events.ts";
import {
  answerOf,
  begun,
  context,
  gated,
  granted,
  looked,
  noteOf,
  type Payload,
  refused,
} from "./hook-events.ts";

const doing = (event: Payload) => codexPlan(event).actions.map(action => action.do);
const three = codexPayload("PreToolUse--apply_patch-three-files-code-mode");
const move = codexPayload("PreToolUse--apply_patch-move");
const bash = codexPayload("PreToolUse--Bash");

describe("a patch before it is applied", () => {
  test("asks for all its files at once, by the prompt's turn", () => {
    const lock = codexPlan(three).actions.find(action => action.do === "lock");
    expect(lock).toMatchObject({
      session: three["session_id"],
      cwd: "/home/ana/shop",
      file: "src/auth.ts",
      moreFiles: ["src/pay.ts", "src/new.ts"],
      promptId: three["turn_id"],
      toolUseId: three["tool_use_id"],
      pid: 40,
      // Only what the patch adds or deletes as a whole can lose a change: the client checks the lines of the others.
      overwrites: ["src/new.ts"],
      unchecked: { whole: ["src/new.ts"] },
    });
    expect(doing(three)).toEqual(["begin", "heartbeat", "check_own_files", "gate_files", "lock", "inbox"]);
  });

  test("a move counts as two files", () => {
    const lock = codexPlan(move).actions.find(action => action.do === "lock");
    expect(lock).toMatchObject({ file: "src/pay.ts", moreFiles: ["src/billing/pay.ts"] });
    expect(lock).toMatchObject({ overwrites: ["src/billing/pay.ts"] });
  });

  test("that changes lines of a file loses none of it", () => {
    const lock = codexPlan(codexPayload("PreToolUse--apply_patch-update-absolute")).actions.find(
      action => action.do === "lock",
    );
    expect(lock).toMatchObject({ overwrites: [], file: "/home/ana/shop/src/auth.ts", moreFiles: [] });
  });

  test("what cannot be read goes ahead, and the trail says so", () => {
    const odd = { ...three, tool_input: { command: "*** Begin Patch\n*** Rename File: a\n*** End Patch" } };
    const note = codexPlan(odd).actions.find(action => action.do === "guard");
    expect(doing(odd)).not.toContain("lock");
    expect(note).toMatchObject({ commands: [], aliases: [], unread: expect.stringContaining("header") });
    expect(answerOf(codexPlan(odd), begun)).toBeNull();
  });

  test("a denial names the file that is held", () => {
    const held = refused("lock", refuse("lock_timeout", "held", { path: "/home/ana/shop/src/pay.ts" }), {
      holder: noteOf({ file: "/home/ana/shop/src/pay.ts" }),
      waitMs: 50_000,
    });
    const { hookSpecificOutput: said } = answerOf(codexPlan(three), begun, held);
    expect(said.hookEventName).toBe("PreToolUse");
    expect(said.permissionDecision).toBe("deny");
    expect(said.permissionDecisionReason).toContain(
      "Kite: this patch did not run: another agent holds the file.",
    );
    expect(said.permissionDecisionReason).toContain('"src/pay.ts" is held by "bob"');
  });

  test("a patch whose lines are checked runs, and its agent hears which file changed", () => {
    const changed = granted({
      changedWhileWaiting: true,
      changedFile: "/home/ana/shop/src/pay.ts",
      changedBy: { name: "bob", lines: "line 2" },
      verdict: "allow_with_note",
      waitedMs: 2_000,
    });
    const { hookSpecificOutput: said } = answerOf(codexPlan(three), begun, changed);
    expect(said).not.toHaveProperty("permissionDecision");
    expect(said.additionalContext).toContain('"bob" changed line 2 of "src/pay.ts"');
  });

  test("a gate that holds it back is asked for each file, new ones too", () => {
    const gate = codexPlan(three).actions.find(action => action.do === "gate_files");
    expect(gate).toMatchObject({ files: ["src/auth.ts", "src/pay.ts", "src/new.ts"], hasNewFiles: true });
    const { hookSpecificOutput: said } = answerOf(codexPlan(three), begun, gated("gate_files", "deny"));
    expect(said.permissionDecisionReason).toContain("Kite: this patch did not run.");
  });
});

test("an applied patch wrote each of its files", () => {
  const ends = codexPlan(codexPayload("PostToolUse--apply_patch-three-files-code-mode")).actions.filter(
    action => action.do === "flight_end",
  );
  expect(ends).toMatchObject(
    ["src/auth.ts", "src/pay.ts", "src/new.ts"].map(file => ({
      file,
      wrote: true,
      toolUseId: three["tool_use_id"],
    })),
  );
});

test("its end without its text ends the write of what was locked for it", () => {
  const { tool_input: _, ...ids } = codexPayload("PostToolUse--apply_patch");
  expect(codexPlan(ids).actions).toContainEqual(
    expect.objectContaining({ do: "flight_end", file: null, wrote: true }),
  );
});

describe("a shell line", () => {
  test("is guarded where it runs", () => {
    const stash = { ...bash, tool_input: { command: "git stash" }, cwd: "/home/ana/shop/src" };
    expect(codexPlan(stash).actions).toContainEqual(
      expect.objectContaining({ do: "guard", cwd: "/home/ana/shop/src", line: "git stash push" }),
    );
  });

  test.each(["heredoc-patch", "cd-heredoc-patch"])("waits for the files of a patch in it: %s", name => {
    const plain = codexPlan(codexPayload(`PreToolUse--Bash-${name}`)).actions.find(
      action => action.do === "plain_files",
    );
    expect(plain).toMatchObject({
      named: { edited: [{ name: "apply_patch", path: "/home/ana/shop/src/auth.ts", isMoved: false }] },
    });
  });

  test("a variable of another client, in whose shell this one began, says nothing here", () => {
    const env = { CLAUDE_PROJECT_DIR: "/elsewhere", KITE_SPAWN: "n1", CLAUDE_PID: "7", HOME: "/h" };
    const line = { ...bash, tool_input: { command: "rm $CLAUDE_PROJECT_DIR/a" } };
    const plan = codexPlan(line, { ...context, env });
    expect(JSON.stringify(plan.actions)).not.toContain("/elsewhere");
    expect(JSON.stringify(plan.actions)).not.toContain('"pid":7');
  });

  test("the record of a spawned agent is named: it belongs to the first session that names it", () => {
    expect(codexPlan(bash, { ...context, env: { KITE_SPAWN: "n1" } }).spawn).toBe("n1");
  });
});

describe("turns and sessions", () => {
  test("a prompt ends the locks of the turn before", () => {
    const prompt = codexPayload("UserPromptSubmit--main");
    expect(codexPlan(prompt).actions).toContainEqual(
      expect.objectContaining({ do: "turn_end", keepPrompt: prompt["turn_id"] }),
    );
  });

  test.each(["Stop--plain", "Interrupt--esc-while-a-hook-holds"])("%s ends the turn", name => {
    expect(codexPlan(codexPayload(name)).actions).toContainEqual(
      expect.objectContaining({ do: "turn_end", session: codexPayload(name)["session_id"] }),
    );
  });

  test("a subagent is an actor of its own, to which the main agent's locks pass", () => {
    const event = codexPayload("PreToolUse--apply_patch-in-subagent-v2");
    const lock = codexPlan(event).actions.find(action => action.do === "lock");
    expect(lock).toMatchObject({ agent: event["agent_id"], ancestors: [null] });
    expect(doing(codexPayload("UserPromptSubmit--subagent-v1"))).not.toContain("turn_end");
  });

  test("a session begins with what the others do, and ends by its own event", () => {
    const plan = codexPlan(codexPayload("SessionStart--startup"));
    const { hookSpecificOutput: said } = answerOf(plan, begun, looked);
    expect(said).toMatchObject({
      hookEventName: "SessionStart",
      additionalContext: expect.stringContaining("bob"),
    });
    expect(plan.answer([begun, looked])).not.toHaveProperty("env");
    expect(codexPlan(codexPayload("SessionEnd--other")).actions).toEqual([
      expect.objectContaining({ do: "end", cause: "other" }),
    ]);
  });
});

describe("over every recorded event", () => {
  const all = codexRecorded();

  test.each(all)("$name is of its session, and says nothing of itself", ({ event }) => {
    const plan = codexPlan(event);
    expect(plan.session).toBe(event["session_id"]);
    expect(plan.event).toBe(event["hook_event_name"]);
    expect(plan.answer([begun])).toEqual({ output: "" });
  });

  test("nothing throws or allows, whatever the fields hold", () => {
    const value = fc.oneof(fc.constant(null), fc.string(), fc.integer(), fc.object());
    const changed = fc.tuple(fc.constantFrom(...all), fc.nat(20), value).map(([{ event }, at, put]) => {
      const names = Object.keys(event);
      return { ...event, [names[at % names.length] ?? "cwd"]: put };
    });
    const held = refused("lock", refuse("lock_held", "held"), { holder: noteOf() });
    fc.assert(
      fc.property(changed, event => {
        for (const outcomes of [[], [begun], [begun, held], [begun, granted()], [begun, looked]])
          expect(codexPlan(event).answer(outcomes).output).not.toContain('"allow"');
      }),
    );
  });
});
