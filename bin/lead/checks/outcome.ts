import type { Ran } from "./run-one.ts";
import type { State } from "./states.ts";

/** What one check came to. */
export interface Outcome extends Ran {
  readonly name: string;
  readonly green: boolean;
  /** Why the result counts for no state; null: the daemon keeps it for this one. */
  readonly unrecorded: string | null;
  /** Whether files changed while the check ran: its result says nothing of either state. */
  readonly isUnsure: boolean;
  readonly state: Pick<State, "commit" | "files">;
}
