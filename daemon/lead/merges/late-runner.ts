/**
 * A merge that the log hands out behind the end of its runner's connection. A journal in a file keeps the order of
 * proposals; a log of several machines may deliver a proposal after it said that it took none.
 */

import type { Bound } from "../../core/frame/actors.ts";
import type { Entry } from "../../core/tables/entries.ts";
import type { Listener } from "../../engine/listeners.ts";
import type { Services } from "../../services.ts";

/**
 * Returns the closed connection that the entry tied a merge to: its end has to be proposed once more. Null for all other
 * entries. `isClosed` says so only of connections of this daemon since its start: a start takes merges from all others.
 */
export function lateRunner({ command }: Entry, isClosed: (bound: Bound) => boolean): Bound | null {
  switch (command.type) {
    case "merge_queue":
    case "merge_take":
    case "merge_attach":
      return isClosed(command.runner.bound) ? command.runner.bound : null;
    default:
      return null;
  }
}

/** Returns what hears of the entries that tie a merge to a connection, and proposes such an end. */
export function unbindsLateRunners(
  { engine, clock }: Services,
  isClosed: (bound: Bound) => boolean,
): Listener {
  return {
    commands: ["merge_queue", "merge_take", "merge_attach"],
    stepped: entry => {
      const bound = lateRunner(entry, isClosed);
      if (bound !== null) engine.submitWithRetry({ type: "merge_unbind", bound, wallMs: clock.wall() });
    },
  };
}
