/** What the journal over PostgreSQL costs against the store's own write, and how fast a node reads a long log. */
import type { Command, Entry, Proposal } from "../../daemon/core/tables/entries.ts";
import { PostgresJournal } from "../../daemon/journal/postgres/postgres-journal.ts";
import { Connection } from "../../daemon/store/connection.ts";
import { findPostgres, PostgresServer } from "../journal/postgres-server.ts";
import { interleaved, median, ratio } from "./measure.ts";
import { figure, plain, type Tables, table } from "./report.ts";

const rounds = 300;
const writers = 20;
const contendedMs = 3_000;
const longLog = 100_000;

/** A command about as long as a claim. */
function command(n: number): Command {
  const actor = { session: `session-${n % 20}`, agent: null, incarnation: 0 };
  return { type: "task_claim", actor, task: `t-${n}`, labels: [], project: "/p/.git", cwd: "/p", wallMs: 1 };
}

/** A node whose proposals resolve when they are delivered. */
class Node {
  readonly journal: PostgresJournal;
  readonly #name: string;
  readonly #waiting = new Map<number, () => void>();
  #epoch = 0;
  #count = 0;
  found = 0;

  private constructor(server: PostgresServer, schema: string, name: string) {
    this.journal = new PostgresJournal({ address: server.address(schema), node: name });
    this.#name = name;
  }

  static async open(server: PostgresServer, schema: string, name: string): Promise<Node> {
    const node = new Node(server, schema, name);
    const count = () => {
      node.found += 1;
    };
    node.#epoch = (await node.journal.open(0, batch => node.#take(batch), count)).epoch;
    await node.journal.barrier();
    return node;
  }

  append(count = 1): Promise<void> {
    const proposals = Array.from({ length: count }, (): Proposal => {
      this.#count += 1;
      return {
        origin: { node: this.#name, epoch: this.#epoch, n: this.#count },
        at: 1,
        command: command(this.#count),
      };
    });
    return new Promise((resolve, reject) => {
      this.#waiting.set(this.#count, resolve);
      this.journal.propose(proposals, (_, { message }) => reject(new Error(message)));
    });
  }

  #take(batch: readonly Entry[]): void {
    for (const { origin } of batch) {
      if (origin.node !== this.#name) continue;
      this.#waiting.get(origin.n)?.();
      this.#waiting.delete(origin.n);
    }
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** How long each of many writers waits, while all write, in milliseconds. */
async function contended(each: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const samples: number[] = [];
  const until = performance.now() + contendedMs;
  await Promise.all(
    each.map(async write => {
      while (performance.now() < until) samples.push(await timed(write));
    }),
  );
  return samples;
}

export async function* store(): Tables {
  const postgres = await findPostgres();
  if ("missing" in postgres) throw new Error(postgres.missing);
  const server = await PostgresServer.start(postgres.bin, { isSafe: true });
  try {
    const plainWrites = await Promise.all(
      Array.from({ length: writers }, () => Connection.open(server.address("kite"), 5_000, 30_000)),
    );
    const [first] = plainWrites;
    if (first === undefined) throw new Error("no connection");
    await first.query(
      "CREATE TABLE plain (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, command text)",
    );
    const text = JSON.stringify(command(1));
    const insert = (connection: Connection) =>
      connection.query("INSERT INTO plain (command) VALUES ($1)", [text]);

    const one = await Node.open(server, "alone", "one");
    const alone = await interleaved(rounds, {
      plain: () => timed(() => insert(first)),
      journal: () => timed(() => one.append()),
      ten: () => timed(() => one.append(10)),
    });
    const [writes, appends, tens] = ["plain", "journal", "ten"].map(name =>
      (alone.get(name) ?? []).slice(20),
    );
    yield table(`an append against the store's own write, one writer, ${rounds} rounds`, [
      plain("an INSERT in a transaction of its own", writes ?? [], " ms"),
      plain("an append of the journal, until it is delivered", appends ?? [], " ms"),
      plain("an append of ten entries", tens ?? [], " ms"),
      figure("append / INSERT, medians", median(appends ?? []) / median(writes ?? []), { atMost: 1.5 }),
      plain("append / INSERT, by rounds", ratio(appends ?? [], writes ?? [])),
    ]);
    await one.journal.close();

    const nodes = await Promise.all(
      Array.from({ length: writers }, (_, i) => Node.open(server, "contended", `node-${i}`)),
    );
    const byInsert = await contended(plainWrites.map(connection => () => insert(connection)));
    const byAppend = await contended(nodes.map(node => () => node.append()));
    yield table(`the same by ${writers} writers at once`, [
      plain("an INSERT, of which the server commits several together", byInsert, " ms"),
      plain("an append of the journal, each behind the one before", byAppend, " ms"),
      plain("INSERTs a second", (byInsert.length * 1000) / contendedMs),
      plain("appends a second", (byAppend.length * 1000) / contendedMs),
    ]);
    await Promise.all(nodes.map(node => node.journal.close()));

    const writer = await Node.open(server, "long", "writer");
    for (let count = 0; count < longLog; count += 500) await writer.append(500);
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      let reader: Node | null = null;
      times.push(
        await timed(async () => {
          reader = await Node.open(server, "long", "reader");
        }),
      );
      const { found, journal } = reader as unknown as Node;
      if (found !== longLog) throw new Error(`the reader found ${found} entries`);
      await journal.close();
    }
    yield table("a node that has nothing yet", [
      plain(`reads ${longLog.toLocaleString("en-US")} entries in`, times, " ms"),
    ]);
    await writer.journal.close();
    await Promise.all(plainWrites.map(connection => connection.end()));
  } finally {
    server.end();
  }
}
