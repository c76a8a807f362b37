/** Calls of a client that gives them no ids: which end is whose. */
import { describe, expect, it } from "vitest";
import { OpenCalls } from "../../daemon/hooks/calls.ts";
import { claudeCodeClient } from "../../hooks/claude-code/adapter.ts";
import { type EventForm, readEvent } from "../../hooks/plans/event.ts";
import { withCall } from "../../hooks/plans/named-adapter.ts";
import { limits } from "../../protocol/limits.ts";

const nameless: EventForm = {
  client: { ...claudeCodeClient, limits: { ...claudeCodeClient.limits, namesCalls: false } },
  steps: { Before: "before", After: "after" },
  names: {
    name: "event",
    session: "session",
    agent: "agent",
    prompt: "prompt",
    toolUseId: "call",
    tool: "tool",
    reason: "reason",
    cwd: "cwd",
    transcript: "transcript",
  },
};
const worker = { isSubagent: true, isTeammate: false, teammate: null, parentFile: null };

function idIn(calls: OpenCalls, event: string, input: unknown, more: Record<string, unknown> = {}) {
  const raw = { event, session: "s", tool: "edit", tool_input: input, ...more };
  return withCall(
    readEvent(raw, nameless, () => worker),
    { calls },
  ).toolUseId;
}

describe("a call without an id", () => {
  it("ends by its session, agent, tool and input", () => {
    const calls = new OpenCalls();
    const a = idIn(calls, "Before", { file: "a" });
    const b = idIn(calls, "Before", { file: "b" });
    expect(b).not.toBe(a);
    expect(idIn(calls, "After", { file: "a" })).toBe(a);
    expect(idIn(calls, "After", { file: "b" })).toBe(b);
    for (const more of [{ session: "t" }, { agent: "g" }, { tool: "create" }])
      expect(idIn(calls, "Before", { file: "a" }, more)).not.toMatch(a?.replace(/-\d+$/, "") ?? "");
  });

  it("is another one when it is made again, also after a denial, of which no end tells", () => {
    const calls = new OpenCalls();
    const denied = idIn(calls, "Before", 1);
    const again = idIn(calls, "Before", 1);
    expect(again).not.toBe(denied);
    expect(idIn(calls, "After", 1)).toBe(again);
    const third = idIn(calls, "Before", 1);
    expect([denied, again]).not.toContain(third);
    expect(idIn(calls, "After", 1)).toBe(third);
  });

  it("has the same id in the first event after a restart as in the event before it", () => {
    const id = idIn(new OpenCalls(), "Before", 1);
    expect(idIn(new OpenCalls(), "After", 1)).toBe(id);
  });

  it("has an id that fits its bound, however long its input", () => {
    const calls = new OpenCalls();
    const long = (end: string) => `${"x".repeat(1_000_000)}${end}`;
    const id = idIn(calls, "Before", long("a")) ?? "";
    expect(id.length).toBeLessThan(30);
    expect(idIn(calls, "Before", long("b"))).not.toBe(id);
  });

  it("is forgotten when there are too many", () => {
    const calls = new OpenCalls();
    for (let i = 0; i < 3 * limits.openCallsAlikeMax; i += 1) calls.begins("w");
    const ends = Array.from({ length: limits.openCallsAlikeMax + 1 }, () => calls.ends("w"));
    expect(new Set(ends).size).toBe(limits.openCallsAlikeMax + 1);
    expect(ends.at(-1)).toBe("w-0");
  });
});

it("an event that names its call, or is about none, stays as it is", () => {
  const calls = new OpenCalls();
  const named = { ...nameless, client: claudeCodeClient };
  const event = readEvent({ event: "Before", session: "s", call: "c1" }, named, () => worker);
  expect(withCall(event, { calls })).toBe(event);
  expect(idIn(calls, "Stop", null)).toBeNull();
});
