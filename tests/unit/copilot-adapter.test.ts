import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copilotEvents } from "../../hooks/clients/clients.ts";
import { copilot } from "../../hooks/clients/copilot.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { payloadOf, recordedOf } from "./client-events.ts";
import { answerOf, begun, context, granted, looked, noteOf, type Payload, refused } from "./hook-events.ts";

const payload = (name: string) => payloadOf("copilot", name);
const plan = (event: Payload, cx = context) => copilot.plan(event, cx);
const action = (event: Payload, does: string) => plan(event).actions.find(one => one.do === does);
const doing = (event: Payload) => plan(event).actions.map(one => one.do);

const edit = payload("PreToolUse--Edit");
const patch = payload("PreToolUse--Edit-patch-two-files");
const bash = payload("PreToolUse--Bash");

describe("an edit", () => {
  test.each([
    ["PreToolUse--Edit", "/home/ana/shop/src/a.ts"],
    ["PreToolUse--Edit-relative", "src/a.ts"],
    ["PreToolUse--Write", "/home/ana/shop/src/new.ts"],
  ])("%s asks for its file beside what the message asked for before", (name, file) => {
    expect(action(payload(name), "lock")).toMatchObject({
      file,
      cwd: "/home/ana/shop",
      promptId: null,
      pid: 40,
      beside: true,
      untoldMs: 600_000,
    });
  });

  test("a patch of a GPT model asks for all its files", () => {
    expect(action(patch, "lock")).toMatchObject({ file: "src/a.ts", moreFiles: ["src/new.ts"] });
  });

  test("its end is found by its words", () => {
    const id = (event: Payload) =>
      plan(event).actions.flatMap(one => ("toolUseId" in one ? [one.toolUseId] : []));
    for (const name of ["Edit", "Write", "Bash", "Edit-patch-two-files"]) {
      const [begin] = id({ ...payload(`PreToolUse--${name}`), ...(name === "Bash" ? stash : {}) });
      const [end] = id({ ...payload(`PostToolUse--${name}`), ...(name === "Bash" ? stash : {}) });
      expect(begin).toBeDefined();
      expect(end).toBe(begin);
    }
  });

  test("wrote its file, or failed and wrote nothing", () => {
    expect(action(payload("PostToolUse--Edit"), "flight_end")).toMatchObject({ wrote: true });
    const failed = payload("PostToolUseFailure--Edit-relative");
    expect(action(failed, "flight_end")).toMatchObject({ wrote: false, file: "src/a.ts" });
    expect(action(failed, "record_result")).toMatchObject({ error: "No match found" });
    const ends = plan(payload("PostToolUse--Edit-patch-two-files")).actions.filter(
      one => one.do === "flight_end",
    );
    expect(ends).toMatchObject([{ file: "src/a.ts" }, { file: "src/new.ts" }]);
  });

  test("is denied in the client's own form", () => {
    const held = refused("lock", refuse("lock_timeout", "held"), { holder: noteOf(), waitMs: 15_000 });
    const said = answerOf(plan(edit), begun, held);
    expect(said).toEqual({
      permissionDecision: "deny",
      permissionDecisionReason: expect.stringContaining("another agent holds the file"),
    });
  });

  test("a cycle is refused in words: one edit a message", () => {
    const cycle = refused("lock", refuse("lock_deadlock", "bob waits for you"), {
      holder: noteOf(),
      waitMs: 0,
    });
    const said = answerOf(plan(edit), begun, cycle);
    expect(said.permissionDecisionReason).toContain("Waiting for it would close a cycle of waits");
    expect(said.permissionDecisionReason).toContain("Make one edit a message");
  });
});

const stash = { tool_input: { command: "git stash" } };

test("a shell line is guarded", () => {
  expect(action({ ...bash, ...stash }, "guard")).toMatchObject({
    line: "git stash push",
    cwd: "/home/ana/shop",
  });
});

test("a call of Kite's tools shows what is new, and asks for nothing else", () => {
  expect(doing(payload("PreToolUse--kite-kite_inbox"))).toEqual(["begin", "heartbeat"]);
  const other = { ...payload("PreToolUse--kite-kite_inbox"), tool_name: "kite-kite_status" };
  expect(doing(other)).toEqual(["begin", "heartbeat", "inbox"]);
});

describe("sessions, turns and agents", () => {
  const main = payload("SessionStart--new")["session_id"];

  test("an agent is one of its parent's session, to which the main agent's locks pass", () => {
    const event = payload("PreToolUse--Write-in-subagent");
    expect(action(event, "lock")).toMatchObject({
      session: main,
      agent: event["agent_id"],
      ancestors: [null],
    });
    expect(doing(payload("UserPromptSubmit--subagent"))).not.toContain("turn_end");
    expect(action(payload("SubagentStop--subagent"), "heartbeat")).toMatchObject({
      session: main,
      agent: event["agent_id"],
      ended: true,
    });
  });

  test("a prompt ends the turn before, and so does Stop", () => {
    for (const name of ["UserPromptSubmit--main", "Stop--main"])
      expect(action(payload(name), "turn_end")).toMatchObject({ session: main });
  });

  test("what others do is told with the start, at the top of the answer", () => {
    const said = answerOf(plan(payload("SessionStart--new")), begun, looked);
    expect(said).toEqual({ additionalContext: expect.stringContaining("bob") });
  });

  test("a session ends by its own event", () => {
    expect(plan(payload("SessionEnd--complete")).actions).toEqual([
      expect.objectContaining({ do: "end", session: main, cause: "complete" }),
    ]);
  });
});

describe("over every recorded event", () => {
  const all = recordedOf("copilot");

  test.each(all)("$name says nothing of itself", ({ event }) => {
    expect(plan(event).event).toBe(event["hook_event_name"]);
    expect(plan(event).answer([begun])).toEqual({ output: "" });
  });

  test("nothing throws, allows or exits with a code, whatever the fields hold", () => {
    const value = fc.oneof(fc.constant(null), fc.string(), fc.integer(), fc.object());
    const changed = fc.tuple(fc.constantFrom(...all), fc.nat(20), value).map(([{ event }, at, put]) => {
      const names = Object.keys(event);
      return { ...event, [names[at % names.length] ?? "cwd"]: put };
    });
    const held = refused("lock", refuse("lock_held", "held"), { holder: noteOf() });
    fc.assert(
      fc.property(changed, event => {
        for (const outcomes of [[], [begun], [begun, held], [begun, granted()], [begun, looked]]) {
          const words = plan(event).answer(outcomes);
          expect(words.output).not.toContain('"allow"');
          expect(words).not.toHaveProperty("exitCode");
        }
      }),
    );
  });
});

test("a hook answers before its client lets the tool run, and a wait fits in", () => {
  for (const { budgetMs, timeoutMs } of copilotEvents) expect(timeoutMs).toBeGreaterThan(budgetMs);
  const before = copilotEvents.find(({ event }) => event === "PreToolUse");
  expect(before?.budgetMs).toBeGreaterThan(copilot.limits.lockWaitMaxMs);
  expect(copilot.limits.lockWaitMaxMs).toBeLessThanOrEqual(15_000);
  expect(limits.hookShortWaitMs).toBeLessThan(limits.hookWaitMs);
});
