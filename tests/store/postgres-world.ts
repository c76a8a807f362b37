/** A real server for the tests of a file. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, it } from "vitest";
import { Connection } from "../../daemon/store/connection.ts";
import { findPostgres, PostgresServer, type ServerOptions } from "./postgres-server.ts";

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
