/** The action that asks the rules of a client's own teams before a call. What Kite cannot find out holds nobody back. */

import { setTimeout as after } from "node:timers/promises";
import type { TeammateNote } from "../../hooks/lead/seam.ts";
import type { Verdict } from "../../hooks/seam/outcomes.ts";
import type { FileNote, HookOutcome } from "../../hooks/seam/slices.ts";
import type { ClientTeams, NativeTask, TaskChange } from "../../hooks/seam/teams.ts";
import type { TeamFinding, TeamMode } from "../../protocol/lead/team.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/frame/actors.ts";
import {
  bareName,
  beforeMove,
  beforeTaskChange,
  blockersOf,
  briefOf,
  type Caller,
  deadLetter,
  type Members,
  needsTeammate,
  nextOwner,
  type Worker,
} from "../core/lead/teams.ts";
import type { Session } from "../core/tables/sessions.ts";
import { type ActionHandler, type ActionOf, ancestorsOf, type HookEvent } from "../hooks/event.ts";
import type { Kept } from "../hooks/parts.ts";
import type { HookPart } from "../hooks/points.ts";
import { stops } from "../hooks/verdict.ts";
import type { Services } from "../options.ts";
import { decidedBy } from "../trail/decisions.ts";
import type { LeadParts } from "./services.ts";
import { type Claim, membersOf, type Place, placeOf, type TeamLooks, type Teams } from "./team-facts.ts";

/** What the rules said; `unread`: why a part of the facts is not known, in a sentence. */
interface Found {
  readonly findings: readonly TeamFinding[];
  readonly unread: string | null;
  /** Hears whether the client got the answer, and undoes the call's claim if not; null: it made none. */
  readonly settle: ((isDelivered: boolean) => void) | null;
}

const nothing: Found = { findings: [], unread: null, settle: null };

export async function gateTeam(
  event: HookEvent,
  action: ActionOf<"gate_team">,
  { teams, config }: LeadParts,
): Promise<HookOutcome | null> {
  const actor = event.actor(action);
  const session = event.engine.state.sessions.live.get(action.session);
  const { client, looks } = teams;
  if (session === undefined || client === null || looks === null) return outcome("allow", []);
  const { teams: mode } = await config.rules.at(session);
  if (mode === "off") return outcome("allow", []);
  const ancestors = await ancestorsOf(event, action);
  const source = { session, actor, client, looks, mode, called: action.name, ancestors };
  const gate = new TeamGate(event, teams, source);
  const { findings, unread, settle } = await gate.look(action.call);
  const verdict = teamVerdict(mode, findings);
  noteDecision(event, actor, verdict, findings, unread);
  if (settle !== null) event.delivery.whenSettled(settle);
  return outcome(verdict, findings, gate.isTeammate);
}

/** What the daemon took from a call is not so yet: of a task its file tells alone. */
function teamCallOpen(
  _: HookEvent,
  action: ActionOf<"team_call_open">,
  { teams }: LeadParts,
): HookOutcome | null {
  const { session, agent = null, call, isAsked } = action;
  if (call.what === "task_update") teams.claims.doubt(call.task, { session, agent });
  if (call.what === "begin" && !isAsked) teams.beginsNot(session, call.name);
  return { did: "team_call_open", ok: true };
}

/** Whether a call of the client's own tools runs, of which a team's rules found something. */
export function teamVerdict(mode: TeamMode, findings: readonly TeamFinding[]): Verdict {
  if (mode === "off" || findings.length === 0) return "allow";
  return mode === "enforce" ? "deny" : "allow_with_note";
}

function outcome(
  verdict: "allow" | "allow_with_note" | "deny",
  findings: readonly TeamFinding[],
  isTeammate = false,
): HookOutcome {
  return { did: "gate_team", ok: true, verdict, findings, isTeammate };
}

function noteDecision(
  event: HookEvent,
  actor: Actor,
  verdict: "allow" | "allow_with_note" | "deny",
  findings: readonly TeamFinding[],
  unread: string | null,
): void {
  const { plan, recorder } = event;
  const by = { ...decidedBy(event, actor), event: plan.event, type: plan.tool, file: null };
  if (unread !== null)
    recorder.note({ ...by, decision: "note", rule: "team", why: `passed unchecked: ${unread}` });
  if (verdict === "allow") return;
  const decision = verdict === "deny" ? "deny" : "note";
  const why = findings.map(whyOf).join("; ");
  recorder.note({ ...by, decision, rule: findings.map(({ rule }) => rule).join(","), why });
}

/** The trail names tasks and members, and keeps no text that an agent wrote. */
function whyOf(finding: TeamFinding): string {
  switch (finding.rule) {
    case "blocked_claim":
      return `task ${finding.task.task} waits for ${finding.blockers.map(({ task }) => task).join(", ")}`;
    case "foreign_task":
      return `${finding.worker ?? "another session"} works on task ${finding.task.task}`;
    case "unknown_owner":
      return `${finding.owner} ${finding.isDead ? "has ended" : "is no member"}`;
    case "dependency_cycle":
      return `tasks ${finding.tasks.join(", ")} would wait for one another`;
    case "dead_letter":
      return `${finding.to} has ended`;
    case "moved_worktree":
      return `${finding.tool} would move the whole session`;
  }
}

interface CallSource {
  readonly session: Session;
  readonly actor: Actor;
  readonly client: ClientTeams;
  readonly looks: TeamLooks;
  readonly mode: TeamMode;
  /** The agent's own name, as its event says: the session's table may not have it yet. */
  readonly called: string | null;
  readonly ancestors: readonly (string | null)[];
}

/** Gathers the facts for one call. */
class TeamGate {
  readonly #event: HookEvent;
  readonly #teams: Teams;
  readonly #asked: CallSource;
  readonly #place: Place;
  readonly #home: string | null;

  constructor(event: HookEvent, teams: Teams, source: CallSource) {
    this.#event = event;
    this.#teams = teams;
    this.#asked = source;
    const { client, session, actor, called, ancestors } = source;
    this.#place = placeOf(event.engine.state, client, session, actor, called, ancestors);
    this.#home = teams.homeOf(source.session);
  }

  /** Whether the caller is a teammate, or works for one. */
  get isTeammate(): boolean {
    return !this.#place.isLead;
  }

  async look(call: ActionOf<"gate_team">["call"]): Promise<Found> {
    if (call.what === "move") return { ...nothing, findings: beforeMove(call.tool, this.#place.isInProcess) };
    if (call.what === "begin") return this.#begin(call.name);
    if (this.#home === null)
      return { ...nothing, unread: "neither an event nor the process says where the client keeps its files" };
    return call.what === "message" ? this.#message(this.#home, call.to) : this.#change(this.#home, call);
  }

  /** Only a lead begins members; anybody else's call begins a subagent. */
  #begin(name: string): Found {
    const { isLead, lead } = this.#place;
    if (isLead && this.#asked.actor.agent === null) this.#teams.begins(lead, name);
    return nothing;
  }

  async #message(home: string, to: string): Promise<Found> {
    const { client, looks } = this.#asked;
    const { team, lead } = this.#place;
    const { engine } = this.#event;
    // Nobody is proven dead: the file need not be read.
    const member = engine.state.members.get(lead)?.get(bareName(to));
    if (member?.gone === undefined) return nothing;
    const listed = await looks.team(home, team);
    if (listed === null) return nothing;
    if ("unreachable" in listed) return { ...nothing, unread: listed.unreachable };
    const names = new Set(listed.members.map(({ name }) => name));
    return { ...nothing, findings: deadLetter(to, names, membersOf(engine.state, client, listed, lead)) };
  }

  async #change(home: string, change: TaskChange): Promise<Found> {
    const { looks } = this.#asked;
    const where = await this.#taskOf(home, change.task);
    if ("findings" in where) return where;
    const { list, task } = where;
    const links = [...change.addBlockedBy, ...change.addBlocks];
    const [tasks, { members, unread }] = await Promise.all([
      looks.closure(home, list, task, links),
      this.#members(home, change),
    ]);
    if ("unreachable" in tasks) return { ...nothing, unread: tasks.unreachable };
    const key = (id: string) => `${home}\n${list}\n${id}`;
    const { name, member, isLead } = this.#place;
    const caller: Caller = this.#isAlone()
      ? { name: null, member: null, isLead: false }
      : { name, member: member.name, isLead };
    const facts = { change, caller, task, tasks, members, worker: this.#worker(key(task.id), task) };
    const found = beforeTaskChange(facts);
    // At once, before anything is awaited: of two that ask at the same time, the second finds the claim of the first.
    const runs = !stops(this.#event, teamVerdict(this.#asked.mode, found));
    const settle = runs ? this.#claim(key(task.id), change, caller, nextOwner(facts)) : null;
    return { findings: await this.#withReady(home, list, key, found), unread, settle };
  }

  /** The task, in the list that the process names, else that of the team, else that of the session. */
  async #taskOf(
    home: string,
    task: string,
  ): Promise<{ readonly list: string; readonly task: NativeTask } | Found> {
    const { session, looks } = this.#asked;
    const named = this.#teams.processOf(session).list;
    const lists = named === null ? [this.#place.team, session.id] : [named];
    for (const list of lists) {
      const found = await looks.task(home, list, task);
      if (found === null) continue;
      return "unreachable" in found ? { ...nothing, unread: found.unreachable } : { list, task: found };
    }
    return { ...nothing, unread: `no file of task ${task} in the lists ${lists.join(", ")}` };
  }

  /** The members, if the change needs them: it gives the task away, takes it, or ends it. */
  async #members(
    home: string,
    { owner, status }: TaskChange,
  ): Promise<{ readonly members: Members | null; readonly unread: string | null }> {
    const isNeeded = owner !== null || (status !== null && status !== "pending");
    if (!isNeeded || this.#isAlone()) return { members: null, unread: null };
    const { client, looks } = this.#asked;
    const { team, lead } = this.#place;
    const listed = await looks.team(home, team);
    if (listed === null) return { members: null, unread: null };
    if ("unreachable" in listed) return { members: null, unread: listed.unreachable };
    const { engine } = this.#event;
    const members = membersOf(engine.state, client, listed, lead);
    if (owner !== null && owner !== "" && !members.has(bareName(owner))) await this.#begins(bareName(owner));
    for (const name of this.#teams.beginning(lead)) if (!members.has(name)) members.set(name, "unknown");
    return { members, unread: null };
  }

  /** The client runs the hooks of one message side by side: the lead's call to begin a member may be heard a little later. */
  async #begins(name: string): Promise<void> {
    const { isLead, lead } = this.#place;
    for (let look = 1; isLead && look < limits.teamReadsMax; look += 1) {
      if (this.#teams.beginning(lead).has(name)) return;
      await after(limits.teamReadAgainMs);
    }
  }

  /** The agent at work that Kite saw take the task. */
  #worker(key: string, { status }: NativeTask): Worker | null {
    const { engine } = this.#event;
    const claim = this.#teams.claims.of(key, status === "in_progress", engine.now);
    if (claim === null || !this.#isAtWork(claim)) return null;
    const { team, member } = this.#place;
    const isCaller = claim.session === this.#asked.actor.session && claim.member.agent === member.agent;
    return { name: claim.member.team === team ? claim.member.name : null, isCaller };
  }

  /** A subagent that has stopped works no more. A member does until it ends: each of its turns ends with a stop. */
  #isAtWork({ session: id, agent, member }: Claim): boolean {
    const { engine, presence } = this.#event;
    const session = engine.state.sessions.live.get(id);
    if (session === undefined || agent === null) return session !== undefined;
    return agent === member.agent ? session.agents.has(agent) : presence.pulse(id, agent)?.active === true;
  }

  /** Remembers who takes the task until its file says so. */
  #claim(
    key: string,
    { status, owner }: TaskChange,
    { name, member }: Caller,
    next: string | null,
  ): ((isDelivered: boolean) => void) | null {
    const { engine } = this.#event;
    const { session, agent } = this.#asked.actor;
    const isOwn = next === name || next === member || this.#isAlone();
    const team = member === null ? null : this.#place.team;
    const works = { agent: this.#place.member.agent, name: member, team };
    if (status === "in_progress" && isOwn)
      return this.#teams.claims.take(key, { session, agent, member: works, at: engine.now });
    if (status !== null || owner !== null) this.#teams.claims.drop(key);
    return null;
  }

  /** Whether the session is in no team, and only shares a list that its process names: then it has no name there. */
  #isAlone(): boolean {
    const { session } = this.#asked;
    const { engine } = this.#event;
    const isNamed = this.#teams.processOf(session).list !== null;
    const { members, teammates } = engine.state;
    return isNamed && this.#place.isLead && !members.has(session.id) && !teammates.has(session.id);
  }

  /** The findings, with tasks that the agent could take instead. */
  async #withReady(
    home: string,
    list: string,
    key: (task: string) => string,
    found: readonly TeamFinding[],
  ): Promise<readonly TeamFinding[]> {
    const takes = (one: TeamFinding) => "ready" in one && !("ends" in one && one.ends !== null);
    if (!found.some(takes)) return found;
    const all = await this.#asked.looks.tasks(home, list);
    if (all === null || "unreachable" in all) return found;
    const isReady = (task: NativeTask) =>
      task.status === "pending" &&
      task.owner === null &&
      blockersOf(task, all.tasks).length === 0 &&
      // Its file does not show yet who just took it.
      this.#worker(key(task.id), task) === null;
    const ready = [...all.tasks.values()].filter(isReady).slice(0, limits.teamNamedMax).map(briefOf);
    return found.map(one => (takes(one) ? { ...one, ready } : one));
  }
}

// Which tasks of the client's own list a teammate leaves behind, looked up when its lead is told.

/** The notes of `session`, with the open tasks of teammates that are gone. */
async function withOrphans(
  services: Services,
  teams: Teams,
  session: string,
  notes: readonly FileNote[],
): Promise<readonly FileNote[]> {
  const all = await Promise.all(
    notes.map(async note => {
      if (note.what !== "teammate_gone") return [note];
      const tasks = await orphansOf(services, teams, session, note);
      const isNews = note.how === "died" || tasks === null || tasks.length > 0;
      // An end that was agreed on, and left nothing behind, needs no word.
      return isNews ? [tasks === null ? note : { ...note, tasks }] : [];
    }),
  );
  return all.flat();
}

/** null: they could not be read. */
async function orphansOf(
  { engine }: Services,
  teams: Teams,
  id: string,
  { other, team }: TeammateNote,
): Promise<NonNullable<TeammateNote["tasks"]> | null> {
  const session = engine.state.sessions.live.get(id);
  const home = session === undefined ? null : teams.homeOf(session);
  if (session === undefined || home === null || teams.looks === null) return null;
  const list = teams.processOf(session).list ?? team;
  const found = await teams.looks.tasks(home, list);
  if (found === null || "unreachable" in found || found.unreadable.length > 0) return null;
  const isTheirs = (owner: string | null) => owner !== null && bareName(owner) === other;
  return [...found.tasks.values()]
    .filter(({ owner, status }) => status !== "completed" && isTheirs(owner))
    .slice(0, limits.teamNamedMax + 1)
    .map(({ id: task, subject }) => ({ task, subject }));
}

// What events, and the words of a session's process, say of a client's own teams.

type TeamActions = { readonly [D in "gate_team" | "team_call_open"]: ActionHandler<D> };

export const teamActions: TeamActions = { gate_team: gateTeam, team_call_open: teamCallOpen };

export function teamPart(services: Services, { teams }: Kept<LeadParts>): HookPart {
  const { engine, facts } = services;
  return {
    homeTold: (session, home) => teams.saw(session, home),
    introduction: (session, pid) => {
      const anchor = facts.anchor(pid);
      const teammate = anchor === null ? null : teams.processAt(anchor).teammate;
      if (teammate === null) return null;
      return {
        name: teammate.name,
        command: { type: "teammate_named", session, agent: null, ...teammate },
      };
    },
    teammate: ({ whose, active, teammate }) => {
      const { session, agent } = whose;
      const live = engine.state.sessions.live.get(session);
      if (live === undefined) return;
      // The daemon may not have applied the agent's beginning yet; the core decides then.
      const isNew = active === true && agent !== null && !live.agents.has(agent);
      if (isNew || needsTeammate(engine.state, live, agent, teammate))
        engine.submitWithRetry({ type: "teammate_named", session, agent, ...teammate });
    },
    leadOf: ({ session, agent }) => {
      const own = engine.state.teammates.get(session)?.get(agent);
      return own === undefined ? null : { session: own.lead ?? session, agent: null };
    },
    turnOver: session => teams.turnEnded(session),
    teamIdle: team => teams.idleNoticed(team),
    completed: (session, notes) => withOrphans(services, teams, session, notes),
  };
}
