/** The built daemon in a directory of its own, and a client that speaks lines: what every end-to-end test needs. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type KitePaths, kitePaths } from "../../protocol/paths.ts";
import { leaveBehind } from "../left-behind.ts";
import { KiteFailed, type KiteProcess, kite, type Ran, startKite } from "./kite.ts";

const program = fileURLToPath(new URL("../../dist/daemon.mjs", import.meta.url));

/** A line of the daemon, parsed; raw where it is no JSON. */
export type Message = Readonly<Record<string, unknown>>;

/** A directory that one or more daemons, one after the other, are at home in. All that was started ends with it. */
export class Home {
  /** What HOME is. */
  readonly root: string;
  readonly paths: KitePaths;
  /** A place for files to lock, by its real path. */
  readonly work: string;
  readonly #children = new Set<ChildProcess>();
  /** Of all children ever. */
  readonly #pids = new Set<number | undefined>();
  readonly #clients = new Set<Client>();
  #daemon: Daemon | null = null;
  #folders = 0;

  /** `work` and `kite` name its folders. */
  constructor({ work = "work", kite = "h" }: { readonly work?: string; readonly kite?: string } = {}) {
    // Short: a socket's path has a bound.
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "kd-")));
    this.work = join(this.root, work);
    mkdirSync(this.work);
    this.paths = kitePaths({ KITE_HOME: join(this.root, kite) });
  }

  /** Nothing of the surroundings but where programs are. */
  get environment(): Record<string, string> {
    return { PATH: process.env["PATH"] ?? "", HOME: this.root, KITE_HOME: this.paths.home };
  }

  /** Starts a daemon and waits for its word; throws unless it is `ready`. */
  async start(command?: readonly [string, ...string[]]): Promise<Daemon> {
    const { daemon, word } = this.begin(command);
    const said = await word;
    if (said !== "ready") throw new Error(`the daemon said ${JSON.stringify(said)}, not ready`);
    this.#daemon = daemon;
    return daemon;
  }

  /** Starts a daemon; `word` is what it says to its starter, or nothing where it ends before. */
  begin(command: readonly [string, ...string[]] = [process.execPath, program]): {
    readonly daemon: Daemon;
    readonly word: Promise<string>;
  } {
    const [file, ...args] = command;
    const env = { ...this.environment, KITE_READY_FD: "3" };
    const child = this.adopt(spawn(file, args, { env, stdio: ["ignore", "ignore", "inherit", "pipe"] }));
    const pipe = child.stdio[3];
    if (!(pipe instanceof Readable)) throw new Error("no pipe for the daemon's word");
    let text = "";
    pipe.on("data", chunk => {
      text += chunk;
    });
    const word = new Promise<string>(resolve => pipe.on("close", () => resolve(text.trim())));
    return { daemon: new Daemon(child), word };
  }

  /** The daemon's program, as arguments for Node. */
  static get program(): string {
    return program;
  }

  get daemon(): Daemon {
    if (this.#daemon === null) throw new Error("no daemon was started");
    return this.#daemon;
  }

  /** A child that ends with this home, if it has not before. */
  adopt<C extends ChildProcess>(child: C): C {
    this.#children.add(child);
    this.#pids.add(child.pid);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Runs a command of `kite` here to its end; returns what it printed. Throws where it fails. */
  kite(...args: string[]): Promise<string> {
    return this.kiteIn(this.environment, ...args);
  }

  /** The same with another environment. */
  kiteIn(env: Record<string, string>, ...args: string[]): Promise<string> {
    return this.kiteAt(this.work, env, ...args);
  }

  /** The same in another directory. */
  async kiteAt(cwd: string, env: Record<string, string>, ...args: string[]): Promise<string> {
    const ran = await kite({ cwd, env }, args);
    if (ran.code !== 0) throw new KiteFailed(args, ran);
    return ran.out;
  }

  /** Runs a command of `kite` to its end, however that is; `env` is what it has besides. */
  command(args: readonly string[], env: Record<string, string> = {}, cwd: string = this.work): Promise<Ran> {
    return kite({ cwd, env: { ...this.environment, ...env } }, args);
  }

  /** Starts a command of `kite` as a process, which ends with this home. */
  startKite(args: readonly string[], env: Record<string, string> = {}, cwd: string = this.work): KiteProcess {
    return this.adopt(startKite({ cwd, env: { ...this.environment, ...env } }, args));
  }

  /** A folder below `work` that no other test has. */
  folder(): string {
    this.#folders += 1;
    const path = join(this.work, `f${this.#folders}`);
    mkdirSync(path);
    return path;
  }

  /** A process that does nothing until it is ended. */
  async bystander(options: { uid?: number } = {}): Promise<ChildProcess & { readonly pid: number }> {
    const child = this.adopt(
      spawn("sleep", ["1000"], { env: this.environment, stdio: "ignore", ...options }),
    );
    await once(child, "spawn");
    if (child.pid === undefined) throw new Error("sleep did not start");
    return Object.assign(child, { pid: child.pid });
  }

  /** A connection that shows a person's token. */
  async connectPerson(): Promise<Client> {
    const client = await this.connect();
    await client.ask({ type: "hello", person: readFileSync(this.paths.personToken, "utf8").trim() });
    return client;
  }

  async connect(): Promise<Client> {
    const client = await Client.open(this.paths.socket);
    this.#clients.add(client);
    return client;
  }

  /** Connects and registers a session there. */
  async session(id: string, more: Message = {}): Promise<Client> {
    const client = await this.connect();
    const reply = await client.ask({ type: "register", id, cwd: this.work, project: "test", ...more });
    if (reply["ok"] !== true) throw new Error(`not registered: ${JSON.stringify(reply)}`);
    return client;
  }

  async dispose(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await Promise.all([...this.#children].map(child => end(child, "SIGKILL")));
    await this.#endStarted();
    leaveBehind(this.paths.home);
    // A killed process may still add a file with its last call.
    rmSync(this.root, { recursive: true, force: true, maxRetries: 9 });
  }

  /** Ends a daemon that a command or a hook started: it is nobody's child, so it goes by the wire. */
  async #endStarted(): Promise<void> {
    if (!existsSync(this.paths.daemonFile)) return;
    const { pid } = JSON.parse(readFileSync(this.paths.daemonFile, "utf8"));
    if (this.#pids.has(pid)) return;
    // One that has ended leaves its file; one that ends takes no more connections, and writes on for a moment.
    const client = await Client.open(this.paths.socket).catch(() => null);
    if (client !== null) {
      client.send({ type: "shutdown" });
      await client.ended;
      client.destroy();
    }
    await gone(pid);
  }
}

/** Resolves when a process that is nobody's child has ended: it writes until then, and nothing announces its end. */
async function gone(pid: number): Promise<void> {
  for (let tries = 0; tries < 500 && isThere(pid); tries += 1) await delay(20);
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A running daemon. */
export class Daemon {
  readonly pid: number;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    if (child.pid === undefined) throw new Error("the daemon has no pid");
    this.pid = child.pid;
    this.#child = child;
    this.exited = new Promise(resolve => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
  }

  /** Ends it at once; resolves when it is gone. */
  kill(): Promise<void> {
    return end(this.#child, "SIGKILL");
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Memory in use and the most there ever was, in bytes; null where the system does not tell. */
  memory(): { readonly now: number; readonly peak: number } | null {
    if (process.platform !== "linux") return null;
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
    return { now: kilobytes("VmRSS") * 1024, peak: kilobytes("VmHWM") * 1024 };
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

/** What a wait for a line hears when the connection ends first. */
export class Closed extends Error {
  override readonly name = "Closed";
}

interface Wait {
  readonly wanted: (message: Message) => boolean;
  readonly resolve: (message: Message) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A connection by lines. What came and was not asked for yet is kept, in order: `next` takes the oldest line that
 * fits and waits where there is none. No wait has a time limit of its own; the test's ends it.
 */
export class Client {
  /** Blank lines so far. */
  blanks = 0;
  /** Bytes received so far. */
  received = 0;
  /** Resolves when the daemon has ended its side, or the connection is gone. */
  readonly ended: Promise<void>;
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #kept: Message[] = [];
  readonly #waits: Wait[] = [];
  readonly #blankWaits: (() => void)[] = [];
  #text = "";
  #over = false;

  static async open(path: string): Promise<Client> {
    const socket = connect({ path, allowHalfOpen: true });
    await once(socket, "connect");
    return new Client(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => this.#take(text));
    // A reset by the daemon is one of the things tests are about; `close` follows.
    socket.on("error", () => {});
    this.ended = new Promise(resolve => {
      socket.once("end", resolve);
      socket.once("close", () => resolve());
    });
    this.closed = new Promise(resolve => socket.once("close", () => resolve()));
    void this.ended.then(() => this.#finish());
  }

  /** Lines that came and were not taken. */
  get kept(): readonly Message[] {
    return this.#kept;
  }

  /** Sends a message as a line, or text and bytes as they are; false where the kernel took not all of it yet. */
  send(message: Message | string | Buffer): boolean {
    const plain = typeof message === "string" || Buffer.isBuffer(message);
    return this.#socket.write(plain ? message : `${JSON.stringify(message)}\n`);
  }

  /** `send`, resolved when the kernel took all of it. */
  async sent(message: Message | string | Buffer): Promise<void> {
    const plain = typeof message === "string" || Buffer.isBuffer(message);
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(plain ? message : `${JSON.stringify(message)}\n`, error =>
        error == null ? resolve() : reject(error),
      );
    });
  }

  /** The oldest line that fits, taken out of those kept. */
  next(wanted: (message: Message) => boolean = () => true): Promise<Message> {
    const index = this.#kept.findIndex(wanted);
    const [found] = index === -1 ? [] : this.#kept.splice(index, 1);
    if (found !== undefined) return Promise.resolve(found);
    if (this.#over) return Promise.reject(new Closed("the connection has ended"));
    return new Promise((resolve, reject) => this.#waits.push({ wanted, resolve, reject }));
  }

  /** The next line that is no event. */
  reply(): Promise<Message> {
    return this.next(message => message["type"] !== "event");
  }

  /** The reply with this `rid`. */
  replyTo(rid: string | number): Promise<Message> {
    return this.next(message => message["rid"] === rid);
  }

  /** The next event of this name (and of what else it has to be). */
  event(name: string, fits: (event: Message) => boolean = () => true): Promise<Message> {
    return this.next(message => message["type"] === "event" && message["event"] === name && fits(message));
  }

  /** Resolves at the next blank line, which says that the daemon waits with us, or wants to know whether we live. */
  blank(): Promise<void> {
    return new Promise(resolve => this.#blankWaits.push(resolve));
  }

  /** Sends, and returns the next line that is no event. */
  ask(message: Message | string | Buffer): Promise<Message> {
    this.send(message);
    return this.reply();
  }

  /** Closes the sending side. */
  half(): void {
    this.#socket.end();
  }

  /** Closes both sides at once, as the end of a process does. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Reads nothing any more until `read`. */
  stopReading(): void {
    this.#socket.pause();
  }

  read(): void {
    this.#socket.resume();
  }

  #take(text: string): void {
    this.received += text.length;
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#give(parsed(line));
      else {
        this.blanks += 1;
        for (const resolve of this.#blankWaits.splice(0)) resolve();
      }
    }
  }

  #give(message: Message): void {
    const index = this.#waits.findIndex(({ wanted }) => wanted(message));
    const [wait] = index === -1 ? [] : this.#waits.splice(index, 1);
    if (wait === undefined) this.#kept.push(message);
    else wait.resolve(message);
  }

  #finish(): void {
    this.#over = true;
    for (const { reject } of this.#waits.splice(0)) reject(new Closed("the connection has ended"));
  }
}

function parsed(line: string): Message {
  try {
    return JSON.parse(line);
  } catch {
    // The raw form of a reply is no JSON; a test that does not expect it fails on what it finds here.
    return { raw: line };
  }
}

/** The part of a token that is compared: (epoch, grant). */
export function tokenPair(token: unknown): readonly [number, number] {
  const [, epoch, grant] = /^[0-9a-z]+\.(\d+)\.(\d+)$/.exec(String(token)) ?? [];
  if (epoch === undefined || grant === undefined) throw new Error(`no token: ${JSON.stringify(token)}`);
  return [Number(epoch), Number(grant)];
}

/** Whether `a` was issued after `b`. */
export function isLater(a: unknown, b: unknown): boolean {
  const [epochA, grantA] = tokenPair(a);
  const [epochB, grantB] = tokenPair(b);
  return epochA > epochB || (epochA === epochB && grantA > grantB);
}
