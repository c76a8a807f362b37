/**
 * Shell lines of agents, through the hooks of their client, in a repository in which two of them have work: and tables
 * that say of each line what comes of it.
 */

import { existsSync } from "node:fs";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import type { GuardMode } from "../../protocol/guard.ts";
import { nameOfId } from "../session-name.ts";
import { firstCommit, GuardWorld } from "./guard-world.ts";

/** Paths in a repository, and what is in them. */
export type Files = Readonly<Record<string, string>>;

/** The line that a person sees once a session: no table says whose denial is the first. */
const firstDenial = /^Kite stopped (?:an edit|a command line|a call) .*: kite explain --last$/;

/** What an answer gives its agent to read, and its person, but for the line at a session's first denial. */
export function read(output: string): string {
  if (output === "") return "";
  const { hookSpecificOutput: said = {}, systemMessage } = JSON.parse(output);
  const texts = [said.permissionDecisionReason, said.additionalContext, systemMessage];
  return texts.filter(text => text !== undefined && !firstDenial.test(text)).join("\n");
}

/** Whether nothing stands against a line but that it moves HEAD for others, or meddles with what is in progress. */
export function isOfHeadAlone(said: string): boolean {
  const isOfHead = said.includes("HEAD is one for all") || said.includes("that is not yours, and");
  return (
    isOfHead && said.includes("did not run yet") && !/may (?:wipe|change)|would (?:include|take)/.test(said)
  );
}

/** A world whose daemon has the hooks of the client. */
export class LineWorld extends GuardWorld {
  #lines = 0;
  #scenes = 0;

  override start(treeGuard: GuardMode = "deny", hooks = claudeCode): Promise<void> {
    return super.start(treeGuard, hooks);
  }

  /** Stops the daemon and starts another one. */
  async restart(treeGuard: GuardMode = "deny"): Promise<void> {
    await this.stop();
    await this.start(treeGuard);
  }

  /** Whole edits of a session, of which nobody has anything to say. */
  async work(session: string, dir: string, files: Files): Promise<void> {
    for (const [file, text] of Object.entries(files)) {
      expect(await this.wholeEdit(session, dir, file, text)).toBe("");
    }
  }

  /** The client ends the session. */
  async ends(session: string, dir: string): Promise<void> {
    await this.event(session, dir, { hook_event_name: "SessionEnd", reason: "other" });
  }

  /**
   * What the agent reads before its line runs; if the line is let through, it runs, and its end is told. A line against which
   * only HEAD stands is sent again: `guard-heads.test.ts` tells of those.
   */
  async line(
    session: string,
    dir: string,
    command: string,
    meanwhile?: () => Promise<unknown>,
  ): Promise<string> {
    const runs = async () => {
      await meanwhile?.();
      this.shell(dir, command);
    };
    const said = await this.#line(session, dir, command, runs);
    return isOfHeadAlone(said) ? this.#line(session, dir, command, runs) : said;
  }

  /** The same for a line that does nothing, whatever the answer is. */
  asks(session: string, dir: string, command: string): Promise<string> {
    return this.#line(session, dir, command, async () => {});
  }

  /** Whether a line is denied that may wipe another one's work; it does nothing. */
  async isDenied(session: string, dir: string, command: string): Promise<boolean> {
    const said = await this.asks(session, dir, command);
    const isDenied = said.includes("did not run") && !isOfHeadAlone(said);
    if (isDenied)
      expect(said).toMatch(
        /may (?:wipe uncommitted work of|change or remove (?:a file|files) that) another agent/,
      );
    return isDenied;
  }

  async #line(session: string, dir: string, command: string, runs: () => Promise<void>): Promise<string> {
    this.#lines += 1;
    const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `b${this.#lines}` };
    const said = await this.event(session, dir, { hook_event_name: "PreToolUse", ...call });
    if (said.includes('"deny"')) return read(said);
    await runs();
    const ended = { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call };
    await this.event(session, dir, ended);
    return read(said);
  }

  /** A repository of its own with two sessions that have work in it. */
  async scene({ committed, made, ann: anns, bob: bobs, loose = {} }: SceneKind): Promise<Scene> {
    this.#scenes += 1;
    const dir = this.copy(`r${this.#scenes}`, committed, made);
    const [ann, bob] = [`ann${this.#scenes}`, `bob${this.#scenes}`];
    await this.work(ann, dir, anns);
    await this.work(bob, dir, bobs);
    for (const [file, text] of Object.entries(loose)) this.put(dir, file, text);
    const files = Object.entries(anns);
    const isWhole = () =>
      files.every(([file, text]) => existsSync(`${dir}/${file}`) && this.read(dir, file) === text);
    return { dir, ann, bob, own: Object.keys(bobs), isWhole };
  }
}

/** How a scene is made: what is committed, the shell line that makes a repository of it, and who has which work. */
export interface SceneKind {
  readonly committed: Files;
  readonly made: string;
  readonly ann: Files;
  readonly bob: Files;
  /** What lies there besides, and is nobody's. */
  readonly loose?: Files;
}

export interface Scene {
  readonly dir: string;
  readonly ann: string;
  readonly bob: string;
  /** The files in which bob has work. */
  readonly own: readonly string[];
  /** Whether ann's work is as she left it. */
  isWhole(): boolean;
}

/** Of each agent a file that was there and a new one; `other` changes what ann works in, `same` nothing. */
export const both: SceneKind = {
  committed: {
    "a.ts": "a.ts\n",
    "b.ts": "b.ts\n",
    "src/c.ts": "src/c.ts\n",
    "src/deep/d.ts": "src/deep/d.ts\n",
  },
  made: [
    firstCommit,
    "git switch -qc other && echo other >a.ts && git commit -qam other && git switch -q main && git branch same",
    "git config alias.wipe 'reset --hard' && git config alias.outer wipe && git config alias.shell '!git outer'",
    "git config alias.round back && git config alias.back round",
  ].join(" && "),
  ann: { "a.ts": "ann's\n", "ann.ts": "ann's new\n" },
  bob: { "b.ts": "bob's\n", "bob.ts": "bob's new\n" },
};

/**
 * What comes of a line of bob's: it does not run, since it may wipe ann's work; he is told first that it would include
 * that, and it runs when he sends it again; it runs at once and leaves her work alone.
 */
export type Verdict = "denied" | "told" | "runs";

/** A line, what comes of it, and what is said besides. REPO is the name of the scene's folder in the home directory. */
export type Row = [line: string, verdict: Verdict, ...words: string[]];

/** A test for each row. Lines that are denied do not run: one scene is enough for all of them. */
export function rows(world: LineWorld, kind: SceneKind, table: readonly Row[]): void {
  let untouched: Promise<Scene> | null = null;
  const untouchedScene = () => {
    untouched ??= world.scene(kind);
    return untouched;
  };
  it.each<Row>(table)("%s: %s", async (line, verdict, ...words) => {
    const scene = await (verdict === "denied" ? untouchedScene() : world.scene(kind));
    const named = (text: string) => text.replaceAll("REPO", basename(scene.dir));
    const whole = words.map(text => named(text).replace("~", world.folder));
    await checks[verdict](world, scene, named(line), whole);
  });
}

type Check = (world: LineWorld, scene: Scene, line: string, words: readonly string[]) => Promise<void>;

const unplaced = "cannot be told";

const checks: Readonly<Record<Verdict, Check>> = {
  denied: async (world, { dir, ann, bob, isWhole }, line, words) => {
    const said = await world.asks(bob, dir, line);
    for (const part of ["may wipe uncommitted work of another agent", nameOfId(ann), ...words]) {
      expect(said).toContain(part);
    }
    if (words.length === 0) expect(said).not.toContain(unplaced);
    expect(isWhole()).toBe(true);
  },
  told: async (world, { dir, bob }, line) => {
    const said = await world.line(bob, dir, line);
    expect(said).toContain("would include work of another agent");
    expect(said).toContain("send exactly the same command again");
    expect(world.git(dir, "diff", "--cached", "--name-only")).toBe("");
    expect(await world.line(bob, dir, line)).toBe("");
  },
  runs: async (world, { dir, bob, own, isWhole }, line, words) => {
    const said = await world.line(bob, dir, line);
    if (words.length === 0) expect(said).toBe("");
    for (const part of words) expect(said).toContain(part);
    expect(said).not.toContain("did not run");
    expect(isWhole()).toBe(true);
    const committed = world.git(dir, "log", "--min-parents=1", "--name-only", "--format=").split("\n");
    expect(committed.filter(file => file !== "" && !own.includes(file))).toEqual([]);
  },
};
