/** Who sees the steps of the engine. A listener is called for what it wants alone, since most steps concern nobody. */
import type { KiteEvent } from "../../protocol/events.ts";
import type { CommandType, Entry, Step } from "../core/tables/entries.ts";

export interface Listener {
  /** It sees each step of one of these commands. */
  readonly commands?: readonly CommandType[];
  /** It sees each step with one of these events; `all`: with any event. */
  readonly events?: readonly KiteEvent["event"][] | "all";
  stepped(entry: Entry, step: Step): void;
}

interface Listening {
  readonly commands: ReadonlySet<CommandType>;
  readonly events: ReadonlySet<KiteEvent["event"]>;
  readonly isAll: boolean;
  readonly listener: Listener;
}

/** Listeners in the order in which they were added. Each is called once for a step. */
export class Listeners {
  readonly #all: Listening[] = [];

  add(...listeners: readonly Listener[]): void {
    for (const listener of listeners) {
      const { commands = [], events = [] } = listener;
      const isAll = events === "all";
      const some = new Set(isAll ? [] : events);
      this.#all.push({ commands: new Set(commands), events: some, isAll, listener });
    }
  }

  /** Takes a listener out again; it is no error if it was not added. */
  remove(listener: Listener): void {
    const at = this.#all.findIndex(one => one.listener === listener);
    if (at !== -1) this.#all.splice(at, 1);
  }

  /** Calls the listeners that want the step. */
  tell(entry: Entry, step: Step): void {
    const { type } = entry.command;
    for (const { commands, events, isAll, listener } of this.#all) {
      let isWanted = commands.has(type) || (isAll && step.events.length > 0);
      for (const { event } of step.events) isWanted ||= events.has(event.event);
      if (isWanted) listener.stepped(entry, step);
    }
  }
}
