/**
 * Teammates: members of a team, as their client names them. A teammate is an agent within its lead's session, or a session
 * of its own (`agent` is null), which its lead's session keeps among its `members`.
 *
 * Invariants: a session keeps teammates only of the agents that it has, and of its main agent; a member that is not gone
 * is a live session that says the same of itself; a session keeps at most `limits.teamMembersMax` members.
 */
import { limits } from "../../../../protocol/limits.ts";
import type { Session } from "../../base-state.ts";
import { compareAgain } from "../../declarations/compare.ts";
import { passing } from "../../durability.ts";
import { tellLater } from "../../messages/notices.ts";
import type { Handler, Rules } from "../../rules.ts";
import { hasAgent } from "../../sessions/agents.ts";
import { allAt, deleteAt, replaceAt, setAt } from "../../sessions/side-table.ts";
import type { State } from "../../state.ts";
import type { TeamCommands } from "./commands.ts";
import type { Member, Teammate } from "./table.ts";

/** Whether a `teammate_named` with this would change anything. */
export function needsTeammate(
  state: State,
  session: Session,
  agent: string | null,
  { name, team, lead }: Teammate,
): boolean {
  if (agent !== null && !session.agents.has(agent)) return false;
  const known = state.teammates.get(session.id)?.get(agent);
  if (known?.name !== name || known.team !== team) return true;
  if (agent !== null || lead === undefined) return false;
  const leader = state.sessions.live.get(lead);
  if (leader === undefined || leader === session) return known.lead !== lead;
  return (
    known.lead !== lead ||
    (!isMember(state, lead, name, session.id) && mayJoin(state, lead, name, session.id))
  );
}

/** Records a teammate's own name, its team, and its lead if that is another session. */
const teammateNamed: Handler<"teammate_named", State> = (state, command, _meta, step) => {
  step.reply = { ok: true };
  const { session: id, agent, name, team } = command;
  const session = state.sessions.live.get(id);
  if (session === undefined || !needsTeammate(state, session, agent, command)) return;
  const known = state.teammates.get(id)?.get(agent);
  // A later event may name the team and not the lead.
  const lead = agent === null ? (command.lead ?? (known?.team === team ? known.lead : undefined)) : undefined;
  if (agent === null) leave(state, id, known);
  setAt(state.teammates, id, agent, { name, team, ...(lead === undefined ? {} : { lead }) });
  if (lead !== undefined) join(state, id, name, lead);
  compareAgain(state, { session: id, agent }, step);
};

/** Its lead learns of a member whose session ends. */
function memberGone(state: State, { id }: Session, cause: string): void {
  const own = state.teammates.get(id)?.get(null);
  state.teammates.delete(id);
  state.members.delete(id);
  const lead = own?.lead;
  if (own === undefined || lead === undefined || !isMember(state, lead, own.name, id)) return;
  if (cause !== "anchor_gone" && cause !== "ended") {
    setMember(state, lead, own.name, null);
    return;
  }
  const how = cause === "anchor_gone" ? "died" : "ended";
  setMember(state, lead, own.name, { session: id, gone: { how, at: state.t } });
  tellGone(state, lead, own, how);
}

/** The main agent learns of its teammate that was stopped. */
function teammateStopped(state: State, session: string, agent: string): void {
  const teammate = state.teammates.get(session)?.get(agent);
  if (teammate !== undefined) tellGone(state, session, teammate, "stopped");
}

/** Moves what a session leads, and its place in its own team, to the session as which its process goes on. */
function moveTeam(state: State, from: string, to: string): void {
  const { teammates, members } = state;
  const own = teammates.get(from)?.get(null);
  leave(state, from, own);
  if (own !== undefined) setAt(teammates, to, null, own);
  teammates.delete(from);
  const led = allAt(members, from);
  replaceAt(members, to, led);
  members.delete(from);
  for (const { session: id, gone } of led.values()) {
    const known = teammates.get(id)?.get(null);
    if (gone === undefined && known !== undefined) setAt(teammates, id, null, { ...known, lead: to });
  }
  if (own?.lead !== undefined && own.lead !== from) join(state, to, own.name, own.lead);
}

function tellGone(
  state: State,
  lead: string,
  { name, team }: Teammate,
  how: "died" | "ended" | "stopped",
): void {
  tellLater(state, { session: lead, agent: null }, { what: "teammate_gone", other: name, team, how });
}

function isMember({ members }: State, lead: string, name: string, session: string): boolean {
  const member = members.get(lead)?.get(name);
  return member?.session === session && member.gone === undefined;
}

/** A live member keeps its name: a process with the same words does not take its place, and its end proves no death. */
function mayJoin({ members }: State, lead: string, name: string, session: string): boolean {
  const all = allAt(members, lead);
  const known = all.get(name);
  if (known !== undefined && known.gone === undefined && known.session !== session) return false;
  const isFull = all.size >= limits.teamMembersMax && !all.has(name);
  return !isFull || [...all.values()].some(({ gone }) => gone !== undefined);
}

function join(state: State, session: string, name: string, lead: string): void {
  if (!state.sessions.live.has(lead) || lead === session || !mayJoin(state, lead, name, session)) return;
  setMember(state, lead, name, { session });
}

function leave(state: State, session: string, known: Teammate | undefined): void {
  if (known?.lead !== undefined && isMember(state, known.lead, known.name, session))
    setMember(state, known.lead, known.name, null);
}

/** Replaces a member, or removes it; the one that is gone longest makes room. */
function setMember({ members }: State, lead: string, name: string, member: Member | null): void {
  const all = new Map(members.get(lead));
  all.delete(name);
  const oldest = [...all].find(([, { gone }]) => gone !== undefined);
  if (member !== null && all.size >= limits.teamMembersMax && oldest !== undefined) all.delete(oldest[0]);
  if (member !== null) all.set(name, member);
  replaceAt(members, lead, all);
}

export const teamRules: Rules<TeamCommands, State> = {
  commands: { teammate_named: passing(teammateNamed) },
  points: {
    agentIsStopped: teammateStopped,
    agentEnds: ({ teammates }, session, agent) => deleteAt(teammates, session, agent),
    sessionMoves: moveTeam,
    sessionEnds: memberGone,
  },
};

/** Yields one sentence per teammate that is no agent of its session. */
export function* checkTeammates({ sessions, teammates }: State): Generator<string> {
  for (const [id, all] of teammates)
    for (const agent of all.keys())
      if (!hasAgent(sessions, id, agent)) yield `${agent} is a teammate and no agent of ${id}`;
}

/** Yields one sentence per lead with too many members, and per member that says otherwise. */
export function* checkMembers({ sessions, teammates, members, limits: bounds }: State): Generator<string> {
  for (const [lead, all] of members) {
    if (!sessions.live.has(lead)) yield `session ${lead} leads and is not alive`;
    if (all.size > bounds.teamMembersMax) yield `session ${lead} leads too many`;
    for (const [called, { session: id, gone }] of all) {
      const own = teammates.get(id)?.get(null);
      if (gone === undefined && (own?.name !== called || own.lead !== lead))
        yield `${id} does not say that it is ${called} of session ${lead}`;
    }
  }
}
