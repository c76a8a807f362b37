/** Looks at a store before a machine joins it, and for `kite doctor`: it makes and changes nothing. */
import { Connection, type JournalAddress, storeName } from "../../store/connection.ts";
import { awayError, sqlState } from "../../store/errors.ts";
import { storeBounds } from "./bounds.ts";
import { schemaLevel, tableName } from "./schema.ts";

/** What a store is, as far as this user may see. */
export interface StoreLook {
  /** PostgreSQL's version, such as `15.8`. */
  readonly server: string;
  /** Kite's tables; null: there are none yet. */
  readonly tables: { readonly level: number; readonly isKnown: boolean; readonly nodesLately: number } | null;
  /** Whom the server takes this machine for, and the schema of Kite's tables. */
  readonly user: string;
  readonly schema: string;
  /** There are tables of Kite that this user may not read. */
  readonly isHidden: boolean;
  /** The rights that Kite needs and the user lacks, each as a clause for people; empty: it has all. */
  readonly lacks: readonly string[];
  /** How much the store's clock is ahead of this machine's, in milliseconds, within half of `roundTripMs`. */
  readonly aheadMs: number;
  readonly roundTripMs: number;
  /** What the server confirms survives a power cut of its own. */
  readonly isDurable: boolean;
}

/** Rejects with `StoreAway`, or with `StoreUnfit` if a person has to do something first. */
export async function lookAtStore(address: JournalAddress): Promise<StoreLook> {
  const { connectMs, statementMs } = storeBounds;
  let connection: Connection | null = null;
  try {
    connection = await Connection.open(address, connectMs, statementMs);
    return await look(connection, address.schema);
  } catch (error) {
    throw awayError(error, storeName(address));
  } finally {
    await connection?.end();
  }
}

async function look(connection: Connection, schema: string): Promise<StoreLook> {
  const before = Date.now();
  const [row = []] = await connection.query(
    "SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text, " +
      "current_setting('fsync'), current_user",
  );
  const after = Date.now();
  const [server, atMs, fsync, user] = row;
  const tables = await readTables(connection, schema);
  return {
    server: String(server).replace(/ .*/, ""),
    user: String(user),
    schema,
    tables: tables === "hidden" ? null : tables,
    isHidden: tables === "hidden",
    lacks: await lacksOf(connection, schema, tables !== null),
    aheadMs: Math.round(Number(atMs) - (before + after) / 2),
    roundTripMs: after - before,
    isDurable: fsync === "on",
  };
}

/** Whether there are Kite's tables, also for a user who may not read them. */
async function hasTables(connection: Connection, schema: string): Promise<boolean> {
  const rows = await connection.query(
    "SELECT FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND relname = 'head'",
    [schema],
  );
  return rows.length > 0;
}

/** Returns what there is of Kite's tables; null: none. */
async function readTables(connection: Connection, schema: string): Promise<StoreLook["tables"] | "hidden"> {
  try {
    const [row] = await connection.query(
      `SELECT level, (SELECT count(*)::int4 FROM ${tableName(schema, "nodes")}
         WHERE seen > now() - interval '1 day') FROM ${tableName(schema, "head")}`,
    );
    if (row === undefined) return null;
    const [level, nodes] = row;
    return { level: Number(level), isKnown: Number(level) === schemaLevel, nodesLately: Number(nodes) };
  } catch (error) {
    const state = sqlState(error);
    // The tables, or the schema, are not there.
    if (state === "42P01" || state === "3F000") return null;
    // They are another user's: `lacksOf` says what is to be given.
    if (state === "42501" && (await hasTables(connection, schema))) return "hidden";
    if (state === "42501") return null;
    throw error;
  }
}

/** By table, what Kite does with it. */
const uses: readonly (readonly [table: string, rights: readonly string[]])[] = [
  ["head", ["SELECT", "UPDATE"]],
  ["entries", ["SELECT", "INSERT", "DELETE"]],
  ["nodes", ["SELECT", "INSERT", "UPDATE", "DELETE"]],
  ["snapshots", ["SELECT", "INSERT", "UPDATE", "DELETE"]],
  ["pieces", ["SELECT", "INSERT", "DELETE"]],
];

async function lacksOf(
  connection: Connection,
  schema: string,
  hasTables: boolean,
): Promise<readonly string[]> {
  if (!hasTables) {
    const [row] = await connection.query(
      `SELECT CASE WHEN to_regnamespace($1) IS NULL
         THEN has_database_privilege(current_database(), 'CREATE')
         ELSE has_schema_privilege($1, 'CREATE') AND has_schema_privilege($1, 'USAGE') END,
         to_regnamespace($1) IS NULL`,
      [schema],
    );
    const [may, isNew] = row ?? [];
    if (may === true) return [];
    return [isNew === true ? `make the schema ${schema}` : `make tables in the schema ${schema}`];
  }
  const lacks: string[] = [];
  const [schemaRow] = await connection.query("SELECT has_schema_privilege($1, 'USAGE')", [schema]);
  // Without it the server names no table of it.
  if (schemaRow?.[0] !== true) return [`use the schema ${schema}`];
  for (const [table, rights] of uses)
    for (const right of rights) {
      const [row] = await connection.query("SELECT has_table_privilege($1, $2)", [
        tableName(schema, table),
        right,
      ]);
      if (row?.[0] !== true) lacks.push(`${right} ${schema}.${table}`);
    }
  return lacks;
}
