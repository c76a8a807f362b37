import { describe, expect, it } from "vitest";
import { lifeFiles } from "../../hooks/claude-code/transcripts.ts";

const id = "65bca144-cfa5-454f-b470-e84bd4e53d4c";
const transcript = `/home/ana/.claude/projects/-home-ana-shop/${id}.jsonl`;

const line = (type: string, content: unknown, messageId?: string) =>
  JSON.stringify({ type, message: { role: type, id: messageId, content } });
const prompt = line("user", "Do it.");
const use = (tool: string, message = "m1") =>
  line("assistant", [{ type: "tool_use", id: tool, name: "Bash" }], message);
const result = (tool: string) => line("user", [{ type: "tool_result", tool_use_id: tool, content: "hi" }]);
const words = (message = "m1") => line("assistant", [{ type: "text", text: "I see." }], message);
const asked = JSON.stringify({ type: "api-request", id: "r" });
const noise = JSON.stringify({ type: "last-prompt", lastPrompt: "Do it." });

describe("the end of a transcript", () => {
  it.each([
    ["a prompt", [prompt, asked], "model"],
    ["a call without a result", [prompt, asked, use("a"), noise], "tool"],
    ["a call with its result", [prompt, use("a"), result("a"), asked], "model"],
    ["two calls of one answer, one result", [prompt, use("a"), use("b"), result("b")], "tool"],
    ["two calls, both with results", [prompt, use("a"), use("b"), result("b"), result("a")], "model"],
    ["a call that was lost long ago", [use("old", "m0"), words("m1"), result("x"), words("m2")], "model"],
    ["a lost call before a prompt", [use("old", "m0"), prompt, asked], "model"],
    ["several requests in a row", [prompt, asked, asked, asked, noise], "service"],
    ["requests that were answered", [prompt, asked, asked, words()], "model"],
    [
      "an interruption",
      [prompt, use("a"), line("user", [{ type: "text", text: "[Request interrupted by user]" }])],
      "interrupted",
    ],
    [
      "an interruption and a new prompt",
      [line("user", [{ type: "text", text: "[Request interrupted by user for tool use]" }]), prompt],
      "model",
    ],
    ["nothing", [], "unknown"],
    ["a cut line", ['tent":"x"}}'], "unknown"],
    ["other things", [noise, "null", "7", "[]", '{"type":"user"}{'], "unknown"],
  ] as const)("%s", (_what, lines, end) => {
    expect(lifeFiles.readEnd(lines)).toBe(end);
  });
});

describe("the files", () => {
  it("are the transcript of the agent, and the status of its process", () => {
    const asked = { session: id, agent: null, transcript, pid: 7 };
    expect(lifeFiles.of(asked)).toEqual({ transcript, status: "/home/ana/.claude/sessions/7.json" });
    expect(lifeFiles.of({ ...asked, agent: "aalice-5d0b10a1332e636f", pid: null })).toEqual({
      transcript: `/home/ana/.claude/projects/-home-ana-shop/${id}/subagents/agent-aalice-5d0b10a1332e636f.jsonl`,
      status: null,
    });
  });

  it("are none where an event names another path", () => {
    for (const path of [
      "/etc/passwd",
      "relative/projects/p/a.jsonl",
      `/h/../projects/p/${id}.jsonl`,
      "/h/projects/../a.jsonl",
      "/h/projects/p/q/a.jsonl",
    ])
      expect(lifeFiles.of({ session: id, agent: null, transcript: path, pid: 7 }), path).toBeNull();
    expect(lifeFiles.of({ session: "../x", agent: "a", transcript, pid: 7 })).toBeNull();
    expect(lifeFiles.of({ session: id, agent: "../../x", transcript, pid: 7 })).toBeNull();
  });
});

it("the status counts if it is the session's own", () => {
  const status = (more: object) => lifeFiles.readStatus(JSON.stringify({ sessionId: id, ...more }), id);
  expect(status({ status: "waiting", waitingFor: "permission prompt" })).toEqual({
    status: "waiting",
    on: "permission prompt",
  });
  expect(status({ status: "idle" })).toEqual({ status: "idle", on: "" });
  expect(status({ status: "dancing" })).toBeNull();
  expect(status({ status: "idle", sessionId: "another" })).toBeNull();
  for (const torn of ["", "{", "null", '"idle"']) expect(lifeFiles.readStatus(torn, id)).toBeNull();
});
