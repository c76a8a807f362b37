/** The watch of agents' health with time, the state and all that a look finds in the test's hand. */

import type { LifeQuestion, LifeSigns } from "../../daemon/facts/processes.ts";
import { healthRow } from "../../daemon/lead/columns.ts";
import { type HealthServices, HealthWatch } from "../../daemon/lead/health-watch.ts";
import { type HealthSetting, healthDefaults } from "../../daemon/lead/settings.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { oneLog } from "../one-log.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { World } from "./core-world.ts";

export const min = 60_000;
export const quietLook: LifeSigns = { transcript: null, status: null, childMs: "none", isUnreadable: false };

export class HealthWorld {
  readonly clock = new SimulatedClock(1_000_000);
  readonly core = new World();
  readonly presence = new PresenceTable(this.clock);
  readonly watch: HealthWatch;
  /** What followed, in order: `alarm alice stalled`. */
  readonly told: string[] = [];
  /** Agents that were looked at. */
  readonly looked: string[] = [];
  /** What a look finds. */
  found: (asked: LifeQuestion) => LifeSigns = () => quietLook;

  constructor(setting: Partial<HealthSetting> = {}) {
    const { clock, core, presence } = this;
    const engine = {
      get state() {
        return core.state;
      },
      get now() {
        return clock.now();
      },
    };
    const lifeSigns = async (asked: LifeQuestion) => {
      this.looked.push(nameOf(asked));
      return this.found(asked);
    };
    // The watch reads the logs and nothing else of the engine, and one of the facts.
    const services = {
      engine: oneLog(engine),
      clock,
      presence,
      facts: { lifeSigns },
    } as unknown as HealthServices;
    const say = (what: string) => (whose: Named) => void this.told.push(`${what} ${nameOf(whose)}`);
    this.watch = new HealthWatch(services, () => ({ ...healthDefaults, ...setting }), {
      quiet: say("quiet"),
      alarm: (whose, { state }) => say(`alarm ${state}`)(whose),
      back: say("back"),
      gone: () => {},
      trouble: error => {
        throw error;
      },
    });
  }

  begin(session: string, anchored = true): void {
    this.core.now = this.clock.now();
    this.core.begin(session, anchored ? { anchor: { pid: 7, startTime: "7" } } : {});
  }

  /** An event of the agent; `active` says whether a turn runs. */
  event(session: string, agent: string | null, active?: boolean, failed = false): void {
    this.presence.seen(session, active === true ? agent : null);
    if (active !== undefined) this.presence.turn(session, agent, active, failed);
    this.watch.sign(session, agent);
  }

  /** Lets time pass; looks that begin on the way are answered. */
  async pass(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    while (this.clock.now() < until) {
      this.clock.pass(Math.min(10_000, until - this.clock.now()));
      this.core.now = this.clock.now();
      for (let n = 0; n < 5; n += 1) await Promise.resolve();
    }
  }

  /** The state that rows show, with the minutes since when. */
  row(session: string, agent: string | null = null): string {
    const known = this.core.state.sessions.live.get(session);
    if (known === undefined) return "ended";
    const engine = { state: this.core.state, now: this.clock.now() };
    const source = { engine, presence: this.presence };
    const row = healthRow(source, known, agent);
    if (row === null) return "unknown";
    const on = row.on === undefined ? "" : ` on ${row.on}`;
    return `${row.state}${on} ${Math.floor(row.forMs / min)}`;
  }
}

interface Named {
  readonly session: string;
  readonly agent: string | null;
}

function nameOf({ session, agent }: Named): string {
  return agent === null ? session : `${session}/${agent}`;
}
