/**
 * Entries that hold on every machine: of a project's committed settings, and of a plugin. They name no path of one
 * machine. On one without Kite they do nothing; on one with Kite they run the hook client that an install chose there.
 */

import { portableProgram } from "../../install/ours.ts";
import { type EventGroup, eventGroups, type HookEntry } from "./entries.ts";

/** Where a portable entry stands. The hook client leaves the event to an entry that names this machine's Kite. */
export type PortableOrigin = "plugin" | "shared";

/** The shell reads a file instead of starting another shell, and then becomes the hook client: its parent is the client. */
const script = `f="${portableProgram}"; [ -r "$f" ] || exit 0; . "$f"`;
const name = "kite-hook";

export interface PortableOptions {
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
