/** The door to journals that several nodes share. Only a daemon with a store goes through it. */
import type { Journal } from "./journal.ts";
import type { PostgresJournalOptions } from "./postgres/postgres-journal.ts";

export type { JournalAddress } from "./postgres/address.ts";

/** A journal elsewhere, which may not answer for a while. */
export interface SharedJournal extends Journal {
  /** Wall time since which the store does not answer, in milliseconds; null: it does. */
  readonly awaySinceMs: number | null;
  /** The store's id; null before it was first reached. */
  readonly storeId: string | null;
  /** Why the store did not answer last; empty: it always did. */
  readonly awayWhy: string;
}

/**
 * Returns a journal over PostgreSQL, whose program, with the client for it, is loaded now. It connects when it is opened.
 * Other stores get a function beside this one, and have to pass the same suite.
 */
export async function postgresJournal(options: PostgresJournalOptions): Promise<SharedJournal> {
  const { PostgresJournal } = await import("./postgres/postgres-journal.ts");
  return new PostgresJournal(options);
}
