/** The role of an agent, as a column of its row. */

import type { RoleColumn } from "../../protocol/lead/roles.ts";
import type { SpawnColumn } from "../../protocol/lead/spawn.ts";
import type {
  CameBackColumn,
  HealthColumn,
  HealthRow,
  TeammateColumn,
  UnreadReturn,
} from "../../protocol/lead/team.ts";
import { personOnWire } from "../../protocol/names.ts";
import { type Health, type HealthFacts, type HealthLimits, judge, type Wait } from "../core/lead/health.ts";
import { firstUnread, shortName, unreadBy } from "../core/lead/merges.ts";
import { roleField } from "../core/lead/roles.ts";
import type { Merge } from "../core/lead/tables/merges.ts";
import { spawnAt } from "../core/lead/tables/spawns.ts";
import type { State } from "../core/state.ts";
import type { Session } from "../core/tables/base-state.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import { pathOf } from "../core/tables/naming.ts";
import type { Presence, PresenceTable, Pulse } from "../sessions/presence.ts";
import type { EventLines } from "../trail/line.ts";
import type { RowSource } from "../views/paging.ts";

export function roleColumn({ engine }: RowSource, { id }: Session, agent: string | null): RoleColumn {
  return roleField(engine.state, { session: id, agent });
}

// The record of a spawned agent, as a column of its session's row.

export function spawnColumn({ engine }: RowSource, { id }: Session, agent: string | null): SpawnColumn {
  const own = agent === null ? spawnAt(engine.state.spawns, id) : undefined;
  return own === undefined ? {} : { spawn: { id: own.id, parent: own.parent?.name ?? null } };
}

// The place in a team of a client, as a column of a session's row.

export function teammateColumn(
  { engine: { state } }: RowSource,
  { id }: Session,
  agent: string | null,
): TeammateColumn {
  const own = agent === null ? state.teammates.get(id)?.get(null) : undefined;
  return own === undefined ? {} : { teammate: { name: own.name, team: own.team, lead: own.lead ?? null } };
}

// What the trail says of merges.

export const mergeLines: EventLines = {
  merge_changed: ({ merge, base, branch, state, commit, reason, by }) => {
    const more = [commit?.slice(0, 7), reason].filter(one => one !== null && one !== undefined).join(": ");
    const why = `${merge} ${shortName(branch)} into ${shortName(base)}: ${state}${more === "" ? "" : ` (${more})`}`;
    return [{ by: by ?? { id: null, name: personOnWire }, rule: "merge", type: state, why }];
  },
};

// What the trail says of spawned agents.

export const spawnLines: EventLines = {
  spawn_changed: ({ session, name, spawn, state: type }) => {
    const by = session === null ? null : { id: session, name };
    const why = `spawned agent ${name} (${spawn}): ${type.replaceAll("_", " ")}`;
    return [{ by, rule: "spawn", type, why }];
  },
};

// What looks found of agents' health, beside their presence: a sign of life ends it.

interface Found {
  /** What the last look found. */
  readonly health: Health;
  /** When the agent was found quiet, if it has been quiet since; else null. */
  readonly quietAt: number | null;
}

/** As long as an agent's presence lives. */
const all = new WeakMap<Pulse, Found>();

/** Returns what the last look found, if no sign of life came after. */
export function foundOf(pulse: Pulse): Found | undefined {
  return all.get(pulse);
}

export function noteFound(pulse: Pulse, found: Found): void {
  all.set(pulse, found);
}

/** The agent gave a sign of life. */
export function forgetFound(pulse: Pulse): void {
  all.delete(pulse);
}

// What the daemon knows of an agent's health without looking at anything outside.

interface HealthSource {
  readonly engine: { readonly state: State; readonly now: number };
  readonly presence: PresenceTable;
}

/** Returns what is known of an agent; null if no event of its came. */
export function knownFacts(
  { engine: { state }, presence }: HealthSource,
  session: Session,
  agent: string | null,
): HealthFacts | null {
  const own = presence.pulse(session.id, agent);
  if (own === undefined) return null;
  const row = presence.of(session.id);
  const helpers = helpersOf(row, agent);
  return {
    client: session.incarnations.some(i => i.anchor !== null) ? "runs" : "unknown",
    stoppedAt: row.stoppedAt,
    isInTurn: own.active,
    since: own.since,
    failedAt: own.failedAt,
    waits: dialogOf(row, agent) ?? lockWaitOf(state, session.id, agent),
    signAt: Math.max(own.signAt, helpers?.signAt ?? 0),
    // An agent that began others may wait for them, and they may think, build or ask a person for long.
    tool: helpers === null ? "none" : helpers.areStalled ? "called" : "runs",
    isResting: false,
    quietAt: foundOf(own)?.quietAt ?? null,
  };
}

/** Returns an agent's state as its row shows it; null if it is not known. */
export function healthRow(source: HealthSource, session: Session, agent: string | null): HealthRow | null {
  const facts = session.lostAt === null ? knownFacts(source, session, agent) : null;
  const own = source.presence.pulse(session.id, agent);
  if (facts === null || own === undefined) return null;
  // A client without hooks says nothing of turns.
  if (!own.isReported && facts.stoppedAt === null) return null;
  const { state, since, on, why } = shown(judge(facts, never, source.engine.now), own);
  const forMs = Math.max(0, source.engine.now - since);
  return { state, forMs, ...(on === null ? {} : { on }), ...(why === "" ? {} : { why }) };
}

/** The agent's state as a column of its row. */
export function healthColumn(source: HealthSource, session: Session, agent: string | null): HealthColumn {
  const health = healthRow(source, session, agent);
  return health === null ? {} : { health };
}

/** Only a look finds an agent quiet: no row may call it so before. */
const never: HealthLimits = {
  quietMs: Number.POSITIVE_INFINITY,
  quietToolMs: Number.POSITIVE_INFINITY,
  stalledMs: Number.POSITIVE_INFINITY,
  lookMs: Number.POSITIVE_INFINITY,
};

function shown(plain: Health, own: Pulse): Health {
  const found = plain.state === "working" || plain.state === "idle" ? foundOf(own) : undefined;
  return found?.health ?? plain;
}

function dialogOf({ dialogs }: Presence, agent: string | null): Wait | null {
  const dialog = dialogs.get(agent);
  return dialog === undefined ? null : { on: "person", why: dialog.text, since: dialog.at };
}

function lockWaitOf({ locks }: State, session: string, agent: string | null): Wait | null {
  for (const row of rowsOfSession(locks.actors, session, null)) {
    if (row.actor.agent !== agent || row.attached === 0) continue;
    for (const ticket of row.waits) {
      const waiter = locks.waiters.get(ticket);
      const [file] = waiter?.files ?? [];
      if (waiter !== undefined && waiter.origin !== null && file !== undefined)
        return { on: "lock", why: pathOf(file), since: waiter.since };
    }
  }
  return null;
}

/** The agents that this one began and that are in a turn: the last sign of any, and whether all stalled; null: none. */
function helpersOf({ agents }: Presence, agent: string | null): Helpers | null {
  const own = [...agents.values()].filter(
    ({ active, descends, parent }) => active && (agent === null ? descends : parent === agent),
  );
  if (own.length === 0) return null;
  return {
    signAt: Math.max(...own.map(({ signAt }) => signAt)),
    areStalled: own.every(pulse => foundOf(pulse)?.health.state === "stalled"),
  };
}

interface Helpers {
  readonly signAt: number;
  readonly areStalled: boolean;
}

// Merges that came back and were not read of, as rows show them.

interface Source {
  readonly engine: { readonly state: State };
  readonly presence: PresenceTable;
}

/** Says who has to read that the merge came back and has not; undefined: nobody has to. */
export function unreadReturn({ engine, presence }: Source, merge: Merge): UnreadReturn | undefined {
  const who = unreadBy(engine.state, merge);
  if (who === undefined) return undefined;
  if (who === null) return { state: "gone" };
  if (presence.pulse(who.id, who.agent)?.active === true) return { state: "active", who };
  const isWoken = who.agent === null && presence.rows.get(who.id)?.woken === true;
  return { state: isWoken ? "woken" : "idle", who };
}

/** Returns the merge as a field of a row; no field if it was read of, or there is none. */
export function cameBackField(source: Source, merge: Merge | undefined): CameBackColumn {
  const unread = merge === undefined ? undefined : unreadReturn(source, merge);
  if (merge === undefined || unread === undefined) return {};
  const { id, branch, base } = merge;
  return { cameBack: { merge: id, branch: shortName(branch), base: shortName(base), unread } };
}

/** The first merge that came back to a session's main agent, and that it has not read of. */
export function cameBackColumn(source: Source, { id }: Session, agent: string | null): CameBackColumn {
  return agent === null ? cameBackField(source, firstUnread(source.engine.state, id)) : {};
}
