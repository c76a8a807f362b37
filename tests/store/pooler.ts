/** PgBouncer before a PostgreSQL server, as many databases have it: each transaction runs on whichever connection is free. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { account, freePort } from "./postgres-server.ts";
import { installPackage } from "./system-package.ts";

const places = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
const startMs = 30_000;

/** Returns PgBouncer's program, or why there is none. Installs Debian's package if this user may. */
export async function findPooler(): Promise<{ readonly program: string } | { readonly missing: string }> {
  const found = program();
  if (found !== null) return { program: found };
  const why = await installPackage("pgbouncer");
  const installed = program();
  return installed === null
    ? { missing: `no PgBouncer is here, and apt-get installed none: ${why ?? "it cannot be found"}` }
    : { program: installed };
}

function program(): string | null {
  return places.map(folder => join(folder, "pgbouncer")).find(path => existsSync(path)) ?? null;
}

export interface PoolerOptions {
  readonly program: string;
  /** The server's port on 127.0.0.1. */
  readonly target: number;
  readonly mode?: "transaction" | "session";
  /** Connections to the server for each database: fewer than those who come. */
  readonly size?: number;
}

export class Pooler {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(port: number, child: ChildProcess, folder: string) {
    this.port = port;
    this.#child = child;
    this.#folder = folder;
  }

  /** Starts one; resolves when it takes connections. */
  static async start({ program, target, mode = "transaction", size = 3 }: PoolerOptions): Promise<Pooler> {
    const folder = mkdtempSync(join(tmpdir(), "kite-pooler-"));
    const port = await freePort();
    const settings = {
      listen_addr: "127.0.0.1",
      listen_port: port,
      unix_socket_dir: "",
      auth_type: "any",
      pool_mode: mode,
      default_pool_size: size,
      max_client_conn: 500,
      // It looks for a server that was away as often as the journal does.
      server_login_retry: 1,
      logfile: join(folder, "log"),
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const database = `* = host=127.0.0.1 port=${target} user=kite`;
    const config = join(folder, "pgbouncer.ini");
    writeFileSync(config, ["[databases]", database, "[pgbouncer]", ...lines, ""].join("\n"));
    const by = account();
    if (by !== null) for (const path of [folder, config]) chownSync(path, by.uid, by.gid);
    const child = spawn(program, ["-q", config], { ...by, cwd: folder, stdio: "ignore" });
    const pooler = new Pooler(port, child, folder);
    try {
      await pooler.#listens();
    } catch (error) {
      pooler.end();
      throw error;
    }
    return pooler;
  }

  async #listens(): Promise<void> {
    const ended = once(this.#child, "exit");
    for (const until = Date.now() + startMs; Date.now() < until; ) {
      if (this.#child.exitCode !== null) break;
      const socket = connect(this.port, "127.0.0.1");
      const isThere = await Promise.race([
        once(socket, "connect").then(
          () => true,
          () => false,
        ),
        ended.then(() => false),
      ]);
      socket.destroy();
      if (isThere) return;
      await delay(20);
    }
    const log = join(this.#folder, "log");
    throw new Error(`PgBouncer does not listen: ${existsSync(log) ? readFileSync(log, "utf8") : "no log"}`);
  }

  /** Ends it, in the middle of whatever it passes on. */
  end(): void {
    this.#child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 9 });
  }
}
