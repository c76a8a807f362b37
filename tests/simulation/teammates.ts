/** What the agent client says of simulated agents. The core's invariants tell which mismatches there must be. */
import type { CommandOf } from "../../daemon/core/tables/entries.ts";
import type { Random } from "./random.ts";

export class TeammateLives {
  readonly #random: Random;

  /** `random` is of its own, so that all else happens as it would without teammates. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** The next word of a client, or null if it says nothing now. */
  next(sessions: readonly string[]): CommandOf<"teammate_named"> | null {
    const random = this.#random;
    if (!random.chance(0.01)) return null;
    const [session, agent] = [random.pick(sessions), random.pick([null, "child", "mate"])];
    const [name, team] = [random.pick(["tester", "team-lead", "alice"]), random.pick(["red", "blue"])];
    const lead = agent === null && random.chance(0.7) ? { lead: random.pick(sessions) } : {};
    return { type: "teammate_named", session, agent, name, team, ...lead };
  }
}
