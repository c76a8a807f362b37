/** One member of a team as `query` shows it. */

import type { TeamMemberRow } from "../../../protocol/lead/team.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import type { Member } from "../../core/lead/tables/roles.ts";
import { allAt } from "../../core/tables/sessions.ts";
import type { RowSource } from "../../views/row.ts";
import { sessionRow } from "../../views/sessions-and-locks.ts";
import type { Teams } from "./teams.ts";

export interface MemberSource extends RowSource {
  readonly teams: Teams;
}

export interface Wanted {
  readonly name: string;
  /** The id of the session that leads the team. */
  readonly lead: string;
  /** As a session of its own; undefined if it has none. */
  readonly pane: Member | undefined;
  /** As the client's file says; undefined if the file does not list it. */
  readonly backend: Exclude<TeamMemberRow["backend"], "session"> | undefined;
  /** The task on which it works; null if there is none. */
  readonly work: string | null;
}

/** What Kite sees of one agent, whether it is a session or an agent within one. */
interface Seen {
  readonly shownAs: string;
  readonly backend: TeamMemberRow["backend"];
  readonly isActive: boolean;
  readonly waitingFor: string | null;
  readonly attention: string | null;
  readonly declared: string | null;
}

export function memberRow(source: MemberSource, wanted: Wanted): TeamMemberRow {
  const { name, lead, pane, backend, work } = wanted;
  if (pane?.gone !== undefined)
    return { name, shownAs: null, backend: "pane", state: pane.gone.how, does: null };
  const seen = seenAs(source, name, lead, pane);
  if (seen === null) {
    const { engine, teams } = source;
    const hasEnded = name === teams.client?.leadName && engine.state.sessions.ended.has(lead);
    const state = hasEnded ? "ended" : "unknown";
    return { name, shownAs: null, backend: backend ?? "in_process", state, does: null };
  }
  const { shownAs, attention, waitingFor, isActive, declared } = seen;
  const state =
    attention !== null
      ? "needs you"
      : waitingFor !== null
        ? "waits"
        : isActive
          ? "active"
          : ("idle" as const);
  const does = attention ?? (waitingFor === null ? null : `for ${waitingFor}`) ?? work ?? declared;
  return { name, shownAs, backend: backend ?? seen.backend, state, does };
}

function seenAs(source: MemberSource, name: string, lead: string, pane: Member | undefined): Seen | null {
  const { sessions, teammates } = source.engine.state;
  const { live } = sessions;
  const session = pane === undefined ? undefined : live.get(pane.session);
  if (session !== undefined) return mainOf(sessionRow(source, session), "pane");
  const leader = live.get(lead);
  if (leader === undefined) return null;
  const row = sessionRow(source, leader);
  if (name === source.teams.client?.leadName) return mainOf(row, "lead");
  const [agent] = [...allAt(teammates, lead)].flatMap(([id, own]) =>
    id !== null && own.name === name ? [id] : [],
  );
  const found = row.agents.find(one => one.agent === agent);
  if (found === undefined) return null;
  return {
    ...{ shownAs: `${row.name}/${found.name}`, backend: "in_process", isActive: found.status === "active" },
    waitingFor: found.waitingFor,
    attention: source.presence.of(leader.id).dialogs.get(found.agent)?.text ?? null,
    declared: found.declared?.task || null,
  };
}

function mainOf(row: SessionRow, backend: Seen["backend"]): Seen {
  const { name: shownAs, waitingFor, attention, status, declared, task } = row;
  const says = declared?.task || (task?.description ?? null);
  return { shownAs, backend, isActive: status === "active", waitingFor, attention, declared: says };
}
