/** `kite lock` holds files and resources while a command runs. */

import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { LocalError, NotRunning } from "../../client/errors.ts";
import { parentOf } from "../../daemon/facts/processes.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { errorText } from "../../protocol/errors.ts";
import type { EventLine } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { isResource, nameOrPerson, wrongResource } from "../../protocol/names.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import { shellArgument } from "../../protocol/text.ts";
import { type Acting, actingSession, commandSession } from "../context/actor.ts";
import { isAgents, registerPerson } from "../context/person.ts";
import {
  type Client,
  jsonLine,
  type ProcessContext,
  type Run,
  type Work,
} from "../context/process-context.ts";
import { Signals, signalCode } from "../context/programs.ts";
import { type Lockable, lockable } from "../context/project.ts";
import { rowsOf } from "../context/with-daemon.ts";
import { reportFailure } from "../entry.ts";
import { refusalText } from "../refusal-text.ts";
import { clean } from "../view/text.ts";

// `kite lock`: holds files and resources while a command runs.

export interface LockRun {
  /** Files and resources as they were typed. */
  readonly names: readonly string[];
  readonly command: string;
  readonly args: readonly string[];
  readonly waitMs: number;
  /** Exit code if the lock is not granted in time. */
  readonly refusedCode: number;
  readonly json: boolean;
}

/** Names the `kite lock` that runs a process, behind those that it runs inside: `outer/inner`. */
const commandVariable = "KITE_LOCK";
/** Longest path of the commands around this one, whose own name is added to it; a longer one is left out. */
const outerCharsMax = limits.idBytes - 40;

/** EX_UNAVAILABLE of sysexits(3), as flock(1) uses it if it cannot run the command. */
const unavailable = 69;

type LockReport =
  | { readonly is: "waiting"; readonly holder: string | null; readonly position: number }
  | { readonly is: "held"; readonly files: readonly string[]; readonly token: string }
  | { readonly is: "lost" | "refused"; readonly code: string; readonly error: string }
  | { readonly is: "released"; readonly exitCode: number };

/** Runs the command under the lock and returns the exit code. */
export async function hold(world: ProcessContext, run: LockRun): Promise<number> {
  const say = (report: LockReport, sentence: string | null) => {
    if (run.json) world.stderr.write(`${jsonLine(report)}\n`);
    else if (sentence !== null) world.stderr.write(`kite: ${clean(sentence)}\n`);
  };
  let client: Client;
  try {
    client = await world.connect({
      name: "kite lock",
      reconnect: true,
      reconnectMs: limits.boundGraceMs,
    });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    const code = error instanceof NotRunning ? "not_running" : "not_available";
    say({ is: "refused", code, error: error.message }, `the command did not run: ${error.message}`);
    return unavailable;
  }
  const signals = new Signals(() => client.close());
  try {
    return await new Holding(world, client, run, signals, say).all();
  } catch (error) {
    if (signals.ended !== null) return signals.ended;
    if (!(error instanceof LocalError)) throw error;
    say(
      { is: "refused", code: "not_available", error: error.message },
      `the command did not run: ${error.message}`,
    );
    return unavailable;
  } finally {
    signals.close();
    client.close();
  }
}

class Holding {
  readonly #world: ProcessContext;
  readonly #client: Client;
  readonly #run: LockRun;
  readonly #signals: Signals;
  readonly #say: (report: LockReport, sentence: string | null) => void;
  readonly #own: Acting;
  readonly #isTerminal: boolean;
  /**
   * What the lock belongs to: the command, behind those that it runs inside. A process and its time name it; loading what
   * makes random names takes longer than all that this file does.
   */
  #command: string;
  #paths: ReadonlySet<string> = new Set();
  #held = false;

  constructor(
    world: ProcessContext,
    client: Client,
    run: LockRun,
    signals: Signals,
    say: (report: LockReport, sentence: string | null) => void,
  ) {
    this.#world = world;
    this.#command = `${process.pid}.${world.now().toString(36)}`;
    this.#client = client;
    this.#run = run;
    this.#signals = signals;
    this.#say = say;
    const named = actingSession(world.env);
    this.#own = named ?? { id: commandSession(world.env, process.pid) };
    this.#isTerminal = named === null;
  }

  async all(): Promise<number> {
    const refusal = await this.#begin();
    if (refusal !== null) return this.#refused(refusal);
    const outer = await this.#outer();
    if (outer !== null) this.#command = `${outer}/${this.#command}`;
    const wanted = lockable(this.#world.cwd, this.#run.names);
    const answer = await this.#lock(wanted);
    if (!answer.ok) {
      await this.#leave();
      return this.#refused(answer);
    }
    const paths = answer.paths ?? (answer.path === undefined ? [] : [answer.path]);
    this.#paths = new Set(paths);
    this.#held = true;
    this.#say({ is: "held", files: paths, token: answer.token }, null);
    const exitCode = await this.#runCommand();
    await this.#release(wanted);
    this.#say({ is: "released", exitCode }, null);
    return exitCode;
  }

  /** Registers a terminal's own session and subscribes to events about its locks. */
  async #begin(): Promise<Refusal | null> {
    const client = this.#client;
    client.onEvent(event => this.#heard(event));
    client.onLockLost(({ answer }) => {
      if (answer.ok) {
        const sentence =
          "the daemon was away and another session may have held the lock meanwhile; this command holds it again";
        this.#say({ is: "lost", code: "lease_lost", error: sentence }, sentence);
      } else this.#lost(answer.code, refusalText(answer, "terminal"));
    });
    void client.closed.then(reason => {
      if (this.#held) this.#lost("not_running", reason.message);
    });
    if (this.#isTerminal) {
      const session = { id: this.#own.id, pid: process.pid };
      const registered = await registerPerson(this.#world, client, session);
      if (!registered.ok) return registered;
    }
    const subscribed = await client.subscribe({ events: ["lock_revoked", "lock_released"] });
    return subscribed.ok ? null : subscribed;
  }

  /** Returns the `kite lock` that runs this one: as the environment says, else the process above that holds a lock. */
  async #outer(): Promise<string | null> {
    const named = this.#world.env[commandVariable];
    // Another program may use the variable for something else.
    if (named !== undefined && /^[\w.-]+(?:\/[\w.-]+)*$/.test(named) && named.length <= outerCharsMax)
      return named;
    if (this.#isTerminal) return null;
    const rows = await rowsOf(this.#client, "locks", { id: this.#own.id });
    return nearest(rows.flatMap(({ holder }) => holder?.command ?? []));
  }

  async #lock(wanted: Lockable) {
    const { waitMs } = this.#run;
    const command = this.#command;
    // The daemon asks who locks a directory, and of no file.
    const isPerson =
      [wanted.file ?? wanted.files ?? []].flat().some(isDirectory) && !(await isAgents(this.#world));
    const by = isPerson ? ({ byPerson: true } as const) : {};
    const how = { waitMs, bind: true, progress: true, ...by };
    return await this.#client.request("file_lock", { ...this.#own, command, ...wanted, ...how });
  }

  #isOwn(actor: ActorRow): boolean {
    return this.#isOfActor(actor) && actor.command === this.#command;
  }

  #isOfActor(actor: ActorRow): boolean {
    return actor.id === this.#own.id && actor.agent === (this.#own.agent ?? null);
  }

  #heard(event: EventLine): void {
    if (event.event === "lock_queued" && this.#isOwn(event.waiter)) {
      const isOurs = event.holder !== null && this.#isOfActor(event.holder);
      const holder = isOurs ? "another command of this session" : (event.holder?.name ?? null);
      const behind = holder === null ? "" : `, held by ${holder}`;
      const sentence = `waiting for ${this.#run.names.join(", ")}${behind}, queue position ${event.position}`;
      this.#say({ is: "waiting", holder, position: event.position }, sentence);
    }
    if (event.event !== "lock_revoked" && event.event !== "lock_released") return;
    if (!this.#isOwn(event.holder) || !event.paths.some(path => this.#paths.has(path))) return;
    const why =
      event.event === "lock_revoked" ? `revoked by ${nameOrPerson(event.by)}` : `released: ${event.cause}`;
    this.#lost("lease_lost", why);
  }

  #lost(code: string, why: string): void {
    if (!this.#held) return;
    this.#held = false;
    const error = `the lock is lost (${why}); ${this.#run.command} still runs, without it`;
    this.#say({ is: "lost", code, error }, error);
  }

  #refused(refusal: Refusal): number {
    const { code, error } = refusal;
    const named = { ...refusal, file: this.#run.names.join(", ") };
    this.#say({ is: "refused", code, error }, `the command did not run: ${refusalText(named, "terminal")}`);
    return this.#run.refusedCode;
  }

  #runCommand(): Promise<number> {
    const { command, args } = this.#run;
    const { env } = this.#world;
    const lockEnv = { ...env, KITE_SESSION: this.#own.id, [commandVariable]: this.#command };
    return new Promise(resolve => {
      const child = spawn(command, args, { stdio: "inherit", env: lockEnv });
      this.#signals.passTo(signal => child.kill(signal));
      child.once("error", error => {
        const missing = "code" in error && error.code === "ENOENT";
        const sentence = missing
          ? `${command} was not found`
          : `${command} cannot be run: ${errorText(error)}`;
        this.#say({ is: "refused", code: "not_available", error: sentence }, sentence);
        resolve(missing ? 127 : 126);
      });
      child.once("exit", (code, signal) => resolve(code ?? signalCode(signal)));
    });
  }

  /** Releases the locks at once, because the daemon notices the end of the connection only a moment later. */
  async #release(wanted: Lockable): Promise<void> {
    const held = this.#held;
    this.#held = false;
    if (this.#client.absence === "gone") {
      // A restarted daemon keeps the lock for its returning holder, so this reconnects once more.
      await Promise.race([this.#client.comeBackNow(), delay(limits.lastTryMs, undefined, { ref: false })]);
      // No daemon answers; the lock was bound to the connection and ends with it.
      if (this.#client.absence === "gone") return;
    }
    try {
      const unlock = { ...this.#own, command: this.#command, ...wanted };
      if (held) await this.#client.request("file_unlock", unlock, { timeoutMs: limits.shutdownMs });
    } catch (error) {
      // The daemon is away: locks that are bound to the connection end with it.
      if (!(error instanceof LocalError)) throw error;
    }
    await this.#leave();
  }

  /** Ends a terminal's own session: in a container the daemon does not see its process end. */
  async #leave(): Promise<void> {
    if (!this.#isTerminal) return;
    try {
      await this.#client.request("deregister", { id: this.#own.id }, { timeoutMs: limits.shutdownMs });
    } catch (error) {
      // The daemon is away: locks that are bound to the connection end with it.
      if (!(error instanceof LocalError)) throw error;
    }
  }
}

function isDirectory(file: string): boolean {
  try {
    return file.endsWith("/") || statSync(file).isDirectory();
  } catch {
    return false; // It is not there, or cannot be looked at.
  }
}

/** Returns the command whose process is nearest above this one; null: none is. */
function nearest(commands: readonly string[]): string | null {
  if (commands.length === 0) return null;
  // A command that lent its lock to one inside it still runs.
  const running = commands.flatMap(command => {
    const names = command.split("/");
    return names.map((_, i) => names.slice(0, i + 1).join("/"));
  });
  const byPid = new Map(running.map(command => [pidOf(command), command]));
  for (let at = parentOf(process.pid); at !== null; at = parentOf(at)) {
    const command = byPid.get(at);
    if (command !== undefined) return command;
  }
  return null;
}

/** Returns the process of the innermost of the commands that a name lists. */
function pidOf(command: string): number {
  return Number.parseInt(command.slice(command.lastIndexOf("/") + 1), 10);
}

interface LockFlags {
  readonly wait: string;
  readonly conflictExitCode: string;
  readonly json?: boolean;
}

const defaults: LockFlags = { wait: `${limits.waitMs / 1000}`, conflictExitCode: "75" };

/** EX_USAGE of sysexits(3), because COMMAND itself may exit with 1. */
const wrongCommandLine = 64;

const help = `
COMMAND follows "--" and runs while Kite holds the files; a directory with a slash at its end stands for every file
in it. @NAME is no file but what agents share, as a browser, a database or a build: only one holds it at a time.
@port-N and @machine/NAME count for the machine, other names for the project. The file of that name is ./@NAME.
The lock belongs to the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its agent in KITE_AGENT), else to this
terminal. Another \`kite lock\` of the session waits for it; one that COMMAND runs shares it (KITE_LOCK names the outer
one). A session locks directories below its project's worktrees and its working directory only, a person any directory.
Without any argument, or with --json alone, lock lists the locks, as kite status --locks.
Kite passes SIGTERM, SIGHUP and SIGUSR1/2 on to COMMAND; also SIGINT and SIGQUIT if no terminal sends them.

Exit codes: COMMAND's own, or 128 + the signal that ended it.
  64   the command line is wrong
  69   no daemon runs
  75   the lock was not granted in time, or refused (-E chooses another code)
  126  COMMAND cannot be run
  127  COMMAND was not found

--json: Kite writes its messages to standard error as JSON, one object a line with "is": "waiting", "held", "lost",
"released" or "refused".

Examples:
  $ kite lock package.json -- npm install
  $ kite lock --wait 0 src/db/ -- ./migrate.sh || echo busy
  $ kite lock @browser @port-3000 -- npx playwright test`;

export function add(command: Command, run: Run): void {
  command
    .argument("<file...>", "files, directories with a slash at their end, or resources (@NAME)")
    .usage("[options] FILE... -- COMMAND...")
    .option(
      "-w, --wait <seconds>",
      `how long to wait in the queue; 0: not at all; at most ${limits.waitMaxMs / 1000}`,
      defaults.wait,
    )
    .option(
      "-E, --conflict-exit-code <n>",
      "exit code if the lock is not granted in time",
      defaults.conflictExitCode,
    )
    .option("--json", "print what happens as JSON on standard error")
    .addHelpText("after", help)
    .exitOverride(error => {
      if (error.exitCode !== 0) error.exitCode = wrongCommandLine;
      throw error;
    })
    .action((words: readonly string[], flags: LockFlags) => run(locking(words, flags)));
}

/** Holds files while a command runs, if no options say how. */
export function plain(words: readonly string[]): Work | null {
  const separator = words.indexOf("--");
  if (separator <= 0 || words.slice(0, separator).some(word => word.startsWith("-"))) return null;
  return locking(words.toSpliced(separator, 1), defaults);
}

function locking(words: readonly string[], flags: LockFlags): Work {
  return async world => {
    const lockRun = parse(words, world.argv, flags);
    if (typeof lockRun !== "string") return hold(world, lockRun);
    reportFailure(world, world.argv.slice(2), { code: "usage", error: lockRun });
    return wrongCommandLine;
  };
}

/**
 * Returns the run that the command line describes, or a sentence that says what is wrong with it. `words` are the
 * arguments without the first "--"; `argv` shows how many of them follow it.
 */
export function parse(words: readonly string[], argv: readonly string[], flags: LockFlags): LockRun | string {
  const separator = argv.indexOf("--");
  const count = separator === -1 ? 0 : argv.length - separator - 1;
  const names = words.slice(0, words.length - count);
  const [command, ...args] = words.slice(words.length - count);
  if (count === 0 || command === undefined) {
    const [name = "FILE...", ...more] = words;
    const typed = more.length > 0 ? "FILE..." : clean(shellArgument(name));
    return `give a command to hold the lock for: kite lock ${typed} -- COMMAND...`;
  }
  if (names.length === 0) return "give a file before the --: kite lock FILE... -- COMMAND...";
  if (names.includes(""))
    return "the name of a file is empty; name a file, or ./ for everything in this directory";
  for (const name of names.filter(isResource)) {
    const wrong = wrongResource(name);
    if (wrong !== null) return wrong;
  }
  const seconds = /^\d+(\.\d+)?$/.test(flags.wait) ? Number(flags.wait) : -1;
  const most = limits.waitMaxMs / 1000;
  if (seconds < 0 || seconds > most) return `--wait takes seconds from 0 to ${most}, not ${flags.wait}`;
  const refusedCode = /^\d+$/.test(flags.conflictExitCode) ? Number(flags.conflictExitCode) : -1;
  if (refusedCode < 0 || refusedCode > 255) {
    return `--conflict-exit-code takes a number from 0 to 255, not ${flags.conflictExitCode}`;
  }
  return { names, command, args, waitMs: Math.round(seconds * 1000), refusedCode, json: flags.json === true };
}
