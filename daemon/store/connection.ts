/**
 * One connection to PostgreSQL: to which servers, statements with a time-out, and its end. It is a border of bundles: the
 * client for PostgreSQL is in the program of the journal alone, so all others import types of this file and nothing else.
 *
 * Invariants: all of an address is given: the environment's PG... variables do not count. A connection that is lost stays
 * lost, and each statement on it rejects.
 *
 * `store/private-files.ts` gives what it connects by, `store/errors.ts` says what its errors mean.
 */
import type { ConnectionOptions } from "node:tls";
import { Client, type ClientConfig } from "pg";
import { errorMessage, NoServer, StoreUnfit } from "./errors.ts";

/** One of the store's servers. */
export interface JournalHost {
  /** A name or an address, or the directory of a unix socket, which begins with `/`. */
  readonly host: string;
  readonly port: number;
  /**
   * False: no TLS, for a server on this machine. Else the server's certificate and name are checked. Each connection calls
   * `readCa`, which returns the certificates that count in place of the system's. If they cannot be read, its error says
   * why.
   */
  readonly tls: false | { readonly minVersion?: "TLSv1.2"; readonly readCa?: () => string };
  /**
   * Called for each connection whose server asks for a password, which is kept nowhere else; null: there is none. What it
   * throws says why none can be read, and what to do.
   */
  readonly password: () => string | null;
}

export interface JournalAddress {
  /** The servers of one store, the first one first; that which takes writes is used. */
  readonly hosts: readonly JournalHost[];
  readonly database: string;
  readonly user: string;
  /** The schema of Kite's tables: small letters, digits and `_`. */
  readonly schema: string;
}

export type Value = string | number | boolean | Buffer | null;
/** A column is text as PostgreSQL writes it, but for numbers of four bytes, booleans and bytes. */
export type Row = readonly unknown[];

/**
 * An open connection. Statements run one after the other. Nothing of it is state of a session: a pooler that gives each
 * statement another server's connection does as well, but for `listen`.
 */
export class Connection {
  readonly #client: Client;
  readonly #statementMs: number;
  #lost: Error | null = null;
  #onLost: (error: Error) => void = () => {};

  private constructor(client: Client, statementMs: number) {
    this.#client = client;
    this.#statementMs = statementMs;
    client.on("error", error => this.#lose(error));
    client.on("end", () => this.#lose(new Error("the connection ended")));
  }

  /**
   * Connects to the first of the store's servers that takes writes. Rejects within `connectMs` for each: with the server's
   * error, with `NoServer` if there are several, or with `StoreUnfit` if the database cannot hold any text.
   */
  static async open(address: JournalAddress, connectMs: number, statementMs: number): Promise<Connection> {
    const failures: { readonly server: string; readonly error: unknown }[] = [];
    for (const host of address.hosts) {
      let connection: Connection | null = null;
      try {
        connection = await Connection.#openOne(address, host, connectMs, statementMs);
        await connection.#check();
        return connection;
      } catch (error) {
        connection?.destroy();
        failures.push({ server: `${host.host}:${host.port}`, error });
      }
    }
    throw failures.length === 1 ? failures[0]?.error : new NoServer(failures);
  }

  static async #openOne(
    { user, database }: JournalAddress,
    { host, port, tls, password }: JournalHost,
    connectMs: number,
    statementMs: number,
  ): Promise<Connection> {
    const config: ClientConfig = {
      host,
      port,
      user,
      database,
      // Without a function the client would take a password from the environment, or read .pgpass by rules of its own.
      password: () => passwordFrom(password),
      ssl: tls === false ? false : tlsOptions(tls),
      sslnegotiation: "postgres",
      application_name: "kite",
      client_encoding: "UTF8",
      types: columnTypes,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    };
    const client = new Client(config);
    forgetEnvironment(client);
    const connection = new Connection(client, statementMs);
    try {
      await client.connect();
    } catch (error) {
      // The server may still wait for a password.
      connection.destroy();
      throw error;
    }
    return connection;
  }

  async #check(): Promise<void> {
    const [row] = await this.query(
      "SELECT current_setting('transaction_read_only'), current_setting('server_encoding')",
    );
    const [readOnly, encoding] = row ?? [];
    if (readOnly !== "off") throw new Error("the server takes no writes: it is a standby, or set so");
    if (encoding !== "UTF8")
      throw new StoreUnfit(
        `the database's encoding is ${String(encoding)}: make one with encoding UTF8 for Kite`,
      );
  }

  /** The server's process for this connection, as it was said at its start: a pooler says another one. */
  get serverPid(): number | null {
    return (this.#client as unknown as { readonly processID: number | null }).processID;
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  /** Runs a statement; rejects with the server's error, or that of the connection, which is destroyed then. */
  async query(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return (await this.script(text, values)).at(-1) ?? [];
  }

  /**
   * Runs statements in one round trip, and returns the rows of each. Without values, several may stand in one text; without a
   * `BEGIN` of their own they are one transaction. Rejects as `query` does.
   */
  script(text: string, values: readonly Value[] = []): Promise<readonly (readonly Row[])[]> {
    if (this.#lost !== null) return Promise.reject(this.#lost);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const late = new Error(`the store did not answer within ${this.#statementMs} ms`);
        this.#lose(late);
        reject(late);
      }, this.#statementMs);
      const statement = {
        text,
        rowMode: "array" as const,
        ...(values.length > 0 ? { values: [...values] } : {}),
      };
      this.#client.query<unknown[]>(statement).then(
        result => {
          clearTimeout(timer);
          resolve((Array.isArray(result) ? result : [result]).map(({ rows }) => rows));
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error);
        },
      );
    });
  }

  /** Calls `onNotification` with the text of each notification on `channel`; a pooler may let none through. */
  async listen(channel: string, onNotification: (text: string) => void): Promise<void> {
    this.#client.on("notification", ({ channel: name, payload = "" }) => {
      if (name === channel) onNotification(payload);
    });
    await this.query(`LISTEN "${channel}"`);
  }

  /** Calls `callback` once when the connection ends, however it does; at once if it has. */
  onLost(callback: (error: Error) => void): void {
    this.#onLost = callback;
    if (this.#lost !== null) callback(this.#lost);
  }

  /** Ends the connection at once, in the middle of whatever runs. */
  destroy(): void {
    this.#lose(new Error("the connection was given up"));
  }

  /** Ends the connection when its statements have run, within the time of one statement. */
  async end(): Promise<void> {
    if (this.#lost !== null) return;
    const timer = setTimeout(() => this.destroy(), this.#statementMs);
    await this.#client.end().catch(() => {});
    clearTimeout(timer);
  }

  #lose(error: Error): void {
    if (this.#lost !== null) return;
    this.#lost = new Error(errorMessage(error), { cause: error });
    streamOf(this.#client)?.destroy();
    this.#onLost(this.#lost);
  }
}

/** Returns how people name the store; the password is no part of it. */
export function storeName({ hosts, database, user }: JournalAddress): string {
  return `${user}@${hosts.map(({ host, port }) => `${host}:${port}`).join(",")}/${database}`;
}

function tlsOptions({ readCa, ...tls }: Exclude<JournalHost["tls"], false>): ConnectionOptions {
  const ca = readCa === undefined ? {} : { ca: fromFile(readCa) };
  return { ...tls, ...ca, rejectUnauthorized: true };
}

/** Returns what a file has; if it cannot be read, nobody but a person mends that. */
function fromFile<Found>(read: () => Found, { isOfPassword = false } = {}): Found {
  try {
    return read();
  } catch (error) {
    throw new StoreUnfit(errorMessage(error), { cause: error, isOfPassword });
  }
}

function passwordFrom(read: JournalHost["password"]): string {
  const isOfPassword = true;
  const password = fromFile(read, { isOfPassword });
  if (password !== null) return password;
  throw new StoreUnfit(
    "the server asks for a password, and no file has one: run kite store join in a terminal",
    { isOfPassword },
  );
}

/** By the numbers that PostgreSQL gives its types. */
const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, text => text === "t"],
  [17, text => Buffer.from(text.slice(2), "hex")],
  [21, Number],
  [23, Number],
]);

/** How a column's text becomes a value; the build leaves the client's own ways out. */
const columnTypes = {
  getTypeParser: (type: number) => parsers.get(type) ?? ((text: string) => text),
} as NonNullable<ClientConfig["types"]>;

/** Takes back what the client read from the environment: settings of the session, which a pooler refuses too. */
function forgetEnvironment(client: Client): void {
  const { connectionParameters } = client as unknown as { connectionParameters: Record<string, unknown> };
  for (const name of ["options", "replication", "binary"]) delete connectionParameters[name];
}

function streamOf(client: Client): { destroy(): void } | undefined {
  return (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream;
}
