/** Calls of tools: which end is whose, who makes them, and how events are counted. */
import { describe, expect, it } from "vitest";
import { OpenCalls, type ToolUse, ToolUses } from "../../daemon/hooks/calls.ts";
import { count } from "../../daemon/requests/hook.ts";
import { claudeCodeClient } from "../../hooks/claude-code/adapter.ts";
import { type EventForm, readEvent } from "../../hooks/plans/event.ts";
import { withCall } from "../../hooks/plans/named-adapter.ts";
import { limits } from "../../protocol/limits.ts";

// Calls of a client that gives them no ids: which end is whose.

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

// Who makes a call that does not say so itself.

const use = (agent: string | null, command: string | null = null, more: Partial<ToolUse> = {}): ToolUse => ({
  session: "s",
  agent,
  cwd: "/p",
  command,
  prompt: "p1",
  isBackground: false,
  ...more,
});
/** Lines that run, by their agent's name or `main`. */
function running(...lines: readonly (readonly [agent: string, command: string])[]): ToolUses {
  const uses = new ToolUses();
  for (const [i, [agent, command]] of lines.entries()) {
    uses.note(`toolu_${i}`, use(agent === "main" ? null : agent, command));
  }
  return uses;
}

/** Who types these words: an agent's name, `main`, `ambiguous`, or null. */
function typist(uses: ToolUses, words: string, shells?: readonly string[]): string | null {
  const found = uses.findByCommandLine("s", words, shells);
  if (found === null) return null;
  return "agents" in found ? "ambiguous" : (found.agent ?? "main");
}

/** A line as the client's shell gets it: in quotes, between commands of the client's own. */
const shellOf = (line: string) =>
  `/bin/bash\0-c\0source snapshot && eval '${line.replaceAll("'", `'"'"'`)}' && pwd -P >| /tmp/cwd`;

const declaring = (task: string) =>
  `kite declare - <<'EOF'\nunderstanding:\n  task: "${task}, isn't it"\nEOF`;

describe("a tool's call", () => {
  it("is known by its id, the latest thousand of them", () => {
    const uses = new ToolUses();
    uses.note("a", use("x"));
    expect(uses.of("a")).toMatchObject({ agent: "x" });
    uses.ended("a");
    expect(uses.of("a")).not.toBeNull();
    for (let i = 0; i < limits.toolUsesMax; i += 1) uses.note(`b${i}`, use(null));
    expect(uses.of("a")).toBeNull();
    expect(uses.of("b0")).not.toBeNull();
  });
});

describe("a command", () => {
  it("is known by its words, however they are quoted", () => {
    const uses = running(["a", "cd x && kite lock 'a b.ts' -- make"], ["b", "kite task list | head"]);
    expect(typist(uses, "lock a b.ts -- make")).toBe("a");
    expect(typist(uses, "task list")).toBe("b");
    expect(uses.findByCommandLine("other", "task list")).toBeNull();
  });

  it("is nobody's where several run others, and the only one's where one does", () => {
    const uses = running(["a", "kite lock $F"], ["main", "kite task list"]);
    expect(typist(uses, "lock x.ts")).toBe("ambiguous");
    expect(typist(uses, "lock x.ts", [shellOf("kite lock $F")])).toBe("a");
    uses.ended("toolu_1");
    expect(typist(uses, "lock x.ts")).toBe("a");
    expect(typist(uses, "lock x.ts", [shellOf("./lock.sh")])).toBe("ambiguous");
    uses.ended("toolu_0");
    expect(typist(uses, "lock x.ts")).toBeNull();
  });

  it("typed by two agents at once is neither's, until one of them has ended", () => {
    const uses = running(["a", "kite task claim"], ["b", "kite task claim"]);
    const shells = [shellOf("kite task claim")];
    expect([typist(uses, "task claim"), typist(uses, "task claim", shells)]).toEqual([
      "ambiguous",
      "ambiguous",
    ]);
    uses.ended("toolu_0");
    expect(typist(uses, "task claim")).toBe("b");
  });

  it("typed by two agents is told apart by the text that only the line has", () => {
    const uses = running(["a", declaring("parse")], ["b", declaring("print")]);
    expect(typist(uses, "declare -")).toBe("ambiguous");
    expect(typist(uses, "declare -", [shellOf(declaring("parse"))])).toBe("a");
    expect(typist(uses, "declare -", ["sh\0-c\0kite declare -", shellOf(declaring("print"))])).toBe("b");
    expect(typist(uses, "declare -", [shellOf(declaring("other"))])).toBe("ambiguous");
  });

  it("is the whole line's, not that of a line which is a part of it", () => {
    const uses = running(["a", "kite task claim"], ["b", "kite task claim | head"]);
    expect(typist(uses, "task claim", [shellOf("kite task claim | head")])).toBe("b");
    expect(typist(uses, "task claim", [shellOf("kite task claim < /dev/null | head")])).toBe("ambiguous");
    expect(typist(uses, "task claim", [shellOf("kite task claim")])).toBe("ambiguous");
  });

  it("is not an earlier line's whose turn is over, though its end was never told", () => {
    const uses = running(["a", "kite task claim"], ["main", "kite task claim"]);
    uses.turnEnded("s", "a", "p1");
    expect(typist(uses, "task claim")).toBe("ambiguous");
    uses.turnEnded("s", "a", null);
    expect(typist(uses, "task claim")).toBe("main");
  });

  it("is a background line's after the end of its call, until its agent's turn is over", () => {
    const uses = running(["main", "kite task list"]);
    uses.note("background", use("a", "make; kite task claim", { isBackground: true }));
    uses.ended("background");
    expect(typist(uses, "task claim")).toBe("a");
    uses.turnEnded("s", "a", null);
    expect(uses.of("background")).toBeNull();
  });
});

describe("hook events", () => {
  it("counts hook events by name, and those of ever new names together", () => {
    const hooks = new Map([["Stop", 1]]);
    for (let i = 0; i < 2 * limits.hookKindsMax; i += 1) count(hooks, `new ${i}`);
    count(hooks, "Stop");
    expect(hooks.get("Stop")).toBe(2);
    expect(hooks.size).toBe(limits.hookKindsMax + 1);
    expect(hooks.get("others")).toBe(limits.hookKindsMax + 1);
  });
});
