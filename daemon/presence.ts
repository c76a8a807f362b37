/**
 * What is worth showing of the sessions but not worth storing: signs of life, turns, agents, files open. Gone with
 * the daemon, by design; after a restart everybody gets one fresh grace.
 */
import { limits } from "../protocol/limits.ts";
import type { Clock } from "./clock.ts";
import type { NamedAgent } from "./core/talk-commands.ts";

export interface Presence {
  /** Clock time of the last sign of life. */
  seenAt: number;
  active: boolean;
  /** What waits on a person, and for which agent (null: the main one); null where nothing does. */
  attention: { readonly text: string; readonly agent: string | null } | null;
  readonly agents: Map<string, AgentPresence>;
  /** Agents of each type so far: the next one's number. */
  readonly types: Map<string, number>;
  /** Files touched, latest last: by key, as they are spelled. */
  readonly files: Map<string, string>;
}

export interface AgentPresence {
  active: boolean;
  seenAt: number;
  /** What people call it; null until an event told. */
  name: string | null;
  /** The agent that began it; empty: the main one; null: not looked at. */
  parent: string | null;
  /** The main agent began it, perhaps through others. */
  descends: boolean;
}

export class PresenceTable {
  readonly #clock: Clock;
  readonly #rows = new Map<string, Presence>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The row of a session; one that is not known yet is seen now. */
  of(session: string): Presence {
    const known = this.#rows.get(session);
    if (known !== undefined) return known;
    const seenAt = this.#clock.now();
    const row: Presence = {
      seenAt,
      active: false,
      attention: null,
      agents: new Map(),
      types: new Map(),
      files: new Map(),
    };
    this.#rows.set(session, row);
    return row;
  }

  /** A sign of life, perhaps of an agent within the session. */
  seen(session: string, agent: string | null = null): Presence {
    const row = this.of(session);
    row.seenAt = this.#clock.now();
    if (agent !== null && (row.agents.has(agent) || row.agents.size < limits.agentsPerSessionMax)) {
      const known = row.agents.get(agent);
      if (known === undefined)
        row.agents.set(agent, {
          active: true,
          seenAt: row.seenAt,
          name: null,
          parent: null,
          descends: false,
        });
      else Object.assign(known, { active: true, seenAt: row.seenAt });
    }
    return row;
  }

  /** A teammate's own name, or a type with a number from the second of it on: `Explore`, `Explore-2`. */
  agentName(row: Presence, type: string): string {
    const count = (row.types.get(type) ?? 0) + 1;
    row.types.delete(type);
    row.types.set(type, count);
    for (const oldest of row.types.keys()) {
      if (row.types.size <= limits.agentsPerSessionMax) break;
      row.types.delete(oldest);
    }
    return count === 1 ? type : `${type}-${count}`;
  }

  /** Agents that `to` may mean: by id, by name, or by name behind their session's. */
  agentsCalled(to: string): NamedAgent[] {
    const called: NamedAgent[] = [];
    for (const [session, { agents }] of this.#rows) {
      for (const [agent, { name }] of agents) {
        const isMeant = agent === to || (name !== null && (name === to || to.endsWith(`/${name}`)));
        if (isMeant) called.push({ session, agent, name: name ?? agent.slice(0, 8) });
      }
    }
    return called;
  }

  /** Agents of the session whose holds pass to this one, as far as it is known; null is the main agent. */
  ancestors(session: string, agent: string | null): readonly (string | null)[] {
    const agents = this.#rows.get(session)?.agents;
    const row = agent === null ? undefined : agents?.get(agent);
    const all: (string | null)[] = row?.descends === true ? [null] : [];
    for (let parent = row?.parent; parent && !all.includes(parent); parent = agents?.get(parent)?.parent) {
      all.push(parent);
    }
    return all;
  }

  silentMs(session: string): number {
    return this.#clock.now() - this.of(session).seenAt;
  }

  /** Notes that the session has the file open; the oldest are forgotten. */
  touched(session: string, path: string, key: string): void {
    const { files } = this.of(session);
    files.delete(key);
    files.set(key, path);
    for (const oldest of files.keys()) {
      if (files.size <= limits.touchedMax) break;
      files.delete(oldest);
    }
  }

  /** Other sessions that have the file open. */
  *alsoOpen(session: string, key: string): Generator<string, void> {
    for (const [other, row] of this.#rows) if (other !== session && row.files.has(key)) yield other;
  }

  forget(session: string): void {
    this.#rows.delete(session);
  }

  /** Forgets who does not live: late events, and requests of nobody, leave rows too. Costs a comparison where none did. */
  keepOnly(live: ReadonlyMap<string, unknown>): void {
    if (this.#rows.size <= live.size) return;
    for (const session of this.#rows.keys()) if (!live.has(session)) this.#rows.delete(session);
  }
}
