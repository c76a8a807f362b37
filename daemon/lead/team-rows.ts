/** Teams as `query` shows them: what their files say, what Kite sees of their members, and what is wrong. */

import { createHash } from "node:crypto";
import type { NativeTask, NativeTeam } from "../../hooks/seam/teams.ts";
import type { TeamMemberRow, TeamRow, TeamTaskRow } from "../../protocol/lead/team.ts";
import { limits } from "../../protocol/limits.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { Member } from "../core/lead/tables/roles.ts";
import { blockersOf, type Members, problemsOf, type Tasks } from "../core/lead/teams.ts";
import { allAt, type Session, sessionsOf } from "../core/tables/sessions.ts";
import type { DaemonServices, Target } from "../requests/handler.ts";
import { byPosition, type Keyed, type PageStart, type RowSource } from "../views/paging.ts";
import { sessionRow } from "../views/sessions.ts";
import { membersOf, panesOf, type Teams, teamLedBy } from "./team-facts.ts";

// One member of a team as `query` shows it.

interface MemberSource extends RowSource {
  readonly teams: Teams;
}

interface Wanted {
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

function memberRow(source: MemberSource, wanted: Wanted): TeamMemberRow {
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

interface TeamSource extends RowSource {
  readonly teams: Teams;
}

/** A team, or a shared list, that live sessions are in. */
interface Found {
  /** What makes it the same team to all who are in it. */
  readonly id: string;
  readonly team: string;
  readonly kind: TeamRow["kind"];
  readonly home: string | null;
  /** null: a shared list. */
  readonly lead: string | null;
  readonly project: string;
  readonly sessions: string[];
  /** Kite saw a teammate, or the list; else only the client's file can tell whether there is a team. */
  readonly isSeen: boolean;
}

/**
 * The teams of a project, or of all (null), by name, and after `from`; `limits.teamsShownMax` at most, those that Kite saw
 * first. Each costs a read of each of its files.
 */
export async function teamRows(
  source: TeamSource,
  project: string | null,
  from: PageStart | null,
): Promise<readonly Keyed<TeamRow>[]> {
  const found = (await foundTeams(source, project)).sort((a, b) => Number(b.isSeen) - Number(a.isSeen));
  const shown = found.slice(0, limits.teamsShownMax).map(one => ({ one, place: 0, key: sortKeyOf(one) }));
  const rows: Keyed<TeamRow>[] = [];
  // One after the other: the limit per device is everybody's.
  for (const { one, place, key } of shown.sort(byPosition)) {
    if (from !== null && key <= from.key) continue;
    const row = await rowOf(source, one);
    if (one.isSeen || row.members.length > 1) rows.push({ place, key, row: () => row });
  }
  return rows;
}

const teams: Target<TeamRow> = {
  open: async (source: TeamSource & DaemonServices, { project = null, from }) => {
    const rows = await teamRows(source, project, from);
    return () => rows;
  },
  ids: row => [row.lead],
};

export const teamTargets = { teams };

/** Its name, and what tells it from others of that name: either may be longer than `after` allows. */
function sortKeyOf({ id, team }: Found): string {
  return `${team.slice(0, limits.idBytes)} ${createHash("sha256").update(id).digest("base64url")}`;
}

/** Looks at many sessions in several turns of the event loop. */
async function foundTeams({ engine, teams }: TeamSource, project: string | null): Promise<Found[]> {
  const { sessions, teammates, members } = engine.state;
  const found = new Map<string, Found>();
  const add = (session: Session, one: Pick<Found, "team" | "kind" | "lead" | "isSeen">) => {
    const home = teams.homeOf(session);
    const id = one.kind === "team" ? `team ${one.lead}` : `list ${home} ${one.team}`;
    const known = found.get(id) ?? { ...one, id, home, project: session.project, sessions: [] };
    known.sessions.push(session.id);
    found.set(id, { ...known, isSeen: known.isSeen || one.isSeen, home: known.home ?? home });
  };
  const all = [...(project === null ? sessions.live.values() : sessionsOf(sessions, project))];
  for (const [i, session] of all.entries()) {
    if (i > 0 && i % limits.teamSessionsPerTurn === 0) await new Promise(resolve => setImmediate(resolve));
    // It has ended meanwhile.
    if (sessions.live.get(session.id) !== session) continue;
    const own = teammates.get(session.id)?.get(null);
    const isLead =
      members.has(session.id) || [...allAt(teammates, session.id).keys()].some(agent => agent !== null);
    const { list } = teams.processOf(session);
    if (own !== undefined) {
      if (own.lead !== undefined)
        add(session, { team: own.team, kind: "team", lead: own.lead, isSeen: true });
    } else if (list !== null && !isLead) add(session, { team: list, kind: "list", lead: null, isSeen: true });
    else if (teams.client !== null) {
      const team = teamLedBy(engine.state, teams.client, session);
      add(session, { team, kind: "team", lead: session.id, isSeen: isLead });
    }
  }
  return [...found.values()];
}

async function rowOf(source: TeamSource, found: Found): Promise<TeamRow> {
  const { teams, engine } = source;
  const { team, kind, home, lead, project } = found;
  const unreadable: string[] =
    home === null ? ["nothing says where the client keeps the files of this team"] : [];
  const listed = kind === "team" ? await read(() => teams.looks?.team(home ?? "", team), unreadable) : null;
  const list = await read(() => teams.looks?.tasks(home ?? "", listName(source, found)), unreadable);
  unreadable.push(...(list?.unreadable ?? []));
  const tasks: Tasks = list?.tasks ?? new Map();
  const leader = lead === null ? undefined : engine.state.sessions.live.get(lead);
  const members =
    lead === null || teams.client === null ? null : membersOf(engine.state, teams.client, listed, lead);
  const unread = members === null ? new Map() : await unreadLetters(source, found, members);
  const problems = problemsOf({
    ...{ tasks, members: listed === null ? null : members, unread, unreadable },
    isLeadGone: lead !== null && leader === undefined,
  });
  return {
    ...{ team, kind, project, lead, leadName: leader?.name ?? null },
    members:
      members === null || lead === null
        ? sessionMembers(source, found)
        : memberRows(source, lead, listed, members, tasks),
    tasks: taskRows(tasks),
    moreTasks: list?.more ?? 0,
    idleNotices: teams.idleNotices(team),
    problems: problems.slice(0, limits.teamProblemsMax),
  };
}

/** The value; null if the file is missing, or could not be read: `unreadable` then says why. */
async function read<T extends object>(
  look: () => Promise<T | null | { readonly unreachable: string }> | undefined,
  unreadable: string[],
): Promise<T | null> {
  const value = (await look()) ?? null;
  if (value === null || !("unreachable" in value)) return value;
  unreadable.push(String(value.unreachable));
  return null;
}

function listName({ engine, teams }: TeamSource, { team, lead }: Found): string {
  const leader = lead === null ? undefined : engine.state.sessions.live.get(lead);
  return (leader === undefined ? null : teams.processOf(leader).list) ?? team;
}

/** Unread letters of readers that are dead, or in no team. */
async function unreadLetters(
  { teams: { looks } }: TeamSource,
  { home, team }: Found,
  members: Members,
): Promise<ReadonlyMap<string, number>> {
  const unread = new Map<string, number>();
  if (home === null || looks === null) return unread;
  for (const name of await looks.readers(home, team)) {
    const state = members.get(name);
    if (state === "live" || state === "unknown") continue;
    const letters = await looks.letters(home, team, name);
    if (letters !== null && !("unreachable" in letters) && letters.length > 0)
      unread.set(name, letters.length);
  }
  return unread;
}

function memberRows(
  source: TeamSource,
  lead: string,
  listed: NativeTeam | null,
  members: Members,
  tasks: Tasks,
): TeamMemberRow[] {
  const backends = new Map(listed?.members.map(({ name, backend }) => [name, backend]));
  const work = workOf(tasks);
  const panes = panesOf(source.engine.state, lead);
  return [...members.keys()].slice(0, limits.teamMembersMax).map(name => {
    const rest = { pane: panes.get(name), backend: backends.get(name), work: work.get(name) ?? null };
    return memberRow(source, { name, lead, ...rest });
  });
}

/** Sessions that share a list: none of them leads. */
function sessionMembers(source: TeamSource, { sessions }: Found): TeamMemberRow[] {
  return sessions.slice(0, limits.teamMembersMax).flatMap(id => {
    const session = source.engine.state.sessions.live.get(id);
    if (session === undefined) return [];
    const row: SessionRow = sessionRow(source, session);
    const state = row.attention !== null ? "needs you" : row.status === "active" ? "active" : "idle";
    return [{ name: row.name, shownAs: row.name, backend: "session", state, does: row.attention } as const];
  });
}

/** The task on which each owner works, in a few words. */
function workOf(tasks: Tasks): ReadonlyMap<string, string> {
  const work = new Map<string, string>();
  for (const { id, subject, owner, status } of tasks.values())
    if (status === "in_progress" && owner !== null) work.set(owner, `task ${id} "${subject}"`);
  return work;
}

/** The descriptions share `limits.teamRowChars`: a row is one line of an answer. */
function taskRows(tasks: Tasks): TeamTaskRow[] {
  let left: number = limits.teamRowChars;
  return [...tasks.values()].map((task: NativeTask) => {
    const { id, subject, status, owner } = task;
    const description = task.description.slice(0, left);
    left -= description.length;
    return {
      task: id,
      subject,
      description,
      status,
      owner,
      waitsFor: blockersOf(task, tasks).map(one => one.id),
    };
  });
}
