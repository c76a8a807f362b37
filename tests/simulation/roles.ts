/**
 * Roles that people give to simulated agents, risks of their tasks and a person's yes; and the rules of these once more,
 * written without the core's own: slow and obvious.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, CommandOf, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import type { Task } from "../../daemon/core/tables/tasks.ts";
import type { Random } from "./random.ts";
import type { TasksBefore } from "./tasks.ts";

const names = ["implementer", "researcher", "tester", "reviewer", "architect"] as const;
const risks = ["green", "yellow", "red", "critical"] as const;
type Risk = (typeof risks)[number];

/** What each role takes, as people wrote it down. */
const takes: Readonly<Record<string, string>> = {
  implementer: "green yellow red",
  researcher: "green",
  tester: "green yellow",
  reviewer: "green",
  architect: "green yellow red critical",
  lead: "green yellow red",
};

/** Roles and leads as they were before an entry. */
export interface RolesBefore {
  /** By session and agent. */
  readonly given: ReadonlyMap<string, string>;
  /** The acting agent's role. */
  readonly role: string;
  /** Live agents that lead, each with its project. */
  readonly leads: readonly { readonly session: string; readonly project: string }[];
}

export class RoleLives {
  readonly #random: Random;

  /** `random` is of its own, so that all else happens as it would without roles. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** What a person, or an agent that may not, asks for now; or null. */
  next(state: State, sessions: readonly string[], actor: Actor): Command | null {
    const random = this.#random;
    if (!random.chance(0.05)) return null;
    const by = random.chance(0.85) ? null : actor;
    const grave = [...state.tasks.all.values()].filter(({ risk }) => risk === "red" || risk === "critical");
    if (random.chance(0.6) && grave.length > 0) {
      const { id: task, project } = random.pick(grave);
      if (random.chance(0.3)) return { type: "task_approve", by, task, wallMs: 0 };
      return { type: "task_claim", actor, task, labels: [], project, cwd: "/p", wallMs: 0 };
    }
    const session = random.pick(sessions);
    const name = random.chance(0.3) ? `${session}/${random.pick(["child", "mate"])}` : session;
    return {
      type: "role_set",
      by,
      name,
      role: random.pick([...names, "architect", "lead", null]),
      project: "/p",
    };
  }

  /** The command, now and then with a risk. */
  rated(command: Command): Command {
    const random = this.#random;
    if (command.type !== "task_create" && command.type !== "task_update") return command;
    if (command.retry !== undefined || random.chance(0.6)) return command;
    const risk = random.pick([...risks, "red", "critical"] as const);
    if (command.type === "task_update") return { ...command, risk };
    return { ...command, tasks: command.tasks.map(task => ({ ...task, risk })) };
  }

  /** Everything that is wrong after an entry. */
  *observe(
    state: State,
    { command }: Entry,
    { reply, events }: Step,
    before: RolesBefore,
    tasks: TasksBefore,
  ): Generator<string, void> {
    yield* gravesOf(state);
    const mayEnd =
      command.type === "agent_end" || events.some(({ event }) => event.event === "session_ended");
    const now = givenIn(state);
    if (command.type === "role_set") yield* wrongGift(command, reply, before.given, now);
    else if (!mayEnd && textOf(now) !== textOf(begunWith(state, command, events, before.given)))
      yield `roles changed by themselves: ${textOf(before.given)} to ${textOf(now)}`;
    for (const [id, task] of tasks) {
      const after = state.tasks.all.get(id);
      if (after !== undefined) yield* wrongRun(state, before, command, task, after);
      if (after !== undefined) yield* wrongYes(command, task, after);
    }
  }
}

/** Roles and leads before an entry. */
export function rolesBefore(state: State, { command }: Entry): RolesBefore {
  const actor = "actor" in command ? command.actor : "by" in command ? command.by : null;
  const isActor = typeof actor === "object" && actor !== null;
  const leads = [...state.roles].flatMap(([session, given]) => {
    const lives = state.sessions.live.get(session);
    const isLead = [...given.values()].some(one => one.role === "lead");
    return lives !== undefined && lives.lostAt === null && isLead
      ? [{ session, project: lives.project }]
      : [];
  });
  const role = isActor ? roleIn(state, actor) : "";
  return { given: givenIn(state), role, leads };
}

/** Whether the actor could claim the ready task by its risk alone; `all` are the tasks before the claim. */
export function couldRun(
  { role, leads }: Pick<RolesBefore, "role" | "leads">,
  actor: Actor,
  { id, project, risk = "green", approved }: Pick<Task, "id" | "project" | "risk" | "approved">,
  all: TasksBefore,
): boolean {
  if (!(takes[role] ?? "").split(" ").includes(risk)) return false;
  if (risk === "green" || risk === "yellow") return true;
  const isAlone = ![...all.values()].some(one => one.id !== id && one.project === project && isGraveRun(one));
  const hasLead = leads.some(one => one.project === project && one.session !== actor.session);
  return isAlone && (approved === true || (risk === "red" && hasLead));
}

function roleIn(state: State, { session, agent }: Pick<Actor, "session" | "agent">): string {
  const given = state.roles.get(session);
  const word = state.declarations.live.get(agent === null ? session : `${session}\n${agent}`)?.role;
  const main = given?.get(null)?.role;
  const own = given?.get(agent)?.role ?? (main === "lead" ? undefined : main);
  return own ?? (word === "tester" ? "tester" : "implementer");
}

function givenIn({ roles }: State): ReadonlyMap<string, string> {
  const all = [...roles].flatMap(([id, given]) =>
    [...given].map(([agent, { role, by }]) => [keyOf({ session: id, agent }), `${role} by ${by}`] as const),
  );
  return new Map(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Of a project's red and critical tasks one runs at most, and a critical one only with a yes. */
function* gravesOf({ tasks }: State): Generator<string, void> {
  const running = [...tasks.all.values()].filter(isGraveRun);
  const projects = running.map(({ project }) => project);
  if (new Set(projects).size < projects.length)
    yield `red and critical tasks run at once: ${running.map(({ id }) => id).join(", ")}`;
  for (const { id, risk, approved } of running)
    if (risk === "critical" && approved !== true) yield `critical ${id} runs, and nobody said yes`;
}

function isGraveRun({ state, risk }: Pick<Task, "state" | "risk">): boolean {
  return state.status === "active" && (risk === "red" || risk === "critical");
}

/** Only a person gives a role, and it is there at once. */
function* wrongGift(
  { by, role }: CommandOf<"role_set">,
  reply: Reply | null,
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): Generator<string, void> {
  if (reply === null || !reply.ok) {
    if (textOf(before) !== textOf(now)) yield "a refused role_set changed a role";
    return;
  }
  if (by !== null) yield `${by.session} gave a role, and is no person`;
  const { id, agent } = reply as Reply & { readonly id?: unknown; readonly agent?: unknown };
  const whose = keyOf({ session: String(id), agent: agent === null ? null : String(agent) });
  const wanted = new Map(before);
  if (role === null) wanted.delete(whose);
  else wanted.set(whose, `${role} by person`);
  const sorted = new Map([...wanted].sort(([a], [b]) => (a < b ? -1 : 1)));
  if (textOf(sorted) !== textOf(now)) yield `${whose} was given ${role}, and the roles are ${textOf(now)}`;
}

/** The roles after the begin of a session: that of a spawned agent has its record's role, unless a person gave another. */
function begunWith(
  { spawns }: State,
  command: Command,
  events: Step["events"],
  before: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (command.type !== "session_begin") return before;
  const isRegistered = events.some(
    ({ event }) => event.event === "spawn_changed" && event.session === command.session,
  );
  if (!isRegistered) return before;
  const spawn = [...spawns.all.values()].find(({ session }) => session === command.session);
  const whose = keyOf({ session: command.session, agent: null });
  if (spawn?.role !== "tester" || before.get(whose)?.endsWith("by person") === true) return before;
  return new Map(
    [...before, [whose, "tester by spawn"] as const].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
}

/** An agent begins a task only within its role, and a red one not without a lead or a yes. */
function* wrongRun(
  state: State,
  before: RolesBefore,
  { type }: Command,
  was: Task,
  now: Task,
): Generator<string, void> {
  const isBegin = type === "session_begin";
  if ((type !== "task_claim" && type !== "task_update" && !isBegin) || now.state.status !== "active") return;
  const { claimer } = now.state;
  const had = was.state.status === "active" ? was.state.claimer : undefined;
  if (claimer === null || (had !== undefined && had !== null)) return;
  const risk: Risk = now.risk ?? "green";
  // A spawned agent claims its task in the step that gives it its role.
  const role = isBegin ? roleIn(state, claimer) : before.role;
  if (!(takes[role] ?? "").split(" ").includes(risk))
    yield `${claimer.session} is ${role} and claimed ${now.id}, which is ${risk}`;
  const hasLead = before.leads.some(one => one.project === now.project && one.session !== claimer.session);
  if (risk === "red" && now.approved !== true && !hasLead)
    yield `${claimer.session} claimed red ${now.id}, and nobody leads`;
}

/** A yes is a person's, and for one run; no agent makes a critical task less. */
function* wrongYes(command: Command, was: Task, now: Task): Generator<string, void> {
  const by = "by" in command ? command.by : "actor" in command ? command.actor : null;
  const isAgent = typeof by === "object" && by !== null;
  if (isAgent && was.approved !== true && now.approved === true) yield `an agent said yes to ${now.id}`;
  if (was.state.status === "active" && now.state.status !== "active" && now.approved === true)
    yield `the yes to ${now.id} outlived its run`;
  if (isAgent && was.risk === "critical" && now.risk !== "critical")
    yield `an agent made critical ${now.id} ${now.risk ?? "green"}`;
}

function keyOf({ session, agent }: Pick<Actor, "session" | "agent">): string {
  return `${session} ${agent ?? ""}`;
}

function textOf(map: ReadonlyMap<string, string>): string {
  return JSON.stringify([...map]);
}
