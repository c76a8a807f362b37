/** What a client's transcript tells: its end, its subagents and its titles. */

import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Titles } from "../../bin/context/terminals.ts";
import { lifeFiles, wordsIn } from "../../hooks/claude-code/transcripts.ts";
import type { TranscriptRow } from "../../protocol/schemas/session.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";

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

// Which subagent acts, by the end of a transcript alone.
describe("which subagent acts", () => {
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
});

// What a session is about: which records of its client's transcript say so, and which files are read for it.
describe("what a session is about", () => {
  const id = "f837f7d9-9968-47e8-bfc6-86ac27985b41";
  const line = (value: object) => `${JSON.stringify(value)}\n`;
  const ai = (aiTitle: unknown, sessionId: string = id) => line({ type: "ai-title", aiTitle, sessionId });
  const custom = (customTitle: string) => line({ type: "custom-title", customTitle, sessionId: id });
  const prompt = (lastPrompt: string) =>
    line({ type: "last-prompt", lastPrompt, leafUuid: "u", sessionId: id });
  const user = (content: string) => line({ type: "user", message: { role: "user", content }, sessionId: id });

  describe("the words of a transcript", () => {
    it("are the latest title of the client, else the one of a person, and the latest prompt", () => {
      const text =
        ai("Mend the parser") + user("go on") + custom("parsers") + ai(" Page the list ") + prompt("go on");
      expect(wordsIn(text, id)).toEqual({ title: "Page the list", prompt: "go on" });
      expect(wordsIn(custom("parsers"), id)).toEqual({ title: "parsers", prompt: null });
      expect(wordsIn(user("hello"), id)).toEqual({ title: null, prompt: null });
    });

    it("are not taken from what was said, from another session, or from a line that is cut or no record", () => {
      const none = [
        user(ai("said by a prompt").trim()),
        `x${ai("within a line")}`,
        ai("of another session", "other"),
        ai("cut").slice(0, -20),
        ai(7),
        ai(" "),
        '{"type":"ai-title",oops}\n',
      ];
      for (const text of none)
        expect(wordsIn(ai("before") + text, id).title, text).toBe(text === ai(" ") ? null : "before");
      expect(wordsIn("", id)).toEqual({ title: null, prompt: null });
    });
  });

  describe("the titles of sessions", () => {
    const folder = temporaryFolder("kite-titles-");
    mkdirSync(folder, { recursive: true });

    async function titleIn(transcript: string, titles: TranscriptRow["titles"] = "client") {
      const rows = [{ id, project: "/p", transcript, titles }];
      const daemon = fakeDaemon({ "query transcripts": { ok: true, rows } });
      const client = await fakeWorld({ daemon }).connect({ name: "test" });
      return { read: new Titles(), client, daemon };
    }
    const fileIn = (name: string) => {
      mkdirSync(join(folder, name));
      return join(folder, name, `${id}.jsonl`);
    };

    it("are read from the end of a long file, else from its beginning, and again only when it has grown", async () => {
      const file = fileIn("long");
      const filler = user("x".repeat(1_000)).repeat(200);
      writeFileSync(file, ai("At the beginning") + filler);
      const { read, client } = await titleIn(file);
      expect([...(await read.read(client))]).toEqual([[id, "At the beginning"]]);
      appendFileSync(file, ai("At the end"));
      expect([...(await read.read(client))]).toEqual([[id, "At the end"]]);
      // Once the end says nothing more, the beginning is older than what is known.
      appendFileSync(file, filler);
      expect((await read.read(client)).get(id)).toBe("At the beginning");
    });

    it("are words of the latest prompt where the setting says so, and none without an answer", async () => {
      const file = fileIn("prompt");
      writeFileSync(file, ai("Title") + prompt(`Do it ${"now ".repeat(200)}`));
      const { read, client, daemon } = await titleIn(file, "prompt");
      const shown = (await read.read(client)).get(id) ?? "";
      expect(shown.startsWith("Do it now")).toBe(true);
      expect(shown.length).toBe(200);
      daemon.answers["query transcripts"] = { ok: false, code: "person_only", error: "only a person" };
      expect((await new Titles().read(client)).size).toBe(0);
    });

    it("are never read through a link, from a pipe, or from a file of another name", async () => {
      const real = fileIn("real");
      writeFileSync(real, ai("Secret"));
      const link = fileIn("link");
      symlinkSync(real, link);
      const pipe = fileIn("pipe");
      execFileSync("mkfifo", [pipe]);
      const other = join(folder, "real", "notes.txt");
      writeFileSync(other, ai("Secret"));
      for (const file of [link, pipe, other, join(folder, "none", `${id}.jsonl`), folder]) {
        const { read, client } = await titleIn(file);
        expect((await read.read(client)).size, file).toBe(0);
      }
    });
  });
});
