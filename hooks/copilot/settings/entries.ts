/** The client's file of Kite's own hooks, made of the table of events: nothing else is in it. */
import { guardedCommand } from "../../install/ours.ts";
import { copilotClient } from "../client.ts";
import { eventTable } from "../events.ts";

/** An entry as the client reads it. */
interface CopilotEntry {
  readonly type: "command";
  readonly bash: string;
  /** In seconds. */
  readonly timeoutSec: number;
  readonly matcher?: string;
}

export interface CopilotHooks {
  readonly version: 1;
  readonly hooks: Readonly<Record<string, readonly CopilotEntry[]>>;
}

/** Returns the file's content. `bin` is null unless Kite's home is another one than the usual. */
export function copilotHooks(bin: string | null): CopilotHooks {
  const hooks = eventTable.map(({ event, matcher, budgetMs, timeoutMs }) => {
    const entry: CopilotEntry = {
      type: "command",
      bash: guardedCommand([String(budgetMs), "", "", copilotClient.name], bin),
      timeoutSec: Math.ceil(timeoutMs / 1000),
      ...(matcher === undefined ? {} : { matcher }),
    };
    return [event, [entry]] as const;
  });
  return { version: 1, hooks: Object.fromEntries(hooks) };
}
