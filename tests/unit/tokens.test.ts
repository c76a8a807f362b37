/** The tokens of transcripts, against transcripts that are counted by hand. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { tokenSentences } from "../../bin/trail/stats.ts";
import { TokenCounter, tokensFor, tokensOf } from "../../bin/trail/tokens.ts";
import { tokensIn } from "../../hooks/claude-code/transcripts.ts";
import { kitePaths } from "../../protocol/paths.ts";

let home: string;
let world: { env: Record<string, string>; paths: ReturnType<typeof kitePaths> };

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "kite-tokens-"));
  const env = { HOME: home };
  world = { env, paths: kitePaths(env) };
  mkdirSync(world.paths.home, { mode: 0o700 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const marker = "MARKER-of-a-prompt";

/** A line as the client writes it for an answer. */
function answer(id: string, input: number, output: number, read = 0, written = 0): string {
  const usage = {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    cache_creation: { ephemeral_5m_input_tokens: written },
  };
  const message = { id, role: "assistant", content: [{ type: "text", text: marker }], usage };
  return `${JSON.stringify({ type: "assistant", sessionId: "s-1", message })}\n`;
}

const prompt = `${JSON.stringify({ type: "user", message: { content: `${marker} "usage" {"usage":{"input_tokens":9}}` } })}\n`;

function put(path: string, text: string): string {
  const full = join(home, ".claude/projects", path);
  mkdirSync(join(full, ".."), { recursive: true });
  writeFileSync(full, text);
  return full;
}

test("a message on several lines counts once, by its last record, also with others between them", () => {
  // By hand: m1 10/7/100/5, m2 20/2/0/0.
  put(
    "-p/s-1.jsonl",
    prompt + answer("m1", 10, 1, 100, 5) + answer("m2", 20, 2) + answer("m1", 10, 7, 100, 5),
  );
  const found = tokensOf(world, ["s-1", "s-2"]);
  expect([...found.keys()]).toEqual(["s-1"]);
  expect(found.get("s-1")?.own).toEqual({
    tokens: { input: 30, output: 9, cacheRead: 100, cacheWritten: 5 },
    messages: 2,
    isPartial: false,
  });
});

test("agents count beside their session, one alone by its id, and a session that moved has files in two folders", () => {
  put("-p/s-1.jsonl", answer("m1", 1, 1));
  put("-p-tree/s-1.jsonl", answer("m2", 2, 2));
  put("-p/s-1/subagents/agent-a1.jsonl", answer("m3", 4, 4));
  put("-p/s-1/subagents/agent-a2.jsonl", answer("m4", 8, 8));
  put("-p/s-1/subagents/agent-a2.meta.json", answer("m5", 99, 99));
  const counts = tokensFor(world, { id: "s-1", agent: null });
  expect(counts?.own.tokens.input).toBe(3);
  expect(counts?.agents.tokens.input).toBe(12);
  expect(counts?.agentCount).toBe(2);
  expect(tokensFor(world, { id: "s-1", agent: "a2" })?.own.tokens.output).toBe(8);
  expect(tokensFor(world, { id: "s-1", agent: "a3" })).toBeNull();
  expect(tokensFor(world, { id: "../s-1", agent: null })).toBeNull();
  if (counts === null) throw new Error("nothing was counted");
  expect(tokenSentences(counts)).toEqual([
    "Its transcript counts 3 tokens in, 3 out, 0 from the cache and 0 into it, in 2 messages.",
    "Its 2 agents add 12 tokens in, 12 out, 0 from the cache and 0 into it; together 15 tokens in, 15 out, 0 from the cache and 0 into it.",
  ]);
});

test("a later count goes on from where the last one ended, at a line that was half-written, too", () => {
  const half = answer("m2", 5, 5);
  const path = put("-p/s-1.jsonl", answer("m1", 1, 1) + half.slice(0, 40));
  const kept = join(world.paths.home, "tokens.json");
  const count = () => {
    const counter = new TokenCounter(kept);
    const { tokens, messages } = counter.count([path]);
    counter.save();
    return [tokens.input, messages];
  };
  expect(count()).toEqual([1, 1]);
  appendFileSync(path, half.slice(40) + answer("m1", 3, 3));
  expect(count()).toEqual([8, 2]);
  // What was counted is not read again.
  const all = readFileSync(path);
  all.fill("x", 0, answer("m1", 1, 1).length - 1);
  writeFileSync(path, all);
  expect(count()).toEqual([8, 2]);
  // A shorter file is another one.
  writeFileSync(path, answer("m9", 2, 2));
  expect(count()).toEqual([2, 1]);
});

test("a command reads no more than its bound, says so, and the next one goes on", () => {
  const lines = Array.from({ length: 1_000 }, (_, n) => answer(`m${n}`, 1, 2));
  const path = put("-p/s-1.jsonl", lines.join(""));
  const kept = join(world.paths.home, "tokens.json");
  const counts: number[] = [];
  for (let isPartial = true; isPartial; ) {
    const counter = new TokenCounter(kept, 100_000);
    const count = counter.count([path]);
    counter.save();
    ({ isPartial } = count);
    counts.push(count.messages);
  }
  expect(counts.length).toBeGreaterThan(2);
  expect(counts.at(-1)).toBe(1_000);
});

test("no word of a transcript is kept, a link is not followed, and a damaged file of counts is none", () => {
  const path = put("-p/s-1.jsonl", prompt + answer("m1", 1, 1));
  expect(JSON.stringify(tokensIn(answer("m1", 1, 1)))).not.toContain(marker);
  expect(tokensIn(prompt)).toBeNull();
  tokensOf(world, ["s-1"]);
  const kept = join(world.paths.home, "tokens.json");
  expect(readFileSync(kept, "utf8")).toContain("s-1");
  expect(readFileSync(kept, "utf8")).not.toContain(marker);
  symlinkSync(path, join(home, ".claude/projects/-p/s-3.jsonl"));
  expect(tokensOf(world, ["s-3"]).get("s-3")?.own.messages).toBe(0);
  for (const text of ["{", '{"files":[["x",{}]]}', '{"files":7}']) {
    writeFileSync(kept, text);
    expect(tokensOf(world, ["s-1"]).get("s-1")?.own.tokens.output).toBe(1);
  }
});
