/** What there may be much of, made over the wire: a daemon with so many of each, as far as the limits allow. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { encodeLine } from "../../../protocol/wire.ts";
import { Bench, heard, type Started } from "../processes.ts";
import type { Order } from "../programs/stall-daemon.ts";
import { sessionId } from "../wire-words.ts";
import { type Fields, Talk } from "./talk.ts";

/** Connections that subscribe; each is a descriptor of this process and of the daemon. */
const subscribersMax = 5_000;
/** Room for what the measured requests add. */
const sessionsMax = limits.sessionsMax - 1_000;
const contextMax = limits.contextKeysMax - 1_000;
const writesMax = 5_000;

/** How many there are of each in a world of size `n`. */
export function countsOf(n: number) {
  return {
    sessions: Math.min(n, sessionsMax),
    locks: n,
    tasks: n,
    messages: n,
    waiters: Math.min(n / 10, 5_000),
    context: Math.min(n, contextMax),
    written: Math.min(n, writesMax),
    subscribers: Math.min(n, subscribersMax),
  };
}

export class World {
  readonly bench: Bench;
  readonly n: number;
  readonly cwd: string;
  readonly home: string;
  readonly counts: ReturnType<typeof countsOf>;
  /** Ids of its pending tasks. */
  readonly tasks: string[] = [];
  readonly processes: ChildProcess[] = [];
  readonly #subscribers: Socket[] = [];
  #daemon: Started | null = null;
  #talk: Talk | null = null;

  constructor(n: number) {
    this.n = n;
    this.counts = countsOf(n);
    this.bench = new Bench();
    this.cwd = this.bench.repository();
    this.home = join(this.bench.dir, "home");
  }

  get daemon(): Started {
    if (this.#daemon === null) throw new Error("the daemon does not run");
    return this.#daemon;
  }

  get talk(): Talk {
    if (this.#talk === null) throw new Error("the daemon does not run");
    return this.#talk;
  }

  async connect(): Promise<Talk> {
    const talk = await Talk.at(join(this.home, "kite.sock"));
    // Some of what is measured is a person's to ask.
    const person = readFileSync(join(this.home, "person.token"), "utf8").trim();
    await talk.ask({ type: "hello", person });
    return talk;
  }

  async start(): Promise<void> {
    this.#daemon = await this.bench.start("stall-daemon", [this.home]);
    this.#talk = await this.connect();
  }

  /** Gives the daemon an order and resolves with its answer. */
  async order<T>(order: Order): Promise<T> {
    this.daemon.child.send(order);
    return (await heard(this.daemon.child, order.is)) as T;
  }

  /** The id of a session, of which half live by a process. */
  session(i: number): string {
    return sessionId(i % this.counts.sessions);
  }

  async fill(): Promise<void> {
    const { talk, cwd, counts } = this;
    const { sessions, locks, tasks, messages, waiters, context, written } = counts;
    const anchored = Math.ceil(sessions / 2);
    while (this.processes.length < anchored / (limits.sessionsPerProcessMax - 4))
      this.processes.push(spawn("sleep", ["3600"], { stdio: "ignore" }));
    await talk.all(
      upTo(sessions, i => ({
        type: "register",
        id: this.session(i),
        cwd,
        name: `agent-${i}`,
        ...(i < anchored ? { pid: this.processes[i % this.processes.length]?.pid } : {}),
      })),
    );
    await talk.all(this.#locks(sessions, locks));
    void talk
      .all(
        upTo(waiters, i => ({
          type: "file_lock",
          id: this.session(i + 1),
          file: this.locked(i),
          waitMs: limits.waitMaxMs,
        })),
        ["lock_timeout", "lock_given_up", "restarting", "session_ended", "lock_deadlock"],
      )
      // The waits end with the daemon.
      .catch(() => {});
    for (let from = 0; from < tasks; from += limits.tasksPerRequestMax) {
      const list = upTo(Math.min(limits.tasksPerRequestMax, tasks - from), i => ({
        description: `Task ${from + i} of many, with as much text as one has`,
        labels: [`part-${(from + i) % 100}`],
      }));
      const { tasks: made } = await talk.ask({ type: "task_create", id: this.session(0), tasks: list });
      for (const { id } of made as { readonly id: string }[]) this.tasks.push(id);
    }
    // Each session sends no more than it may in a minute.
    const perMinute = sessions * (limits.messageRateMax - 1);
    for (let from = 0; from < messages; from += perMinute) {
      await talk.all(
        upTo(Math.min(perMinute, messages - from), i => ({
          type: "message_send",
          id: this.session(i),
          to: this.session(from + i + 1),
          text: "The tests are green again, and the branch is yours.",
        })),
      );
      await this.order({ is: "forward", ms: limits.messageRateMs });
    }
    await talk.all(
      upTo(context, i => ({ type: "context_set", key: `key/${i}`, project: cwd, value: { i } })),
    );
    await talk.all(upTo(written, i => this.wrote(i)));
  }

  /** Opens connections that subscribe to what does not happen in the measured requests. */
  async subscribe(): Promise<void> {
    for (let i = 0; i < this.counts.subscribers; i += 1) {
      const socket = connect(join(this.home, "kite.sock"));
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write(encodeLine({ type: "subscribe", ...this.#filter(i) }));
      await once(socket, "data");
      socket.resume();
      this.#subscribers.push(socket);
    }
  }

  /** The path of a lock of the world. */
  locked(i: number): string {
    return `held/part-${i % 100}/file-${i % this.n}.ts`;
  }

  /** The event that a tool wrote a file. */
  wrote(i: number): Fields {
    const file = join(this.cwd, "src", `part-${i % 10}`, `work-${i}.ts`);
    return this.hook(i, "PostToolUse", {
      tool_name: "Write",
      tool_use_id: `toolu_${i}`,
      tool_input: { file_path: file, content: "x" },
      tool_response: { success: true },
    });
  }

  hook(i: number, name: string, more: Fields = {}): Fields {
    const event = { session_id: this.session(i), cwd: this.cwd, hook_event_name: name, ...more };
    return { type: "hook", event };
  }

  /** Ends all subscriptions and the connection, as a crash of the clients would. */
  leave(): void {
    for (const socket of this.#subscribers) socket.destroy();
    this.#subscribers.length = 0;
    this.#talk?.close();
    this.#talk = null;
  }

  async end(): Promise<void> {
    this.leave();
    for (const child of this.processes) child.kill();
    await this.bench.end();
  }

  *#locks(sessions: number, locks: number): Generator<Fields> {
    const each = Math.min(limits.filesMax, Math.ceil(locks / sessions));
    for (let from = 0, i = 0; from < locks; from += each, i += 1) {
      const files = upTo(Math.min(each, locks - from), k => this.locked(from + k));
      yield { type: "file_lock", id: this.session(i), files, waitMs: 0 };
    }
  }

  #filter(i: number): Fields {
    switch (i % 4) {
      case 0:
        return { events: ["session_duplicated"] };
      case 1:
        return { file: `/nowhere/part-${i}` };
      case 2:
        return { project: `/another/project-${i}` };
      default:
        return { id: `another-${i}` };
    }
  }
}

export function upTo<T>(n: number, make: (i: number) => T): T[] {
  return Array.from({ length: n }, (_, i) => make(i));
}
