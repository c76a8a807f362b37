/** What the daemon knows of an agent's health without looking at anything outside. */

import type { HealthColumn, HealthRow } from "../../../protocol/lead/team.ts";
import {
  type Health,
  type HealthFacts,
  type HealthLimits,
  judge,
  type Wait,
} from "../../core/lead/health.ts";
import type { State } from "../../core/state.ts";
import type { Session } from "../../core/tables/base-state.ts";
import { rowsOfSession } from "../../core/tables/locks.ts";
import { pathOf } from "../../core/tables/naming.ts";
import type { Presence, PresenceTable, Pulse } from "../../sessions/presence.ts";
import { foundOf } from "./last-look.ts";

export interface HealthSource {
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
