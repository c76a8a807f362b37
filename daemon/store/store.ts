/**
 * The connection to the store, this node's lease in it, and the nodes that share it.
 *
 * Invariants: one piece of work uses the connection at a time. A store that cannot be reached is away until it was reached again,
 * and each project's copy is what it has. All times of nodes are the database's. A node is one home's. What fails is told once,
 * until something else fails.
 */
import type { Refusal } from "../../protocol/codes.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { Connection, type JournalAddress, storeName } from "./connection.ts";
import { awayError, errorMessage, StoreAway, StoreUnfit, sqlState, type UnfitCode } from "./errors.ts";
import { channelOf, format, prepareSchema, refuseOther, tableName } from "./schema.ts";

/** Times in milliseconds, but for `batchMax`. */
export interface StoreLimits {
  /** One try to connect to a server. */
  readonly connectMs: number;
  /** After it a connection is given up, and what it was doing is not known. Longer than `stepMs`. */
  readonly statementMs: number;
  /** From one sign of life of the node to the next; and until its silence is shown. */
  readonly renewMs: number;
  readonly awayMs: number;
  /** How often each project is looked at without a notification, and how often if the server gives none. */
  readonly pollMs: number;
  readonly pollUntoldMs: number;
  /** A step that its machine does not end within this time loses the lock; another one does not wait longer for it. */
  readonly stepMs: number;
  /** How long a request waits for its step. */
  readonly answerMs: number;
  /** The first pause before another try to connect; the longest one is `limits.storeReopenMs`. */
  readonly pauseMs: number;
  /** Requests of one step. */
  readonly batchMax: number;
}

export const storeLimits: StoreLimits = {
  connectMs: 5_000,
  statementMs: 10_000,
  renewMs: limits.nodeRenewMs,
  awayMs: limits.nodeAwayMs,
  pollMs: 5_000,
  pollUntoldMs: 1_000,
  stepMs: 5_000,
  answerMs: limits.storeAnswerMs,
  pauseMs: 50,
  batchMax: 200,
};

export interface StoreOptions {
  readonly address: JournalAddress;
  /** Returns the address for one more connection. Throws `StoreUnfit` if this machine may not make one now. Absent: `address`. */
  readonly connectTo?: () => JournalAddress;
  readonly node: string;
  /** What people call this machine; the store gives it a number if another node has the name. */
  readonly machine: string;
  /** Tells this home from a copy of it. */
  readonly binding: string;
  /** The version of the program, for people. */
  readonly program: string;
  /** After how long a silence this node has ended, in milliseconds. */
  readonly goneMs: number;
  /** The address as the setting has it; absent: as errors name the store. */
  readonly setting?: string;
  /** The store that this machine shares with, and its address then; null: any, and one without tables gets them. */
  readonly expected: { readonly id: string; readonly where: string } | null;
  readonly limits: StoreLimits;
  readonly onTrouble: (message: string, error: unknown) => void;
  /** Hears that the store was reached, or why it is away. */
  readonly onCondition?: (condition: Condition) => void;
  /** Hears that the nodes were read anew. `isNew`: this one was not among them before. */
  readonly onNodes?: (isNew: boolean) => void;
}

/** How the store is now. `unfit`: no further try mends it, and people have to do something. `sinceMs`: wall time. */
export interface Condition {
  readonly is: "opening" | "open" | "away" | "unfit" | "closed";
  readonly why: string;
  /** Of an unfit store. */
  readonly code: UnfitCode;
  readonly sinceMs: number;
}

/** A node as it was seen last, by wall time in milliseconds of this machine. */
export interface NodeSeen {
  readonly node: string;
  readonly machine: string;
  readonly program: string;
  readonly seenMs: number;
  readonly isAway: boolean;
  readonly isGone: boolean;
}

/** What a store does for its projects. */
export interface StoreProject {
  readonly name: string;
  /** Its number in the store; null: the store was not reached yet. */
  readonly number: number | null;
  /** The store was reached, perhaps anew: the copy becomes what it has. */
  reached(connection: Connection): Promise<void>;
  /** The store is away: whoever waits for it hears so. */
  away(): void;
  /** There may be news. `version`: which step the store has now; absent: it is time to look. */
  look(version?: number): void;
}

/** Signs of life of a node, at least, within the time after which it has ended. */
const renewsMin = 4;

/** What is told on the channel of steps, too. */
const nodesChanged = "nodes";

export class Store {
  readonly options: StoreOptions;
  /** The store's address as its setting has it. */
  readonly where: string;
  /** The store as errors name it. */
  readonly #name: string;
  /** Returns the name of one of Kite's tables. */
  readonly table: (name: string) => string;
  readonly #projects = new Set<StoreProject>();
  /** Projects whose first look at the store is under way. */
  readonly #adding = new Set<StoreProject>();
  /** Null: the store is away. */
  #connection: Connection | null = null;
  #opening: Connection | null = null;
  #work: Promise<unknown> = Promise.resolve();
  readonly #timers = new Set<NodeJS.Timeout>();
  #condition: Condition = {
    ...{ is: "opening", why: "it was not reached yet", code: "store_away", sinceMs: Date.now() },
  };
  #failures = 0;
  #hasOpened = false;
  #wentBackMs: number | null = null;
  #told = "";
  #tells = true;
  #nodes: readonly NodeSeen[] = [];
  /** What the database's clock said, and when by the clock of this machine that never jumps. Null: not known yet. */
  #clock: { readonly saidMs: number; readonly atMs: number } | null = null;
  /** The name of this machine in the store. */
  machine: string;
  #id: string | null;

  constructor(options: StoreOptions) {
    this.options = options;
    this.#name = storeName(options.address);
    this.where = options.setting ?? this.#name;
    this.table = name => tableName(options.address.schema, name);
    this.machine = options.machine;
    this.#id = options.expected?.id ?? null;
  }

  start(): void {
    void this.#connect();
    const { goneMs, limits: times } = this.options;
    // A short setting has the others look for signs of life more often.
    this.#every(Math.min(times.renewMs, goneMs / renewsMin), () => this.#renewNow());
    this.#every(this.options.limits.pollMs, () => this.#look());
  }

  /** The database's time, in milliseconds, as far as this machine knows it. */
  get nowMs(): number {
    const clock = this.#clock;
    return clock === null ? Date.now() : Math.floor(clock.saidMs + performance.now() - clock.atMs);
  }

  /** The database's clock says so now. */
  clockSaid(nowMs: number): void {
    this.#clock = { saidMs: nowMs, atMs: performance.now() };
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** Whether it was open at any time. */
  get hasOpened(): boolean {
    return this.#hasOpened;
  }

  /** When it was seen last that the store lacks what it had, by wall time in milliseconds; null: never. */
  get wentBackMs(): number | null {
    return this.#wentBackMs;
  }

  /** A project lacks steps that this machine has seen. */
  wentBack(): void {
    this.#wentBackMs = Date.now();
  }

  /** The store's id; null: it was never reached. */
  get id(): string | null {
    return this.#id;
  }

  /** The nodes of the store as they were seen last. */
  get nodes(): readonly NodeSeen[] {
    return this.#nodes;
  }

  /** Whether the server tells of steps; false: projects are looked at each second. */
  get tells(): boolean {
    return this.#tells;
  }

  /** Why the store cannot be asked now, or null. */
  get refusal(): Refusal | null {
    const { is, why, code } = this.#condition;
    if (is === "open") return null;
    // What is to be done stands there.
    if (is === "unfit") return refuse(code, why);
    const how = is === "opening" ? "not open yet" : "away";
    const then = "tasks, messages and context can be read, and changed when it is back";
    return refuse("store_away", `the shared store is ${how} (${why}); ${then}`);
  }

  /** Adds a project, whose copy becomes what the store has. */
  add(project: StoreProject): void {
    this.#projects.add(project);
    if (this.#connection === null || this.#adding.has(project)) return;
    this.#adding.add(project);
    this.use(connection => project.reached(connection))
      .catch(error => this.trouble(`${project.name} cannot be read`, error))
      .then(() => this.#adding.delete(project));
  }

  remove(project: StoreProject): void {
    this.#projects.delete(project);
  }

  /** Runs work when the connection is free. Rejects if the store is away, and if the connection is lost meanwhile. */
  use<Found>(work: (connection: Connection) => Promise<Found>): Promise<Found> {
    const done = this.#work.then(() => {
      const connection = this.#connection;
      if (connection === null) throw new StoreAway(this.#condition.why);
      return work(connection);
    });
    this.#work = done.catch(() => {}); // The caller hears of it.
    return done;
  }

  /** Another machine gave the store a later format: returns the error that says so. The store is of no use to this program. */
  outdated(): StoreUnfit {
    const error = new StoreUnfit(
      `another machine made the tables of ${this.#name} for a later Kite: update Kite on this machine, then kite down and kite up`,
      { code: "level_unfit" },
    );
    this.#lost(error);
    return error;
  }

  /** Tells of a trouble, once until it is another one. */
  trouble(message: string, error: unknown): void {
    const text = `${message}: ${errorMessage(error)}`;
    if (text === this.#told) return;
    this.#told = text;
    this.options.onTrouble(message, error);
  }

  /** Ends the connection, within `limits.storeCloseMs`. `leaves`: the node goes from the store. Returns whether it did. */
  async close({ leaves = false } = {}): Promise<boolean> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    const { node } = this.options;
    const leave = leaves
      ? this.use(connection =>
          connection.query(
            `WITH left_now AS (DELETE FROM ${this.table("nodes")} WHERE id = $1 RETURNING id) SELECT pg_notify($2, $3) FROM left_now`,
            [node, channelOf(this.table), nodesChanged],
          ),
        )
      : this.#work;
    const late = new Promise<false>(resolve => setTimeout(resolve, limits.storeCloseMs, false).unref());
    const hasLeft = await Promise.race([leave.then(() => leaves), late]).catch(error => {
      this.trouble("the store was not told of the end", error);
      return false;
    });
    const connection = this.#connection;
    this.#connection = null;
    this.#become("closed", leaves ? "this machine left it" : "the daemon stops");
    this.#opening?.destroy();
    for (const project of this.#projects) project.away();
    await connection?.end();
    return hasLeft;
  }

  #every(ms: number, work: () => void): void {
    this.#timers.add(setInterval(work, ms));
  }

  async #connect(): Promise<void> {
    const { address, connectTo, limits: times } = this.options;
    try {
      const to = connectTo?.() ?? address;
      const connection = await Connection.open(to, times.connectMs, times.statementMs);
      this.#opening = connection;
      if (this.#condition.is === "closed") return connection.destroy();
      await this.#open(connection);
    } catch (error) {
      this.#opening?.destroy();
      this.#opening = null;
      this.#failed(error);
    }
  }

  async #open(connection: Connection): Promise<void> {
    const { address, expected } = this.options;
    const former = expected === null || expected.where === this.where ? null : expected.where;
    const place = { where: this.#name, expected: this.#id, former };
    this.#id = await prepareSchema(connection, address.schema, place);
    await this.#renew(connection);
    await this.#listen(connection);
    for (const project of this.#projects) await this.#reach(project, connection);
    if (this.#condition.is === "closed") return connection.destroy();
    this.#opening = null;
    this.#connection = connection;
    this.#failures = 0;
    this.#hasOpened = true;
    this.#become("open", "");
    connection.onLost(error => {
      if (this.#connection === connection) this.#lost(error);
    });
    this.#look();
  }

  /** Rejects if the store itself is of no use. Rows that cannot be read cost their project alone. */
  async #reach(project: StoreProject, connection: Connection): Promise<void> {
    try {
      await project.reached(connection);
    } catch (error) {
      if (connection.isLost || sqlState(error) !== null) throw error;
      this.trouble(`${project.name} cannot be read`, error);
    }
  }

  /** Hears of steps, if the connection is the server's own: a pooler keeps notifications, or gives some of them. */
  async #listen(connection: Connection): Promise<void> {
    await connection.listen(channelOf(this.table), text => {
      if (text === nodesChanged) return this.#nodesChanged();
      const [number, version] = text.split(" ").map(Number);
      for (const project of this.#projects) if (project.number === number) project.look(version);
    });
    const [row] = await connection.query("SELECT pg_backend_pid()");
    this.#tells = row?.[0] === connection.serverPid;
    if (!this.#tells) this.#pollUntold(connection);
  }

  /** A node came or left. One that falls silent is seen at the next renewal. */
  #nodesChanged(): void {
    if (this.#connection === null) return;
    this.use(connection => this.#readNodes(connection)).catch(error =>
      this.trouble("the nodes cannot be read", error),
    );
  }

  /** Looks often, since nobody tells. */
  #pollUntold(connection: Connection): void {
    const timer = setInterval(() => {
      if (!connection.isLost) return this.#look();
      clearInterval(timer);
      this.#timers.delete(timer);
    }, this.options.limits.pollUntoldMs);
    this.#timers.add(timer);
  }

  #lost(error: Error): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.destroy();
    this.#failed(error);
    for (const project of this.#projects) project.away();
  }

  /** Tries again after a pause, which grows, and has a random part: many machines lose a store at the same time. */
  #failed(error: unknown): void {
    if (this.#condition.is === "closed") return;
    const away = awayError(error, this.#name);
    const isUnfit = away instanceof StoreUnfit;
    this.#become(isUnfit ? "unfit" : "away", errorMessage(away), isUnfit ? away.code : "store_away");
    this.trouble("the shared store cannot be used", away);
    const { pauseMs } = this.options.limits;
    const pause = Math.min(pauseMs * 2 ** Math.min(this.#failures, 10), limits.storeReopenMs);
    this.#failures += 1;
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        void this.#connect();
      },
      pause * (0.5 + Math.random()),
    );
    this.#timers.add(timer);
  }

  #become(is: Condition["is"], why: string, code: UnfitCode = "store_away"): void {
    const before = this.#condition;
    // A start that never reached the store is away since it began.
    const isSame = before.is === is || (before.is === "opening" && is !== "open" && is !== "closed");
    this.#condition = { is, why, code, sinceMs: isSame ? before.sinceMs : Date.now() };
    if (before.is !== is || before.why !== why) this.options.onCondition?.(this.#condition);
    if (is === "open") this.#told = "";
  }

  #look(): void {
    // It was added while the store was being opened, or could not be read.
    for (const project of this.#projects)
      if (project.number === null) this.add(project);
      else project.look();
  }

  #renewNow(): void {
    if (this.#connection === null) return;
    this.use(connection => this.#renew(connection)).catch(error => {
      // Another home speaks for this node now.
      if (error instanceof StoreUnfit) this.#lost(error);
      else this.trouble("the lease cannot be renewed", error);
    });
  }

  /** Says that this node is there, reads who else is, and sweeps what nobody asks for any more. */
  async #renew(connection: Connection): Promise<void> {
    const { node, machine, binding, program, goneMs } = this.options;
    const nodes = this.table("nodes");
    const [own] = await connection.query(
      `INSERT INTO ${nodes} AS own (id, asked, machine, binding, program, seen, gone_ms)
         SELECT $1, $2, $2 || coalesce((SELECT '-' || min(n) FROM generate_series(2, ${limits.nodesMax + 1}) n
             WHERE EXISTS (SELECT FROM ${nodes} WHERE machine = $2 AND id <> $1)
               AND NOT EXISTS (SELECT FROM ${nodes} WHERE machine = $2 || '-' || n AND id <> $1)), ''),
           $3, $4, clock_timestamp(), $5
       ON CONFLICT (id) DO UPDATE SET seen = excluded.seen, binding = $3, program = $4, gone_ms = $5, asked = $2,
           machine = CASE own.asked WHEN $2 THEN own.machine ELSE excluded.machine END
         WHERE own.binding = $3 OR own.seen < clock_timestamp() - $6 * interval '1 ms'
       RETURNING machine, joined = now()`,
      [node, machine, binding, program, goneMs, this.options.limits.awayMs],
    );
    if (own === undefined)
      throw new StoreUnfit(
        `a home was in ${this.#name} under this home's id within the last minute: if this machine was just started, wait a minute; ` +
          "if not, one of the two homes is a copy: give that one its own id: kite store rejoin",
        { code: "node_twice" },
      );
    this.machine = String(own[0]);
    const isNew = own[1] === true;
    if (isNew) await connection.query("SELECT pg_notify($1, $2)", [channelOf(this.table), nodesChanged]);
    await this.#readNodes(connection, isNew);
    await this.#sweep(connection);
  }

  async #readNodes(connection: Connection, isNew = false): Promise<void> {
    const rows = await connection.query(
      `SELECT id, machine, program, (extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint, gone_ms
         FROM ${this.table("nodes")} ORDER BY joined, id LIMIT ${limits.nodesMax}`,
    );
    const nowMs = Date.now();
    this.#nodes = rows.map(([node, machine, program, silentMs, goneMs]) => ({
      ...{ node: String(node), machine: String(machine), program: String(program) },
      seenMs: nowMs - Number(silentMs),
      isAway: Number(silentMs) > this.options.limits.awayMs,
      isGone: Number(silentMs) > Number(goneMs),
    }));
    this.options.onNodes?.(isNew);
  }

  /**
   * Removes steps of more than an hour ago, and with them what marks rows that are gone. The last step stays: by its stamp a
   * copy knows that it is of this store, however long nothing happened.
   */
  async #sweep(connection: Connection): Promise<void> {
    const [projects, rows, steps] = [this.table("projects"), this.table("rows"), this.table("steps")];
    // From the oldest one on, so that it costs what it removes. The last one before that hour stays: who has not heard of a
    // later one yet is known by it.
    await connection.query(
      `DELETE FROM ${steps} s USING ${projects} p WHERE s.project = p.id AND s.version < coalesce(
         (SELECT k.version - 1 FROM ${steps} k WHERE k.project = p.id AND k.at > now() - interval '1 hour'
            ORDER BY k.version LIMIT 1), p.version)`,
    );
    // A copy from before `purged` cannot know of these rows: it is read anew. The lock comes first, as in a step.
    await connection.query(
      `WITH old AS MATERIALIZED (
         SELECT p.id, k.version FROM ${projects} p CROSS JOIN LATERAL (
           SELECT coalesce((SELECT min(version) FROM ${steps} WHERE project = p.id) - 1, p.version) AS version) k
         WHERE EXISTS (SELECT FROM ${rows} WHERE project = p.id AND value IS NULL AND version <= k.version)
         ORDER BY p.id FOR UPDATE OF p),
       gone AS (
         DELETE FROM ${rows} r USING old WHERE r.project = old.id AND r.value IS NULL AND r.version <= old.version)
       UPDATE ${projects} p SET purged = greatest(p.purged, old.version) FROM old WHERE p.id = old.id`,
    );
  }
}

// A look at a store before a machine joins it, and for `kite doctor`: it makes and changes nothing.

/** What a store is, as far as this user may see. */
export interface StoreLook {
  /** PostgreSQL's version, such as `15.8`. */
  readonly server: string;
  /** Kite's tables; null: there are none yet. */
  readonly tables: {
    readonly format: number;
    readonly isKnown: boolean;
    readonly nodesLately: number;
  } | null;
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
  const { connectMs, statementMs } = storeLimits;
  let connection: Connection | null = null;
  try {
    connection = await Connection.open(address, connectMs, statementMs);
    return await look(connection, address.schema, storeName(address));
  } catch (error) {
    throw awayError(error, storeName(address));
  } finally {
    await connection?.end();
  }
}

async function look(connection: Connection, schema: string, where: string): Promise<StoreLook> {
  const before = Date.now();
  const [row = []] = await connection.query(
    "SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text, " +
      "current_setting('fsync'), current_user",
  );
  const after = Date.now();
  const [server, atMs, fsync, user] = row;
  const tables = await readTables(connection, schema);
  if (tables === null) await refuseOther(connection, schema, where);
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
    "SELECT FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND relname = 'rows'",
    [schema],
  );
  return rows.length > 0;
}

/** Returns what there is of Kite's tables; null: none. */
async function readTables(connection: Connection, schema: string): Promise<StoreLook["tables"] | "hidden"> {
  try {
    const [row] = await connection.query(
      `SELECT number, (SELECT count(*)::int4 FROM ${tableName(schema, "nodes")}
         WHERE seen > now() - interval '1 day') FROM ${tableName(schema, "format")}`,
    );
    if (row === undefined) return null;
    const [number, nodes] = row;
    return { format: Number(number), isKnown: Number(number) <= format, nodesLately: Number(nodes) };
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
  ["format", ["SELECT"]],
  ["nodes", ["SELECT", "INSERT", "UPDATE", "DELETE"]],
  ["projects", ["SELECT", "INSERT", "UPDATE"]],
  ["rows", ["SELECT", "INSERT", "UPDATE", "DELETE"]],
  ["steps", ["SELECT", "INSERT", "DELETE"]],
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
