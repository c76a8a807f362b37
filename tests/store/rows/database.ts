/** The database that the machines of a history share, beside Kite: its servers, its rows, its backups. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { CoreEvent } from "../../../daemon/core/tables/entries.ts";
import { Connection, type Row } from "../../../daemon/store/connection.ts";
import type { PostgresServer } from "../../store/postgres-server.ts";
import { synchronousPair } from "../../store/postgres-world.ts";

const run = promisify(execFile);
const patienceMs = 30_000;

/** A step that the store keeps: the events of one version of a project. */
export interface StoredStep {
  readonly version: number;
  readonly events: readonly CoreEvent[];
}

/** A project as the store has it. */
export interface Contents {
  readonly version: number;
  /** How far the project's time is ahead of the store's, in milliseconds. */
  readonly aheadMs: number;
  /** Each row that is there, by its kind and key. */
  readonly rows: ReadonlyMap<string, string>;
}

export class Database {
  readonly name: string;
  readonly #servers: readonly PostgresServer[];
  readonly #bin: string;
  #main: PostgresServer;
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether a backup was put back: then machines were told of steps that are gone. */
  wentBack = false;

  private constructor(bin: string, name: string, servers: readonly [PostgresServer, ...PostgresServer[]]) {
    this.#bin = bin;
    this.name = name;
    this.#servers = servers;
    this.#main = servers[0];
  }

  /** Makes a database of its own on a server that histories share. */
  static async on(server: PostgresServer, bin: string, name: string): Promise<Database> {
    const admin = new Database(bin, "postgres", [server]);
    await admin.sql(`CREATE DATABASE ${name}`);
    return new Database(bin, name, [server]);
  }

  /** Makes a server, and a standby that has each commit before it counts and takes over after a crash. */
  static async withStandby(bin: string): Promise<Database> {
    return new Database(bin, "postgres", await synchronousPair(bin));
  }

  /** Ports of all servers, the first one first. */
  get ports(): readonly number[] {
    return this.#servers.map(({ port }) => port);
  }

  /** Ends the server, in the middle of everything or as its administrator does, and lets it or its standby come back. */
  crash({ isKill, pauseMs }: { readonly isKill: boolean; readonly pauseMs: number }): Promise<void> {
    return this.#inTurn(async () => {
      await (isKill ? this.#main.kill() : this.#main.stop());
      await delay(pauseMs);
      const standby = this.#servers[1];
      if (standby === undefined || this.#main === standby) return this.#main.start();
      await standby.promote();
      this.#main = standby;
    });
  }

  /** Faults of the server come one after the other. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** Removes servers that are this database's alone. */
  end(): void {
    if (this.#servers.length > 1) for (const server of this.#servers) server.end();
  }

  /** Runs a statement as an administrator does, again until the server answers. */
  sql(text: string): Promise<readonly Row[]> {
    return this.#run(text, this.name);
  }

  /** Runs a statement that is about this database from another one, where writes are allowed. */
  writable(text: string): Promise<readonly Row[]> {
    return this.#run(text, "postgres");
  }

  async #run(text: string, name: string): Promise<readonly Row[]> {
    const address = { ...this.#main.address("kite"), database: name };
    for (const until = Date.now() + patienceMs; ; ) {
      let connection: Connection | null = null;
      try {
        connection = await Connection.open(address, 10_000, 30_000);
        return await connection.query(text);
      } catch (error) {
        if (connection !== null || Date.now() > until) throw error;
        await delay(50);
      } finally {
        await connection?.end();
      }
    }
  }

  /** Returns a project's version and rows, as of one moment. */
  async contents(project: string): Promise<Contents> {
    const found = await this.sql(
      `SELECT p.version, (p.head::json ->> 't')::bigint - (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
         r.kind || ' ' || r.key, r.value FROM kite.projects p
         LEFT JOIN kite.rows r ON r.project = p.id AND r.value IS NOT NULL WHERE p.name = '${project}'`,
    );
    const rows = found.flatMap(([, , key, value]) =>
      key === null ? [] : [[String(key), String(value)] as const],
    );
    const [[version = 0, aheadMs = 0] = []] = found;
    return { version: Number(version), aheadMs: Number(aheadMs), rows: new Map(rows) };
  }

  /** Returns the steps of a project that have events, the first one first. */
  async steps(project: string): Promise<readonly StoredStep[]> {
    const rows = await this.sql(
      `SELECT e.version, e.events FROM kite.steps e JOIN kite.projects p ON p.id = e.project
         WHERE p.name = '${project}' AND e.events <> '[]' ORDER BY e.version`,
    );
    return rows.map(([version, events]) => ({
      version: Number(version),
      events: JSON.parse(String(events)) as CoreEvent[],
    }));
  }

  /** Returns the tables of which a row has this text somewhere. */
  async tablesWith(text: string): Promise<readonly string[]> {
    const tables = await this.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'kite'");
    const found: string[] = [];
    for (const [table] of tables) {
      const [row] = await this.sql(
        `SELECT count(*)::int FROM kite.${table} t WHERE strpos((t.*)::text, '${text}') > 0`,
      );
      if (Number(row?.[0]) > 0) found.push(String(table));
    }
    return found;
  }

  /** Ends all connections of this database but its own. */
  async endConnections(): Promise<void> {
    const others = "datname = current_database() AND pid <> pg_backend_pid()";
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`;
    await this.#inTurn(() => this.sql(end));
  }

  /** Locks the table of all rows for a while. */
  async holdRows(ms: number): Promise<void> {
    const hold = `DO $$ BEGIN LOCK TABLE kite.rows; PERFORM pg_sleep(${ms / 1_000}); END $$`;
    await this.#inTurn(() => this.sql(hold));
  }

  /** Writes a backup of Kite's tables to a file. */
  async backUp(path: string): Promise<void> {
    await this.#program("pg_dump", "-Fc", "-n", "kite", "-f", path, this.name);
  }

  /** Puts the backup in the place of Kite's tables; for a moment there are none. */
  async restore(path: string): Promise<void> {
    await this.drop();
    await this.putBack(path);
  }

  /** Removes Kite's tables, and all that is in them. */
  async drop(): Promise<void> {
    this.wentBack = true;
    await this.sql("DROP SCHEMA kite CASCADE");
  }

  /** Puts a part of the backup back; by default all of it. */
  async putBack(path: string, ...part: readonly string[]): Promise<void> {
    await this.#program("pg_restore", "-d", this.name, ...part, path);
  }

  async #program(program: string, ...args: readonly string[]): Promise<void> {
    const where = ["-h", "127.0.0.1", "-p", String(this.#main.port), "-U", "kite"];
    await run(join(this.#bin, program), [...where, ...args]);
  }
}
