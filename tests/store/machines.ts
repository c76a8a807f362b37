/** Machines over one real PostgreSQL: each with a home, a clone, a daemon as a process, and proxies before the servers. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Connection } from "../../daemon/store/connection.ts";
import { openNode } from "../../daemon/store/node-id.ts";
import { type Client, type Daemon, Home, type Message } from "../end-to-end/daemon.ts";
import { PostgresServer } from "../journal/postgres-server.ts";
import { synchronousPair } from "../journal/postgres-world.ts";
import { StoreProxy } from "../journal/store-proxy.ts";

const origin = "https://example.com/team/app.git";
const clock = new URL("skewed-clock.mjs", import.meta.url);
const patienceMs = 60_000;

/** How far a machine's wall clock is off, and by how much it jumps after a while; in milliseconds. */
export interface Skew {
  readonly ms: number;
  readonly jumpMs: number;
  readonly afterMs: number;
}

export interface MachineOptions {
  readonly index: number;
  readonly program: string;
  readonly skew: Skew | null;
  /** Where the store's servers take connections, the first one first. */
  readonly doors: readonly Door[];
  readonly database: string;
}

/** A port of loopback: a server's, or that of what stands before it. */
export interface Door {
  readonly port: number;
}

export class Machine {
  readonly index: number;
  readonly home = new Home();
  /** The working directory of its sessions: a clone. */
  readonly clone: string;
  node: string;
  readonly proxies: readonly StoreProxy[];
  /** The store as this machine is told of it. */
  readonly address: string;
  readonly #command: readonly [string, ...string[]];
  #daemon: Daemon | null = null;
  #starting: Promise<unknown> = Promise.resolve();
  /** How often its daemon began: with one goes what only its memory had, where it was killed or the clock jumped meanwhile. */
  starts = 0;
  /** How a daemon ended that nobody killed. */
  readonly ends: string[] = [];

  private constructor(
    { index, program, skew }: MachineOptions,
    proxies: readonly StoreProxy[],
    store: string,
  ) {
    this.index = index;
    this.proxies = proxies;
    this.address = store;
    this.clone = join(this.home.work, "app");
    const clockAt = new URL(clock);
    for (const [name, value] of Object.entries(skew ?? {})) clockAt.searchParams.set(name, String(value));
    this.#command = [process.execPath, ...(skew === null ? [] : ["--import", clockAt.href]), program];
    mkdirSync(this.clone);
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: this.clone, env: this.home.environment, stdio: "ignore" });
    git("init", "-q");
    git("remote", "add", "origin", origin);
    mkdirSync(this.home.paths.home, { recursive: true, mode: 0o700 });
    writeFileSync(this.home.paths.config, JSON.stringify({ store, rescue: "off" }), { mode: 0o600 });
    const node = openNode(this.home.paths);
    if ("ok" in node || node.is !== "own") throw new Error(`the home has no id: ${JSON.stringify(node)}`);
    this.node = node.node;
  }

  /** Makes the machine; its daemon does not run yet. */
  static async make(options: MachineOptions): Promise<Machine> {
    const proxies = await Promise.all(options.doors.map(({ port }) => StoreProxy.start(port)));
    const hosts = proxies.map(({ port }) => `127.0.0.1:${port}`).join(",");
    return new Machine(options, proxies, `postgresql://kite@${hosts}/${options.database}`);
  }

  get daemon(): Daemon {
    if (this.#daemon === null) throw new Error(`machine ${this.index} has no daemon`);
    return this.#daemon;
  }

  /** Starts the daemon; a daemon that was just killed may keep its socket for a moment. */
  start(): Promise<unknown> {
    this.#starting = this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    this.starts += 1;
    const daemon = await this.home.start(this.#command);
    this.#daemon = daemon;
    void daemon.exited.then(({ code, signal }) => {
      if (signal !== "SIGKILL" && code !== 0) this.ends.push(`${code} ${signal}`);
    });
  }

  /** Ends the daemon in the middle of everything. */
  async kill(): Promise<void> {
    await this.daemon.kill();
    this.#daemon = null;
  }

  get isKilled(): boolean {
    return this.#daemon === null;
  }

  /** Ends the daemon in the middle of everything, and starts another one. */
  async restart(pauseMs: number): Promise<void> {
    await this.daemon.kill();
    await delay(pauseMs);
    await this.start();
  }

  /** Stops the daemon as its user does; resolves when it is gone. */
  async stop(): Promise<void> {
    this.daemon.signal("SIGTERM");
    await this.daemon.exited;
  }

  /** Connects to the daemon that is there, or comes within a minute. */
  async connect(): Promise<Client> {
    for (const until = Date.now() + patienceMs; ; ) {
      try {
        return await this.home.connect();
      } catch (error) {
        if (Date.now() > until) throw error;
        await delay(20);
      }
    }
  }

  /** Shares the clone's project with the other machines, as a person does, once the store is open. */
  async share(): Promise<void> {
    const person = await this.home.connectPerson();
    let reply: Message = {};
    const isShared = async () => {
      reply = await person.ask({ type: "store_share", cwd: this.clone });
      return reply["code"] !== "store_away";
    };
    await within(isShared);
    if (reply["ok"] !== true) throw new Error(`the project is not shared: ${JSON.stringify(reply)}`);
    person.destroy();
  }

  async dispose(): Promise<void> {
    await this.#starting.catch(() => {});
    await this.home.dispose();
    for (const proxy of this.proxies) proxy.end();
  }
}

/** The servers of a history, in the database that its machines share. */
export class Store {
  readonly servers: readonly PostgresServer[];
  /** Where machines connect. */
  readonly doors: readonly Door[];
  readonly database: string;
  #main: PostgresServer;
  /** The standby was stopped. */
  #isLate = false;

  constructor(
    servers: readonly [PostgresServer, ...PostgresServer[]],
    database: string,
    doors: readonly Door[] = servers,
  ) {
    this.servers = servers;
    this.doors = doors;
    this.database = database;
    this.#main = servers[0];
  }

  /** Makes a database of its own on a server that histories share; `door`: what stands before the server. */
  static async on(server: PostgresServer, database: string, door: Door = server): Promise<Store> {
    const admin = await Connection.open(server.address("kite"), 10_000, 30_000);
    await admin.query(`CREATE DATABASE ${database}`);
    await admin.end();
    return new Store([server], database, [door]).withClock();
  }

  /** Makes a server, and a standby that has each commit before it counts. */
  static async withStandby(bin: string): Promise<Store> {
    return new Store(await synchronousPair(bin), "postgres").withClock();
  }

  /** Makes a server, and a standby that follows as it can: what it lacks is lost when it takes over. */
  static async withLateStandby(bin: string): Promise<Store> {
    const primary = await PostgresServer.start(bin);
    return new Store([primary, await PostgresServer.standby(bin, primary)], "postgres");
  }

  /** Gives the store a clock that `moveClock` moves. Its tables must not be there yet. */
  async withClock(): Promise<this> {
    await this.query(connection =>
      connection.query(
        `CREATE SCHEMA moved;
         CREATE TABLE moved.clock (ms bigint NOT NULL);
         INSERT INTO moved.clock VALUES (0);
         CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
           $$SELECT pg_catalog.clock_timestamp() + (SELECT ms FROM moved.clock) * interval '1 ms'$$;
         ALTER DATABASE ${this.database} SET search_path = moved, pg_catalog, public`,
      ),
    );
    return this;
  }

  /** Moves the store's clock ahead; returns its time then, in milliseconds. */
  moveClock(ms: number): Promise<number> {
    return this.query(async connection => {
      await connection.query("UPDATE moved.clock SET ms = ms + $1", [ms]);
      const now = "SELECT (extract(epoch FROM moved.clock_timestamp()) * 1000)::bigint::text";
      const [[time] = []] = await connection.query(now);
      return Number(time);
    });
  }

  /** Has all entries kept, as for a node that has yet to read them. The tables must be there. */
  async keepAll(): Promise<void> {
    await this.query(async connection => {
      await connection.query("INSERT INTO kite.nodes (node, epoch, seq, seen) VALUES ('judge', 1, 0, now())");
    });
  }

  /** Ends the server in the middle of everything. */
  kill(): Promise<void> {
    return this.#main.kill();
  }

  /** Stops the standby, which follows no more. */
  async loseStandby(): Promise<void> {
    await this.servers[1]?.stop();
    this.#isLate = true;
  }

  /** Starts the server that was killed; or, if there is a standby, makes that one the server. */
  async comeBack(): Promise<void> {
    const standby = this.servers[1];
    if (standby === undefined || this.#main === standby) return this.#main.start();
    if (this.#isLate) await standby.start();
    await standby.promote();
    this.#main = standby;
  }

  /** Runs `work` on a connection beside Kite, again until the server answers. */
  async query<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const address = { ...this.#main.address("kite"), database: this.database };
    for (const until = Date.now() + patienceMs; ; ) {
      let connection: Connection | null = null;
      try {
        connection = await Connection.open(address, 10_000, 30_000);
        return await work(connection);
      } catch (error) {
        if (Date.now() > until) throw error;
        await delay(50);
      } finally {
        await connection?.end();
      }
    }
  }
}

/** Resolves with whether `isSo` came to hold within a minute. */
export async function within(isSo: () => Promise<boolean>, ms = patienceMs): Promise<boolean> {
  for (const until = Date.now() + ms; !(await isSo()); await delay(100)) if (Date.now() > until) return false;
  return true;
}

/** The path of the daemon's program as it is shipped. */
export const shippedDaemon = fileURLToPath(new URL("../../dist/daemon.mjs", import.meta.url));
