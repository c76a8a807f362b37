/**
 * Tables that other slices keep of live sessions. Each has a map for a session, and a snapshot has that map as a field of
 * the session's row.
 *
 * Invariants: a map is a value, which a change replaces, and none is empty. The slice drops what it has of a session, or of
 * an agent, at the point of its end.
 */
import type { Identified, Rows } from "../rows.ts";

/** By session id. */
export type SideTable<K, V> = Map<string, ReadonlyMap<K, V>>;

/** Returns what the table has of a session. */
export function allAt<K, V>(table: SideTable<K, V>, session: string): ReadonlyMap<K, V> {
  return table.get(session) ?? new Map();
}

export function setAt<K, V>(table: SideTable<K, V>, session: string, key: K, value: V): void {
  table.set(session, new Map(table.get(session)).set(key, value));
}

export function deleteAt<K, V>(table: SideTable<K, V>, session: string, key: K): void {
  const next = new Map(table.get(session));
  next.delete(key);
  replaceAt(table, session, next);
}

/** Replaces all that the table has of a session. */
export function replaceAt<K, V>(table: SideTable<K, V>, session: string, all: ReadonlyMap<K, V>): void {
  if (all.size === 0) table.delete(session);
  else table.set(session, all);
}

/** What a snapshot has of the table: `field` in the rows of sessions. `isAlways`: a session of which it has nothing says so. */
export function sideRows<K, V>(field: string, isAlways = false) {
  return {
    empty: (): SideTable<K, V> => new Map(),
    lists: {},
    parts: {
      sessions: {
        write(table: SideTable<K, V>) {
          const all = new Map(table);
          return ({ id }: Identified) => (isAlways || all.has(id) ? { [field]: [...allAt(all, id)] } : {});
        },
        read(table: SideTable<K, V>, row: Identified & { readonly [Field in string]: unknown }) {
          const { [field]: stored, ...rest } = row;
          replaceAt(table, row.id, new Map(stored as Iterable<readonly [K, V]> | undefined));
          return rest;
        },
      },
    },
  } satisfies Rows<SideTable<K, V>, unknown>;
}
