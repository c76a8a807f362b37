/** `kite lock`: holds files and resources while a command runs. */

import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { LocalError, NotRunning } from "../../client/errors.ts";
import { parentOf } from "../../daemon/facts/processes.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { errorText } from "../../protocol/errors.ts";
import type { EventLine } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { nameOrPerson } from "../../protocol/names.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import { type Acting, actingSession, commandSession } from "../actor.ts";
import { type Lockable, lockable } from "../lockable.ts";
import { isAgents } from "../person.ts";
import { registerPerson } from "../person-session.ts";
import { type Client, jsonLine, type ProcessContext } from "../process-context.ts";
import { refusalText } from "../refusal-text.ts";
import { Signals, signalCode } from "../signals.ts";
import { clean } from "../view/text.ts";
import { rowsOf } from "../with-daemon.ts";

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
  const say = (said: LockReport, sentence: string | null) => {
    if (run.json) world.stderr.write(`${jsonLine(said)}\n`);
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
  readonly #say: (said: LockReport, sentence: string | null) => void;
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
    say: (said: LockReport, sentence: string | null) => void,
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
