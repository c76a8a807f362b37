/**
 * What `query` shows of sessions but the log does not store: signs of life, turns, agents, open files. It ends with the
 * daemon; after a restart every session gets one full grace.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Clock } from "../engine/clock.ts";

export interface Presence {
  /** Core time of the last sign of life, in ms. */
  seenAt: number;
  active: boolean;
  /** What waits for a person, and for which agent (null: the main one); null if nothing does. */
  attention: { readonly text: string; readonly agent: string | null } | null;
  /** Why the session's repository is unknown; null if it is known. */
  unplaced: string | null;
  /** The prompt that the main agent answers; null if unknown. */
  prompt: string | null;
  readonly agents: Map<string, AgentPresence>;
  /** Files touched, latest last: path by key. */
  readonly files: BoundedMap<string, string>;
}

export interface AgentPresence {
  active: boolean;
  seenAt: number;
  /** The agent that started this one; empty: the main agent; null: not looked up. */
  parent: string | null;
  /** Whether the main agent started it, perhaps through other agents. */
  descends: boolean;
}

export class PresenceTable {
  readonly #clock: Clock;
  readonly #rows = new Map<string, Presence>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the row of a session; a new row counts as seen now. */
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
      files: new BoundedMap({ entriesMax: limits.touchedMax }),
    };
    this.#rows.set(session, row);
    return row;
  }

  /** Notes a sign of life of a session, and of the agent within it if given. */
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

  /** The known agents of the session whose locks this one inherits; null is the main agent. */
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

  /** Notes that the session has the file open; evicts the oldest files. */
  touched(session: string, path: string, key: string): void {
    this.of(session).files.set(key, path);
  }

  /** Other sessions that have the file open. */
  *alsoOpen(session: string, key: string): Generator<string, void> {
    for (const [other, row] of this.#rows) if (other !== session && row.files.has(key)) yield other;
  }

  forget(session: string): void {
    this.#rows.delete(session);
  }

  /** Removes rows of sessions that do not live, left by late events. Costs one comparison if there are none. */
  keepOnly(live: ReadonlyMap<string, unknown>): void {
    if (this.#rows.size <= live.size) return;
    for (const session of this.#rows.keys()) if (!live.has(session)) this.#rows.delete(session);
  }
}
