/** A probe: one kind of request as it is measured, a round at a time. */
import type { Fields, Talk } from "./talk.ts";
import type { World } from "./world.ts";

/** What a round knows; `i` rises from unit to unit, over all rounds. */
export interface Asking {
  readonly talk: Talk;
  readonly world: World;
  readonly i: number;
}

export interface Probe {
  /** What about the request it is, in a few words; empty: nothing special. */
  readonly what: string;
  /** Requests, or groups of them, of one round. */
  readonly count: number;
  /** Asks for the units from `from` on, and resolves when the last one was answered. */
  run(talk: Talk, world: World, from: number): Promise<void>;
  /** Where a request does as much as there is of something: how much that is. */
  readonly units?: (world: World) => number;
}

/** Requests that are sent together; each is answered, or refused with one of `codes`. */
export function each(
  what: string,
  count: number,
  make: (asking: Omit<Asking, "talk">) => Fields,
  codes: readonly string[] = [],
): Probe {
  return {
    what,
    count,
    async run(talk, world, from) {
      await talk.all(
        Array.from({ length: count }, (_, k) => make({ world, i: from + k })),
        codes,
      );
    },
  };
}

/** Groups of requests, one group after the other. */
export function inTurn(what: string, count: number, work: (asking: Asking) => Promise<void>): Probe {
  return {
    what,
    count,
    async run(talk, world, from) {
      for (let k = 0; k < count; k += 1) await work({ talk, world, i: from + k });
    },
  };
}
