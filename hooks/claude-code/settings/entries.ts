/** The entries for the client's settings, made of the table of events. */

import { type HookProgram, perlCommand, portableProgram } from "../../install/hooks-text.ts";
import type { Program } from "../../install/program.ts";
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
interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly HookEntry[];
}

export type EventGroup = readonly [event: string, group: HookGroup];

interface EntryOptions {
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

// The commands with which the client runs a hook client.

interface GroupOptions {
  readonly program: Program;
  readonly hookProgram: HookProgram;
  /** `KITE_HOME`, if it is set. */
  readonly home: string | null;
  /** Also forward the events of every message and every batch of calls. */
  readonly everyEvent: boolean;
}

/** Returns the groups for the client's settings, run by the chosen hook client. */
export function groupsFor({ program, hookProgram, home, everyEvent }: GroupOptions): readonly EventGroup[] {
  const groups = eventGroups({ program: program.cjs, node: program.node, home, everyEvent });
  if (hookProgram === "node") return groups;
  return groups.map(([event, group]) => {
    const hooks = group.hooks.map((entry): HookEntry => {
      // Both hook clients take the arguments that follow the program.
      const rest = entry.args.slice(entry.args.indexOf(program.cjs) + 1);
      return { ...entry, ...perlCommand(program.pl, home, rest) };
    });
    return [event, { ...group, hooks }];
  });
}

// Entries that hold on every machine: of a project's committed settings, and of a plugin. They name no path of one
// machine. On one without Kite they do nothing; on one with Kite they run the hook client that an install chose there.

/** Where a portable entry stands. The hook client leaves the event to an entry that names this machine's Kite. */
export type PortableOrigin = "plugin" | "shared";

/** The shell reads a file instead of starting another shell, and then becomes the hook client: its parent is the client. */
const script = `f="${portableProgram}"; [ -r "$f" ] || exit 0; . "$f"`;
const name = "kite-hook";

interface PortableOptions {
  readonly origin: PortableOrigin;
  /** Also forward the events of every message and every batch of calls. */
  readonly everyEvent: boolean;
}

/** Returns the groups for settings or a plugin that several machines have. */
export function portableGroups({ origin, everyEvent }: PortableOptions): readonly EventGroup[] {
  const groups = eventGroups({ program: name, node: name, home: null, everyEvent });
  return groups.map(([event, group]) => {
    const hooks = group.hooks.map((entry): HookEntry => {
      const [budget = "", how = ""] = entry.args.slice(entry.args.lastIndexOf(name) + 1);
      return { ...entry, command: "/bin/sh", args: ["-c", script, name, budget, how, origin] };
    });
    return [event, { ...group, hooks }];
  });
}
