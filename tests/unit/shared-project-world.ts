/** A shared project over a server that a test plays: it has one project, and knows the statements of a step alone. */
import type { Command, CoreEvent } from "../../daemon/core/tables/entries.ts";
import type { Connection, Row } from "../../daemon/store/connection.ts";
import type { StoredRow } from "../../daemon/store/copy.ts";
import { type HeldClaim, SharedProject } from "../../daemon/store/project.ts";
import type { Present } from "../../daemon/store/roster.ts";
import type { Names } from "../../daemon/store/rows.ts";
import { format } from "../../daemon/store/schema.ts";
import { type Store, type StoreProject, storeLimits } from "../../daemon/store/store.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { refuse } from "../../protocol/codes.ts";

/** A server's error with its SQLSTATE. */
export function serverError(code: string): Error {
  return Object.assign(new Error(`the server says ${code}`), { code });
}

/** What the server has. */
export class FakeServer {
  readonly rows = new Map<string, { readonly row: StoredRow; readonly version: number }>();
  readonly steps: (readonly [
    version: number,
    events: string,
    replies: string,
    stamp: string,
    node: string,
  ])[] = [];
  version = 0;
  stamp = "";
  head = "{}";
  gone: string[] = [];
  nowMs = 1_000_000;

  /** Writes a step, as another machine does, or the one under test. */
  write(
    node: string,
    rows: readonly StoredRow[],
    more: { head?: string; stamp?: string; events?: string; replies?: string } = {},
  ): void {
    this.version += 1;
    const { head = this.head, stamp = `${node} ${this.version}`, events = "[]", replies = "[]" } = more;
    [this.head, this.stamp] = [head, stamp];
    for (const row of rows) this.rows.set(`${row[0]} ${row[1]}`, { row, version: this.version });
    this.steps.push([this.version, events, replies, stamp, node]);
  }

  after(version: number): StoredRow[] {
    return [...this.rows.values()].filter(one => one.version > version).map(({ row }) => row);
  }
}

/** Reads the arguments of the function that writes a step. */
function argumentsIn(text: string): (string | (string | null)[])[] {
  const tokens = text.matchAll(/ ?(E)?'((?:[^']|'')*)'|ARRAY\[|\]::text\[\]|NULL|\d+/g);
  const found: (string | (string | null)[])[] = [];
  let list: (string | null)[] | null = null;
  for (const [token, escapes, body] of tokens) {
    if (token === "ARRAY[") list = [];
    else if (token === "]::text[]") {
      found.push(list ?? []);
      list = null;
    } else {
      const plain = body?.replaceAll("''", "'");
      const value = token === "NULL" ? null : ((escapes ? plain?.replaceAll("\\\\", "\\") : plain) ?? token);
      if (list !== null) list.push(value);
      else found.push(value ?? "");
    }
  }
  return found;
}

/** A connection to it. */
export class FakeConnection {
  readonly server: FakeServer;
  readonly node: string;
  /** Whether a transaction is open, and with it perhaps the lock. */
  isOpen = false;
  isLost = false;
  readonly texts: string[] = [];
  /** What the next statements with such a text fail with. */
  readonly failures: { readonly of: RegExp; readonly with: Error }[] = [];
  /** Called before each statement runs. */
  before: (text: string) => void | Promise<void> = () => {};

  constructor(server: FakeServer, node: string) {
    this.server = server;
    this.node = node;
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return (await this.script(text, values)).at(-1) ?? [];
  }

  async script(text: string, values: readonly unknown[] = []): Promise<readonly (readonly Row[])[]> {
    this.texts.push(text);
    await this.before(text);
    if (this.isLost) throw new Error("the connection is lost");
    const failure = this.failures.findIndex(({ of }) => of.test(text));
    if (failure !== -1) {
      const [found] = this.failures.splice(failure, 1);
      throw found?.with;
    }
    if (/^BEGIN/.test(text)) {
      if (this.isOpen) throw serverError("25001");
      this.isOpen = true;
    }
    const found = this.#run(text, values);
    if (/COMMIT$|^ROLLBACK/.test(text)) this.isOpen = false;
    return found;
  }

  #run(text: string, values: readonly unknown[]): readonly (readonly Row[])[] {
    const { server } = this;
    if (text.includes("step(")) return [[[this.#write(argumentsIn(text.slice(text.indexOf("step(") + 5)))]]];
    if (text.includes("SELECT version, stamp, head, purged")) return this.#behind(text);
    if (text.includes("SELECT id FROM")) return [[[1]]];
    if (text.includes("SELECT version, stamp, head FROM"))
      return [[[server.version, server.stamp, server.head]]];
    if (text.includes("AND kind = $2"))
      return [
        server
          .after(0)
          .filter(([kind, key, value]) => kind === values[1] && key > String(values[2]) && value !== null),
      ];
    return [[]];
  }

  #behind(text: string): readonly (readonly Row[])[] {
    const { server } = this;
    const known = Number(/AND version = (\d+)\)/.exec(text)?.[1]);
    const stamp = server.steps.find(([version]) => version === known)?.[3] ?? null;
    const steps = server.steps
      .filter(([version]) => version > known)
      .map(([version, events, replies, its, node]) => [
        version,
        events,
        node === this.node ? replies : null,
        its,
      ])
      .reverse();
    const results = [
      [[server.version, server.stamp, server.head, 0, stamp]],
      server.after(known),
      steps,
      server.gone.map(node => [node]),
      [[server.nowMs]],
    ];
    return text.includes("FOR UPDATE") ? [[], [], [], ...results, [[format]]] : [[], ...results, []];
  }

  #write(all: readonly (string | (string | null)[])[]): boolean {
    const [, version, stamp, node, next, head, kinds = [], keys = [], values = [], events, replies] = all;
    const { server } = this;
    if (Number(version) !== server.version || stamp !== server.stamp) return false;
    const rows = [...kinds].map((kind, i) => [kind, keys[i], values[i] ?? null] as unknown as StoredRow);
    server.write(String(node), rows, {
      ...{ head: String(head), stamp: String(next), events: String(events), replies: String(replies) },
    });
    return true;
  }

  /** The statement takes effect, and its answer is lost with the connection. */
  runAndLose(text: string): void {
    this.#run(text, []);
    this.destroy();
  }

  destroy(): void {
    this.isLost = true;
    this.isOpen = false;
  }
}

/** A store over the server, which is reached and lost when a test says so. */
export class FakeStore {
  readonly server: FakeServer;
  readonly options: Pick<Store["options"], "node" | "machine" | "limits">;
  readonly troubles: string[] = [];
  readonly projects = new Set<StoreProject>();
  connection: FakeConnection;
  refusal: Refusal | null = refuse("store_away", "not open yet");
  #work: Promise<unknown> = Promise.resolve();

  constructor(server: FakeServer, { node, machine }: Names, times: Partial<typeof storeLimits> = {}) {
    this.server = server;
    this.options = { node, machine, limits: { ...storeLimits, ...times } };
    this.connection = new FakeConnection(server, node);
  }

  /** As a project and the log take it. */
  get it(): Store {
    return this as unknown as Store;
  }

  readonly table = (name: string) => `kite.${name}`;
  readonly clockSaid = () => {};
  readonly wentBack = () => {};
  readonly close = async (_how?: { readonly leaves: boolean }): Promise<boolean> => false;

  get nowMs(): number {
    return this.server.nowMs;
  }

  get machine(): string {
    return this.options.machine;
  }

  trouble(message: string, error: unknown): void {
    this.troubles.push(`${message}: ${String(error)}`);
  }

  add(project: StoreProject): void {
    this.projects.add(project);
    if (this.refusal === null) void this.use(connection => project.reached(connection));
  }

  remove(project: StoreProject): void {
    this.projects.delete(project);
  }

  use(work: (connection: Connection) => Promise<unknown>): Promise<unknown> {
    const done = this.#work.then(() => work(this.connection as unknown as Connection));
    this.#work = done.catch(() => {});
    return done;
  }

  /** The store is reached, perhaps anew. */
  async reach(): Promise<void> {
    if (this.connection.isLost) this.connection = new FakeConnection(this.server, this.connection.node);
    for (const project of this.projects) await project.reached(this.connection as unknown as Connection);
    this.refusal = null;
    await this.quiet();
  }

  /** The connection is lost. */
  lose(): void {
    this.connection.destroy();
    this.refusal = refuse("store_away", "away");
    for (const project of this.projects) project.away();
  }

  /** Resolves when nothing is under way any more. */
  async quiet(): Promise<void> {
    let before: Promise<unknown> | null = null;
    while (before !== this.#work) {
      before = this.#work;
      await before;
      await new Promise(resolve => setImmediate(resolve));
    }
  }
}

/** The project on one machine, with its store. */
export class Member {
  readonly store: FakeStore;
  readonly project: SharedProject;
  readonly events: CoreEvent[] = [];
  readonly gaps: (readonly HeldClaim[])[] = [];
  present: readonly Present[] = [];

  constructor(server: FakeServer, names: Names, times: Partial<typeof storeLimits> = {}) {
    this.store = new FakeStore(server, names, times);
    this.project = new SharedProject({
      ...{ store: this.store.it, name: names.shared, local: names.project, path: null },
      present: () => this.present,
      onEvents: events => void this.events.push(...events),
      onGap: held => void this.gaps.push(held),
    });
    this.store.add(this.project);
  }

  get connection(): FakeConnection {
    return this.store.connection;
  }

  async do(command: Command) {
    const { reply } = await this.project.submit(command);
    await this.store.quiet();
    return reply;
  }
}
