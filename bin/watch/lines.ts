/** `kite watch` in a pipe: a line for each event; and what each way to show events does. */

import type { EventLine } from "../../protocol/events.ts";
import type { StoreState } from "../../protocol/schemas/store.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { type Client, type ProcessContext, printFramed, printJson } from "../context/process-context.ts";
import { fail, rowsOf } from "../context/with-daemon.ts";
import { eventSentence } from "../view/event-lines.ts";
import { storeHead } from "../view/store.ts";
import { clock } from "../view/text.ts";

/** A way to show events: a screen or lines. */
export interface Shown {
  /** Queries everything again. */
  look(client: Client): Promise<void>;
  event(event: EventLine): void;
  /** Reports that events were missed. */
  missed(): void;
  away(why: string): void;
  /** Called every `drawMs` while a daemon answers. */
  tick(client: Client): Promise<void>;
  end(): void;
}

/** The store that machines share, and the sessions of the others. */
export interface SharedThere {
  readonly store?: StoreState;
  readonly elsewhere?: readonly ElsewhereRow[];
}

/** Returns nothing, and sends no request, where no store is set. */
export async function sharedThere(client: Client): Promise<SharedThere> {
  if (client.daemon.sharedStoreId === undefined) return {};
  const [[store], elsewhere] = await Promise.all([rowsOf(client, "store"), rowsOf(client, "elsewhere")]);
  return store === undefined ? {} : { store, elsewhere };
}

/** Prints a line for each event. */
export class Listing implements Shown {
  readonly #world: ProcessContext;
  readonly #json: boolean;
  #isAway = false;

  constructor(world: ProcessContext, json: boolean) {
    this.#world = world;
    this.#json = json;
  }

  async look(client: Client): Promise<void> {
    this.#isAway = false;
    const [sessions, locks, shared] = await Promise.all([
      rowsOf(client, "sessions"),
      rowsOf(client, "locks"),
      sharedThere(client),
    ]);
    if (this.#json) return printJson(this.#world, { sessions, locks, ...shared });
    this.#say(`watching  sessions: ${sessions.length}, locks: ${locks.length}`);
    const { store, elsewhere = [] } = shared;
    if (store === undefined) return;
    const far = elsewhere.length === 0 ? "" : `; ${elsewhere.length} on other machines`;
    this.#say(`store     ${storeHead(store, this.#world.now()).text}${far}`);
  }

  event(event: EventLine): void {
    if (this.#json) {
      printJson(this.#world, event);
      return;
    }
    const text = eventSentence(event);
    if (text !== null) this.#say(text);
  }

  missed(): void {
    fail(this.#world, this.#json, "lagged", "events were missed; see kite status");
  }

  away(why: string): void {
    if (!this.#isAway) fail(this.#world, this.#json, "not_running", `${why}; waiting for it`);
    this.#isAway = true;
  }

  async tick(): Promise<void> {}

  end(): void {}

  #say(text: string): void {
    const now = this.#world.now();
    printFramed(this.#world, [`${clock(now, now)}  ${text}`]);
  }
}
