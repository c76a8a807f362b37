/** A machine of a history: a process with a store, behind proxies that cut and hold what passes to the servers. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { StoreProxy } from "../../store/store-proxy.ts";
import type { Database } from "./database.ts";
import type { Answers, Dump, MachineSettings, ProjectSettings, Question, Trouble } from "./exchange.ts";

const clock = new URL("../skewed-clock.mjs", import.meta.url);
/** A process that does not answer for so long counts as silent; it may have been paused. */
const answerMs = 8_000;
const patienceMs = 30_000;

/** How far a machine's wall clock is off, and by how much it jumps after a while; in milliseconds. */
export interface Skew {
  readonly ms: number;
  readonly jumpMs: number;
  readonly afterMs: number;
}

export interface MachineOptions {
  readonly node: string;
  readonly program: string;
  readonly folder: string;
  readonly database: Database;
  readonly projects: readonly ProjectSettings[];
  /** Another one than that of its node: the home of another machine was copied. */
  readonly binding?: string;
  /** Its wall clock is off. */
  readonly skew?: Skew;
}

type Answered<Q extends Question> = Answers[Q["ask"]];

export class Machine {
  readonly node: string;
  readonly proxies: readonly StoreProxy[];
  readonly #options: MachineOptions;
  readonly #projects = new Map<string, ProjectSettings>();
  readonly #waiting = new Map<number, (answer: object | null) => void>();
  #child: ChildProcess | null = null;
  #asked = 0;
  /** How often its process began. */
  starts = 0;
  /** What the process said unasked, and what it wrote as it ended by itself. */
  readonly troubles: string[] = [];
  /** How its process ended that nobody ended. */
  readonly ends: string[] = [];

  private constructor(options: MachineOptions, proxies: readonly StoreProxy[]) {
    this.node = options.node;
    this.proxies = proxies;
    this.#options = options;
    for (const project of options.projects) this.#projects.set(project.name, project);
  }

  /** Makes the machine and starts its process. */
  static async start(options: MachineOptions): Promise<Machine> {
    const proxies = await Promise.all(options.database.ports.map(port => StoreProxy.start(port)));
    const machine = new Machine(options, proxies);
    machine.up();
    return machine;
  }

  get projects(): readonly ProjectSettings[] {
    return [...this.#projects.values()];
  }

  sessionsOf(project: string): ProjectSettings["sessions"] {
    return this.#projects.get(project)?.sessions ?? [];
  }

  /** Starts the process, if it does not run. */
  up(): void {
    if (this.#child !== null) return;
    const { node, program, folder, database, binding = node, skew } = this.#options;
    const ports = this.proxies.map(({ port }) => port);
    const { projects } = this;
    const settings: MachineSettings = { ports, database: database.name, node, binding, projects, folder };
    const skewed = new URL(clock);
    for (const [name, value] of Object.entries(skew ?? {})) skewed.searchParams.set(name, String(value));
    const child = fork(program, [JSON.stringify(settings)], {
      execArgv: skew === undefined ? [] : ["--import", skewed.href],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.starts += 1;
    this.#child = child;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => this.troubles.push(text));
    child.on("message", (message: ({ n: number } & object) | Trouble) => {
      if ("trouble" in message) this.troubles.push(message.trouble);
      else this.#waiting.get(message.n)?.(message);
    });
    child.on("exit", (code, signal) => {
      if (signal !== "SIGKILL") this.ends.push(`${code} ${signal}`);
      this.#gone(child);
    });
  }

  #gone(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = null;
    for (const hear of this.#waiting.values()) hear(null);
    this.#waiting.clear();
  }

  /** Ends the process in the middle of everything. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#gone(child);
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  /** Ends the process as a daemon's user does: what it has is kept, its connection ends. */
  async stop(): Promise<void> {
    await this.ask({ ask: "close" });
    await this.kill();
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  /** Asks the process; null: it ended, or it is silent. */
  ask<Q extends Question>(question: Q, ms = answerMs): Promise<Answered<Q> | null> {
    const child = this.#child;
    if (child === null) return Promise.resolve(null);
    this.#asked += 1;
    const n = this.#asked;
    return new Promise(resolve => {
      const hear = (answer: object | null) => {
        clearTimeout(timer);
        this.#waiting.delete(n);
        resolve(answer as Answered<Q> | null);
      };
      const timer = setTimeout(hear, ms, null);
      this.#waiting.set(n, hear);
      child.send({ n, ...question }, error => {
        if (error !== null) hear(null);
      });
    });
  }

  /** Says which sessions a project has now; a process that begins later says so, too. */
  async present(project: string, sessions: ProjectSettings["sessions"]): Promise<void> {
    this.#projects.set(project, { name: project, sessions });
    await this.ask({ ask: "present", project, sessions });
  }

  /** All its sessions ended, and others of the same ids began: what the next process says. */
  renewSessions(): void {
    for (const { name, sessions } of this.projects) {
      const renewed = sessions.map(one => ({ ...one, registeredAt: one.registeredAt + 1 }));
      this.#projects.set(name, { name, sessions: renewed });
    }
  }

  /** Waits until the process has reached the store. */
  async reached(): Promise<void> {
    let last = "it has no process";
    for (const until = Date.now() + patienceMs; Date.now() < until; await delay(30)) {
      const answer = await this.ask({ ask: "reached" }, 1_000);
      if (answer !== null && answer.refusal === null) return;
      last = answer?.refusal ?? last;
    }
    throw new Error(`machine ${this.node} did not reach the store: ${last}; ${this.troubles.slice(-3)}`);
  }

  /** Returns its copy of a project. */
  async dump(project: string): Promise<Dump> {
    for (const until = Date.now() + patienceMs; Date.now() < until; await delay(30)) {
      const dump = await this.ask({ ask: "dump", project });
      if (dump !== null) return dump;
    }
    throw new Error(`machine ${this.node} says nothing of its copy; ${this.troubles.slice(-3)}`);
  }

  /** Cuts all connections, in the middle of whatever passes. */
  cut(): void {
    for (const proxy of this.proxies) proxy.cut();
  }

  /** Whether it can connect: a machine that cannot is one without a network. */
  set isCutOff(isCutOff: boolean) {
    for (const proxy of this.proxies) proxy.refuses = isCutOff;
    if (isCutOff) this.cut();
  }

  /** Holds what passes in these directions from now on. */
  hold(directions: { readonly requests: boolean; readonly answers: boolean }): void {
    for (const proxy of this.proxies) {
      proxy.holdsRequests = directions.requests;
      proxy.holdsAnswers = directions.answers;
    }
  }

  /** Whether a request with this text came since then: it passed, and answers are held from then on. */
  async holdAnswersTo(text: string, ms: number): Promise<boolean> {
    for (const proxy of this.proxies) proxy.holdsAnswersTo = text;
    const isHeld = () => this.proxies.some(({ holdsAnswers }) => holdsAnswers);
    for (const until = Date.now() + ms; !isHeld() && Date.now() < until; ) await delay(5);
    for (const proxy of this.proxies) proxy.holdsAnswersTo = null;
    return isHeld();
  }

  /** Passes on what was held. */
  release(): void {
    for (const proxy of this.proxies) proxy.release();
  }

  /** Nothing of what was held arrives. */
  drop(): void {
    this.hold({ requests: false, answers: false });
    this.cut();
  }

  /** Ends all faults: it has a process, which runs, and a network. */
  heal(): void {
    this.isCutOff = false;
    this.release();
    this.signal("SIGCONT");
    this.up();
  }

  async end(): Promise<void> {
    await this.kill();
    for (const proxy of this.proxies) proxy.end();
  }
}
