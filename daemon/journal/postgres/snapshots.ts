/**
 * Snapshots in the store, which all nodes share.
 *
 * Invariants: a snapshot is read only when all its pieces are stored, over the history that this node has read. The two
 * newest snapshots stay, and all entries from the older one's place on. An entry stays until every node of the last day has
 * read it.
 */
import type { Connection } from "../../store/connection.ts";
import type { Pieces, Snapshot } from "../journal.ts";
import type { StoreBounds } from "./bounds.ts";
import type { Position, Writer } from "./log.ts";
import { tableName } from "./schema.ts";

export class StoreSnapshots {
  readonly #snapshots: string;
  readonly #pieces: string;
  readonly #entries: string;
  readonly #nodes: string;
  readonly #bounds: StoreBounds;

  constructor(schema: string, bounds: StoreBounds) {
    this.#snapshots = tableName(schema, "snapshots");
    this.#pieces = tableName(schema, "pieces");
    this.#entries = tableName(schema, "entries");
    this.#nodes = tableName(schema, "nodes");
    this.#bounds = bounds;
  }

  /** Reads the newest complete snapshot, piece by piece; null: there is none. */
  async load(connection: Connection): Promise<Snapshot | null> {
    // Newer ones may replace it while it is read; not this often.
    for (let left = 5; left > 0; left -= 1) {
      const [row] = await connection.query(
        `SELECT id, seq, bytes FROM ${this.#snapshots} WHERE complete ORDER BY seq DESC, id DESC LIMIT 1`,
      );
      if (row === undefined) return null;
      const bytes = await this.#join(connection, String(row[0]), Number(row[2]));
      if (bytes !== null) return { seq: Number(row[1]), bytes };
    }
    throw new Error("the store's snapshots were replaced while this node read them: start Kite again");
  }

  /** Returns the content of a snapshot, or null if it is no longer there. */
  async #join(connection: Connection, id: string, length: number): Promise<Buffer | null> {
    const bytes = Buffer.allocUnsafe(length);
    let at = 0;
    for (let place = 0; at < length; place += 1) {
      const [row] = await connection.query(
        `SELECT bytes FROM ${this.#pieces} WHERE snapshot = $1 AND place = $2`,
        [id, place],
      );
      const piece = row?.[0];
      if (!(piece instanceof Buffer) || at + piece.length > length) return null;
      at += piece.copy(bytes, at);
    }
    return bytes;
  }

  /**
   * Stores the state after `seq`. Returns false, without asking for a piece, if another node has stored a state that is as
   * good, or stores one now. Rejects if it could not be stored, or the pieces end with an error.
   */
  async save(
    connection: Connection,
    { node }: Writer,
    seq: number,
    pieces: Pieces,
    position: () => Position,
    isWanted: () => boolean,
  ): Promise<boolean> {
    const id = await this.#begin(connection, node, seq);
    if (id === null) return false;
    try {
      const length = await this.#write(connection, id, pieces, isWanted);
      await this.#complete(connection, id, length, position());
    } catch (error) {
      // A connection that broke leaves the pieces to the next snapshot, which removes them.
      await connection.query(`DELETE FROM ${this.#snapshots} WHERE id = $1`, [id]).catch(() => {});
      throw error;
    }
    await this.#prune(connection);
    return true;
  }

  async #begin(connection: Connection, node: string, seq: number): Promise<string | null> {
    const { nearEntries, unfinishedMs } = this.#bounds;
    const [row] = await connection.query(
      `INSERT INTO ${this.#snapshots} (seq, node, bytes, complete, written)
       SELECT $1::bigint, $2::text, 0, false, now()
       WHERE NOT EXISTS (
         SELECT FROM ${this.#snapshots}
         WHERE node <> $2 AND seq > $1 - $3::bigint AND (complete OR written > now() - $4 * interval '1 ms'))
       RETURNING id`,
      [seq, node, nearEntries, unfinishedMs],
    );
    return row === undefined ? null : String(row[0]);
  }

  /** Stores the pieces in rows of `pieceBytes`; returns their length together. */
  async #write(connection: Connection, id: string, pieces: Pieces, isWanted: () => boolean): Promise<number> {
    const { pieceBytes } = this.#bounds;
    let [length, place, held, parts]: [number, number, number, Buffer[]] = [0, 0, 0, []];
    const put = async (bytes: Buffer) => {
      if (!isWanted()) throw new Error("the journal is not open: no snapshot was stored");
      const [row] = await connection.query(
        `WITH own AS (UPDATE ${this.#snapshots} SET written = now() WHERE id = $1 RETURNING id)
         INSERT INTO ${this.#pieces} (snapshot, place, bytes) SELECT id, $2, $3 FROM own RETURNING place`,
        [id, place, bytes],
      );
      if (row === undefined) throw new Error("the snapshot was removed from the store while it was written");
      place += 1;
      length += bytes.length;
    };
    for await (const piece of pieces) {
      parts.push(piece);
      held += piece.length;
      if (held < pieceBytes) continue;
      const bytes = Buffer.concat(parts);
      let at = 0;
      for (; bytes.length - at >= pieceBytes; at += pieceBytes)
        await put(bytes.subarray(at, at + pieceBytes));
      parts = [bytes.subarray(at)];
      held = bytes.length - at;
    }
    if (held > 0) await put(Buffer.concat(parts));
    return length;
  }

  /** Makes it count, if the store still has the history that this node has read. */
  async #complete(
    connection: Connection,
    id: string,
    length: number,
    { seq, mark }: Position,
  ): Promise<void> {
    const [row] = await connection.query(
      `UPDATE ${this.#snapshots} SET complete = true, bytes = $2 WHERE id = $1
         AND ($3::bigint = 0 OR EXISTS (SELECT FROM ${this.#entries} WHERE seq = $3 AND mark = coalesce($4, mark)))
       RETURNING id`,
      [id, length, seq, mark],
    );
    if (row === undefined) throw new Error("the store has another history now: no snapshot was stored");
  }

  /** Removes older snapshots, those that nobody finishes, and entries that nobody needs, a part at a time. */
  async #prune(connection: Connection): Promise<void> {
    const { snapshotsKept, unfinishedMs, absentMs, pruneEntriesMax } = this.#bounds;
    await connection.query(
      `DELETE FROM ${this.#snapshots} WHERE
         (complete AND id NOT IN (
           SELECT id FROM ${this.#snapshots} WHERE complete ORDER BY seq DESC, id DESC LIMIT $1))
         OR (NOT complete AND written < now() - $2 * interval '1 ms')`,
      [snapshotsKept, unfinishedMs],
    );
    for (let count = pruneEntriesMax; count >= pruneEntriesMax; ) {
      // The entry at a snapshot's place stays, and the last one that a node has read: they show the history.
      const [row] = await connection.query(
        `WITH gone AS (
           DELETE FROM ${this.#entries} WHERE seq IN (
             SELECT seq FROM ${this.#entries} WHERE seq < least(
               (SELECT min(seq) FROM ${this.#snapshots} WHERE complete),
               (SELECT min(seq) FROM ${this.#nodes} WHERE seen > now() - $1 * interval '1 ms'))
             ORDER BY seq LIMIT $2)
           RETURNING seq)
         SELECT count(*) FROM gone`,
        [absentMs, pruneEntriesMax],
      );
      count = Number(row?.[0] ?? 0);
    }
  }
}
