/** `kite stats`, and the tokens of transcripts. */
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, test } from "vitest";
import {
  stats,
  statsView,
  Times,
  TrailCounter,
  type TrailStats,
  tokenSentences,
} from "../../bin/trail/stats.ts";
import { TokenCounter, tokensFor, tokensOf } from "../../bin/trail/tokens.ts";
import { unpainted, widthOf } from "../../bin/view/text.ts";
import { encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { tokensIn } from "../../hooks/claude-code/transcripts.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeWorld } from "./command-world.ts";
import { now, screen } from "./view-rows.ts";

// kite stats: what is counted, and how it is shown.

const shop = "/home/ana/code/shop";

function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now - secondsAgo * 1000,
    event: "PreToolUse",
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project: `${shop}/.git`,
    type: "Edit",
    file: `${shop}/src/auth.ts`,
    decision: "allow",
    rule: "lock",
    ms: 2,
    ...more,
  };
}

const deny = { decision: "deny", code: "lock_timeout", why: "lock queue timeout (50s)" } as const;
const ended = { event: "lock_released", decision: "note", ms: undefined } as const;

function hook(event: string, ms: number): TrailLine {
  const { rule: _, ...bare } = line("alice", 1, { event, type: null, file: null, decision: "event", ms });
  return bare;
}

const lines: readonly TrailLine[] = [
  line("alice", 7_200),
  line("bob", 7_000, { decision: "wait", event: "lock_queued" }),
  line("bob", 6_950, { ...deny, waitedMs: 50_000 }),
  line("bob", 6_900, { waitedMs: 320 }),
  line("carol", 6_800, { waitedMs: 4_250 }),
  line("bob", 6_700, { rule: "guard", type: "git stash", decision: "deny", file: null }),
  // A gate of a later version.
  line("carol", 6_600, { rule: "identity,codeView", decision: "deny" }),
  line("alice", 300, { ...ended, why: "its turn ended", heldMs: 6_900_000 }),
  line("bob", 200, { ...ended, why: "its holder unlocked it", heldMs: 900, file: `${shop}/README.md` }),
  ...[1, 2, 3, 4].map(ms => hook("PreToolUse", ms)),
  hook("Stop", 1.5),
  line("alice", 1, { event: "PostToolUse", decision: "event", rule: "write", ms: undefined }),
];

function counted(all: readonly TrailLine[]): TrailStats {
  const counter = new TrailCounter();
  for (const one of all) counter.add(one);
  return counter.stats;
}

/** The lines between the backquotes. */
function text(strings: TemplateStringsArray): string[] {
  return (strings[0] ?? "").split("\n").slice(1, -1);
}

describe("the numbers", () => {
  it("count decisions by whatever rule the lines name, waits, denials, holds and hooks", () => {
    const { decisions, waits, denials, holders, hooks, ...rest } = counted(lines);
    expect(rest).toEqual({ lines: 15, from: now - 7_200_000, until: now - 1_000 });
    expect(decisions).toEqual([
      { rule: "lock", allow: 3, deny: 1, wait: 1, note: 2 },
      { rule: "guard", allow: 0, deny: 1, wait: 0, note: 0 },
      { rule: "identity", allow: 0, deny: 1, wait: 0, note: 0 },
      { rule: "codeView", allow: 0, deny: 1, wait: 0, note: 0 },
    ]);
    expect(waits).toEqual({ count: 3, medianMs: 4_250, p95Ms: 50_000, maxMs: 50_000 });
    expect(denials).toEqual([
      { who: "bob", count: 2, rules: { lock: 1, guard: 1 } },
      { who: "carol", count: 1, rules: { identity: 1, codeView: 1 } },
    ]);
    expect(holders.map(({ file, who, heldMs }) => [file, who, heldMs])).toEqual([
      [`${shop}/src/auth.ts`, "alice", 6_900_000],
      [`${shop}/README.md`, "bob", 900],
    ]);
    expect(hooks).toEqual([
      { event: "PreToolUse", count: 4, p50Ms: 2, p95Ms: 4, p99Ms: 4, maxMs: 4 },
      { event: "Stop", count: 1, p50Ms: 1.5, p95Ms: 1.5, p99Ms: 1.5, maxMs: 1.5 },
    ]);
  });

  it("take the rule and the wait of an earlier version's line from what it tells", () => {
    const old = (more: Partial<TrailLine>) => {
      const { rule: _, ...bare } = line("bob", 9, more);
      return bare;
    };
    const { decisions, waits } = counted([
      old({ ms: 3_000 }),
      old({ ms: 99 }),
      old({ ...deny, code: "edits_held", ms: 500 }),
      old({ type: "git add -A", file: null, ms: 5_000 }),
      old({ event: "task_claim", type: "task_claim", file: null }),
      old({ event: "broadcast", type: "broadcast", file: null }),
      old({ event: "SessionEnd", type: "hook", file: null, decision: "note" }),
      old({ event: "bypassed", type: "shell", decision: "note" }),
    ]);
    expect(decisions.map(({ rule }) => rule)).toEqual([
      "lock",
      "freeze",
      "guard",
      "task",
      "message",
      "session",
      "write",
    ]);
    expect(waits).toMatchObject({ count: 1, maxMs: 3_000 });
  });

  it("show the ten that count most", () => {
    const many = Array.from({ length: 30 }, (_, i) => [
      ...Array.from({ length: i }, () => line(`s${i}`, 9, deny)),
      line(`s${i}`, 9, { ...ended, heldMs: i }),
    ]).flat();
    const { denials, holders } = counted(many);
    expect(denials.map(({ count }) => count)).toEqual([29, 28, 27, 26, 25, 24, 23, 22, 21, 20]);
    expect(holders.map(({ heldMs }) => heldMs)).toEqual([29, 28, 27, 26, 25, 24, 23, 22, 21, 20]);
  });

  it("count what Kite would have done while it only observed, and no decisions of that time", () => {
    const would = (rule: string, one: TrailLine["would"], file: string | null = `${shop}/src/auth.ts`) =>
      line("bob", 9, { decision: "note", rule, would: one, file });
    const unseen = [
      would("lock", "wait"),
      would("lock", "wait"),
      would("guard", "deny", null),
      would("identity,codeView", "deny", `${shop}/b.ts`),
      would("message", "tell", null),
    ];
    const { observed, decisions, denials, ...rest } = counted([...lines, ...unseen]);
    expect(rest.lines).toBe(20);
    expect([decisions, denials]).toEqual([counted(lines).decisions, counted(lines).denials]);
    expect(observed).toEqual({
      rules: [
        { rule: "lock", wait: 2, deny: 0, tell: 0 },
        { rule: "guard", wait: 0, deny: 1, tell: 0 },
        { rule: "identity", wait: 0, deny: 1, tell: 0 },
        { rule: "codeView", wait: 0, deny: 1, tell: 0 },
        { rule: "message", wait: 0, deny: 0, tell: 1 },
      ],
      files: [
        { file: `${shop}/src/auth.ts`, project: `${shop}/.git`, wait: 2, deny: 0, tell: 0 },
        { file: `${shop}/b.ts`, project: `${shop}/.git`, wait: 0, deny: 1, tell: 0 },
      ],
    });
    expect(statsView(counted(unseen), screen(80)).slice(2)).toEqual(text`
Kite only observed
  rule      would wait  would deny  would tell
  lock               2           -           -
  guard              -           1           -
  identity           -           1           -
  codeView           -           1           -
  message            -           -           1

Kite only observed, by file
  file         would wait  would deny  would tell
  src/auth.ts           2           -           -
  b.ts                  -           1           -
`);
  });

  it("give the percentile that so many do not exceed, however many times there are", () => {
    const times = (...all: readonly number[]) => {
      const counted = new Times();
      for (const ms of all) counted.add(ms);
      return counted;
    };
    const hundred = times(...Array.from({ length: 100 }, (_, i) => 100 - i));
    expect(hundred.percentiles([0.5, 0.95, 0.99, 1])).toEqual([50, 95, 99, 100]);
    expect(times(7).percentile(0.5)).toBe(7);
    expect(times().percentile(0.5)).toBeNull();
    const long = times(123_456, 0.1, -3);
    expect([long.percentile(1), long.maxMs, long.totalMs]).toEqual([123_500, 123_456, 123_456.1]);
  });
});

describe("the output", () => {
  it("is a table for each kind", () => {
    expect(statsView(counted(lines), screen(80))).toEqual(text`
15 lines of the log, from 12:00:00 to 13:59:59

Decisions
  rule      allowed  denied  waits  notes
  lock            3       1      1      2
  guard           -       1      -      -
  identity        -       1      -      -
  codeView        -       1      -      -

Waits for others
  3 waits ended: median 4.2s, p95 50s, longest 50s

Denied most
  bob    2  lock 1, guard 1
  carol  1  identity 1, codeView 1

Held longest
  src/auth.ts  alice  1h 55m  until 13:55:00: its turn ended
  README.md    bob     900ms  until 13:56:40: its holder unlocked it

Hooks, in ms in the daemon, without waits for others
  event       answers  p50  p95  p99  max
  PreToolUse        4  2.0  4.0  4.0  4.0
  Stop              1  1.5  1.5  1.5  1.5
`);
  });

  it("leaves out what the trail does not tell of", () => {
    expect(statsView(counted([]), screen(80))).toEqual(["The log has no lines of that time."]);
    expect(statsView(counted([line("bob", 0)]), screen(80))).toEqual(text`
1 line of the log, from 14:00:00 to 14:00:00

Decisions
  rule  allowed  denied  waits  notes
  lock        1       -      -      -
`);
  });

  const hostile = "\u001b[31mred\u202e日本語のとても長い".repeat(8);
  const wild = lines.map(one => ({
    ...one,
    name: hostile,
    rule: hostile,
    file: `${shop}/${hostile}.ts`,
    ...(one.why === undefined ? {} : { why: hostile }),
    ...(one.decision === "event" ? { event: hostile } : {}),
  }));

  it.each([80, 40, 20])("fits %d columns, whatever names there are", width => {
    for (const all of [lines, wild])
      for (const one of statsView(counted(all), screen(width, { color: true }))) {
        expect(widthOf(unpainted(one)), one).toBeLessThanOrEqual(width);
        expect(unpainted(one)).not.toMatch(/[\p{Cc}\u202e]/u);
      }
  });
});

describe("kite stats", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryFolder("kite-stats-");
    mkdirSync(join(root, "trail"));
    lines.forEach((one, i) => {
      appendFileSync(join(root, "trail", fileName(1 + Math.floor(i / 4))), encode(one));
    });
  });

  it("reads all files, or those since a time, on 80 columns unless told", async () => {
    const world = fakeWorld({ home: root });
    expect(await stats(world, {})).toBe(0);
    expect(world.out()).toBe(`${statsView(counted(lines), screen(80)).join("\n")}\n`);
    const json = fakeWorld({ home: root });
    expect(await stats(json, { since: "10m", json: true })).toBe(0);
    const { since, decisions, hooks } = JSON.parse(json.out());
    expect(since).toBe(now - 600_000);
    expect(decisions).toEqual([{ rule: "lock", allow: 0, deny: 0, wait: 0, note: 2 }]);
    expect(hooks).toHaveLength(2);
    const narrow = fakeWorld({ home: root, env: { COLUMNS: "40" } });
    await stats(narrow, {});
    for (const one of narrow.out().split("\n")) expect(one.length, one).toBeLessThanOrEqual(40);
  });

  it("refuses a time that is none", async () => {
    const world = fakeWorld({ home: root });
    expect(await stats(world, { since: "soon" })).toBe(1);
    expect(world.err()).toMatch(/^kite: --since takes a time like 90s, .*, not soon\n$/);
  });
});

// The tokens of transcripts, against transcripts that are counted by hand.
describe("the tokens of transcripts", () => {
  let home: string;
  let world: { env: Record<string, string>; paths: ReturnType<typeof kitePaths> };

  beforeEach(() => {
    home = temporaryFolder("kite-tokens-");
    const env = { HOME: home };
    world = { env, paths: kitePaths(env) };
    mkdirSync(world.paths.home, { mode: 0o700 });
  });

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
});
