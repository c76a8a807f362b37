/** The wire of `overview`: what `kite status` shows, in one answer. */

import * as z from "zod";
import { type RequestTable, repeatable, reply } from "../request-table.ts";
import type { SessionRow } from "../session-rows.ts";
import type { ElsewhereRow, RiskRow } from "../work.ts";
import type { QueryReply, RefusalRow, StatsReply, TaskCounts } from "./daemon.ts";
import type { LockRow } from "./lock.ts";
import type { HoldRow } from "./message.ts";
import type { DamageRow, WipeRow } from "./rescue.ts";
import { baseShape, pathSchema } from "./session.ts";
import type { StoreState } from "./store.ts";
import type { TaskRow } from "./task.ts";

/** Returns what `kite status` shows, in one answer. */
const overviewSchema = z.object({
  ...baseShape,
  /** An absolute directory; the reply has its project. */
  cwd: pathSchema.optional(),
});

/** A scope in which Kite is off; `of` names the directory or the session. `until` is wall time in milliseconds. */
export interface OffRow {
  readonly scope: "all" | "project" | "session";
  readonly of: string | null;
  readonly name: string | null;
  /** Null: until `kite on`. */
  readonly until: number | null;
}

/** A file of Kite's directory that no command of Kite changed, since a person saw it at last. */
export interface ChangedFileRow {
  readonly file: "config.json" | "trusted.json";
  /** Wall time in milliseconds; null: it is gone. */
  readonly changedAt: number | null;
  /** Of `trusted.json`: projects whose checks it trusted, and does not any more, and those that it trusts since; a few of each. */
  readonly lost: readonly string[];
  readonly gained: readonly string[];
}

/** Each list is the first page of the `query` for it. */
/** How the daemon reads the user's settings. */
export interface SettingsRow {
  /** Why nothing of config.json counts now, so that the daemon keeps the settings of before; null: it counts. */
  readonly problem: string | null;
  /** Settings whose new value counts from the daemon's next start. */
  readonly waiting: readonly string[];
}

export interface OverviewReply {
  readonly ok: true;
  /** The project of `cwd`; null without one, or if the daemon could not read it in time. */
  readonly project: string | null;
  /** The tasks of that project; absent without one, and in answers of earlier daemons. */
  readonly projectTasks?: TaskCounts;
  /** Why the daemon could not read `cwd`. */
  readonly unreachable?: string;
  readonly off: readonly OffRow[];
  /** Kite only observes; absent: it acts. */
  readonly mode?: "observe";
  /** Absent in answers of earlier daemons. */
  readonly changedFiles?: readonly ChangedFileRow[];
  /** What is odd about the user's settings; absent: nothing. */
  readonly settings?: SettingsRow;
  /**
   * What was wiped in the last hour, of `project` or of all, and is in no commit and no file. The latest comes first,
   * with the files that are lost. Absent where Kite keeps nothing, and in answers of earlier daemons.
   */
  readonly wiped?: readonly WipeRow[];
  /** What is damaged of the work that Kite keeps, with the trouble of now; absent: nothing, or Kite keeps nothing. */
  readonly rescue?: DamageRow & { readonly trouble: string | null };
  /** The store that machines share; absent: none is set. */
  readonly store?: StoreState;
  readonly stats: StatsReply;
  readonly sessions: QueryReply<SessionRow>;
  readonly locks: QueryReply<LockRow>;
  readonly holds: QueryReply<HoldRow>;
  readonly refusals: QueryReply<RefusalRow>;
  readonly risks: QueryReply<RiskRow>;
  readonly watched: QueryReply<TaskRow>;
  /** Sessions of other machines; absent where no store is set. */
  readonly elsewhere?: QueryReply<ElsewhereRow>;
}

export const overviewRequests = {
  overview: { params: overviewSchema, reply: reply<OverviewReply>(), traits: repeatable },
} as const satisfies RequestTable;
