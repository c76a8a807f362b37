/**
 * A daemon in this process whose hooks do what a test says, and real repositories: what guards look at is git's own
 * doing, and what they are asked is the test's.
 */

import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { loadConfig } from "../../daemon/config/config.ts";
import { createLog } from "../../daemon/instance/log.ts";
import type { DaemonOptions, RunningDaemon } from "../../daemon/options.ts";
import { startDaemon } from "../../daemon/start.ts";
import { decode, type TrailLine } from "../../daemon/trail/line.ts";
import { claudeCodeClient } from "../../hooks/claude-code/adapter.ts";
import { teamFiles } from "../../hooks/claude-code/teams.ts";
import type { HookAdapter } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome } from "../../hooks/seam/slices.ts";
import type { GuardedCommand, GuardMode } from "../../protocol/guard.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { leaveBehind } from "../left-behind.ts";
import { Client } from "./daemon.ts";

type Guarded = Extract<HookOutcome, { did: "guard"; ok: true }>;

/** Does what the event holds, and answers with what came of it. */
const adapter: HookAdapter = {
  ...claudeCodeClient,
  plan: event => ({
    event: "test",
    session: null,
    agent: null,
    tool: null,
    file: null,
    doing: null,
    home: null,
    transcript: null,
    actions: (event["actions"] as readonly HookAction[]).map(readAliases),
    answer: outcomes => ({ output: JSON.stringify(outcomes) }),
  }),
  agentFile: { isOne: () => false, parentIn: () => null },
  teams: teamFiles,
  lifeFiles: { of: () => null, readEnd: () => "unknown", readSubagent: () => null, readStatus: () => null },
};

/** An alias comes to what it is told to in JSON. */
function readAliases(action: HookAction): HookAction {
  if (action.do !== "guard") return action;
  const commandsOf = (text: string): GuardedCommand[] => JSON.parse(text);
  return { ...action, aliases: action.aliases.map(alias => ({ ...alias, commandsOf })) };
}

/** What a command reaches unless told: the working tree, all of it. */
export function command(name: string, more: Partial<GuardedCommand> = {}): Partial<GuardedCommand> {
  const isTree = { reach: "tree", commits: false, paths: null, untracked: false } as const;
  return { name, gitDir: null, workTree: null, ...isTree, ...more };
}

export const addAll = command("git add -A", { reach: "take_all", untracked: true });
export const commitAll = command("git commit -a", { reach: "take_all", commits: true });
export const commit = command("git commit", { reach: "index", commits: true });
export const stash = command("git stash push");
export const reset = command("git reset --hard");

/** A folder in memory if there is one that has room and runs programs: a copy costs a tenth of one on a disk. */
function temporaryFolder(): string {
  const memory = "/dev/shm";
  if (process.env["TMPDIR"] !== undefined || !existsSync("/proc/mounts")) return tmpdir();
  const [, options = "noexec"] = / \/dev\/shm tmpfs (\S*)/.exec(readFileSync("/proc/mounts", "utf8")) ?? [];
  if (!options.startsWith("rw") || options.includes("noexec")) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 ** 30 ? memory : tmpdir();
}

/** Makes a repository with one commit of all that is in its folder. */
export const firstCommit = "git init -q -b main && git add -A && git commit -qm first";

/** Makes the files of a repository older than all that follows: git and Kite then see each write by its time. */
export const makesOld = "find . -name .git -prune -o -type f -exec touch -t 202601010000 {} +";

export class GuardWorld {
  readonly folder = realpathSync(mkdtempSync(join(temporaryFolder(), "kg-")));
  readonly paths = kitePaths({ KITE_HOME: join(this.folder, "h") });
  readonly #clients: Client[] = [];
  readonly #originals = new Map<string, string>();
  #daemon: RunningDaemon | null = null;
  #uses = 0;
  #started: readonly [GuardMode, HookAdapter] = ["deny", adapter];

  /** Hooks do what tests say, unless they are those of a client: `hooks`. */
  async start(
    treeGuard: GuardMode = "deny",
    hooks: HookAdapter = adapter,
    more: Pick<DaemonOptions, "outside" | "git" | "clock"> = {},
  ): Promise<void> {
    this.#started = [treeGuard, hooks];
    const { paths } = this;
    const loaded = await loadConfig({ env: {}, paths });
    const { logger } = createLog(paths.log);
    const config = { ...loaded, values: { ...loaded.values, treeGuard } };
    const options = { paths, version: "test", config, adapters: [hooks], log: logger, ...more };
    const started = await startDaemon(options);
    if (started.is !== "started") throw new Error(`not started: ${JSON.stringify(started)}`);
    this.#daemon = started.daemon;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients.splice(0)) client.destroy();
    this.#daemon?.stop("the test is over");
    await this.#daemon?.done;
    this.#daemon = null;
  }

  async dispose(): Promise<void> {
    await this.stop();
    leaveBehind(this.paths.home);
    rmSync(this.folder, { recursive: true, force: true });
  }

  async client(): Promise<Client> {
    const client = await Client.open(this.paths.socket);
    this.#clients.push(client);
    return client;
  }

  /** A connection that shows a person's token. */
  async person(): Promise<Client> {
    const client = await this.client();
    await client.ask({ type: "hello", person: readFileSync(this.paths.personToken, "utf8").trim() });
    return client;
  }

  /** The answer to one hook event of a session that works in `cwd`; `env` is what its client forwards. */
  async event(session_id: string, cwd: string, fields: object, env: object = {}): Promise<string> {
    const client = await this.client();
    const event = { session_id, cwd, prompt_id: "p", permission_mode: "default", ...fields };
    const reply = await client.ask({ type: "hook", event, env: { HOME: this.folder, ...env } });
    client.destroy();
    expect(reply).toMatchObject({ ok: true });
    return String(reply["output"]);
  }

  /** A whole edit and the end of its turn: the work stays, the hold does not. Returns what was said before it. */
  async wholeEdit(session: string, dir: string, file: string, text: string): Promise<string> {
    this.#uses += 1;
    const tool_input = { file_path: `${dir}/${file}` };
    const call = { tool_name: "Write", tool_input, tool_use_id: `w${this.#uses}` };
    const said = await this.event(session, dir, { hook_event_name: "PreToolUse", ...call });
    this.put(dir, file, text);
    await this.event(session, dir, { hook_event_name: "PostToolUse", tool_response: {}, ...call });
    await this.event(session, dir, { hook_event_name: "Stop" });
    return said;
  }

  /** What programs of a test see: nothing of the surroundings but where programs are. */
  get environment(): Record<string, string> {
    const { PATH = "" } = process.env;
    const author = { GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@t" };
    const committer = { GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@t" };
    const settings = { GIT_CONFIG_NOSYSTEM: "1", GIT_EDITOR: "true" };
    return { PATH, HOME: this.folder, ...settings, ...author, ...committer };
  }

  git(dir: string, ...args: string[]): string {
    const settings = ["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"];
    const { environment: env } = this;
    return execFileSync("git", [...settings, ...args], { cwd: dir, env, encoding: "utf8", stdio: "pipe" });
  }

  /** Runs a shell line to its end; returns what it printed. Throws if it fails. */
  shell(dir: string, line: string, ...args: string[]): string {
    const { environment: env } = this;
    return execFileSync("bash", ["-c", line, "bash", ...args], {
      cwd: dir,
      env,
      encoding: "utf8",
      stdio: "pipe",
    });
  }

  /** A repository with these files committed; returns its folder. */
  repo(
    name: string,
    files: readonly string[] | null = ["a.ts", "b.ts", "src/c.ts", "src/deep/d.ts"],
  ): string {
    // Nothing is committed yet.
    if (files === null) return this.copy(name, {}, "git init -q -b main");
    return this.copy(name, Object.fromEntries(files.map(file => [file, `${file}\n`])), firstCommit);
  }

  /**
   * A copy of the repository that the shell line makes of these files: the first one that is like it is made, all
   * others are copies.
   */
  copy(name: string, files: Readonly<Record<string, string>>, line: string): string {
    const key = JSON.stringify([files, line]);
    const original = this.#originals.get(key) ?? join(this.folder, `original-${this.#originals.size}`);
    if (!this.#originals.has(key)) {
      mkdirSync(original);
      for (const [file, text] of Object.entries(files)) this.put(original, file, text);
      this.shell(original, `${line} && rm -rf .git/hooks && ${makesOld}`);
      this.#originals.set(key, original);
    }
    const dir = join(this.folder, name);
    // The files of the copy are others than the index knows.
    const copies = 'cp -a "$1" "$2" && git -C "$2" update-index -q --refresh';
    this.shell(this.folder, copies, original, dir);
    return dir;
  }

  put(dir: string, file: string, text: string): string {
    const path = join(dir, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  read(dir: string, file: string): string {
    return readFileSync(join(dir, file), "utf8");
  }

  /** What the trail holds of a session, once all of it is written. */
  async trail(session: string): Promise<TrailLine[]> {
    const client = await this.client();
    const reply = await client.ask({ type: "stats" });
    if (reply["ok"] !== true) throw new Error(JSON.stringify(reply));
    await this.stop();
    const lines = readdirSync(this.paths.trail).flatMap(name =>
      readFileSync(join(this.paths.trail, name), "utf8")
        .split("\n")
        .flatMap(text => decode(text) ?? []),
    );
    await this.start(...this.#started);
    return lines.filter(({ id }) => id === session);
  }

  /** Sends actions as one hook event; resolves with their outcomes. */
  async act(...actions: readonly object[]): Promise<HookOutcome[]> {
    const client = await this.client();
    const reply = await client.ask({ type: "hook", event: { actions } });
    client.destroy();
    if (reply["ok"] !== true) throw new Error(JSON.stringify(reply));
    return JSON.parse(String(reply["output"]));
  }

  async begin(session: string, cwd: string): Promise<void> {
    const pid = process.pid;
    await this.act({ do: "begin", session, cwd, revive: true });
    const client = await this.client();
    const named = await client.ask({ type: "register", id: session, cwd, name: session });
    if (named["ok"] !== true) throw new Error(`${pid}: ${JSON.stringify(named)}`);
    client.destroy();
  }

  /** A whole edit as hooks tell it: allowed, written, told; the actor's turn ends unless it `stays`. */
  async edit(session: string, cwd: string, file: string, text: string, more: object = {}): Promise<void> {
    this.#uses += 1;
    const toolUseId = `edit-${this.#uses}`;
    const path = join(cwd, file);
    const who = { session, cwd, toolUseId, ancestors: [], ...more };
    const lock = { waitMs: 1000, promptId: null, parentFile: null, overwrites: [] };
    const [locked] = await this.act({ do: "lock", ...who, file: path, ...lock });
    if (locked?.ok !== true) throw new Error(JSON.stringify(locked));
    this.put(cwd, file, text);
    await this.act({ do: "flight_end", ...who, wrote: true, file: path, lines: null });
  }

  async stopped(session: string, more: object = {}): Promise<void> {
    await this.act({ do: "turn_end", session, ...more });
  }

  /** Asks as the hook before a shell line does. */
  async ask(
    session: string,
    dir: string,
    commands: readonly Partial<GuardedCommand>[],
    more: object = {},
  ): Promise<HookOutcome> {
    this.#uses += 1;
    const asked = commands.map(each => ({ dir, ...each }));
    const who = { session, cwd: dir, toolUseId: `bash-${this.#uses}`, promptId: null, waitMs: 30_000 };
    const line = {
      line: "git",
      typed: JSON.stringify(commands),
      ancestors: [],
      parentFile: null,
      aliases: [],
      unread: null,
    };
    const [outcome] = await this.act({ do: "guard", ...who, ...line, commands: asked, ...more });
    if (outcome === undefined) throw new Error("no outcome");
    return outcome;
  }

  async guard(
    session: string,
    dir: string,
    commands: readonly Partial<GuardedCommand>[],
    more: object = {},
  ): Promise<Guarded> {
    const outcome = await this.ask(session, dir, commands, more);
    if (outcome.did !== "guard" || !outcome.ok) throw new Error(JSON.stringify(outcome));
    return outcome;
  }

  /** What was found, in short: the verdict and whose files. */
  async found(
    session: string,
    dir: string,
    commands: readonly Partial<GuardedCommand>[],
    more: object = {},
  ): Promise<string[]> {
    const { findings, unchecked } = await this.guard(session, dir, commands, more);
    const words = findings.map(({ command, verdict, foreign, own, unseen }) => {
      const theirs = foreign.map(f => `${f.file} ${f.held ? "held by" : "of"} ${f.who}`).join(", ");
      return `${command} ${verdict}${unseen === undefined ? "" : " unseen"}: ${theirs}${own.length > 0 ? `; own ${own.join(", ")}` : ""}`;
    });
    return unchecked === null ? words : [...words, `unchecked: ${unchecked}`];
  }

  /** The line of the latest guard has ended. */
  async ended(session: string, cwd: string, more: object = {}): Promise<void> {
    const toolUseId = `bash-${this.#uses}`;
    await this.act({ do: "shell_end", session, cwd, toolUseId, ranMs: 0, ancestors: [], ...more });
  }
}
