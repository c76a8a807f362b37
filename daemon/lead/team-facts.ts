/** The service for a client's own teams: what processes and events say of them, and their files. */

import { setTimeout as after } from "node:timers/promises";
import type {
  ClientProcess,
  ClientTeams,
  NativeLetter,
  NativeTask,
  NativeTeam,
  ProcessWords,
} from "../../hooks/seam/teams.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor, Anchor } from "../core/frame/actors.ts";
import type { Member as MemberMembers } from "../core/lead/tables/roles.ts";
import type { MemberState } from "../core/lead/teams.ts";
import type { State } from "../core/state.ts";
import type { Whose } from "../core/tables/messages.ts";
import { allAt, type Session } from "../core/tables/sessions.ts";
import type { BudgetedFs, Unreachable } from "../facts/filesystem.ts";

// Which agent took which task of a client's list by a call that passed. In memory only: it bridges the moment until the
// client's file says so, and it is all that is known of agents without a name, which only share a list.

export interface Claim extends Whose {
  /** The member for which the agent works, as an agent of its session. */
  readonly member: Member;
  /** Core time in milliseconds; null: a person is asked, or the call was refused, so only the task's file counts. */
  readonly at: number | null;
}

/** Who works on a task: a session's main agent or a teammate within its process, together with its own subagents. */
interface Member {
  /** null: the main agent. */
  readonly agent: string | null;
  /** Its name, and its team; null: it is in none. */
  readonly name: string | null;
  readonly team: string | null;
}

/** A claim with the one before it, which counts again if the answer to the later call is lost. */
interface Taken {
  claim: Claim;
  before: Taken | undefined;
  isLost: boolean;
}

export class Claims {
  readonly #byTask = new BoundedMap<string, Taken>({ entriesMax: limits.teamFactsMax });

  /**
   * Notes that the agent takes the task. The caller tells the returned function whether the client got the answer; if
   * not, the claim is undone.
   */
  take(task: string, claim: Claim): (heard: boolean) => void {
    const taken: Taken = { claim, before: this.#byTask.get(task), isLost: false };
    this.#byTask.set(task, taken);
    return heard => {
      if (heard) {
        taken.before = undefined;
        return;
      }
      taken.isLost = true;
      if (this.#byTask.get(task) !== taken) return;
      let left = taken.before;
      while (left?.isLost) left = left.before;
      if (left === undefined) this.#byTask.delete(task);
      else this.#byTask.set(task, left);
    };
  }

  /** The task is nobody's, or another agent's whose call is not known. */
  drop(task: string): void {
    this.#byTask.delete(task);
  }

  /** A person is asked whether the agent's calls may take the task, or they did not run: only its file tells. */
  doubt(task: string, { session, agent }: Whose): void {
    const tail = `\n${task}`;
    for (const [key, taken] of this.#byTask.entries()) {
      const { claim } = taken;
      const isIts = claim.session === session && claim.agent === agent && key.endsWith(tail);
      if (isIts) taken.claim = { ...claim, at: null };
    }
  }

  /** The claim that counts: of a task in progress, or one that its file cannot show yet. */
  of(task: string, isInProgress: boolean, now: number): Claim | null {
    const claim = this.#byTask.get(task)?.claim;
    if (claim === undefined) return null;
    if (isInProgress) return claim;
    return claim.at !== null && now - claim.at < limits.teamClaimMs ? claim : null;
  }
}

// Reads the files of a client's teams, within the budgets of all facts. It never writes one, and keeps nothing: a file
// may change with each call of the client.

/** null: there is no such file, or none can have this name. */
type Look<T> = T | null | Unreachable;

interface TaskList {
  readonly tasks: ReadonlyMap<string, NativeTask>;
  /** Why a file could not be read, a sentence each. */
  readonly unreadable: readonly string[];
  /** Tasks that were not read. */
  readonly more: number;
}

export class TeamLooks {
  readonly #outside: BudgetedFs;
  readonly #client: ClientTeams;

  constructor(outside: BudgetedFs, client: ClientTeams) {
    this.#outside = outside;
    this.#client = client;
  }

  team(home: string, team: string): Promise<Look<NativeTeam>> {
    return this.#parsed(this.#client.teamFile(home, team), this.#client.team);
  }

  async task(home: string, list: string, task: string): Promise<Look<NativeTask>> {
    const path = this.#client.taskFile(home, list, task);
    const found = await this.#parsed(path, this.#client.task, limits.teamTaskBytes);
    if (found === null || "unreachable" in found || found.id === task) return found;
    return { unreachable: `${path} says that it is another task` };
  }

  letters(home: string, team: string, member: string): Promise<Look<readonly NativeLetter[]>> {
    return this.#parsed(this.#client.inboxFile(home, team, member), this.#client.letters);
  }

  /** The members that have an inbox, whether they exist or not; at most `limits.teamInboxesMax`. */
  async readers(home: string, team: string): Promise<readonly string[]> {
    const folder = this.#client.inboxesFolder(home, team);
    const names = folder === null ? null : await this.#names(folder, limits.teamInboxesMax);
    return Array.isArray(names) ? names.flatMap(name => this.#client.memberOfFile(name) ?? []) : [];
  }

  /** The task, and what it waits for; with `links` also these, and all that any of them waits for through others. */
  async closure(
    home: string,
    list: string,
    first: NativeTask,
    links: readonly string[],
  ): Promise<ReadonlyMap<string, NativeTask> | Unreachable> {
    const tasks = new Map([[first.id, first]]);
    const asked = new Set([first.id, ...first.blockedBy, ...links]);
    for (const id of asked) {
      if (asked.size > limits.teamTasksMax)
        return { unreachable: `task ${first.id} depends on more than ${limits.teamTasksMax} tasks` };
      const task = tasks.get(id) ?? (await this.task(home, list, id));
      if (task === null) continue;
      if ("unreachable" in task) return task;
      tasks.set(id, task);
      // Only a new link can close a cycle.
      if (links.length > 0) for (const other of task.blockedBy) asked.add(other);
    }
    return tasks;
  }

  /** Every task of a list, up to `limits.teamTasksMax`, in the order of their numbers. */
  async tasks(home: string, list: string): Promise<Look<TaskList>> {
    const folder = this.#client.tasksFolder(home, list);
    if (folder === null) return null;
    const names = await this.#names(folder, 2 * limits.teamTasksMax + 1);
    if (names === null || "unreachable" in names) return names;
    const ids = names.flatMap(name => this.#client.taskOfFile(name) ?? []).sort(byNumber);
    const tasks = new Map<string, NativeTask>();
    const unreadable: string[] = [];
    for (const id of ids.slice(0, limits.teamTasksMax)) {
      const task = await this.task(home, list, id);
      if (task === null) continue;
      if ("unreachable" in task) unreadable.push(task.unreachable);
      else tasks.set(id, task);
    }
    return { tasks, unreadable, more: Math.max(0, ids.length - limits.teamTasksMax) };
  }

  #names(folder: string, max: number): Promise<Look<readonly string[]>> {
    return this.#outside.fact(budget =>
      this.#outside.look(folder, null, budget, (prober, path) => prober.names(path, max), elsewhere),
    );
  }

  /**
   * Reads a small file. The client writes some files in place, so a text may be torn for a moment, and no event says when
   * it is whole: it is read again a few times.
   */
  async #parsed<T extends object>(
    path: string | null,
    parse: (text: string) => T | null,
    bytesMax: number = limits.teamFileBytes,
  ): Promise<Look<T>> {
    if (path === null) return null;
    for (let read = 1; ; read += 1) {
      const text = await this.#text(path, bytesMax);
      if (text === null || typeof text !== "string") return text;
      const value = parse(text);
      if (value !== null) return value;
      if (read === limits.teamReadsMax)
        return { unreachable: `${path} does not have the form of such a file; it may be torn` };
      await after(limits.teamReadAgainMs);
    }
  }

  /** null: the file is missing. */
  async #text(path: string, bytesMax: number): Promise<Look<string>> {
    const read = await this.#outside.fact(budget =>
      this.#outside.look(
        path,
        null,
        budget,
        async (prober, p) => ({ text: await prober.readSmall(p, bytesMax) }),
        elsewhere,
      ),
    );
    if (read === null || "unreachable" in read) return read;
    const why = `${path} is no regular file, or longer than ${bytesMax / 1024} KiB`;
    return read.text ?? { unreachable: why };
  }
}

/** The client's folder may be a link to a mount that hangs. */
const elsewhere = { maybeElsewhere: true };

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b) || (a < b ? -1 : 1);
}

const silent: ClientProcess = { teammate: null, list: null, home: null };

const nobody: ReadonlySet<string> = new Set();

interface TeamsOptions {
  readonly outside: BudgetedFs;
  /** Null: the daemon knows no agent client. */
  readonly client: ClientTeams | null;
  readonly words: (pid: number) => ProcessWords | null;
}

export class Teams {
  readonly client: ClientTeams | null;
  readonly looks: TeamLooks | null;
  readonly claims = new Claims();
  readonly #words: TeamsOptions["words"];
  /** By session: the client's folder, as the latest event said. */
  readonly #homes = new BoundedMap<string, string>({ entriesMax: limits.teamFactsMax });
  readonly #processes = new BoundedMap<string, ClientProcess>({ entriesMax: limits.teamFactsMax });
  /** By lead: the names of the members that it begins in its turn, before the client's file lists them. */
  readonly #beginning = new BoundedMap<string, ReadonlySet<string>>({ entriesMax: limits.teamFactsMax });
  readonly #idleNotices = new BoundedMap<string, number>({ entriesMax: limits.teamFactsMax });

  constructor({ outside, client, words }: TeamsOptions) {
    this.client = client;
    this.looks = client === null ? null : new TeamLooks(outside, client);
    this.#words = words;
  }

  /** An event of the session said where its client keeps its files. */
  saw(session: string, home: string): void {
    this.#homes.set(session, home);
  }

  /** The client's folder; null if neither an event nor the process told. */
  homeOf(session: Session): string | null {
    return this.#homes.get(session.id) ?? this.processOf(session).home;
  }

  /** What the session's process says; a process is read once. */
  processOf({ incarnations }: Pick<Session, "incarnations">): ClientProcess {
    const anchor = incarnations.find(one => one.anchor !== null)?.anchor ?? null;
    return anchor === null ? silent : this.processAt(anchor);
  }

  processAt({ pid, startTime }: Anchor): ClientProcess {
    const key = `${pid} ${startTime}`;
    const known = this.#processes.get(key);
    if (known !== undefined) return known;
    const words = this.client === null ? null : this.#words(pid);
    const said = words === null || this.client === null ? silent : this.client.processOf(words);
    this.#processes.set(key, said);
    return said;
  }

  /** The lead's call to begin a member of this name was let through. */
  begins(lead: string, name: string): void {
    this.#beginning.set(lead, new Set([...this.beginning(lead), name].slice(-limits.teamMembersMax)));
  }

  /** That call did not run. */
  beginsNot(lead: string, name: string): void {
    this.#beginning.set(lead, new Set([...this.beginning(lead)].filter(one => one !== name)));
  }

  beginning(lead: string): ReadonlySet<string> {
    return this.#beginning.get(lead) ?? nobody;
  }

  /** The lead's turn has ended, and its calls with it. */
  turnEnded(lead: string): void {
    this.#beginning.delete(lead);
  }

  /** The client told a team's lead that a member is idle. */
  idleNoticed(team: string): void {
    this.#idleNotices.set(team, this.idleNotices(team) + 1);
  }

  idleNotices(team: string): number {
    return this.#idleNotices.get(team) ?? 0;
  }
}

// Who is in a team, and who of them lives: what the client's file lists, and what Kite saw.

/** An actor's place among the teams of its client. */
export interface Place {
  readonly team: string;
  /** The session that leads the team. */
  readonly lead: string;
  /** Its own name in the team; null: it is a subagent. */
  readonly name: string | null;
  /** The member for which it works: itself, or the one whose subagent it is; `agent` as in its session. */
  readonly member: { readonly agent: string | null; readonly name: string };
  /** That member leads the team. */
  readonly isLead: boolean;
  /** It runs within its lead's process. */
  readonly isInProcess: boolean;
}

/** The name of the team that a session leads or could lead: a cleared session keeps its members and their team. */
export function teamLedBy(state: State, client: ClientTeams, { id }: Session): string {
  for (const { session } of allAt(state.members, id).values()) {
    const team = state.teammates.get(session)?.get(null)?.team;
    if (team !== undefined) return team;
  }
  return client.teamOf(id);
}

/**
 * Returns the place; a session that is no teammate leads the team that it has or could have. `called`: see `TeamGate`.
 * `ancestors`: the agents that began this one, as far as they are known.
 */
export function placeOf(
  state: State,
  client: ClientTeams,
  session: Session,
  { agent }: Pick<Actor, "agent">,
  called: string | null,
  ancestors: readonly (string | null)[],
): Place {
  const teammates = allAt(state.teammates, session.id);
  const own = teammates.get(null);
  if (own !== undefined) {
    const { team, lead = session.id, name } = own;
    const member = { agent: null, name };
    return { team, lead, name: agent === null ? name : null, member, isLead: false, isInProcess: false };
  }
  const led = { team: teamLedBy(state, client, session), lead: session.id };
  for (const one of [agent, ...ancestors]) {
    const name = one === null ? null : (teammates.get(one)?.name ?? (one === agent ? called : null));
    if (name === null) continue;
    const isIt = one === agent;
    const member = { agent: one, name };
    return { ...led, name: isIt ? name : null, member, isLead: false, isInProcess: isIt };
  }
  const { leadName } = client;
  const member = { agent: null, name: leadName };
  return { ...led, name: agent === null ? leadName : null, member, isLead: true, isInProcess: false };
}

/** The members with sessions of their own by name: as their lead keeps them, or after its end as they say themselves. */
export function panesOf(
  { sessions, teammates, members }: State,
  lead: string,
): ReadonlyMap<string, MemberMembers> {
  if (sessions.live.has(lead)) return allAt(members, lead);
  const panes = new Map<string, MemberMembers>();
  for (const session of sessions.live.keys()) {
    const own = teammates.get(session)?.get(null);
    if (own?.lead === lead) panes.set(own.name, { session });
  }
  return panes;
}

/** The members by name: those that the file lists, and those that Kite sees live. */
export function membersOf(
  state: State,
  client: ClientTeams,
  team: Pick<NativeTeam, "members"> | null,
  lead: string,
): Map<string, MemberState> {
  const members = new Map<string, MemberState>();
  for (const { name } of team?.members ?? []) members.set(name, "unknown");
  for (const [name, { gone }] of panesOf(state, lead))
    if (gone === undefined || members.has(name)) members.set(name, gone === undefined ? "live" : "dead");
  for (const [agent, { name }] of allAt(state.teammates, lead)) if (agent !== null) members.set(name, "live");
  members.set(client.leadName, state.sessions.live.has(lead) ? "live" : "unknown");
  return members;
}
