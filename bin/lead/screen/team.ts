/** The agents of a project as their lead sees them: one entry for each main agent and each agent within a session. */
import { isLeadRole } from "../../../daemon/core/tables/role-words.ts";
import { defaultRole, rights } from "../../../protocol/lead/roles.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import type { HealthRow, HealthState } from "../../../protocol/lead/team.ts";
import type { Risk } from "../../../protocol/names.ts";
import type { AgentRow, SessionRow } from "../../../protocol/session-rows.ts";

export interface Member {
  readonly id: string;
  readonly agent: string | null;
  /** `alice`, or `alice/Explore` for an agent within a session. */
  readonly name: string;
  /** As people read it; empty: it has the default one and declared none. */
  readonly role: string;
  /** The tasks that its role may claim. */
  readonly takes: readonly Risk[];
  readonly state: HealthState;
  readonly health: HealthRow | null;
  readonly pid: number | null;
  /** What it waits for a person for; null: nothing. */
  readonly attention: string | null;
  readonly locks: number;
  /** What it declared that it works on; empty: nothing. */
  readonly task: string;
  readonly registeredAt: number;
}

/** Whose screen it is; null: a person's. */
export interface Reader {
  readonly id: string;
  readonly agent: string | null;
}

/** What needs a lead comes first. */
const order: readonly HealthState[] = ["stalled", "stopped", "dead", "quiet", "waiting", "working", "idle"];

/** Returns all agents but the reader, those that need the lead first, then by name. */
export function membersOf(sessions: readonly SessionRow[], reader: Reader | null): Member[] {
  const all = sessions.filter(({ status }) => status !== "lost").flatMap(membersIn);
  const others = all.filter(({ id, agent }) => id !== reader?.id || agent !== reader.agent);
  const rank = ({ state }: Member) => order.indexOf(state);
  return others.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

function membersIn(session: SessionRow): Member[] {
  const { id, name, pid, registeredAt, attention, waitingFor, status } = session;
  const main: Member = {
    id,
    agent: null,
    name,
    ...roleOf(session),
    state: session.health?.state ?? plainState(status, waitingFor, attention),
    health: session.health ?? null,
    pid,
    attention,
    locks: session.locks,
    task: session.declared?.task ?? "",
    registeredAt,
  };
  const agents = session.agents.map(one => ({
    id,
    agent: one.agent,
    name: `${name}/${one.name}`,
    ...roleOf(one),
    state: one.health?.state ?? plainState(one.status, one.waitingFor, null),
    health: one.health ?? null,
    pid,
    attention: one.health?.on === "person" ? (one.health.why ?? "") : null,
    locks: one.locks,
    task: one.declared?.task ?? "",
    registeredAt,
  }));
  return [main, ...agents];
}

function roleOf({ role, declared }: Pick<AgentRow, "role" | "declared">): Pick<Member, "role" | "takes"> {
  return { role: role?.role ?? declared?.role ?? "", takes: rights[role?.role ?? defaultRole].takes };
}

/** The state of an agent of which no event came since the daemon started. */
function plainState(
  status: SessionRow["status"],
  waitingFor: string | null,
  attention: string | null,
): HealthState {
  if (waitingFor !== null || attention !== null) return "waiting";
  return status === "active" ? "working" : "idle";
}

/** Whether the reader leads: it was given that role, declared so, or began agents: in its session, in sessions of their own, or by spawning. */
export function isLead(
  sessions: readonly SessionRow[],
  spawns: readonly Pick<SpawnRow, "parent" | "endedAt">[],
  { id, agent }: Reader,
): boolean {
  const session = sessions.find(one => one.id === id);
  const own = agent === null ? session : session?.agents.find(one => one.agent === agent);
  const isNamed = own?.role?.role === "lead" || isLeadRole(own?.declared?.role ?? "");
  const began = agent === null && (session?.agents.length ?? 0) > 0;
  const leads = agent === null && sessions.some(one => one.teammate?.lead === id);
  const spawned = spawns.some(
    ({ parent, endedAt }) => endedAt === null && parent?.id === id && parent.agent === agent,
  );
  return isNamed || began || leads || spawned;
}
