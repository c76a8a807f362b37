/**
 * Random histories of four actors in one checkout: edits, git lines, the own forms of lines, and own forms that are killed
 * and sent again. The judge knows the author of each line of each file, and says after each step: no line of others is in a
 * commit, none went, no commit is lost, and a form that was sent twice did its work once.
 *
 * `KITE_HISTORIES` is how many are played, `KITE_SEED` where they begin.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kiteProgram } from "./kite.ts";
import { RescueWorld } from "./rescue-world.ts";

const w = new RescueWorld();
beforeAll(() => w.start());
afterAll(() => w.dispose());

const histories = Number(process.env["KITE_HISTORIES"] ?? 3);
const firstSeed = Number(process.env["KITE_SEED"] ?? 1);
const steps = 30;
const slots = 5;
const files = ["a.ts", "src/b.ts"] as const;

interface Hand {
  readonly name: string;
  readonly session: string;
}

/** The values of one hand's lines in one file. */
type Lines = readonly string[];
type Model = Map<string, Lines>;

function random(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    return state / 2 ** 32;
  };
}

class History {
  readonly #dir: string;
  readonly #hands: readonly Hand[];
  readonly #next: () => number;
  /** What the shared files have, and what the commit has, by hand and file. */
  readonly #now: Model = new Map();
  readonly #head: Model = new Map();
  /** The commits, each with whose lines it has. */
  readonly #commits = new Map<string, string>();
  readonly #refused = new Set<string>();
  #values = 0;
  #calls = 0;
  #moved = 0;
  /** What happened, for whoever reads a failure. */
  readonly #told: string[] = [];

  constructor(seed: number) {
    this.#next = random(seed);
    this.#hands = ["ann", "bob", "cyd", "dan"].map(name => ({ name, session: `${name}-${seed}` }));
    for (const hand of this.#hands)
      for (const file of files) {
        const lines = Array.from({ length: slots }, () => "0");
        this.#now.set(keyOf(hand, file), lines);
        this.#head.set(keyOf(hand, file), lines);
      }
    const all = Object.fromEntries(files.map(file => [file, this.#text(this.#head, file)]));
    this.#dir = w.copy(`hands-${seed}`, all, "git init -q -b main && git add -A && git commit -qm first");
    this.#commits.set(this.#git("rev-parse", "HEAD"), "");
  }

  async play(): Promise<void> {
    try {
      for (const hand of this.#hands) await this.#begin(hand);
      for (let n = 0; n < steps; n += 1) {
        await this.#step(this.#pick(this.#hands));
        this.#judge();
      }
    } catch (error) {
      throw new Error(`after\n${this.#told.join("\n")}\n${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  }

  async #begin({ session }: Hand): Promise<void> {
    await this.#event(session, { hook_event_name: "SessionStart", source: "startup" });
  }

  async #step(hand: Hand): Promise<void> {
    const chance = this.#next();
    if (chance < 0.4) await this.#edit(hand);
    else if (chance < 0.6) await this.#line(hand, this.#pick(lines));
    else if (chance < 0.78) await this.#commit(hand);
    else if (chance < 0.88) await this.#undo(hand);
    else if (chance < 0.95) await this.#try(hand);
    else await this.#move(hand);
  }

  async #edit(hand: Hand): Promise<void> {
    const file = this.#pick(files);
    const mine = [...this.#of(this.#now, hand, file)];
    const count = 1 + Math.floor(this.#next() * 2);
    for (let n = 0; n < count; n += 1) mine[Math.floor(this.#next() * slots)] = `${++this.#values}`;
    this.#told.push(`${hand.name} edits ${file}: ${mine.join(" ")}`);
    const path = join(this.#dir, file);
    const call = this.#call("Edit", { file_path: path });
    const said = await this.#event(hand.session, {
      hook_event_name: "PreToolUse",
      ...call,
    });
    expect(said).not.toContain('"deny"');
    this.#now.set(keyOf(hand, file), mine);
    w.put(this.#dir, file, this.#text(this.#now, file));
    const end = { hook_event_name: "PostToolUse", tool_response: {}, ...call };
    await this.#event(hand.session, end);
    await w.settled();
    // Its turn ends, so that nobody waits for its locks.
    await this.#event(hand.session, { hook_event_name: "Stop" });
  }

  /** A git line: one that is refused changes nothing, one that runs only what is the hand's own. */
  async #line(hand: Hand, line: string): Promise<void> {
    // Sent again, it would run: its agent has been told.
    if (this.#refused.has(`${hand.name} ${line}`)) return;
    const call = this.#call("Bash", { command: line });
    const said = await this.#event(hand.session, {
      hook_event_name: "PreToolUse",
      ...call,
    });
    const isRefused = said.includes('"deny"');
    this.#told.push(`${hand.name}: ${line}${isRefused ? " (refused)" : ""}`);
    if (isRefused) {
      this.#refused.add(`${hand.name} ${line}`);
      return;
    }
    const before = this.#git("rev-parse", "HEAD");
    const ran = await this.#run(hand, "bash", ["-c", line]);
    const end = ran.code === 0 ? "PostToolUse" : "PostToolUseFailure";
    await this.#event(hand.session, {
      ...{ hook_event_name: end, tool_response: {}, duration_ms: 5 },
      ...call,
    });
    await w.settled();
    // Its own lines may have gone or been committed: the judge reads them anew, and compares all others.
    const isMoved = this.#git("rev-parse", "HEAD") !== before;
    for (const file of files) {
      for (const other of this.#hands) if (isMoved && other !== hand) this.#follow(other, file);
      this.#read(this.#now, hand, file, this.#onDisk(file));
      this.#read(this.#head, hand, file, this.#inCommit(file));
    }
    this.#drop(hand);
  }

  /** HEAD is elsewhere: of lines that were committed, the file has what is committed there. */
  #follow(hand: Hand, file: string): void {
    const [now, head] = [this.#of(this.#now, hand, file), this.#of(this.#head, hand, file)];
    this.#read(this.#head, hand, file, this.#inCommit(file));
    const next = this.#of(this.#head, hand, file);
    this.#now.set(
      keyOf(hand, file),
      now.map((value, n) => (value === head[n] ? (next[n] ?? "") : value)),
    );
  }

  /** Whoever takes its own commits off all branches loses no other one's. */
  #drop({ name }: Hand): void {
    const all = new Set(this.#git("log", "--branches", "HEAD", "--format=%H").split("\n"));
    for (const [commit, author] of this.#commits) {
      if (all.has(commit)) continue;
      // Nobody made the first one, as far as Kite knows.
      expect(["", name], `whose commit ${commit} is on no branch any more`).toContain(author);
      this.#commits.delete(commit);
    }
  }

  async #commit(hand: Hand): Promise<void> {
    const named = this.#some();
    const words = ["commit", "-m", `${hand.name} ${this.#commits.size}`, ...named];
    const before = this.#git("rev-parse", "HEAD");
    const hasWork = this.#hasWork(hand, named);
    const { out, code } = await this.#form(hand, words);
    for (const file of named.length === 0 ? files : named)
      this.#head.set(keyOf(hand, file), this.#of(this.#now, hand, file));
    if (hasWork) expect(code, out).toBe(0);
    const made = this.#git("rev-list", `${before}..HEAD`).split("\n").filter(Boolean);
    expect(made.length, "commits of one call").toBeLessThanOrEqual(1);
  }

  async #undo(hand: Hand): Promise<void> {
    const named = this.#some();
    const hasWork = this.#hasWork(hand, named);
    const { out, code } = await this.#form(hand, ["undo", "--all", "--yes", ...named]);
    for (const file of named.length === 0 ? files : named)
      this.#now.set(keyOf(hand, file), this.#of(this.#head, hand, file));
    if (hasWork) expect(code, out).toBe(0);
  }

  async #try(hand: Hand): Promise<void> {
    const want = new Map(this.#head);
    for (const file of files) want.set(keyOf(hand, file), this.#of(this.#now, hand, file));
    this.#told.push(`${hand.name}: kite try`);
    const { out, err, code } = await this.#kite(hand, ["try", "--", "cat", ...files]);
    expect([code, out], err).toEqual([0, files.map(file => this.#text(want, file)).join("")]);
  }

  async #move(hand: Hand): Promise<void> {
    this.#moved += 1;
    const branch = `moved-${this.#moved}`;
    const want = new Map(this.#head);
    for (const file of files) want.set(keyOf(hand, file), this.#of(this.#now, hand, file));
    const hasWork = this.#hasWork(hand, files);
    const { out, code } = await this.#form(hand, ["move", "--branch", branch, "--json"]);
    for (const file of files) this.#now.set(keyOf(hand, file), this.#of(this.#head, hand, file));
    if (!hasWork) return;
    expect(code, out).toBe(0);
    const listed = this.#git("worktree", "list", "--porcelain").split("\n\n");
    const entry = listed.find(one => one.includes(`branch refs/heads/${branch}`)) ?? "";
    const dir = entry.split("\n")[0]?.slice("worktree ".length) ?? "";
    for (const file of files) expect(w.read(dir, file)).toBe(this.#text(want, file));
  }

  /** Whether the hand has lines that are not committed. */
  #hasWork(hand: Hand, named: readonly string[]): boolean {
    return (named.length === 0 ? files : named).some(
      file => `${this.#of(this.#now, hand, file)}` !== `${this.#of(this.#head, hand, file)}`,
    );
  }

  /** One of the forms; now and then it is killed first, and sent again. */
  async #form(hand: Hand, words: readonly string[]): Promise<Ran> {
    if (this.#next() < 0.3) {
      const killAfterMs = Math.floor(this.#next() * 900);
      this.#told.push(`${hand.name}: kite ${words.join(" ")} (killed after ${killAfterMs} ms)`);
      await this.#kite(hand, words, killAfterMs);
    }
    this.#told.push(`${hand.name}: kite ${words.join(" ")}`);
    return this.#kite(hand, words);
  }

  /** A line of the hand's shell, which its client tells of as of any other. */
  async #kite(hand: Hand, words: readonly string[], killAfterMs: number | null = null): Promise<Ran> {
    const call = this.#call("Bash", { command: `kite ${words.map(word => `'${word}'`).join(" ")}` });
    const said = await this.#event(hand.session, { hook_event_name: "PreToolUse", ...call });
    expect(said).not.toContain('"deny"');
    const begunMs = Date.now();
    const ran = await this.#run(hand, process.execPath, [kiteProgram, ...words], killAfterMs);
    const name = ran.code === 0 ? "PostToolUse" : "PostToolUseFailure";
    const end = { hook_event_name: name, tool_response: {}, duration_ms: Date.now() - begunMs };
    await this.#event(hand.session, { ...end, ...call });
    return ran;
  }

  async #run(
    { session }: Hand,
    program: string,
    args: readonly string[],
    killAfterMs: number | null = null,
  ): Promise<Ran> {
    const own = { KITE_HOME: w.paths.home, KITE_SESSION: session };
    const env = { ...w.environment, ...own };
    const child = spawn(program, args, { cwd: this.#dir, env, stdio: ["ignore", "pipe", "pipe"] });
    const [out, err] = [textOf(child.stdout), textOf(child.stderr)];
    const timer =
      killAfterMs === null ? undefined : setTimeout(() => void child.kill("SIGKILL"), killAfterMs);
    const [code] = await once(child as ChildProcess, "close");
    clearTimeout(timer);
    return { code, out: out(), err: err() };
  }

  /** What is true after each step. */
  #judge(): void {
    for (const file of files) {
      expect(this.#onDisk(file), `${file} in the checkout`).toBe(this.#text(this.#now, file));
      expect(this.#inCommit(file), `${file} in the commit`).toBe(this.#text(this.#head, file));
    }
    const all = this.#git("log", "--branches", "HEAD", "--format=%H").split("\n");
    for (const commit of all) this.#judgeCommit(commit);
    for (const commit of this.#commits.keys()) expect(all, "a commit that is on no branch").toContain(commit);
    expect(existsSync(join(this.#dir, ".git", "index.lock"))).toBe(false);
    expect(
      this.#git("status", "--porcelain")
        .split("\n")
        .filter(line => /^(?:\?\?|U)/.test(line)),
    ).toEqual([]);
  }

  /** A commit has the lines of one hand alone. */
  #judgeCommit(commit: string): void {
    if (this.#commits.has(commit)) return;
    // The first one has all lines, and whoever amends it makes no other.
    if (this.#git("rev-list", "--parents", "-1", commit).split(" ").length === 1) {
      this.#commits.set(commit, "");
      return;
    }
    const shown = this.#git("show", "-U0", "--format=", "--no-color", commit);
    const hands = new Set((shown.match(/^[-+](?![-+]{2} )[a-z]+/gm) ?? []).map(line => line.slice(1)));
    expect([...hands].length, `whose lines ${commit} has: ${shown}`).toBeLessThanOrEqual(1);
    this.#commits.set(commit, [...hands][0] ?? "");
  }

  #some(): readonly string[] {
    return this.#next() < 0.5 ? [] : [this.#pick(files)];
  }

  #pick<T>(all: readonly T[]): T {
    const one = all[Math.floor(this.#next() * all.length)];
    if (one === undefined) throw new Error("nothing to pick from");
    return one;
  }

  #of(model: Model, hand: Hand, file: string): Lines {
    return model.get(keyOf(hand, file)) ?? [];
  }

  /** The lines of all hands lie beside each other. */
  #text(model: Model, file: string): string {
    const lines = Array.from({ length: slots }, (_, n) =>
      this.#hands.map(hand => `${hand.name}.${n}: ${this.#of(model, hand, file)[n]}\n`),
    );
    return lines.flat().join("");
  }

  #read(model: Model, hand: Hand, file: string, text: string): void {
    const own = [...text.matchAll(new RegExp(`^${hand.name}\\.\\d+: (.*)$`, "gm"))].map(
      ([, value = ""]) => value,
    );
    model.set(keyOf(hand, file), own);
  }

  #onDisk(file: string): string {
    return w.read(this.#dir, file);
  }

  #inCommit(file: string): string {
    return w.git(this.#dir, "show", `HEAD:${file}`);
  }

  #git(...args: string[]): string {
    return w.git(this.#dir, ...args).trim();
  }

  #call(tool_name: string, tool_input: object) {
    this.#calls += 1;
    return { tool_name, tool_input, tool_use_id: `toolu_${this.#dir}_${this.#calls}` };
  }

  #event(session: string, fields: object): Promise<string> {
    return w.event(session, this.#dir, fields);
  }
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}

function keyOf({ name }: Hand, file: string): string {
  return `${name} ${file}`;
}

/** Git lines as agents send them. None is sent again, so what a refusal asks for once is never confirmed. */
const lines = [
  "git add -A && git commit -qm all",
  "git commit -qam all",
  "git add a.ts && git commit -qm one",
  "git stash -q",
  "git stash -q; true; git stash pop -q",
  "git checkout -q -- a.ts",
  "git checkout -q .",
  "git restore src",
  "git reset -q --hard",
  "git clean -fdq",
  "git commit -q --amend --no-edit",
  "git reset -q --soft HEAD~1",
  "git reset -q --hard HEAD~1",
  "git switch -q -c topic",
  "git checkout -q HEAD~1",
  "git rebase -q HEAD~1",
  "git status --short",
  "git diff --stat",
];

describe("in a random history", () => {
  it.each(Array.from({ length: histories }, (_, n) => firstSeed + n))(
    "%i, no line of others goes or is committed, and no commit is lost",
    seed => new History(seed).play(),
    300_000,
  );
});
