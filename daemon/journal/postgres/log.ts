/**
 * The statements on the log: an append, a page of it, and why an append was refused. Each is one statement, so one
 * transaction and one round trip, and needs nothing of the session that it runs in.
 */
import { randomBytes } from "node:crypto";
import type { Command, Entry, Proposal } from "../../core/tables/entries.ts";
import type { Connection, Row, Value } from "../../store/connection.ts";
import { sqlState } from "../../store/errors.ts";
import { StoreLost } from "../journal.ts";
import { appendName, refusedState } from "./append-function.ts";
import type { StoreBounds } from "./bounds.ts";
import { schemaLevel, tableName } from "./schema.ts";

/** How far a node knows the log: the last entry's place, and the mark of its append (a number as text). */
export interface Position {
  readonly seq: number;
  /** Null: whatever mark that entry has. */
  readonly mark: string | null;
}

/** An entry with the mark of its append. */
export interface Stored {
  readonly entry: Entry;
  readonly mark: string;
  /** Length of the command's text. */
  readonly bytes: number;
}

export interface Page {
  /** After which entry the page begins, with its mark. */
  readonly from: Position;
  readonly stored: readonly Stored[];
  /** Whether the log went on after the page. */
  readonly isFull: boolean;
}

/** What a node's entries and statements begin with. */
export interface Writer {
  readonly node: string;
  readonly epoch: number;
  readonly storeId: string;
}

/** The store has another history than this node has read: a backup was restored, or a failover lost entries. */
export class StoreWentBack extends Error {
  override readonly name = "StoreWentBack";
}

/** Entries that this node has yet to read were removed: it was away for too long. A new start reads a snapshot. */
export class EntriesPruned extends Error {
  override readonly name = "EntriesPruned";
}

/** Another daemon of the node lives, on a machine that was started otherwise: this one waits until it is silent. */
class NodeHeld extends Error {
  override readonly name = "NodeHeld";
}

/** Another journal was opened for the same node. */
export class NodeTwice extends Error {
  override readonly name = "NodeTwice";
}

/** A start of a node, before it has an epoch. */
export interface NodeStart {
  readonly node: string;
  readonly holder: string;
}

/** Returns the condition under which a start takes the node whose row is `own`. */
function mayTake(holder: string, holdMs: string): string {
  return `(own.holder IS NULL OR ${holder} IN (own.holder, '') OR own.seen < now() - ${holdMs} * interval '1 ms')`;
}

export class StoreLog {
  readonly #head: string;
  readonly #entries: string;
  readonly #nodes: string;
  readonly #append: string;
  /** The channel on which appends tell of themselves. */
  readonly channel: string;
  readonly #where: string;
  readonly #bounds: StoreBounds;

  /** `where`: the store as people name it. */
  constructor(schema: string, where: string, bounds: StoreBounds) {
    this.#head = tableName(schema, "head");
    this.#entries = tableName(schema, "entries");
    this.#nodes = tableName(schema, "nodes");
    const places = Array.from({ length: 12 }, (_, i) => `$${i + 1}`).join(", ");
    this.#append = `SELECT o_seq, o_at FROM ${tableName(schema, appendName)}(${places})`;
    this.channel = `kite_${schema}`.slice(0, 63);
    this.#where = where;
    this.#bounds = bounds;
  }

  /** The last entry's place. */
  async lastSeq(connection: Connection): Promise<number> {
    const [row] = await connection.query(`SELECT seq FROM ${this.#head}`);
    return Number(row?.[0]);
  }

  /**
   * Rejects with `NodeHeld` if the node was seen within `holdMs` with another `holder`. So the copy of a disk does not take
   * the node from a daemon that lives. An empty one holds nothing.
   */
  async mayBegin(connection: Connection, { node, holder }: NodeStart): Promise<void> {
    const rows = await connection.query(
      `SELECT FROM ${this.#nodes} AS own WHERE node = $1 AND NOT ${mayTake("$2", "$3")}`,
      [node, holder, this.#bounds.holdMs],
    );
    if (rows.length > 0) throw this.#held();
  }

  /** Begins the node's next epoch, at least `after` + 1. Rejects with `NodeHeld`. */
  async claimEpoch(
    connection: Connection,
    { node, holder }: NodeStart,
    after: number,
    seq: number,
  ): Promise<number> {
    const [row] = await connection.query(
      `INSERT INTO ${this.#nodes} AS own (node, epoch, seq, seen, holder)
         VALUES ($1, $2::bigint + 1, $3, now(), nullif($4, ''))
       ON CONFLICT (node) DO UPDATE
         SET epoch = greatest(own.epoch, $2::bigint) + 1, seq = $3, seen = now(), holder = nullif($4, '')
         WHERE ${mayTake("$4", "$5")}
       RETURNING epoch`,
      [node, after, seq, holder, this.#bounds.holdMs],
    );
    if (row === undefined) throw this.#held();
    return Number(row[0]);
  }

  /** Notes how far the node has read, and that it lives. */
  async renew(connection: Connection, { node, epoch }: Writer, { seq }: Position): Promise<void> {
    await connection.query(
      `UPDATE ${this.#nodes} SET seq = $3, seen = now() WHERE node = $1 AND epoch = $2`,
      [node, epoch, seq],
    );
  }

  /**
   * Appends `proposals` after everything that is in the log by then. Returns null if nothing was appended: the log is not
   * the one that has `known`, or the writer is not the node's last one.
   */
  async append(
    connection: Connection,
    { node, epoch, storeId }: Writer,
    known: Position,
    proposals: readonly Proposal[],
    texts: readonly string[],
  ): Promise<readonly Stored[] | null> {
    const mark = randomBytes(8).readBigInt64BE().toString();
    const row = await this.#appended(connection, [
      storeId,
      schemaLevel,
      known.seq,
      known.mark ?? "0",
      node,
      epoch,
      mark,
      proposals.length,
      `{${proposals.map(({ origin }) => origin.n).join(",")}}`,
      // JSON has no line break of its own.
      texts.join("\n"),
      this.channel,
      this.#bounds.statementMs,
    ]);
    if (row === null) return null;
    const [last, at] = [Number(row[0]), Number(row[1])];
    const first = last - proposals.length + 1;
    return proposals.map(({ origin, command }, i) => ({
      entry: { seq: first + i, at, origin, command },
      mark,
      bytes: Buffer.byteLength(texts[i] ?? ""),
    }));
  }

  async #appended(connection: Connection, values: readonly Value[]): Promise<Row | null> {
    try {
      const [row] = await connection.query(this.#append, values);
      return row ?? null;
    } catch (error) {
      if (sqlState(error) === refusedState) return null;
      throw error;
    }
  }

  /**
   * Reads the entries after `known`, up to the page's bounds. Rejects if the entry at `known` is not there, or another one.
   */
  async page(connection: Connection, known: Position, until: number | null = null): Promise<Page> {
    const { pageEntriesMax, pageBytesMax } = this.#bounds;
    const rows = await connection.query(
      `SELECT seq, mark, node, epoch, n, at, command, bytes
       FROM (
         SELECT *, sum(bytes) OVER (ORDER BY seq) - bytes AS before
         FROM (
           SELECT seq, mark, node, epoch, n, at, CASE WHEN seq > $1 THEN command END AS command,
             CASE WHEN seq > $1 THEN octet_length(command) ELSE 0 END AS bytes
           FROM ${this.#entries} WHERE seq >= $1 AND seq <= $2 ORDER BY seq LIMIT $3
         ) AS next
       ) AS page
       WHERE seq <= $1 + 1 OR before < $4 ORDER BY seq`,
      [known.seq, until ?? Number.MAX_SAFE_INTEGER, pageEntriesMax + 1, pageBytesMax],
    );
    await this.#check(connection, known, rows);
    const stored = rows.filter(row => Number(row[0]) > known.seq).map(storedOf);
    const bytes = stored.reduce((sum, one) => sum + one.bytes, 0);
    const [first] = rows;
    const from = first === undefined || known.seq === 0 ? known : { ...known, mark: String(first[1]) };
    return { from, stored, isFull: stored.length >= pageEntriesMax || bytes >= pageBytesMax };
  }

  /** Throws unless the rows go on after `known` without a gap. */
  async #check(connection: Connection, known: Position, rows: readonly Row[]): Promise<void> {
    const [first] = rows;
    const isKnown =
      known.seq === 0
        ? first === undefined || Number(first[0]) === 1
        : first !== undefined &&
          Number(first[0]) === known.seq &&
          (known.mark === null || first[1] === known.mark);
    // After 0 an empty page may also be one whose entries were all removed.
    if (!isKnown || (known.seq === 0 && first === undefined)) {
      const error = await this.#differenceFrom(connection, known);
      if (error !== null) throw error;
    }
  }

  async #differenceFrom(connection: Connection, known: Position): Promise<Error | null> {
    const [row] = await connection.query(
      `SELECT (SELECT seq FROM ${this.#head}), (SELECT min(seq) FROM ${this.#entries}),
         (SELECT mark FROM ${this.#entries} WHERE seq = $1)`,
      [known.seq],
    );
    const [head, least, mark] = row ?? [];
    if (head === null || head === undefined) return this.lost();
    const isOther = mark !== null && known.mark !== null && mark !== known.mark;
    if (Number(head) < known.seq || isOther) return this.#wentBack(known);
    // The log is empty so far.
    if (known.seq === 0 && Number(head) === 0) return null;
    if (least === null || Number(least) > Math.max(known.seq, 1)) return this.#pruned(known);
    return null;
  }

  /** Returns why an append found nothing to append to, or null if it was for a moment alone. */
  async refusal(connection: Connection, writer: Writer, known: Position): Promise<Error | null> {
    const [row] = await connection.query(
      `SELECT h.store, h.level, (SELECT epoch FROM ${this.#nodes} WHERE node = $1) FROM ${this.#head} AS h`,
      [writer.node],
    );
    if (row === undefined) return this.lost();
    if (row[0] !== writer.storeId) return this.lost("other");
    if (Number(row[1]) !== schemaLevel)
      return new StoreLost(
        `the tables of the store ${this.#where} are of level ${String(row[1])} now: start a newer Kite`,
      );
    // A node that is not there was in a store that went back.
    if (row[2] !== null && Number(row[2]) > writer.epoch)
      return new NodeTwice(
        `another daemon uses the store ${this.#where} as the node ${writer.node}: stop that one, or join again with ` +
          "an id of its own: kite store rejoin",
      );
    if (row[2] === null || Number(row[2]) < writer.epoch) return this.#wentBack(known);
    return this.#differenceFrom(connection, known);
  }

  #held(): NodeHeld {
    const seconds = Math.round(this.#bounds.holdMs / 1000);
    return new NodeHeld(
      `the store ${this.#where} saw another daemon of this node less than ${seconds} s ago. If this machine was just started ` +
        "anew, it goes on by itself within that time; if its disk is a copy of another one's, give this home an id of its " +
        "own: kite store rejoin",
    );
  }

  /** `found`: what is there in place of what this machine joined. */
  lost(found: "nothing" | "other" = "nothing"): StoreLost {
    const [what, then] =
      found === "nothing"
        ? ["has no tables of Kite now", "If they are gone for good"]
        : ["is not the one that this machine joined: its tables were made anew", "To use this one instead"];
    return new StoreLost(
      `the store ${this.#where} ${what}. If a backup is being restored there, wait: Kite goes on by itself when the former tables ` +
        `are back. ${then}: kite store leave --away, then kite store join URL`,
    );
  }

  #wentBack({ seq }: Position): StoreWentBack {
    return new StoreWentBack(
      `the store ${this.#where} has another history than this node, which knows entry ${seq}: a backup was restored, ` +
        "or a standby that lacks entries took over. Kite goes on with what the store has",
    );
  }

  #pruned({ seq }: Position): EntriesPruned {
    return new EntriesPruned(
      `the entries behind ${seq} are no longer in the store ${this.#where}: this node was away for too long. Start ` +
        "Kite again, which reads the state as a whole: kite up",
    );
  }
}

function storedOf([seq, mark, node, epoch, n, at, text, bytes]: Row): Stored {
  const origin = { node: String(node), epoch: Number(epoch), n: Number(n) };
  const command: Command = JSON.parse(String(text));
  return {
    entry: { seq: Number(seq), at: Number(at), origin, command },
    mark: String(mark),
    bytes: Number(bytes),
  };
}
