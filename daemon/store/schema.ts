/**
 * The tables that machines share in PostgreSQL, the function that writes a step, and the views that people read.
 *
 * Invariants: who writes rows of a project holds the lock of the project's row. A row has the version of the step that changed
 * it last. So a reader that knows a project up to a version reads the rows of higher ones. A step of the schema that was released
 * never changes here: a further one makes the next format. A program writes to no store of another format than its own.
 */
import { randomBytes } from "node:crypto";
import { shellArgument } from "../../protocol/text.ts";
import type { Connection } from "./connection.ts";
import { lastingError, StoreAway, StoreUnfit, sqlState } from "./errors.ts";

/** Returns the name of one of Kite's tables, views or functions, as statements write it. Throws on a schema of another form. */
export function tableName(schema: string, table: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new Error(`${JSON.stringify(schema)} is no name of a schema: use small letters, digits and _`);
  return `"${schema}".${table}`;
}

/** Returns the name of a table in the schema. */
type Named = (table: string) => string;

/**
 * What made each format out of the one before.
 * - `nodes`: the homes that share. `machine` is the name that a home `asked` for, or that one with a number. `seen` is its last
 *   sign of life, by the database's clock. A node that was silent for `gone_ms` has ended.
 * - `projects`: `version` counts the steps. `stamp` is random and of the last step: it tells a store that was restored.
 *   `head` has the core's counters. Whoever knows less than `purged` reads all rows anew.
 * - `rows`: one table for all kinds, so that to catch up is one look into an index. A value is text: agents write characters
 *   that `jsonb` refuses. Null: the row is gone.
 *   No foreign key says that its project exists: each row would pay for that, and only `step` writes rows.
 * - `steps`: what each step told, and its answers for requests that are repeated. They are kept for an hour. `stamp` tells a
 *   machine that comes back whether the step that it knows last is one of this store.
 */
const steps: readonly ((table: Named) => string)[] = [
  table => `
    CREATE TABLE ${table("nodes")} (
      id text PRIMARY KEY, asked text NOT NULL, machine text NOT NULL UNIQUE, binding text NOT NULL, program text NOT NULL,
      seen timestamptz NOT NULL, gone_ms bigint NOT NULL, joined timestamptz NOT NULL DEFAULT now());
    CREATE TABLE ${table("projects")} (
      id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, version bigint NOT NULL DEFAULT 0,
      stamp text NOT NULL DEFAULT '', head text NOT NULL DEFAULT '{}', purged bigint NOT NULL DEFAULT 0)
      WITH (fillfactor = 50);
    CREATE TABLE ${table("rows")} (
      project int NOT NULL, kind text NOT NULL, key text NOT NULL,
      version bigint NOT NULL, value text, PRIMARY KEY (project, kind, key));
    CREATE INDEX rows_later ON ${table("rows")} (project, version);
    CREATE INDEX rows_gone ON ${table("rows")} (project, version) WHERE value IS NULL;
    CREATE TABLE ${table("steps")} (
      project int NOT NULL, version bigint NOT NULL, stamp text NOT NULL,
      node text NOT NULL, events text NOT NULL, replies text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (project, version));`,
];

/** The format of the tables that this program knows. */
export const format = steps.length;

/**
 * The function that writes a step: as a whole, or not at all if the store is not as the caller knows it. It returns whether
 * it did. The server plans it once per connection, which costs less than the same as one statement.
 */
function stepFunction(table: Named): string {
  return `
    CREATE OR REPLACE FUNCTION ${table("step")}(
      p_project int, p_version bigint, p_stamp text, p_node text, p_next text, p_head text,
      p_kinds text[], p_keys text[], p_values text[], p_events text, p_replies text)
    RETURNS boolean LANGUAGE plpgsql AS $kite$
    BEGIN
      IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
      UPDATE ${table("projects")} SET version = p_version + 1, stamp = p_next, head = p_head
        WHERE id = p_project AND version = p_version AND stamp = p_stamp
          AND (SELECT number FROM ${table("format")}) = ${format};
      IF NOT FOUND THEN RETURN false; END IF;
      INSERT INTO ${table("rows")} AS r (project, kind, key, version, value)
        SELECT p_project, n.kind, n.key, p_version + 1, n.value FROM unnest(p_kinds, p_keys, p_values) AS n (kind, key, value)
        ON CONFLICT (project, kind, key) DO UPDATE SET version = excluded.version, value = excluded.value;
      INSERT INTO ${table("steps")} (project, version, stamp, node, events, replies)
        VALUES (p_project, p_version + 1, p_next, p_node, p_events, p_replies);
      PERFORM pg_notify(${literal(channelOf(table))}, p_project || ' ' || (p_version + 1));
      RETURN true;
    END $kite$;`;
}

/** Returns the channel on which each step of the schema's projects is told, as `PROJECT VERSION`. */
export function channelOf(table: Named): string {
  return table("steps").replaceAll('"', "");
}

/**
 * What people read; no program does, so a later format makes these anew. JSON that the server cannot read as text, as half a
 * surrogate, is shown with the characters escaped. A value that is no JSON at all is shown as nothing.
 */
function views(table: Named): string {
  const rowsOf = (kind: string) =>
    `${table("rows")} r JOIN ${table("projects")} p ON p.id = r.project
       CROSS JOIN LATERAL ${table("readable")}(r.value) v WHERE r.kind = '${kind}' AND r.value IS NOT NULL`;
  const nameOf = (id: string) =>
    `(SELECT ${table("readable")}(s.value) ->> 'name' FROM ${table("rows")} s
       WHERE s.project = r.project AND s.kind = 'sessions' AND s.key = ${id})`;
  return `
    CREATE FUNCTION ${table("readable")}(value text) RETURNS json LANGUAGE plpgsql IMMUTABLE SET standard_conforming_strings = on AS $kite$
    BEGIN
      RETURN regexp_replace(value, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\1\\\\\\\\u\\2', 'g')::json;
    EXCEPTION WHEN data_exception THEN RETURN NULL;
    END $kite$;
    CREATE FUNCTION ${table("number")}(id text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $kite$
      SELECT sum((strpos('0123456789abcdefghijklmnopqrstuvwxyz', digit) - 1) * 36 ^ (length(last) - place))::bigint
        FROM (SELECT regexp_replace(id, '.*-', '') AS last) i, regexp_split_to_table(last, '') WITH ORDINALITY d (digit, place)
    $kite$;
    CREATE VIEW ${table("tasks")} AS
      SELECT p.name AS project, r.key AS id, CASE WHEN v ->> 'number' ~ '^[0-9]{1,15}$' THEN (v ->> 'number')::bigint ELSE ${table("number")}(r.key) END AS number,
        v ->> 'description' AS description, v #>> '{state,status}' AS status,
        coalesce(${nameOf("v #>> '{state,claimer,session}'")}, v #>> '{state,claimer,session}') AS claimer
      FROM ${rowsOf("tasks")};
    CREATE VIEW ${table("messages")} AS
      SELECT p.name AS project, r.key AS id, v #>> '{from,name}' AS sender,
        (SELECT string_agg(l #>> '{to,name}', ', ') FROM json_array_elements(
           CASE json_typeof(v -> 'letters') WHEN 'array' THEN v -> 'letters' END) l) AS recipients,
        v ->> 'text' AS text
      FROM ${rowsOf("messages")};
    CREATE VIEW ${table("context")} AS
      SELECT p.name AS project, r.key AS key, (v -> 'value')::text AS value, CASE WHEN v ->> 'version' ~ '^[0-9]{1,15}$' THEN (v ->> 'version')::bigint END AS version
      FROM ${rowsOf("context")};
    CREATE VIEW ${table("sessions")} AS
      SELECT p.name AS project, v ->> 'name' AS name, r.key AS id, v ->> 'branch' AS branch FROM ${rowsOf("sessions")};`;
}

/** In the order in which one may be dropped after the other. */
const shown: readonly string[] = [
  ...["VIEW tasks", "VIEW messages", "VIEW context", "VIEW sessions"],
  ...["FUNCTION readable(text)", "FUNCTION number(text)"],
];

/** Another machine made the same in the moment before: the server takes what it looked up for granted for a while. */
const isTwice: ReadonlySet<string | null> = new Set(["23505", "42P06", "42P07"]);

/** What a store says of itself. */
interface StoreIdentity {
  /** Made with the tables; another id is another store. */
  readonly store: string;
  readonly format: number;
}

/** A store as it is looked for. */
interface StorePlace {
  /** As people name it. */
  readonly where: string;
  /** The id of the store with which this machine shares; null: any, and tables are made where there are none. */
  readonly expected: string | null;
  /** The address of the expected store, if the setting has another one now. */
  readonly former: string | null;
}

/**
 * Makes what the store lacks of this format, and returns its id. Machines that do so at once wait for each other. Rejects
 * - with `StoreUnfit` if the tables have a later format, are those of another store or of something else, or may not be made;
 * - with `StoreAway` if the expected tables are not there now;
 * - with an error of the connection.
 */
export async function prepareSchema(
  connection: Connection,
  schema: string,
  place: StorePlace,
): Promise<string> {
  const { where } = place;
  const found = await readIdentity(connection, schema);
  checkIdentity(found, place);
  if (found?.format === format) return found.store;
  if (found === null) await refuseOther(connection, schema, where);
  try {
    await make(connection, schema, found?.format ?? 0, true);
  } catch (error) {
    throw lastingError(error, where) ?? error;
  }
  const made = await readIdentity(connection, schema);
  if (made === null) throw new Error("Kite's tables were removed while they were made");
  checkIdentity(made, place);
  return made.store;
}

async function make(connection: Connection, schema: string, from: number, mayRepeat: boolean): Promise<void> {
  try {
    await connection.query(makeText(schema, await hasSchema(connection, schema), from));
  } catch (error) {
    if (!mayRepeat || !isTwice.has(sqlState(error))) throw error;
    // The other one's tables are complete, because the lock of `makeText` is free then.
    const found = (await readIdentity(connection, schema))?.format ?? 0;
    if (found < format) await make(connection, schema, found, false);
  }
}

/** Returns what the store says of itself, or null: it has none of Kite's tables. */
async function readIdentity(connection: Connection, schema: string): Promise<StoreIdentity | null> {
  try {
    const [row] = await connection.query(`SELECT store, number FROM ${tableName(schema, "format")}`);
    return row === undefined ? null : { store: String(row[0]), format: Number(row[1]) };
  } catch (error) {
    if (sqlState(error) === "42P01") return null;
    throw error;
  }
}

function checkIdentity(found: StoreIdentity | null, { where, expected, former }: StorePlace): void {
  if (expected !== null && found?.store !== expected && former !== null) throw otherStore(former);
  // They may be on their way back from a backup: nobody makes others in their place.
  if (found === null && expected !== null)
    throw new StoreAway(
      `the store ${where} has no tables of Kite now; put its backup back, or go on without it: kite store leave --away`,
    );
  if (found === null) return;
  if (expected !== null && found.store !== expected)
    throw new StoreUnfit(
      `the store ${where} is another one than this machine shares with: put that one's backup back, or go on without it: kite store leave --away`,
    );
  if (found.format > format)
    throw new StoreUnfit(
      `the store ${where} has format ${found.format}, and this Kite knows ${format}: update Kite on this machine`,
      { code: "level_unfit" },
    );
}

function otherStore(former: string): StoreUnfit {
  const back = `kite config set store ${shellArgument(former)} && kite down && kite up`;
  return new StoreUnfit(
    `the setting store names another store than ${former}, which this machine joined: nothing is shared there before a person says so. ` +
      `To go back: ${back}. To change: go back, then kite store leave (if the former store is gone: kite store leave --away, at once), then kite store join URL`,
  );
}

/** Rejects with `StoreUnfit` if the schema has tables, and none of this program's. They stay as they are. */
export async function refuseOther(connection: Connection, schema: string, where: string): Promise<void> {
  const [row] = await connection.query(
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY 1 LIMIT 1",
    [schema],
  );
  // Another machine may have made Kite's meanwhile.
  if (row === undefined || (await readIdentity(connection, schema)) !== null) return;
  throw new StoreUnfit(
    `the schema ${schema} of ${where} has tables that this Kite did not make (${String(row[0])}): use another database, ` +
      `or, if nobody needs them any more, drop them: DROP SCHEMA ${schema} CASCADE`,
  );
}

/** Whether the schema exists. Making it needs a right in the whole database, also if it exists. */
async function hasSchema(connection: Connection, schema: string): Promise<boolean> {
  const rows = await connection.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  return rows.length > 0;
}

/** One text, so one transaction: it takes a lock that ends with it, and makes everything or nothing. */
function makeText(schema: string, isThere: boolean, from: number): string {
  const table = (name: string) => tableName(schema, name);
  const drops = shown.map(one => `DROP ${one.replace(" ", ` IF EXISTS "${schema}".`)};`);
  return `
    SELECT pg_advisory_xact_lock(hashtext('kite'), hashtext('${schema}'));
    ${isThere ? "" : `CREATE SCHEMA IF NOT EXISTS "${schema}";`}
    ${
      from > 0
        ? ""
        : `CREATE TABLE ${table("format")} (
          one boolean PRIMARY KEY DEFAULT true CHECK (one), store text NOT NULL, number int NOT NULL);`
    }
    ${steps
      .slice(from)
      .map(one => one(table))
      .join("\n")}
    ${drops.join("\n")}
    ${views(table)}
    ${stepFunction(table)}
    INSERT INTO ${table("format")} (store, number) VALUES ('${randomBytes(8).toString("hex")}', ${format})
      ON CONFLICT (one) DO UPDATE SET number = excluded.number;`;
}

/**
 * Returns the text as a statement has it, whatever the server's settings are. The text has no NUL: PostgreSQL takes none.
 * As libpq writes it: `E'...'` with doubled backslashes, if there are any.
 */
export function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes("\\") ? ` E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/** Returns the texts as an array of a statement; null stays null. */
export function textArray(texts: readonly (string | null)[]): string {
  return `ARRAY[${texts.map(text => (text === null ? "NULL" : literal(text))).join(",")}]::text[]`;
}
