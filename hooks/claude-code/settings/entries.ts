/** The entries for the client's settings, made of the table of events. */
import { type EventRow, eventTable, type Registration } from "../events.ts";

/** One program that the client runs for an event. */
export interface HookEntry {
  readonly type: "command";
  /** A permission rule of the client. If it does not match, the client does not start the program. */
  readonly if?: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Seconds, because the client's settings use seconds. */
  readonly timeout: number;
  readonly statusMessage?: string;
  /** The client does not wait for it. */
  readonly async?: true;
  /** The client does not wait; if the program exits with 2, its standard error wakes the session. */
  readonly asyncRewake?: true;
}

/** A group of entries in the client's settings. */
export interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly HookEntry[];
}

export type EventGroup = readonly [event: string, group: HookGroup];

export interface EntryOptions {
  /** The copied hook client; see program.ts. */
  readonly program: string;
  readonly node: string;
  /** `KITE_HOME`, if it was set when Kite was installed. */
  readonly home: string | null;
  /** Also forward the events of every message and every batch of calls. */
  readonly everyEvent?: boolean;
}

/**
 * Returns the groups for the client's settings. The client runs hooks without a shell, so the hook's parent is the
 * client. `env` removes variables that would slow Node's start or load foreign code.
 */
export function eventGroups(options: EntryOptions): readonly EventGroup[] {
  const { program, node, home, everyEvent = false } = options;
  const kiteHome = home === null ? [] : [`KITE_HOME=${home}`];
  const prefix = ["-u", "NODE_EXTRA_CA_CERTS", "-u", "NODE_OPTIONS", ...kiteHome, node, program];
  const installed = eventTable.filter(({ isFrequent }) => everyEvent || isFrequent === undefined);
  return installed.flatMap(row =>
    row.registrations.map(one => [row.event, groupOf(prefix, row, one)] as const),
  );
}

function groupOf(
  prefix: readonly string[],
  { how }: EventRow,
  { matcher, budgetMs, timeoutMs, if: rule, statusMessage }: Registration,
): HookGroup {
  const entry: HookEntry = {
    type: "command",
    command: "/usr/bin/env",
    args: [...prefix, String(budgetMs), ...(how === "waking" ? ["wake"] : [])],
    timeout: timeoutMs / 1000,
    ...(rule === undefined ? {} : { if: rule }),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    ...(how === "async" ? { async: true } : {}),
    ...(how === "waking" ? { asyncRewake: true } : {}),
  };
  return { ...(matcher === undefined ? {} : { matcher }), hooks: [entry] };
}
