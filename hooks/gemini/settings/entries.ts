/** The entries for the client's `settings.json`, made of the table of events. */
import type { EventEntries } from "../../install/hooks-text.ts";
import { guardedCommand } from "../../install/ours.ts";
import { geminiClient } from "../client.ts";
import { eventTable } from "../events.ts";

/** The client lists hooks by their names, and turns them off by these. */
const name = "kite";

/** Returns the groups, one an event. `bin` is null unless Kite's home is another one than the usual. */
export function geminiEntries(bin: string | null): readonly EventEntries[] {
  return eventTable.map(({ event, matcher, budgetMs, timeoutMs }) => {
    const command = guardedCommand([String(budgetMs), "", "", geminiClient.name], bin);
    // Milliseconds, as the client's settings have them.
    const hooks = [{ name, type: "command", command, timeout: timeoutMs }];
    return [event, { ...(matcher === undefined ? {} : { matcher }), hooks }];
  });
}
