/** Who makes a call that does not say so itself. */
import { describe, expect, it } from "vitest";
import { type ToolUse, ToolUses } from "../../daemon/hooks/tool-uses.ts";
import { limits } from "../../protocol/limits.ts";

const use = (agent: string | null, command: string | null = null, session = "s"): ToolUse => ({
  session,
  agent,
  cwd: "/p",
  command,
});
/** Lines that run, by their agent's name or `main`. */
function running(...lines: readonly (readonly [agent: string, command: string])[]): ToolUses {
  const uses = new ToolUses();
  for (const [i, [agent, command]] of lines.entries()) {
    uses.note(`toolu_${i}`, use(agent === "main" ? null : agent, command));
  }
  return uses;
}

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
    expect(uses.findByCommandLine("s", "lock a b.ts -- make")?.agent).toBe("a");
    expect(uses.findByCommandLine("s", "task list")?.agent).toBe("b");
    expect(uses.findByCommandLine("other", "task list")).toBeNull();
  });

  it("is nobody's where several run others, and the only one's where one does", () => {
    const uses = running(["a", "kite lock $F"], ["main", "kite task list"]);
    expect(uses.findByCommandLine("s", "lock x.ts")).toBeNull();
    uses.ended("toolu_1");
    expect(uses.findByCommandLine("s", "lock x.ts")?.agent).toBe("a");
    uses.ended("toolu_0");
    expect(uses.findByCommandLine("s", "lock x.ts")).toBeNull();
  });

  it("typed by two at once is each one's, once", () => {
    const uses = running(["a", "kite task claim"], ["b", "kite task claim"]);
    const both = [
      uses.findByCommandLine("s", "task claim")?.agent,
      uses.findByCommandLine("s", "task claim")?.agent,
    ];
    expect(both.sort()).toEqual(["a", "b"]);
  });

  it("is the later one's where the end of the earlier is not told yet", () => {
    const uses = running(["a", "kite task claim"]);
    expect(uses.findByCommandLine("s", "task claim")?.agent).toBe("a");
    uses.note("next", use(null, "kite task claim"));
    expect(uses.findByCommandLine("s", "task claim")).toMatchObject({ agent: null });
  });
});
