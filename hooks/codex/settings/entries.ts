/** The entries for the client's `hooks.json`, made of the table of events. */
import type { EventEntries } from "../../install/hooks-text.ts";
import { guardedCommand } from "../../install/ours.ts";
import { eventTable } from "../events.ts";
import { clientName } from "./where.ts";

/**
 * Returns the groups, one an event. `bin` is null unless Kite's home is another one than the usual. The client has a person
 * trust each entry by its place, its command and its time: none of them may change without a reason.
 */
export function codexEntries(bin: string | null): readonly EventEntries[] {
  return eventTable.map(({ event, matcher, budgetMs, timeoutMs }) => {
    const command = guardedCommand([String(budgetMs), "", "", clientName], bin);
    // Seconds, because the client's settings use seconds.
    const hooks = [{ type: "command", command, timeout: timeoutMs / 1000 }];
    return [event, { ...(matcher === undefined ? {} : { matcher }), hooks }];
  });
}
