/** Which subagent acts, by the end of a transcript alone. */
import { describe, expect, it } from "vitest";
import { lifeFiles } from "../../hooks/claude-code/transcripts.ts";

interface Begun {
  readonly tool?: string;
  readonly description?: string;
  readonly nested?: boolean;
}

const line = (type: string, content: unknown, more: object = {}) =>
  JSON.stringify({ type, message: { role: type, content }, ...more });
const prompt = line("user", "Do it.");
const call = (id: string, subagent_type: string, { tool = "Task", description, nested }: Begun = {}) =>
  line("assistant", [{ type: "tool_use", id, name: tool, input: { subagent_type, description } }], {
    isSidechain: nested === true,
  });
const result = (id: string, nested = false) =>
  line("user", [{ type: "tool_result", tool_use_id: id, content: "done" }], { isSidechain: nested });
const shell = line("assistant", [{ type: "tool_use", id: "b", name: "Bash", input: { command: "ls" } }]);

const acting = (...lines: readonly string[]) => lifeFiles.readSubagent(lines);

describe("the subagent that acts", () => {
  it("is none where the main agent acts", () => {
    expect(acting()).toBeNull();
    expect(acting(prompt, shell)).toBeNull();
    expect(acting(prompt, call("a", "reviewer"), result("a"), shell)).toBeNull();
  });

  it("is that of the call without a result, by its kind and what it is to do", () => {
    const lines = [prompt, call("a", "reviewer", { description: "Review the diff" }), shell];
    const found = { type: "reviewer", description: "Review the diff", isNested: false, others: 0 };
    expect(acting(...lines)).toEqual(found);
    expect(acting(call("a", "reviewer", { tool: "Agent", description: "Review the diff" }))).toEqual(found);
  });

  it("is the nested one while that runs, and then the one around it", () => {
    const nested = [call("a", "planner"), call("n", "reader", { nested: true })];
    expect(acting(...nested)).toMatchObject({ type: "reader", isNested: true, others: 0 });
    expect(acting(...nested, result("n", true))).toMatchObject({ type: "planner", isNested: false });
    expect(acting(...nested, result("n", true), result("a"))).toBeNull();
  });

  it("is no nested one any more when the one around it has ended", () => {
    expect(acting(call("a", "planner"), call("n", "reader", { nested: true }), result("a"))).toBeNull();
  });

  it("is the later of two instances side by side, and the other one when that has ended", () => {
    const both = [
      call("a", "tester", { description: "Unit tests" }),
      call("b", "tester", { description: "End to end" }),
    ];
    expect(acting(...both)).toMatchObject({ type: "tester", description: "End to end", others: 1 });
    expect(acting(...both, result("b"))).toMatchObject({ description: "Unit tests", others: 0 });
    expect(acting(...both, result("a"))).toMatchObject({ description: "End to end", others: 0 });
    expect(acting(...both, result("a"), result("b"))).toBeNull();
  });

  it("has the client's usual kind, and no description, where the call names none", () => {
    const bare = line("assistant", [{ type: "tool_use", id: "a", name: "Task", input: {} }]);
    expect(acting(bare)).toMatchObject({ type: "general-purpose", description: null });
    const odd = { subagent_type: 7, description: "x".repeat(10_000) };
    const found = acting(line("assistant", [{ type: "tool_use", id: "a", name: "Task", input: odd }]));
    expect(found?.type).toBe("general-purpose");
    expect(found?.description).toHaveLength(80);
  });

  it("ended with the turn before, whose end nobody told", () => {
    expect(acting(call("a", "reviewer"), prompt)).toBeNull();
    // A subagent's own prompt, and what the client adds by itself, begin no turn.
    expect(acting(call("a", "reviewer"), line("user", "Review.", { isSidechain: true }))).not.toBeNull();
    expect(acting(call("a", "reviewer"), line("user", "Caveat.", { isMeta: true }))).not.toBeNull();
  });

  it("is found among lines that are cut or have another form", () => {
    const noise = ["", "null", "7", "[]", "{", '{"type":"assistant"}', '{"type":"user","message":7}'];
    const odd = line("assistant", [null, 7, "x", { type: "tool_use", name: "Task" }]);
    const text = line("assistant", "I see.");
    const whole = call("a", "reviewer");
    const cut = call("z", "other");
    expect(acting(cut.slice(20), ...noise, odd, whole, text, shell, cut.slice(0, -9))).toMatchObject({
      type: "reviewer",
    });
    for (let at = 1; at < whole.length; at += 1) expect(acting(whole.slice(at)), `${at}`).toBeNull();
  });
});
