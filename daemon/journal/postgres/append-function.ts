/** The function in the store that appends an entry to the shared log. */

/**
 * The append, as a function in the store. Each of the server's connections parses and plans it once. That makes it twice as
 * fast as the same in one statement, and holds the lock for less time.
 *
 * A change of it is another function, `append_2`, in an addition to the schema: earlier programs go on with theirs.
 */
export const appendName = "append_1";

/** The SQLSTATE with which it refuses: the log is not the one that the caller knows, or the caller is not the node's last. */
export const refusedState = "KT001";

/**
 * Returns the statement that makes the function. `table`: the name of a table, or of the function, in the schema.
 *
 * It locks the row `head` first, so appends run one after the other. When a reader sees a place, all earlier places are
 * filled. A rollback takes the places back. Under the lock it reads all that earlier appends stored. Waiting for the lock
 * ends after `p_lock_ms`: a statement that its sender gave up does not wait for ever. The entries are durable when it
 * returns, also if the server is set to report that too early.
 */
export function appendFunction(table: (name: string) => string): string {
  return `
    CREATE OR REPLACE FUNCTION ${table(appendName)}(
      p_store text, p_level integer, p_known bigint, p_known_mark bigint, p_node text, p_epoch bigint,
      p_mark bigint, p_count bigint, p_ns bigint[], p_commands text, p_channel text, p_lock_ms integer,
      OUT o_seq bigint, OUT o_at bigint)
    LANGUAGE plpgsql AS $kite$
    BEGIN
      PERFORM set_config('lock_timeout', p_lock_ms::text, true);
      IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
      UPDATE ${table("head")} AS h
        SET seq = h.seq + p_count, at = greatest(h.at, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
        WHERE h.store = p_store AND h.level = p_level AND h.seq >= p_known
        RETURNING h.seq, h.at INTO o_seq, o_at;
      IF o_seq IS NULL
        OR NOT EXISTS (SELECT FROM ${table("nodes")} AS d WHERE d.node = p_node AND d.epoch = p_epoch)
        OR (p_known > 0 AND NOT EXISTS (
          SELECT FROM ${table("entries")} AS e WHERE e.seq = p_known AND e.mark = p_known_mark))
        OR (p_known = 0 AND o_seq > p_count AND NOT EXISTS (SELECT FROM ${table("entries")} AS e WHERE e.seq = 1))
      THEN
        RAISE EXCEPTION 'Kite: another history, or another daemon of this node' USING ERRCODE = '${refusedState}';
      END IF;
      INSERT INTO ${table("entries")} (seq, mark, node, epoch, n, at, command)
        SELECT o_seq - p_count + c.place, p_mark, p_node, p_epoch, c.n, o_at, c.command
        FROM unnest(p_ns, string_to_array(p_commands, E'\\n')) WITH ORDINALITY AS c (n, command, place);
      PERFORM pg_notify(p_channel, o_seq || ' ' || p_node);
    END $kite$;`;
}
