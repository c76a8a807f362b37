/** The door to journals that several nodes share. Only a daemon with a store goes through it. */
import type { JournalAddress } from "../store/connection.ts";
import type { Journal } from "./journal.ts";
import type { StoreLook } from "./postgres/look.ts";
import type { PostgresJournalOptions } from "./postgres/postgres-journal.ts";

export type { StoreLook } from "./postgres/look.ts";

/** A journal elsewhere, which may not answer for a while. */
export interface SharedJournal extends Journal {
  /** Wall time since which the store does not answer, in milliseconds; null: it does. */
  readonly awaySinceMs: number | null;
  /** The store's id; null before it was first reached. */
  readonly storeId: string | null;
  /** Why the store did not answer last; empty: it always did. */
  readonly awayWhy: string;
  /** The callback, of which there is one, hears each time that `awaySinceMs` becomes null or a time. */
  onReach(callback: () => void): void;
}

/**
 * Returns a journal over PostgreSQL, whose program, with the client for it, is loaded now. It connects when it is opened.
 * Other stores get a function beside this one, and have to pass the same suite.
 */
export async function postgresJournal(options: PostgresJournalOptions): Promise<SharedJournal> {
  const { PostgresJournal } = await import("./postgres/postgres-journal.ts");
  return new PostgresJournal(options);
}

/** Looks at a store, and changes nothing of it. Rejects with an error that says what is wrong, and what a person can do. */
export async function lookAtStore(address: JournalAddress): Promise<StoreLook> {
  const postgres = await import("./postgres/postgres-journal.ts");
  return postgres.lookAtStore(address);
}
