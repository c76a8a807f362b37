/**
 * What is worth showing of the sessions but not worth storing: signs of life, turns, agents, files open. Gone with
 * the daemon, by design; after a restart everybody gets one fresh grace.
 */
import { limits } from "../../protocol/limits.ts";
import type { Clock } from "../engine/clock.ts";

export interface Presence {
  /** Clock time of the last sign of life. */
  seenAt: number;
  active: boolean;
  /** What waits on a person, and for which agent (null: the main one); null where nothing does. */
  attention: { readonly text: string; readonly agent: string | null } | null;
  /** Why the repository that it works in is not known; null where it is. */
  unplaced: string | null;
  /** The prompt that its main agent answers; null: not known. */
  prompt: string | null;
  readonly agents: Map<string, AgentPresence>;
  /** Files touched, latest last: by key, as they are spelled. */
  readonly files: Map<string, string>;
}

export interface AgentPresence {
  active: boolean;
  seenAt: number;
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
      unplaced: null,
      prompt: null,
      agents: new Map(),
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
          parent: null,
          descends: false,
        });
      else Object.assign(known, { active: true, seenAt: row.seenAt });
    }
    return row;
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
