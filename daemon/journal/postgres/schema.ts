/**
 * Kite's tables in PostgreSQL, which the first node makes.
 *
 * Invariants: a level's changes only add, so that every program of a level works with all tables of that level. Statements
 * name their columns. A change that does more is a new level, which earlier programs refuse.
 */
import { randomBytes } from "node:crypto";
import type { Connection, Row } from "../../store/connection.ts";
import { lastingError, StoreTooNew, sqlState } from "../../store/errors.ts";
import { appendFunction } from "./append-function.ts";

/** The level of the schema that this program knows. */
export const schemaLevel = 1;

/** Returns the name of one of Kite's tables, or of the schema, as statements write it. Throws on a name of another form. */
export function tableName(schema: string, table: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new Error(`${JSON.stringify(schema)} is no name of a schema: use small letters, digits and _`);
  return `"${schema}".${table}`;
}

/**
 * What was added to the level, in order; a store knows how many of these it has. Each may run twice: two nodes that
 * see the same lack run it one after the other. The first makes the tables:
 * - `head`: one row, the last entry's place and time. Its lock puts appends in order;
 * - `entries`: `mark` is one of an append alone, so an entry with the same mark has the same history before it;
 * - `nodes`: who reads the log, under which epoch, and how far;
 * - `snapshots` and their pieces: one that is not complete is never read.
 */
const additions: readonly ((table: (name: string) => string) => string)[] = [
  table => `
    CREATE TABLE IF NOT EXISTS ${table("entries")} (
      seq bigint PRIMARY KEY, mark bigint NOT NULL, node text NOT NULL, epoch bigint NOT NULL, n bigint NOT NULL,
      at bigint NOT NULL, command text NOT NULL, UNIQUE (node, epoch, n));
    CREATE TABLE IF NOT EXISTS ${table("nodes")} (
      node text PRIMARY KEY, epoch bigint NOT NULL, seq bigint NOT NULL, seen timestamptz NOT NULL);
    CREATE TABLE IF NOT EXISTS ${table("snapshots")} (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, seq bigint NOT NULL, node text NOT NULL,
      bytes bigint NOT NULL, complete boolean NOT NULL, written timestamptz NOT NULL);
    CREATE TABLE IF NOT EXISTS ${table("pieces")} (
      snapshot bigint NOT NULL REFERENCES ${table("snapshots")} ON DELETE CASCADE, place integer NOT NULL,
      bytes bytea NOT NULL, PRIMARY KEY (snapshot, place));
    ${appendFunction(table)}`,
  // What a node's starts have in common while its machine runs: see `claimEpoch`.
  table => `ALTER TABLE ${table("nodes")} ADD COLUMN IF NOT EXISTS holder text;`,
];

/** What a store says of itself. */
export interface StoreIdentity {
  /** Made with the tables; another id is another store. */
  readonly id: string;
}

/**
 * Makes what the store lacks of Kite's tables, and returns what it says of itself; null: it has none of them. Nodes that
 * do so at once wait for each other. Rejects with `StoreTooNew`, with `StoreUnfit` if the user may not make them, or with
 * an error of the connection. `isNew` false: the tables were there before, and are not made anew; `later`: further
 * additions, of a test.
 */
export async function prepareSchema(
  connection: Connection,
  schema: string,
  where: string,
  { isNew = true, later = [] }: { readonly isNew?: boolean; readonly later?: typeof additions } = {},
): Promise<StoreIdentity | null> {
  const all = [...additions, ...later];
  const found = await readHead(connection, schema);
  if (found !== null) checkLevel(found, where);
  else if (!isNew) return null;
  if (found === null || found.additions < all.length) {
    try {
      await make(connection, schema, all, found?.additions ?? 0);
    } catch (error) {
      throw lastingError(error, where) ?? error;
    }
  }
  const head = found ?? (await readHead(connection, schema));
  if (head === null) throw new Error("Kite's tables were removed while they were made");
  checkLevel(head, where);
  return { id: head.id };
}

/** Another node made the same in the moment before: the server takes what it looked up for granted for a while. */
const isTwice: ReadonlySet<string | null> = new Set(["23505", "42P06", "42P07"]);

async function make(
  connection: Connection,
  schema: string,
  all: typeof additions,
  from: number,
  mayRepeat = true,
): Promise<void> {
  try {
    await connection.query(makeText(schema, await hasSchema(connection, schema), all, from));
  } catch (error) {
    if (!mayRepeat || !isTwice.has(sqlState(error))) throw error;
    // The other one's tables are complete, because the lock of `makeText` is free then.
    await make(connection, schema, all, from, false);
  }
}

function checkLevel({ level }: Head, where: string): void {
  if (level === schemaLevel) return;
  throw new StoreTooNew(
    `the store ${where} has tables of level ${level}, this program knows ${schemaLevel}: start a newer Kite`,
  );
}

interface Head extends StoreIdentity {
  readonly level: number;
  readonly additions: number;
}

/** Whether the schema exists. Making it needs a right in the whole database, also if it exists. */
async function hasSchema(connection: Connection, schema: string): Promise<boolean> {
  const rows = await connection.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  return rows.length > 0;
}

async function readHead(connection: Connection, schema: string): Promise<Head | null> {
  try {
    const rows = await connection.query(`SELECT store, level, additions FROM ${tableName(schema, "head")}`);
    return rows[0] === undefined ? null : headOf(rows[0]);
  } catch (error) {
    if (sqlState(error) === "42P01") return null;
    throw error;
  }
}

function headOf([id, level, count]: Row): Head {
  return { id: String(id), level: Number(level), additions: Number(count) };
}

/** One text, so one transaction: it takes a lock that ends with it, and makes everything or nothing. */
function makeText(schema: string, isThere: boolean, all: typeof additions, from: number): string {
  const table = (name: string) => tableName(schema, name);
  const head = table("head");
  const create =
    from > 0
      ? ""
      : `${isThere ? "" : `CREATE SCHEMA IF NOT EXISTS "${schema}";`}
         CREATE TABLE IF NOT EXISTS ${head} (
           one boolean PRIMARY KEY DEFAULT true CHECK (one), store text NOT NULL, level integer NOT NULL,
           additions integer NOT NULL, seq bigint NOT NULL, at bigint NOT NULL) WITH (fillfactor = 10);
         INSERT INTO ${head} (store, level, additions, seq, at)
           VALUES ('${randomBytes(8).toString("hex")}', ${schemaLevel}, 0, 0, 0) ON CONFLICT DO NOTHING;`;
  return `
    SELECT pg_advisory_xact_lock(hashtext('kite'), hashtext('${schema}'));
    ${create}
    ${all
      .slice(from)
      .map(one => one(table))
      .join("\n")}
    UPDATE ${head} SET additions = greatest(additions, ${all.length}) WHERE level = ${schemaLevel};`;
}
