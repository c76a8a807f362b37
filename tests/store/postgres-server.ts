/** A PostgreSQL server of a test's own on loopback: the programs that are there, else the system's package. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JournalAddress } from "../../daemon/store/connection.ts";
import { installPackage } from "./system-package.ts";

const startMs = 60_000;
/** Where packages put the server's programs, a folder a version. */
const places = ["/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt", "/usr/pgsql"];

/** Returns the folder of the server's programs, or why there is none. Installs Debian's package if this user may. */
export async function findPostgres(): Promise<{ readonly bin: string } | { readonly missing: string }> {
  const found = programs();
  if (found !== null) return { bin: found };
  const why = await installPackage("postgresql");
  if (why !== null) return { missing: `no PostgreSQL is here, and apt-get installed none: ${why}` };
  const installed = programs();
  return installed === null
    ? { missing: "apt-get installed no PostgreSQL that can be found" }
    : { bin: installed };
}

function programs(): string | null {
  const named = process.env["KITE_TEST_POSTGRES"];
  const folders = named === undefined ? places.flatMap(versionsIn) : [named];
  return folders.find(bin => existsSync(join(bin, "initdb")) && existsSync(join(bin, "postgres"))) ?? null;
}

function versionsIn(place: string): string[] {
  if (!existsSync(place)) return [];
  const names = readdirSync(place).sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10));
  return [join(place, "bin"), ...names.map(name => join(place, name, "bin"))];
}

/** Servers refuse to run as root: they get the account of PostgreSQL's package, or that of nobody. */
export function account(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ["postgres", "nobody"]) {
    const [uid, gid] = ["-u", "-g"].map(flag => {
      const { status, stdout } = spawnSync("id", [flag, name], { encoding: "utf8" });
      return status === 0 ? Number(stdout) : null;
    });
    if (typeof uid === "number" && typeof gid === "number") return { uid, gid };
  }
  return null;
}

export interface ServerOptions {
  /** Whether commits reach the disk; a test has no use for that, and a bench has. */
  readonly isSafe?: boolean;
  /** Further settings. */
  readonly settings?: readonly string[];
  /** Its certificate and key, in PEM: with them it offers TLS. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Addresses of this machine besides 127.0.0.1 on which it listens, and lets everybody in who comes from there. */
  readonly listens?: readonly string[];
}

/** A server, which a test stops, kills and starts again. */
export class PostgresServer {
  readonly #bin: string;
  readonly #folder: string;
  readonly #settings: readonly string[];
  readonly #account = account();
  readonly port: number;

  private constructor(bin: string, port: number, options: ServerOptions) {
    const { isSafe = false, settings = [], certificate, listens = [] } = options;
    this.#bin = bin;
    this.port = port;
    this.#folder = mkdtempSync(join(tmpdir(), "kite-postgres-"));
    const speed = isSafe ? [] : ["fsync=off", "full_page_writes=off"];
    this.#settings = [
      `port=${port}`,
      `listen_addresses=${["127.0.0.1", ...listens].join(",")}`,
      "unix_socket_directories=",
      "shared_buffers=32MB",
      "max_connections=200",
      "log_min_messages=fatal",
      ...speed,
      ...(certificate === undefined ? [] : ["ssl=on"]),
      ...settings,
    ];
    if (this.#account !== null) chownSync(this.#folder, this.#account.uid, this.#account.gid);
  }

  /** Makes a server in a folder of its own, and starts it. */
  static async start(bin: string, options: ServerOptions = {}): Promise<PostgresServer> {
    const server = new PostgresServer(bin, await freePort(), options);
    const init = ["-D", server.#data, "-U", "kite", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"];
    await server.#program("initdb", init);
    const { certificate, listens = [] } = options;
    if (certificate !== undefined) server.useCertificate(certificate);
    for (const address of listens) server.allow("all", "trust", `${address}/32`);
    await server.start();
    return server;
  }

  /** Makes a standby of a server, which follows it, and starts it. */
  static async standby(bin: string, of: PostgresServer): Promise<PostgresServer> {
    const server = new PostgresServer(bin, await freePort(), {});
    const from = ["-h", "127.0.0.1", "-p", String(of.port), "-U", "kite"];
    await server.#program("pg_basebackup", [...from, "-D", server.#data, "-R", "-c", "fast", "-X", "stream"]);
    await server.start();
    return server;
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  /** Starts it, again after a stop; resolves when it takes connections. */
  async start(): Promise<void> {
    const settings = this.#settings.flatMap(one => ["-c", one]).map(quoted);
    await this.#ctl(
      "start",
      "-t",
      String(startMs / 1000),
      "-l",
      join(this.#folder, "log"),
      "-o",
      settings.join(" "),
    );
  }

  /** Stops it as its administrator does: connections end, what is committed stays. */
  async stop(): Promise<void> {
    await this.#ctl("stop", "-m", "fast");
  }

  /**
   * Ends it in the middle of everything, as a power cut does; resolves when no process of it is left. All its processes stop
   * first: one that outlives the main one for a moment would show a commit that its standby lacks.
   */
  async kill(): Promise<void> {
    const path = join(this.#data, "postmaster.pid");
    const pid = Number.parseInt(readFileSync(path, "utf8"), 10);
    process.kill(pid, "SIGSTOP");
    const children = processes().flatMap(one => (one.parent === pid ? [one.pid] : []));
    for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const child of children) end(child, signal);
    process.kill(pid, "SIGKILL");
    const own = new Set([pid, ...children]);
    while (processes().some(one => own.has(one.pid) && !one.isEnded)) await delay(20);
    // A process that nobody waited for keeps its number: a start would take it for a server that runs.
    rmSync(path, { force: true });
  }

  /** Lets `user` in by `method` alone, once the server has read its settings again. */
  allow(user: string, method: string, from = "127.0.0.1/32"): void {
    const path = join(this.#data, "pg_hba.conf");
    writeFileSync(path, `host all ${user} ${from} ${method}\n${readFileSync(path, "utf8")}`);
  }

  /** Gives it another certificate and key, once it has read its settings again. */
  useCertificate({ cert, key }: { readonly cert: string; readonly key: string }): void {
    for (const [name, text] of Object.entries({ "server.crt": cert, "server.key": key })) {
      const path = join(this.#data, name);
      writeFileSync(path, text, { mode: 0o600 });
      if (this.#account !== null) chownSync(path, this.#account.uid, this.#account.gid);
    }
  }

  /** Makes a standby the server that takes writes. */
  async promote(): Promise<void> {
    await this.#ctl("promote");
  }

  /** Stops it, and removes all that it stored. */
  end(): void {
    this.#run("pg_ctl", ["-D", this.#data, "-m", "immediate", "stop"]);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 9 });
  }

  /** Its address, for tables in `schema`; `port`: that of a proxy before it. */
  address(schema: string, port = this.port): JournalAddress {
    const hosts = [{ host: "127.0.0.1", port, tls: false as const, password: () => null }];
    return { hosts, database: "postgres", user: "kite", schema };
  }

  async #ctl(...args: readonly string[]): Promise<void> {
    await this.#program("pg_ctl", ["-D", this.#data, "-w", ...args]);
  }

  #run(program: string, args: readonly string[]): void {
    spawnSync(join(this.#bin, program), args, { ...this.#account, cwd: this.#folder, stdio: "ignore" });
  }

  /** Runs one of the server's programs to its end. What it starts keeps none of its pipes. */
  #program(program: string, args: readonly string[]): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    const child = spawn(join(this.#bin, program), args, {
      ...this.#account,
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", code => {
        child.stderr.destroy();
        if (code === 0) return resolve();
        const log = join(this.#folder, "log");
        reject(
          new Error(
            `${program} ended with ${code}: ${said}${existsSync(log) ? readFileSync(log, "utf8") : ""}`,
          ),
        );
      });
    });
  }
}

/** Sends a signal to a process that may have ended by itself. */
function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

function processes(): readonly {
  readonly pid: number;
  readonly parent: number;
  readonly isEnded: boolean;
}[] {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" });
  return stdout.split("\n").map(line => {
    const [pid, parent, state = ""] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), isEnded: state.startsWith("Z") };
  });
}

/** `pg_ctl` gives its options to a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Below the ports that Linux and macOS give to connections, and to listeners that name none. */
const ports = { from: 20_000, to: 32_000 };

/**
 * Returns a port of loopback that nobody listens on. Nobody is given it by the system before the server is made, nor while a test
 * has stopped it: other tests beside it open connections and pages meanwhile.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = ports.from + Math.floor(Math.random() * (ports.to - ports.from));
    if (await isFree(port)) return port;
  }
  throw new Error(`no port between ${ports.from} and ${ports.to} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  } catch {
    return false; // Somebody listens there.
  }
  server.close();
  await once(server, "close");
  return true;
}
