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
import type { Handler, Rules } from "../../handler.ts";
import { tellLater } from "../../messages/notices.ts";
import type { Member, Teammate } from "../../sessions/table.ts";
import type { State } from "../../state.ts";
import type { TeamCommands } from "./commands.ts";

/** Whether a `teammate_named` with this would change anything. */
export function needsTeammate(
  { sessions }: State,
  session: Session,
  agent: string | null,
  { name, team, lead }: Teammate,
): boolean {
  if (agent !== null && !session.agents.has(agent)) return false;
  const known = session.teammates.get(agent);
  if (known?.name !== name || known.team !== team) return true;
  if (agent !== null || lead === undefined) return false;
  const leader = sessions.live.get(lead);
  if (leader === undefined || leader === session) return known.lead !== lead;
  return known.lead !== lead || (!isMember(leader, name, session.id) && mayJoin(leader, name, session.id));
}

/** Records a teammate's own name, its team, and its lead if that is another session. */
export const teammateNamed: Handler<"teammate_named", State> = (state, command, _meta, step) => {
  step.reply = { ok: true };
  const { session: id, agent, name, team } = command;
  const session = state.sessions.live.get(id);
  if (session === undefined || !needsTeammate(state, session, agent, command)) return;
  const known = session.teammates.get(agent);
  // A later event may name the team and not the lead.
  const lead = agent === null ? (command.lead ?? (known?.team === team ? known.lead : undefined)) : undefined;
  if (agent === null) leave(state, session, known);
  state.preimages
    .writable(session)
    .teammates.set(agent, { name, team, ...(lead === undefined ? {} : { lead }) });
  if (lead !== undefined) join(state, session, name, lead);
  compareAgain(state, { session: id, agent }, step);
};

/** Its lead learns of a member whose session ends, unless it goes on under another id. */
function memberGone(state: State, session: Session, cause: string): void {
  const teammate = session.teammates.get(null);
  const lead = teammate?.lead === undefined ? undefined : state.sessions.live.get(teammate.lead);
  if (teammate === undefined || lead === undefined || !isMember(lead, teammate.name, session.id)) return;
  if (cause === "continued" || !(cause === "anchor_gone" || cause === "ended")) {
    setMember(state, lead, teammate.name, null);
    return;
  }
  const how = cause === "anchor_gone" ? "died" : "ended";
  setMember(state, lead, teammate.name, { session: session.id, gone: { how, at: state.t } });
  tellGone(state, lead.id, teammate, how);
}

/** The main agent learns of its teammate that was stopped. */
function teammateStopped(state: State, session: string, agent: string): void {
  const teammate = state.sessions.live.get(session)?.teammates.get(agent);
  if (teammate !== undefined) tellGone(state, session, teammate, "stopped");
}

/** Moves what a session leads, and its place in its own team, to the session as which its process goes on. */
function moveTeam(state: State, before: Session, after: Session): void {
  const own = before.teammates.get(null);
  const writable = state.preimages.writable(after);
  if (own !== undefined) writable.teammates.set(null, own);
  writable.members = new Map(before.members);
  for (const { session: id, gone } of before.members.values()) {
    const member = state.sessions.live.get(id);
    const known = member?.teammates.get(null);
    if (gone === undefined && member !== undefined && known !== undefined)
      state.preimages.writable(member).teammates.set(null, { ...known, lead: after.id });
  }
  if (own?.lead !== undefined) join(state, after, own.name, own.lead);
}

function tellGone(
  state: State,
  lead: string,
  { name, team }: Teammate,
  how: "died" | "ended" | "stopped",
): void {
  tellLater(state, { session: lead, agent: null }, { what: "teammate_gone", other: name, team, how });
}

function isMember({ members }: Session, name: string, session: string): boolean {
  const member = members.get(name);
  return member?.session === session && member.gone === undefined;
}

/** A live member keeps its name: a process with the same words does not take its place, and its end proves no death. */
function mayJoin(leader: Session, name: string, session: string): boolean {
  const known = leader.members.get(name);
  const isTaken = known !== undefined && known.gone === undefined && known.session !== session;
  return !isTaken && hasRoom(leader, name);
}

function hasRoom({ members }: Session, name: string): boolean {
  const isFull = members.size >= limits.teamMembersMax && !members.has(name);
  return !isFull || [...members.values()].some(({ gone }) => gone !== undefined);
}

function join(state: State, session: Session, name: string, lead: string): void {
  const leader = state.sessions.live.get(lead);
  if (leader === undefined || leader === session || !mayJoin(leader, name, session.id)) return;
  setMember(state, leader, name, { session: session.id });
}

function leave(state: State, session: Session, known: Teammate | undefined): void {
  const leader = known?.lead === undefined ? undefined : state.sessions.live.get(known.lead);
  if (leader === undefined || known === undefined || !isMember(leader, known.name, session.id)) return;
  setMember(state, leader, known.name, null);
}

/** Replaces a member, or removes it; the one that is gone longest makes room. */
function setMember(state: State, leader: Session, name: string, member: Member | null): void {
  const members = new Map(leader.members);
  members.delete(name);
  const oldest = [...members].find(([, { gone }]) => gone !== undefined);
  if (member !== null && members.size >= limits.teamMembersMax && oldest !== undefined)
    members.delete(oldest[0]);
  if (member !== null) members.set(name, member);
  state.preimages.writable(leader).members = members;
}

export const teamRules: Rules<TeamCommands, State> = {
  commands: { teammate_named: passing(teammateNamed) },
  points: { sessionMoved: moveTeam, sessionEnds: memberGone, agentIsStopped: teammateStopped },
};
