/**
 * Writes that are heard of after their lock ended, and the rules of them once more, written slowly: each is remembered
 * when its lock is cut short, and told once, unless its writer has the file again.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { Hold } from "../../daemon/core/tables/base-state.ts";
import type { Command, Entry, Step } from "../../daemon/core/tables/entries.ts";
import { isHeir } from "./oracle.ts";
import type { Random } from "./random.ts";

interface Late {
  readonly actor: Actor;
  readonly flight: string;
  readonly key: string;
  readonly file: string;
}

export class LateWrites {
  readonly #random: Random;
  /** By writer and tool use, oldest first, as the entries tell. */
  #late = new Map<string, Late>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** The hook of a late write tells of it; null where there is none, or something else happens. */
  command(): Command | null {
    const random = this.#random;
    if (this.#late.size === 0 || random.chance(0.5)) return null;
    const { actor, flight } = random.pick([...this.#late.values()]);
    return { type: "flight_end", actor, flight, wrote: random.chance(0.9) };
  }

  /** A life has ended: what was not synced may be gone with it. */
  restarted({ locks }: State): void {
    const known = [...locks.expiredWrites].map(([id, { actor, key, file }]) => {
      const flight = id.slice(id.lastIndexOf("\n") + 1);
      return [nameOf(actor, flight), { actor, flight, key, file }] as const;
    });
    this.#late = new Map(known);
  }

  /** Everything that is wrong after an entry; `before` is what was in flight before it. */
  *observe(
    state: State,
    { command }: Entry,
    step: Step,
    before: readonly Hold[],
    touched: ReadonlySet<TableName>,
  ): Generator<string, void> {
    const told = step.events.flatMap(({ event }) =>
      event.event === "lost_update" ? [sentence(event.file, event.writer, event.holder)] : [],
    );
    const should = command.type === "flight_end" ? this.#landed(state, command) : [];
    if (told.join() !== should.join())
      yield `a late write is told as ${told.join() || "nothing"}, not as ${should.join() || "nothing"}`;
    if (cutsShort(command)) this.#remember(state, command, before);
    if (!touched.has("locks")) return;
    // Of those that one entry cut short the order means nothing.
    const known = keysOf(state.locks.expiredWrites.values());
    const remembered = keysOf(this.#late.values());
    if (known !== remembered) yield `late writes are known to ${known || "nothing"}, not to ${remembered}`;
  }

  /** What is told of a write that ended now. */
  #landed(state: State, { actor, flight, wrote }: Command & { readonly type: "flight_end" }): string[] {
    if (flight === null || !wrote) return [];
    const late = this.#late.get(nameOf(actor, flight));
    this.#late.delete(nameOf(actor, flight));
    const holder = late === undefined ? null : holderOf(state, late.key);
    if (late === undefined || (holder !== null && same(holder, actor))) return [];
    return [sentence(late.file, rowOf(actor), holder === null ? null : rowOf(holder))];
  }

  /** The locks of these writes that are not there any more ended before them. */
  #remember({ locks, rules }: State, command: Command, before: readonly Hold[]): void {
    for (const flying of before) {
      const { key, file, actor, first, flights, expiredFlights = [] } = flying;
      const now = locks.holds.get(key);
      if (now !== undefined && now.first.grant === first.grant && same(now.actor, actor)) continue;
      // Another lock was cut short, and this one passed on to one who works for its holder: an agent's lock forgets its
      // expired writes, a command's takes all along.
      const passesOn = now !== undefined && isHeir(now, actor);
      if ((passesOn || givesUp(command)) && !isCut(command, flying, rules)) continue;
      for (const flight of [...expiredFlights, ...flights]) {
        // A command's lock that goes back to its actor takes the actor's writes along.
        const goesOn = actor.command !== undefined && now !== undefined && same(now.actor, actor);
        if (goesOn && [...now.flights, ...(now.expiredFlights ?? [])].includes(flight)) continue;
        const id = nameOf(actor, flight);
        this.#late.delete(id);
        // The write is the actor's own, whichever command of it had the lock.
        const { session, agent, incarnation } = actor;
        this.#late.set(id, { actor: { session, agent, incarnation }, flight, key, file });
      }
    }
  }
}

/** The locks with writes in flight, or that expired, before an entry. */
export function flyingBefore({ locks }: State): readonly Hold[] {
  const flying = [...locks.holds.values()].filter(
    ({ flights, expiredFlights }) => flights.length > 0 || expiredFlights !== undefined,
  );
  return flying.map(hold => ({ ...hold }));
}

/** Whether it ends locks while their holders may still write. */
const cutting: ReadonlySet<string> = new Set(["lock_revoke", "lock_unbind", "agent_release"]);

/** Whether it gives up locks: their holders' writes end with that, but not what is written under a command's lock. */
function givesUp({ type }: Command): boolean {
  return type === "lock_release" || type === "lock_undelivered";
}

function cutsShort(command: Command): boolean {
  if (command.type !== "elapse") return givesUp(command) || cutting.has(command.type);
  const { what } = command.due;
  return (
    ["turn_lease_over", "yield_over", "bound_over", "lost_turns_over", "lost_leases_over"].includes(what) ||
    what === "lost_over"
  );
}

/** Who has the file: by a lock of its own, else by one of the nearest folder above it. */
function holderOf({ locks }: State, key: string): Actor | null {
  const over = [...locks.holds.values()].filter(h => h.key === key || (h.dir && key.startsWith(`${h.key}/`)));
  return over.sort((a, b) => b.key.length - a.key.length)[0]?.actor ?? null;
}

interface Row {
  readonly id: string;
  readonly agent: string | null;
}

function sentence(file: string, writer: Row, holder: Row | null): string {
  const [by, of] = [writer, holder].map(row => (row === null ? "nobody" : `${row.id}/${row.agent}`));
  return `${by} wrote ${file} of ${of}`;
}

function rowOf({ session, agent }: Actor): Row {
  return { id: session, agent };
}

/** Whether the command, one of those that cut locks short, does so with this one. */
function isCut(command: Command, hold: Hold, rules: number): boolean {
  const { key, lexical, actor, kind, bound, loan } = hold;
  switch (command.type) {
    case "lock_release": {
      const { files } = command;
      const isNamed = files === "all" || files.some(f => f.key === key || f.lexical === lexical);
      return rules >= 2 && actor.command !== undefined && isNamed && same(actor, command.actor);
    }
    case "lock_undelivered":
      return rules >= 2 && actor.command !== undefined && command.keys.includes(key);
    case "lock_revoke":
      return command.files.some(file => file.key === key);
    case "lock_unbind":
      return bound?.epoch === command.bound.epoch && bound.connection === command.bound.connection;
    case "agent_release": {
      const isTurns = kind === "turn" || (loan !== null && actor.command === undefined);
      return isTurns && actor.session === command.session && actor.agent === command.agent;
    }
    case "elapse":
      return !("key" in command.due) || command.due.key === key;
    default:
      return true;
  }
}

function nameOf({ session, agent, incarnation }: Actor, flight: string): string {
  return JSON.stringify([session, agent, incarnation, flight]);
}

function same(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

function keysOf(late: Iterable<{ readonly key: string }>): string {
  return Array.from(late, ({ key }) => key)
    .sort()
    .join();
}
