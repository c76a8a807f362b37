/** Whatever events, pauses and subscriptions come in whatever order: who subscribes gets each event that it wants, once. */
import { expect, test } from "vitest";
import type { CoreEvent } from "../../daemon/core/tables/entries.ts";
import { Turns } from "../../daemon/server/call.ts";
import type { Connection } from "../../daemon/server/connection.ts";
import { type EventFilter, passes } from "../../daemon/server/event-ring.ts";
import { EventHub } from "../../daemon/server/events.ts";
import { limits } from "../../protocol/limits.ts";
import { Random } from "../simulation/random.ts";

const clientsMax = 6;
const actions = 150;
/** Of one step: few, as many as a turn may send, more than one turn takes. */
const sizes = [1, 1, 2, 10, limits.turnEventsMax, limits.turnEventsMax + 1, 150, 218, 219, 400];
const sessions = ["a", "b"];

interface Line {
  readonly event: string;
  readonly cursor: string;
}

/** All events so far, and how many there were before each entry. */
class Log {
  readonly events: CoreEvent[] = [];
  readonly #before: number[] = [];

  get entries(): number {
    return this.#before.length;
  }

  add(events: readonly CoreEvent[]): void {
    this.#before.push(this.events.length);
    this.events.push(...events);
  }

  /** How many events there were up to this cursor, its own included. */
  count(cursor: string): number {
    const [, seq = 0, n = 0] = cursor.split(".").map(Number);
    return (this.#before[seq - 1] ?? 0) + n;
  }
}

/** A connection that reads when told to, and checks what it gets. */
class Client {
  readonly sessions = new Map<string, number | null>();
  readonly wrong: string[] = [];
  isClosed = false;
  isStuck = false;
  filter: EventFilter = everything;
  /** The latest cursor that it got, and how many events there were up to it. */
  #cursor = "";
  #reached = 0;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  get unreadBytes(): number {
    return this.isStuck ? limits.unreadEventBytes : 0;
  }

  get cursor(): string {
    return this.#cursor;
  }

  set cursor(cursor: string) {
    this.#cursor = cursor;
    this.#reached = this.#log.count(cursor);
  }

  tie(): () => void {
    return () => {};
  }

  push(text: string): void {
    const line: Line = JSON.parse(text);
    const upTo = this.#log.count(line.cursor) - (line.event === "bookmark" ? 0 : 1);
    if (line.event === "lagged") this.wrong.push("lagged");
    if (upTo < this.#reached) this.wrong.push(`${line.event} ${line.cursor} after ${this.cursor}`);
    else if (this.misses(upTo)) this.wrong.push(`no event between ${this.cursor} and ${line.cursor}`);
    this.cursor = line.cursor;
  }

  /** Whether an event that it wants came after its cursor, up to this one. */
  misses(upTo: number): boolean {
    for (let n = this.#reached; n < upTo; n += 1) {
      const { event, about = [], project = "" } = this.#log.events[n] ?? {};
      if (passes(this.filter, { name: event?.event ?? "", about, project, paths: [], whole: true }))
        return true;
    }
    return false;
  }

  get asConnection(): Connection {
    return this as unknown as Connection;
  }
}

const everything: EventFilter = { names: null, project: null, session: null, path: null };

function drive(seed: number): readonly string[] {
  const random = new Random(seed);
  const log = new Log();
  let tasks: (() => void)[] = [];
  const hub = new EventHub(() => [], new Turns(task => tasks.push(task)));
  const clients: Client[] = [];
  const publish = () => {
    const events = Array.from({ length: random.pick(sizes) }, (): CoreEvent => {
      const id = random.pick(sessions);
      return { event: { event: "session_started", id, name: id, project: "/p" }, about: [id], project: "/p" };
    });
    log.add(events);
    hub.publish(1, log.entries, { events, lastEventCursor: null });
  };
  const turn = () => {
    const due = tasks;
    tasks = [];
    for (const task of due) task();
  };
  const subscribe = (client: Client) => {
    client.filter = { ...everything, session: random.pick([null, ...sessions]) };
    const wanted = client.cursor === "" || random.chance(0.2) ? undefined : client.cursor;
    const { cursor, lagged } = hub.subscribe(client.asConnection, client.filter, wanted);
    if (lagged) client.wrong.push("lagged at the subscription");
    client.cursor = cursor;
    if (random.chance(0.3)) publish();
    hub.drained(client.asConnection);
  };
  const release = (client: Client) => {
    client.isStuck = false;
    hub.drained(client.asConnection);
  };
  publish();
  for (let n = 0; n < actions; n += 1) {
    const client = clients.length === 0 ? undefined : random.pick(clients);
    const choice = random.fraction();
    if (choice < 0.4) publish();
    else if (choice < 0.65) turn();
    else if (client === undefined || (choice < 0.7 && clients.length < clientsMax)) {
      const added = new Client(log);
      clients.push(added);
      subscribe(added);
    } else if (choice < 0.8) subscribe(client);
    else if (client.isStuck) release(client);
    else client.isStuck = choice < 0.9;
  }
  for (const client of clients) release(client);
  while (tasks.length > 0) turn();
  for (const client of clients)
    if (client.misses(log.events.length)) client.wrong.push(`nothing after ${client.cursor}`);
  return clients.flatMap(({ wrong }) => wrong.slice(0, 1));
}

test("a subscriber gets each event that it wants once, in order, and no cursor ahead of one", () => {
  for (let seed = 1; seed <= 40; seed += 1) expect(drive(seed), `seed ${seed}`).toEqual([]);
});
