/** Nodes over one real store, each through a proxy of its own. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, it, onTestFinished } from "vitest";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import type { StoreBounds } from "../../daemon/journal/postgres/bounds.ts";
import {
  PostgresJournal,
  type PostgresJournalOptions,
} from "../../daemon/journal/postgres/postgres-journal.ts";
import { Connection, type Row } from "../../daemon/store/connection.ts";
import { Client } from "./commands.ts";
import { findPostgres, PostgresServer, type ServerOptions } from "./postgres-server.ts";
import { StoreProxy } from "./store-proxy.ts";

let schemas = 0;

/**
 * Runs a file's tests over a server of its own, which is there when `tests` is called. Where no server can be had, one
 * test says loudly that `subject` was not tested.
 */
export async function withServer(
  subject: string,
  tests: (server: PostgresServer, bin: string) => void | Promise<void>,
  options: ServerOptions = {},
): Promise<void> {
  const found = await findPostgres();
  if ("missing" in found) {
    const loud = `SKIPPED: ${subject}: ${found.missing}`;
    it(loud, () => console.warn(loud));
    return;
  }
  const server = await PostgresServer.start(found.bin, options);
  afterAll(() => server.end());
  await tests(server, found.bin);
}

/** Makes a server, and a standby that has each commit before it counts. */
export async function synchronousPair(bin: string): Promise<[PostgresServer, PostgresServer]> {
  const primary = await PostgresServer.start(bin);
  const standby = await PostgresServer.standby(bin, primary);
  const admin = await Connection.open(primary.address("kite"), 10_000, 30_000);
  await admin.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await admin.query("SELECT pg_reload_conf()");
  for (let state = ""; state !== "sync"; await delay(20)) {
    const [row] = await admin.query("SELECT sync_state FROM pg_stat_replication");
    state = String(row?.[0]);
  }
  await admin.end();
  return [primary, standby];
}

/** Bounds under which a test waits for no time-out that a person would notice. */
export const quick: Partial<StoreBounds> = {
  retryMinMs: 5,
  retryMaxMs: 50,
  pollMinMs: 10,
  pollMaxMs: 50,
  heardPollMs: 200,
};

export interface StoreNode {
  readonly client: Client;
  readonly journal: PostgresJournal;
  readonly proxy: StoreProxy;
}

export class StoreWorld {
  readonly server: PostgresServer;
  readonly schema: string;
  readonly #ends: (() => void | Promise<void>)[] = [];

  constructor(server: PostgresServer) {
    this.server = server;
    schemas += 1;
    this.schema = `faults_${schemas}`;
    onTestFinished(() => this.end());
  }

  /** A journal of node `node` that is not opened. */
  async journal(
    node: string,
    bounds: Partial<StoreBounds> = {},
    options: Partial<PostgresJournalOptions> = {},
  ): Promise<Omit<StoreNode, "client">> {
    const proxy = await StoreProxy.start(this.server.port);
    const address = this.server.address(this.schema, proxy.port);
    const journal = new PostgresJournal({ address, node, bounds: { ...quick, ...bounds }, ...options });
    this.#ends.push(async () => {
      proxy.end();
      await journal.close();
    });
    return { journal, proxy };
  }

  /** A node that reads and writes. */
  async node(
    node: string,
    bounds: Partial<StoreBounds> = {},
    options: Partial<PostgresJournalOptions> = {},
  ): Promise<StoreNode> {
    const { journal, proxy } = await this.journal(node, bounds, options);
    return { client: await Client.open(journal, node), journal, proxy };
  }

  /** Runs statements beside Kite, as an administrator does; `$` stands for the schema. */
  async sql(text: string): Promise<readonly Row[]> {
    const connection = await this.connection();
    try {
      return await connection.query(text.replaceAll("$.", `"${this.schema}".`));
    } finally {
      await connection.end();
    }
  }

  connection(): Promise<Connection> {
    return Connection.open(this.server.address(this.schema), 10_000, 30_000);
  }

  /** The log as the store has it: origins and places. */
  async log(): Promise<readonly string[]> {
    const rows = await this.sql("SELECT seq, node, epoch, n FROM $.entries ORDER BY seq");
    return rows.map(row => row.join(" "));
  }

  async end(): Promise<void> {
    await Promise.all(this.#ends.splice(0).map(end => end()));
  }
}

/** An entry's origin and place, as `log` gives them. */
export function lineOf({ seq, origin: { node, epoch, n } }: Entry): string {
  return `${seq} ${node} ${epoch} ${n}`;
}

/** Waits until every proposal of a node is decided, and its log is up to date. */
export async function settled({ journal }: Pick<StoreNode, "journal">): Promise<void> {
  await expect.poll(() => journal.isIdle && journal.awaySinceMs === null).toBe(true);
  await journal.barrier();
}
