/**
 * Recorded sessions of the real client, replayed in one repository through the commands that `kite install` wrote:
 * read back from the settings, run as the client runs them, against the real daemon.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { KiteClient } from "../../client/client.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { fitsRule } from "../unit/client-rules.ts";
import { Home } from "./daemon.ts";

const folder = new URL("../fixtures/payloads/", import.meta.url);

export type Payload = Readonly<Record<string, unknown>> & {
  readonly hook_event_name: string;
  readonly session_id: string;
};

export interface Ran {
  readonly event: string;
  readonly tool: unknown;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The client does not wait for it. */
  readonly observes: boolean;
}

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
  readonly async?: boolean;
  readonly asyncRewake?: boolean;
  readonly if?: string;
}

/** Every recorded sequence by its name. */
export const sequences = [
  "a-plain-session",
  "c-subagents",
  "c-subagent-ends",
  "d-team-in-process",
  "d-team-panes",
  "g-compact-clear",
  "k-interrupts",
  "p-bypass-denied",
] as const;

/** Recorded teams that other tests do not replay: hooks refuse what they do, or a teammate is killed. */
type Team =
  | "r-team-hooks-refuse"
  | "r-team-panes-hooks-refuse"
  | "r-team-panes-teammate-killed"
  | "r-team-in-process-stopped-and-lead-killed";

/** The teammates of recorded panes, in the order in which their sessions began after the lead's. */
const mates = [undefined, "alice", "bob"];

/** How the client starts a teammate in a pane. */
function paneWords(name: string, lead: string): readonly string[] {
  const team = teamOf(lead);
  const own = ["--agent-id", `${name}@${team}`, "--agent-name", name, "--team-name", team];
  return [...own, "--agent-color", "blue", "--parent-session-id", lead, "--agent-type", "general-purpose"];
}

export type Sequence = (typeof sequences)[number] | Team;

/** The client names a team after its lead's session. */
export function teamOf(session: string): string {
  return `session-${session.slice(0, 8)}`;
}

function recordedSequence(name: Sequence): readonly Payload[] {
  return readFileSync(new URL(`sequence-${name}.ndjson`, folder), "utf8")
    .trim()
    .split("\n")
    .map(line => JSON.parse(line).payload);
}

/** The hook ended well and had nothing to say. */
export const quiet = (ran: Ran) => expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" });

/** Lets its event go on, and tells at most that another one changed the file later. */
export function atMostConflicts(ran: Ran): void {
  if (ran.stdout === "") return void quiet(ran);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const note =
    /^Kite: another agent changed a file that you wrote\.\n.*(?:\n- .* changed .* after your last write of it: .*)+$/;
  const said = { hookEventName: ran.event, additionalContext: expect.stringMatching(note) };
  expect(JSON.parse(ran.stdout)).toEqual({ hookSpecificOutput: said });
}

/** Neither the client nor the daemon has a home where Kite's is. */
class ReplayHome extends Home {
  override get environment(): Record<string, string> {
    return { ...super.environment, HOME: join(this.root, "home") };
  }
}

/** A repository with Kite's hooks, a home of its own, and what runs there. */
export class ReplayWorld {
  readonly home = new ReplayHome({ work: "project", kite: "kite" });
  readonly root = this.home.root;
  readonly repo = this.home.work;
  readonly paths = this.home.paths;
  readonly settings = join(this.repo, ".claude", "settings.local.json");
  /** What the hooks' environment holds beside what the client gives them. */
  env: Readonly<Record<string, string>> = {};
  /** The same of the client's processes that begin from now on. */
  standInEnv: Readonly<Record<string, string>> = {};
  #watcher: Watcher | null = null;

  static async make(...options: string[]): Promise<ReplayWorld> {
    const world = new ReplayWorld();
    await promisify(execFile)("git", ["init", "-q", world.repo], { env: world.scrubbed() });
    writeFileSync(join(world.repo, "a.txt"), "one\ntwo\nthree\n");
    await world.run("install", "--project", world.repo, ...options);
    return world;
  }

  async remove(): Promise<void> {
    this.#watcher?.client.close();
    await this.home.dispose();
  }

  /** Nothing of the surroundings but where programs are; the installed entries carry KITE_HOME themselves. */
  scrubbed(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    const { KITE_HOME: _, ...scrubbed } = this.home.environment;
    return { ...scrubbed, ...more };
  }

  /** Runs the command line; throws unless it exits with 0. */
  run(...args: string[]): Promise<string> {
    return this.home.kiteAt(this.root, this.home.environment, ...args);
  }

  replay(name: Sequence = "a-plain-session"): Replay {
    return new Replay(this, name);
  }

  async watch(): Promise<Watcher> {
    this.#watcher?.client.close();
    this.#watcher = await Watcher.start(this.paths);
    return this.#watcher;
  }

  /** What the client would start for this event: entries whose rule fits, of groups whose matcher does. */
  entriesFor(payload: Payload): Entry[] {
    const { hooks } = JSON.parse(readFileSync(this.settings, "utf8"));
    const groups: { matcher?: string; hooks: Entry[] }[] = hooks[payload.hook_event_name] ?? [];
    const tool = `${payload["tool_name"]}`;
    return groups
      .filter(g => g.matcher === undefined || new RegExp(`^(?:${g.matcher})$`).test(tool))
      .flatMap(g => g.hooks)
      .filter(({ if: rule }) => rule === undefined || fits(rule, payload));
  }
}

/** A hook that runs. */
export interface Running {
  readonly child: ChildProcess;
  readonly ran: Promise<Ran>;
}

/** One recording, with ids of its own, in the world's repository. */
export class Replay {
  /** The session that begins first. */
  readonly id: string;
  readonly ran: Ran[] = [];
  readonly #world: ReplayWorld;
  readonly #payloads: Payload[];
  readonly #processes = new Map<string, ChildProcess>();
  readonly #observers = new Set<Promise<void>>();
  readonly #waking: Promise<void>[] = [];

  constructor(world: ReplayWorld, name: Sequence) {
    this.#world = world;
    const recorded = recordedSequence(name);
    const ids = new Map(recorded.map(p => [p.session_id, randomUUID()]));
    const [first] = ids.values();
    if (first === undefined) throw new Error(`nothing was recorded in ${name}`);
    this.id = first;
    this.#payloads = recorded.map(payload => {
      let text = JSON.stringify(payload)
        .replaceAll("/home/dev/project", world.repo)
        .replaceAll("/home/dev/.claude", join(world.root, "claude"))
        .replaceAll("/home/ana/shop", world.repo)
        .replaceAll("/home/ana/.claude", join(world.root, "claude"))
        .replaceAll("toolu_", `toolu_${first}_`);
      for (const [recordedId, id] of ids)
        text = text.replaceAll(recordedId, id).replaceAll(teamOf(recordedId), teamOf(id));
      return JSON.parse(text);
    });
    let before: ChildProcess | undefined;
    for (const p of this.#payloads) {
      if (this.#processes.has(p.session_id)) continue;
      // A session that was cleared goes on in the same process.
      const goesOn = p["source"] === "clear" ? before : undefined;
      const mate = name.includes("-panes") ? mates[this.#processes.size] : undefined;
      before = goesOn ?? this.#standIn(mate === undefined ? [] : paneWords(mate, first));
      this.#processes.set(p.session_id, before);
    }
  }

  get sessions(): readonly string[] {
    return [...this.#processes.keys()];
  }

  /** The file the client gives a session's hooks for its environment. */
  envFile(id = this.id): string {
    return join(this.#world.root, `env-${id}`);
  }

  /** The next events up to, and without, the first one that `fits`. */
  async until(fits: string | ((payload: Payload) => boolean)): Promise<void> {
    const isIt = typeof fits === "string" ? (p: Payload) => p.hook_event_name === fits : fits;
    while (this.#payloads[0] !== undefined && !isIt(this.#payloads[0])) await this.next();
  }

  /** All the rest; `after` looks at each event when its hooks have answered. */
  async toTheEnd(after: (payload: Payload) => Promise<void> | void = () => {}): Promise<void> {
    for (let [payload] = this.#payloads; payload !== undefined; [payload] = this.#payloads) {
      await this.next();
      await after(payload);
    }
    await this.settled();
  }

  /** Runs the hooks of the next event side by side, as the client does. */
  async next(): Promise<Ran[]> {
    const payload = this.#payloads.shift();
    if (payload === undefined) throw new Error("the recording is over");
    return await this.send(payload);
  }

  /** Resolves when those hooks have ended that the client waits for. */
  async send(payload: Payload): Promise<Ran[]> {
    const waited: Promise<Ran>[] = [];
    for (const entry of this.#world.entriesFor(payload)) {
      const { ran } = this.start(payload, entry);
      const noted = ran.then(one => void this.ran.push(one));
      if (observes(entry)) {
        // The hook that may wake a lead waits while agents of its work: nobody waits for that one.
        if (entry.asyncRewake === true) {
          this.#waking.push(noted);
          continue;
        }
        this.#observers.add(noted);
        void noted.then(() => this.#observers.delete(noted));
      } else waited.push(noted.then(() => ran));
    }
    return await Promise.all(waited);
  }

  /** When the hooks have ended, too, that the client does not wait for. */
  async settled(): Promise<void> {
    while (this.#observers.size > 0) await Promise.all(this.#observers);
  }

  /** When the hooks have ended, too, that may wake a session. Where a daemon runs they may wait for others. */
  async wakingEnded(): Promise<void> {
    await Promise.all(this.#waking);
  }

  /** An event of a writing tool, made from the recorded one. */
  edit(tool: "Edit" | "Write", file: string, more: Readonly<Record<string, unknown>> = {}): Payload {
    const model = recordedSequence("a-plain-session").find(
      p => p.hook_event_name === "PreToolUse" && p["tool_name"] === tool,
    );
    if (model === undefined) throw new Error(`no ${tool} was recorded`);
    return {
      ...model,
      session_id: this.id,
      cwd: this.#world.repo,
      tool_input: { file_path: join(this.#world.repo, file), content: "x" },
      tool_use_id: `toolu_${randomUUID()}`,
      ...more,
    };
  }

  /** Ends the client's processes, or that of one session. */
  kill(only?: string): void {
    for (const [id, child] of this.#processes) if (only === undefined || id === only) child.kill("SIGKILL");
  }

  /** Starts one hook; `entry` is the only one of its event unless it is given. */
  start(payload: Payload, entry = this.#world.entriesFor(payload)[0]): Running {
    if (entry === undefined) throw new Error(`no hook for ${payload.hook_event_name}`);
    const cwd = String(payload["cwd"]);
    mkdirSync(cwd, { recursive: true });
    const id = payload.session_id;
    const child = spawn(entry.command, entry.args, {
      cwd,
      env: this.#world.scrubbed({
        ...this.#world.env,
        CLAUDECODE: "1",
        CLAUDE_PID: String(this.#processes.get(id)?.pid),
        CLAUDE_PROJECT_DIR: this.#world.repo,
        CLAUDE_CODE_SESSION_ID: id,
        CLAUDE_CODE_ENTRYPOINT: "cli",
        CLAUDE_CODE_SESSION_ATTENDED: "1",
        ...(payload.hook_event_name === "SessionStart" ? { CLAUDE_ENV_FILE: this.envFile(id) } : {}),
      }),
      stdio: "pipe",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", chunk => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", chunk => {
      stderr += chunk;
    });
    // A client that lets go at once may not read it all.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
    const event = payload.hook_event_name;
    const ran = once(child, "close").then(([code, signal]) => {
      return { event, tool: payload["tool_name"], code, signal, stdout, stderr, observes: observes(entry) };
    });
    return { child, ran };
  }

  #standIn(words: readonly string[]): ChildProcess {
    const env = this.#world.scrubbed(this.#world.standInEnv);
    // It sleeps for ever, and starts faster than Node does.
    return this.#world.home.adopt(spawn("perl", ["-e", "sleep", "--", ...words], { env, stdio: "ignore" }));
  }
}

function fits(rule: string, { tool_input: input }: Payload): boolean {
  const command = typeof input === "object" && input !== null && "command" in input ? input.command : "";
  return fitsRule(rule, String(command));
}

function observes(entry: Entry): boolean {
  return entry.async === true || entry.asyncRewake === true;
}

/** A second connection that sees what happens. */
export class Watcher {
  readonly client: KiteClient;
  readonly seen: EventLine[] = [];
  readonly #wanted = new Set<() => void>();

  static async start(paths: KitePaths): Promise<Watcher> {
    const client = await KiteClient.connect({ paths });
    const made = new Watcher(client);
    await client.subscribe();
    return made;
  }

  private constructor(client: KiteClient) {
    this.client = client;
    client.onEvent(event => {
      this.seen.push(event);
      for (const look of this.#wanted) look();
    });
  }

  /** The first event, past or to come, that `fits`. */
  async event(fits: (event: EventLine) => boolean): Promise<EventLine> {
    const found = this.seen.find(fits);
    if (found !== undefined) return found;
    return await new Promise(resolve => {
      const look = () => {
        const event = this.seen.find(fits);
        if (event === undefined) return;
        this.#wanted.delete(look);
        resolve(event);
      };
      this.#wanted.add(look);
    });
  }

  queued = (id: string) => this.event(e => e.event === "lock_queued" && e.waiter.id === id);
  waitEnded = (id: string) => this.event(e => e.event === "lock_wait_ended" && e.waiter.id === id);
  ended = (id: string) => this.event(e => e.event === "session_ended" && e.id === id);

  /** Until the session waits, with its connection. An attachment has no event of its own, so this asks again. */
  async attached(id: string): Promise<void> {
    for (;;) {
      const waiters = (await this.locks()).flatMap(l => l.waiters);
      if (waiters.some(w => w.id === id && w.attached)) return;
    }
  }

  async locks(): Promise<readonly LockRow[]> {
    return await this.#rows<LockRow>("locks");
  }

  async sessions(): Promise<readonly SessionRow[]> {
    return await this.#rows<SessionRow>("sessions");
  }

  async session(id: string): Promise<SessionRow | undefined> {
    return (await this.sessions()).find(s => s.id === id);
  }

  /** Who holds what, as `file: session` or `file: session agent`. */
  async held(): Promise<string[]> {
    const name = (l: LockRow) => [l.holder?.id, l.holder?.agent].filter(Boolean).join(" ");
    return (await this.locks()).map(l => `${basename(l.path)}: ${name(l)}`).sort();
  }

  async #rows<Row>(target: "locks" | "sessions"): Promise<readonly Row[]> {
    const reply = await this.client.request("query", { target });
    if (!reply.ok) throw new Error(reply.error);
    return reply.rows as readonly Row[];
  }
}
