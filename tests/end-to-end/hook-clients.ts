/** The hook clients as they are installed, and a daemon that does what each test says. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { perlCommand } from "../../hooks/install/hooks-text.ts";

const built = (name: string) => fileURLToPath(new URL(`../../dist/${name}`, import.meta.url));

const perl = perlCommand(built("hook.pl"), null, []);

export interface HookProgram {
  readonly name: "node" | "perl";
  readonly file: string;
  /** What is run; a budget in milliseconds follows, and perhaps more. */
  readonly command: readonly [string, ...string[]];
}

/** Both: what one does, the other does. */
export const hookPrograms: readonly HookProgram[] = [
  { name: "node", file: built("hook.cjs"), command: [process.execPath, built("hook.cjs")] },
  { name: "perl", file: built("hook.pl"), command: [perl.command, ...perl.args] },
];

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Exit 0 without a word. */
export const silent: Ended = { code: 0, signal: null, stdout: "", stderr: "" };

/** How a process ended, and all that it said. */
export async function ending(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", chunk => {
    stdout += chunk;
  });
  child.stderr?.setEncoding("utf8").on("data", chunk => {
    stderr += chunk;
  });
  const [code, signal] = await once(child, "close");
  return { code, signal, stdout, stderr };
}

export interface Run {
  readonly stdin?: string | Buffer;
  readonly env?: Record<string, string>;
  readonly budget?: string;
  /** The hook beside a Stop, which may wake its session. */
  readonly wake?: boolean;
  /** Words behind the budget. */
  readonly more?: readonly string[];
}

/** An event of which nobody is told that it was not seen: it names no tool. */
export const payload = {
  session_id: "s",
  hook_event_name: "PreToolUse",
  tool_input: { content: 'a\n"b" 漢 \u2028' },
};

/** A directory with room for a daemon, and the hooks that were started there. */
export class HookWorld {
  readonly home = mkdtempSync(join(tmpdir(), "kite-hook-"));
  readonly socketPath = join(this.home, "kite.sock");
  readonly #program: HookProgram;
  readonly #children: ChildProcess[] = [];
  #daemon: FakeDaemon | null = null;

  constructor(program: HookProgram) {
    this.#program = program;
    chmodSync(this.home, 0o700);
  }

  /** A daemon in this home; its predecessor is gone or goes by itself. */
  async daemon(act: Act, greet?: (socket: Socket) => void, path = this.socketPath): Promise<FakeDaemon> {
    this.#daemon = await FakeDaemon.at(path, act, greet);
    return this.#daemon;
  }

  /** Starts the hook with its standard input open. */
  open({ env = {}, budget = "52000", wake = false, more = wake ? ["wake"] : [] }: Omit<Run, "stdin"> = {}) {
    const [command, ...args] = this.#program.command;
    const child = spawn(command, [...args, budget, ...more], {
      env: { PATH: process.env["PATH"], KITE_HOME: this.home, ...env },
      stdio: "pipe",
    });
    this.#children.push(child);
    // A hook that needs no event does not read it.
    child.stdin.on("error", () => undefined);
    return { child, ended: ending(child) };
  }

  start({ stdin = JSON.stringify(payload), ...rest }: Run = {}) {
    const started = this.open(rest);
    started.child.stdin.end(stdin);
    return started;
  }

  run(options: Run = {}): Promise<Ended> {
    return this.start(options).ended;
  }

  async dispose(): Promise<void> {
    for (const child of this.#children)
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await this.#daemon?.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

type Act = (socket: Socket, line: string, daemon: FakeDaemon) => void;

/** Remembers every request and calls `act` with it; `greet` is called with every connection. */
export class FakeDaemon {
  readonly requests: string[] = [];
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async at(
    path: string,
    act: Act,
    greet: (socket: Socket) => void = () => undefined,
  ): Promise<FakeDaemon> {
    const made = new FakeDaemon(act, greet);
    made.#server.listen(path);
    await once(made.#server, "listening");
    return made;
  }

  private constructor(act: Act, greet: (socket: Socket) => void) {
    this.#server = createServer(socket => {
      this.connections += 1;
      this.#sockets.add(socket);
      let parts: Buffer[] = [];
      socket.on("error", () => socket.destroy());
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("data", (chunk: Buffer) => {
        parts.push(chunk);
        if (!chunk.includes("\n")) return;
        const lines = Buffer.concat(parts).toString("utf8").split("\n");
        parts = [Buffer.from(lines.pop() ?? "")];
        for (const line of lines) {
          this.requests.push(line);
          act(socket, line, this);
        }
      });
      greet(socket);
    });
  }

  /** Stops listening (which removes the socket) and drops everybody. */
  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** An answer in the raw form that the hooks ask for. */
export function answer({
  output = "",
  exitCode = 0,
  stderr = "",
  env = [],
}: {
  readonly output?: string;
  readonly exitCode?: number;
  readonly stderr?: string;
  readonly env?: readonly string[];
} = {}): string {
  const parts = [output, stderr, env.map(line => `${line}\n`).join("")];
  return `${exitCode} ${parts.map(p => Buffer.byteLength(p)).join(" ")}\n${parts.join("")}`;
}
