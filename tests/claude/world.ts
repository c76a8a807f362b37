import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { KiteClient } from "../../client/client.ts";
import type { EventLine } from "../../protocol/events.ts";
import { type KitePaths, kitePaths } from "../../protocol/paths.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { InteractiveSession } from "./interactive.ts";
import { PaneTeam } from "./panes.ts";
import { allGone, endAll, gone } from "./processes.ts";
import { ClaudeSession, environment, type SessionOptions } from "./session.ts";

const commandMs = 60_000;

/** What `kite status --json` prints while a daemon runs. */
export interface Status {
  readonly running: boolean;
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
  readonly refusals: readonly {
    readonly id: string | null;
    readonly code: string;
    readonly file: string | null;
  }[];
}

export interface Programs {
  /** The real client. */
  readonly claude: string;
  /** The built command line, run by this same Node. */
  readonly kite: string;
}

/** A repository with Kite installed, a daemon's home, and real sessions; all of it ends with `dispose`. */
export class World {
  readonly repository: string;
  readonly paths: KitePaths;
  readonly #folder: string;
  readonly #programs: Programs;
  #frozen: number | null = null;
  readonly #sessions: { readonly dispose: () => Promise<void> }[] = [];
  #watcher: Watcher | null = null;

  /** `installed` false: a repository that Kite knows nothing of. */
  static async create(programs: Programs, installed = true): Promise<World> {
    const world = new World(programs);
    try {
      await promisify(execFile)("git", ["init", "-q", world.repository], { env: world.#environment({}) });
      if (installed) await world.kite("install", "--project", world.repository);
    } catch (error) {
      await world.dispose();
      throw error;
    }
    return world;
  }

  private constructor(programs: Programs) {
    this.#programs = programs;
    // Short: a socket's path has a bound.
    this.#folder = realpathSync(mkdtempSync(join(tmpdir(), "kite-claude-")));
    this.repository = join(this.#folder, "project");
    mkdirSync(this.repository);
    this.paths = kitePaths({ KITE_HOME: join(this.#folder, "kite") });
  }

  /** A path in the repository. */
  path(name: string): string {
    return join(this.repository, name);
  }

  write(name: string, text: string): void {
    writeFileSync(this.path(name), text);
  }

  read(name: string): string {
    return readFileSync(this.path(name), "utf8");
  }

  /** Runs the command line; throws unless it exits with 0. */
  async kite(...args: string[]): Promise<string> {
    return await this.#run(args, {});
  }

  /** Gives a session that is yet to start Kite's tools, and lets it use them. */
  async tools(name: string): Promise<void> {
    await this.#run(["install", "--project", this.repository, "--allow"], { HOME: join(this.#folder, name) });
  }

  /** Runs the command line as the person whose home is this session's. */
  async kiteFor(name: string, ...args: string[]): Promise<string> {
    return await this.#run(args, { HOME: join(this.#folder, name) });
  }

  /** Takes all of Kite out of the repository and of the session's home. */
  async noTools(name: string): Promise<void> {
    await this.#run(["uninstall", "--project", this.repository], { HOME: join(this.#folder, name) });
  }

  /** Runs the client's own command line for a session that is yet to start; throws unless it exits with 0. */
  async claude(name: string, ...args: string[]): Promise<string> {
    const home = join(this.#folder, name);
    mkdirSync(home, { recursive: true });
    // Nothing listens there: the command needs nobody.
    const env = { ...environment(home, "http://127.0.0.1:9"), KITE_HOME: this.paths.home };
    const options = { env, cwd: this.repository, timeout: commandMs };
    const { stdout } = await promisify(execFile)(this.#programs.claude, args, options);
    return stdout;
  }

  /** The user's settings in the home of this session. */
  settings(name: string): object {
    return JSON.parse(readFileSync(join(this.#folder, name, ".claude/settings.json"), "utf8"));
  }

  async putSettings(name: string, settings: object): Promise<void> {
    await writeFile(join(this.#folder, name, ".claude/settings.json"), JSON.stringify(settings));
  }

  /** How many events of each kind the daemon heard of. */
  async heard(): Promise<Readonly<Record<string, number>>> {
    const { hooks } = z
      .object({ hooks: z.record(z.string(), z.number()) })
      .parse(await this.#watcher?.stats());
    return hooks;
  }

  /** What the client keeps in its own file, in the home of this session. */
  clientFile(name: string): Readonly<Record<string, unknown>> {
    return JSON.parse(readFileSync(join(this.#folder, name, ".claude.json"), "utf8"));
  }

  /** What the clients that live in the home of this session say that they do: `busy`, `waiting`, `idle`. */
  clientStatus(name: string): readonly string[] {
    const folder = join(this.#folder, name, ".claude/sessions");
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .filter(file => file.endsWith(".json"))
      .flatMap(file => /"status":\s*"(\w+)"/.exec(readFileSync(join(folder, file), "utf8"))?.[1] ?? []);
  }

  /** The events' ends of which no daemon heard, as the hooks left them. */
  unheard(): string {
    return existsSync(this.paths.unheardEnds) ? readFileSync(this.paths.unheardEnds, "utf8") : "";
  }

  /** Starts the daemon with these variables and follows what happens. */
  async up(variables: Readonly<Record<string, string>> = {}): Promise<Watcher> {
    await this.#run(["up"], variables);
    this.#watcher?.close();
    this.#watcher = await Watcher.start(this.paths);
    return this.#watcher;
  }

  /** Throws where no daemon runs. */
  async status(): Promise<Status> {
    return JSON.parse(await this.kite("status", "--json"));
  }

  /** The folder of a session of another client, with its home; what it is ends with the world. */
  folder(name: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Ends the session, too, when the world ends. */
  add(session: { readonly dispose: () => Promise<void> }): void {
    this.#sessions.push(session);
  }

  /** Starts a session of the real client in the repository, or in `cwd`; `name` is the folder with its home. */
  async session(
    name: string,
    script: SessionOptions["script"],
    more: Partial<Pick<SessionOptions, "cwd" | "settings" | "limitMs" | "env" | "prompt">> = {},
  ): Promise<ClaudeSession> {
    const folder = join(this.#folder, name);
    const session = await ClaudeSession.start({
      program: this.#programs.claude,
      folder,
      cwd: this.repository,
      script,
      ...more,
    });
    this.#sessions.push(session);
    return session;
  }

  /** The same in a terminal, with a person in front of it who says one thing. */
  async interactive(
    name: string,
    script: SessionOptions["script"],
    more: Pick<SessionOptions, "mates" | "flags" | "env" | "settings" | "limitMs" | "prompt" | "aside"> = {},
  ): Promise<InteractiveSession> {
    const folder = join(this.#folder, name);
    const options = { program: this.#programs.claude, folder, cwd: this.repository, script, ...more };
    const session = await InteractiveSession.start(options);
    this.#sessions.push(session);
    return session;
  }

  /** A team whose lead and teammates have panes of a tmux server of their own. */
  async panes(
    name: string,
    script: SessionOptions["script"],
    more: Pick<SessionOptions, "mates" | "env" | "aside"> = {},
  ): Promise<PaneTeam> {
    const folder = join(this.#folder, name);
    const options = { program: this.#programs.claude, folder, cwd: this.repository, script, ...more };
    const team = await PaneTeam.start(options);
    this.#sessions.push(team);
    return team;
  }

  /** Kills the daemon. Resolves when it is gone. */
  async kill(): Promise<void> {
    const pid = this.#daemon();
    process.kill(pid, "SIGKILL");
    await gone(pid);
  }

  /** Stops the daemon in its tracks, as a debugger or an overloaded machine does. */
  freeze(): void {
    const pid = this.#daemon();
    process.kill(pid, "SIGSTOP");
    this.#frozen = pid;
  }

  /** Lets it go on. Harmless when it does. */
  thaw(): void {
    if (this.#frozen !== null) process.kill(this.#frozen, "SIGCONT");
    this.#frozen = null;
  }

  /**
   * Settings in which a person's own hook holds every edit back until `release` is called: the edit is allowed by
   * Kite, and has not happened yet.
   */
  async holdingEdits(): Promise<{ readonly settings: object; readonly release: () => Promise<void> }> {
    const pipe = join(this.#folder, "edits");
    await promisify(execFile)("mkfifo", [pipe]);
    const hook = { type: "command", command: "/bin/cat", args: [pipe] };
    const settings = { hooks: { PreToolUse: [{ matcher: "Edit", hooks: [hook] }] } };
    return { settings, release: () => writeFile(pipe, "") };
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#sessions.map(session => session.dispose()));
    this.thaw();
    this.#watcher?.close();
    if (existsSync(this.paths.daemonFile)) await this.kite("down");
    // A client that was asked to end may still write its last file.
    endAll(this.#folder);
    await allGone(this.#folder);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 });
  }

  #daemon(): number {
    return z.object({ pid: z.number() }).parse(JSON.parse(readFileSync(this.paths.daemonFile, "utf8"))).pid;
  }

  async #run(args: readonly string[], variables: Readonly<Record<string, string>>): Promise<string> {
    const env = this.#environment({ KITE_HOME: this.paths.home, ...variables });
    const options = { env, cwd: this.#folder, timeout: commandMs };
    const { stdout } = await promisify(execFile)(process.execPath, [this.#programs.kite, ...args], options);
    return stdout;
  }

  #environment(more: Readonly<Record<string, string>>): Record<string, string> {
    return { PATH: process.env["PATH"] ?? "", HOME: join(this.#folder, "home"), ...more };
  }
}

/** A connection that sees what happens. */
export class Watcher {
  readonly #client: KiteClient;
  readonly #seen: EventLine[] = [];
  readonly #wanted = new Set<() => void>();

  static async start(paths: KitePaths): Promise<Watcher> {
    const client = await KiteClient.connect({ paths });
    const watcher = new Watcher(client);
    await client.subscribe();
    return watcher;
  }

  private constructor(client: KiteClient) {
    this.#client = client;
    client.onEvent(event => {
      this.#seen.push(event);
      for (const look of this.#wanted) look();
    });
  }

  /** Resolves when this session has been granted a lock. */
  async granted(id: string): Promise<void> {
    await this.#event(e => e.event === "lock_granted" && e.holder.id === id);
  }

  /** Resolves when this session waits in line for a file. */
  async queued(id: string): Promise<void> {
    await this.#event(e => e.event === "lock_queued" && e.waiter.id === id);
  }

  /** Resolves when the session has ended. */
  async ended(id: string): Promise<void> {
    await this.#event(e => e.event === "session_ended" && e.id === id);
  }

  async stats(): Promise<unknown> {
    return await this.#client.request("stats", {});
  }

  /** Who was granted a lock, in order; one that waited has `waited`. */
  get grants(): readonly { readonly id: string; readonly waited: boolean }[] {
    return this.#seen.flatMap(e =>
      e.event === "lock_granted" ? [{ id: e.holder.id, waited: e.waitedMs > 0 }] : [],
    );
  }

  close(): void {
    this.#client.close();
  }

  /** The first event, past or to come, that `fits`. */
  async #event(fits: (event: EventLine) => boolean): Promise<void> {
    while (!this.#seen.some(fits)) {
      await new Promise<void>(resolve => {
        const look = () => {
          this.#wanted.delete(look);
          resolve();
        };
        this.#wanted.add(look);
      });
    }
  }
}
