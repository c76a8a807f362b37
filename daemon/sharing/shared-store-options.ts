/** What a shared store is opened by, and who hears of it. */
import type { Entry, Step } from "../core/tables/entries.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { SharedJournal } from "../journal/shared-journal.ts";
import type { Condition } from "./condition.ts";

export interface SharedStoreOptions {
  /** This machine's own log. */
  readonly own: Engine;
  readonly clock: Clock;
  /** This node's id in the shared log, what binds it to this home, and what people call the machine. */
  readonly node: string;
  readonly binding: string;
  readonly machine: string;
  /** The version of this program. */
  readonly version: string;
  /** The store as people name it: no password is in it. */
  readonly where: string;
  /** Where what is known of the store is kept; null: nowhere. */
  readonly copyPath: string | null;
  /** Where is kept how shared projects were when this machine left; null: nowhere. */
  readonly leftPath: string | null;
  /**
   * Makes a journal that is not opened. Rejects if it cannot be made now. `storeId`: the store that this machine joined, over
   * no other one of which it opens; null: any.
   */
  readonly journal: (storeId: string | null) => Promise<SharedJournal>;
  /** Sees every step of the shared log that comes after the recovery. */
  readonly onStep: (entry: Entry, step: Step) => void;
  readonly onTrouble: (message: string, error: unknown) => void;
  /** Hears each time that the store is open, away or refused after it was something else; `why` is empty when it is open. */
  readonly onCondition: (is: Condition["is"], why: string) => void;
  /** Entries between two snapshots; the default is `limits.snapshotEntries`. */
  readonly snapshotEntries?: number;
}
