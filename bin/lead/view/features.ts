/** What the leading half shows of agents: how they are, their roles, who spawned them, and merges that came back. */

import type { EventLine } from "../../../protocol/events.ts";
import {
  defaultRole,
  type GateMode,
  type Gates,
  gatesFor,
  type Role,
  type RoleSource,
  rights,
} from "../../../protocol/lead/roles.ts";
import type { HealthRow, HealthState, UnreadReturn } from "../../../protocol/lead/team.ts";
import { personName } from "../../../protocol/names.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { shellArgument } from "../../../protocol/text.ts";
import {
  type AgentFeature,
  bound,
  type Cell,
  clean,
  duration,
  type FileName,
  type Screen,
  type Style,
  table,
  wrap,
} from "../../view/text.ts";

// What is said of a merge that came back, as long as nobody who has to know has read so.

/** Returns who has not read it, and what to do. `isSpawned`: Kite can open that agent in this terminal. */
export function unreadText(unread: UnreadReturn, isSpawned: boolean): string {
  if (unread.state === "gone")
    return "nobody is there to read that it came back: have it mended on its branch (kite spawn), and merge it again";
  const name = clean(unread.who.name);
  const not = `${name} has not read that its merge came back`;
  if (unread.state === "woken") return `${not}; Kite has told it`;
  if (unread.state === "active") return `${not}; it works, and reads it with its next step`;
  const where = isSpawned ? `kite agents attach ${clean(shellArgument(unread.who.name))}` : "its terminal";
  return `${not}; it is idle, and goes on only when prompted: type a word to it in ${where}`;
}

// The health of agents as text.

interface StyledText {
  readonly text: string;
  readonly style: Style;
}

/** Returns the state and for how long: `quiet for 6m`, `stopped (SIGSTOP) for 2m`. */
export function healthText({ state, forMs, on, why = "" }: HealthRow): string {
  const what = on === undefined ? "" : ` on ${waited[on]}`;
  const signal = state === "stopped" && why !== "" ? ` (${clean(why)})` : "";
  return `${state}${what}${signal} for ${duration(forMs)}`;
}

const waited = { person: "a person", lock: "a lock", service: "the model's service" } as const;

/** Returns what a list of sessions says of an agent that needs a look; null: its plain status says all. */
export function troubleOf(health: HealthRow | undefined): StyledText | null {
  if (health === undefined) return null;
  const style = styles[health.state];
  return style === undefined ? null : { text: healthText(health), style };
}

const styles: { readonly [S in HealthState]?: Style } = {
  quiet: "yellow",
  stalled: "red",
  stopped: "red",
  dead: "red",
};

/** Returns what to do about an agent, called `name`; empty: nothing. Only an agent of `kite spawn` can be replaced. */
export function healthAdvice(
  health: HealthRow | undefined,
  name: string,
  pid: number | null,
  isSpawned = false,
): string[] {
  if (health?.state === "stalled") {
    const why = health.why === undefined ? [] : [clean(health.why)];
    const named = clean(shellArgument(name));
    return [...why, `kite release ${named}`, ...(isSpawned ? [`kite agents replace ${named}`] : [])];
  }
  return health?.state === "stopped" && pid !== null ? [`kill -CONT ${pid}`] : [];
}

/** Whether others were told of it, or are about to be. */
function needsLook(health: HealthRow | undefined): boolean {
  return health?.state === "stalled" || health?.state === "stopped";
}

// Roles for a terminal.

/** A live agent with its role. */
interface RoleRow {
  readonly id: string;
  readonly agent: string | null;
  readonly name: string;
  readonly role: Role;
  readonly by: RoleSource;
  /** The mode of the gate \`role\` for it: whether it is held to its role. */
  readonly gate: GateMode;
}

/** Returns a row for each agent of the sessions, of a project with these gates. */
export function roleRows(sessions: readonly SessionRow[], gates: Gates): RoleRow[] {
  return sessions.flatMap(session =>
    [{ agent: null, name: session.name, role: session.role }, ...session.agents].map(one => {
      const { role, by } = one.role ?? { role: defaultRole, by: "default" as const };
      return { id: session.id, agent: one.agent, name: one.name, role, by, gate: gatesFor(gates, by).role };
    }),
  );
}

/** Who gave the role, in words. */
export function sourceText(by: RoleSource): string {
  const texts = {
    person: "given by a person",
    spawn: "given as it began",
    declared: "declared",
    default: "by default",
  };
  return texts[by];
}

/** `kite role`: each live agent with its role, and whether it is held to it; below, what each of these roles may not do. */
export function rolesView(rows: readonly RoleRow[], screen: Screen): string[] {
  if (rows.length === 0) return wrap("No agent of this project is alive.", screen.width);
  const cells = rows.map(({ name, role, by, gate }): Cell[] => [
    clean(name),
    { text: role, style: "bold" },
    { text: sourceText(by), style: "dim" },
    isBounded(role) ? heldText[gate] : "",
  ]);
  const held = [...new Set(rows.map(({ role }) => role))];
  const bounds = held.map(role => `${role}: ${boundsText(role)}`);
  const legend = held.some(isBounded) ? [meaning] : [];
  const below = [...bounds, ...legend].flatMap(line => wrap(line, screen.width - 2, 2));
  return [...table(cells, [{ min: 8 }, {}, {}, {}], screen, 2), "", ...below.map(line => `  ${line}`)];
}

/** Returns what agents of this role do not do, and which tasks they take. */
export function boundsText(role: Role): string {
  return [...gated(role), ...unseen(role), claims(role)].join("; ");
}

export const heldText: { readonly [M in GateMode]: string } = {
  enforce: "enforced",
  warn: "warned",
  off: "advice",
};

const meaning =
  "enforced: Kite refuses edits, git writes and new tasks beyond the role; warned: it only warns the agent; advice: neither. Claims beyond a role are always refused. Tests and builds are seen only in lines with git.";

/** What a role means for an agent that has it now: what Kite refuses, and what is left to the agent. */
export function roleLines({ name, role, by, gate }: Omit<RoleRow, "id" | "agent">): string[] {
  const isRefused = gate === "enforce";
  const advice = [
    ...(isRefused || gate === "warn" ? [] : gated(role)),
    ...unseen(role).map(one => (gate === "off" ? one : `${one} (seen only in lines with git)`)),
  ];
  return [
    `${clean(name)} is ${role} (${sourceText(by)})`,
    `enforced: ${[...(isRefused ? gated(role) : []), claims(role)].join("; ")}`,
    ...(gate === "warn" && gated(role).length > 0 ? [`warned: ${gated(role).join("; ")}`] : []),
    ...(advice.length === 0 ? [] : [`advice: ${advice.join("; ")}`]),
  ];
}

/** Returns how to have the role enforced, and how to take it back, each if there is something to do. */
export function roleAdvice({ name, role, by, gate }: Omit<RoleRow, "id" | "agent">): string[] {
  const isGiven = by === "person" || by === "spawn";
  const set = `The gate role is set to ${gate} (kite config). Roles that are given are enforced once it is set to enforce, or to nothing.`;
  const who = bound(shellArgument(clean(name)));
  return [
    ...(isGiven && gate !== "enforce" && isBounded(role) ? [set] : []),
    ...(isGiven ? [`To take it back: ${bound(`kite role ${who} --clear`)}`] : []),
  ];
}

/** Whether the role may do less than all that the gate of roles looks at. */
export function isBounded(role: Role): boolean {
  return gated(role).length + unseen(role).length > 0;
}

/** What agents of this role do not do, as far as the gate of roles sees it wherever it looks. */
function gated(role: Role): string[] {
  const { writes, git, creates } = rights[role];
  const not = [
    writes === "none" ? "no edits" : writes === "tests" ? "edits of tests only" : null,
    { all: null, own: "no git writes but add and commit in its own worktree", none: "no git writes" }[git],
    creates ? null : "no new tasks",
  ];
  return not.filter(one => one !== null);
}

/** What of it the gate sees only in some lines. */
function unseen(role: Role): string[] {
  return rights[role].runs ? [] : ["no tests or builds"];
}

function claims(role: Role): string {
  return `takes ${rights[role].takes.join(", ")}`;
}

export const health: AgentFeature = {
  trouble: agent => troubleOf(agent.health),
  needsPerson: agent => needsLook(agent.health),
  advice: (agent, name, session) =>
    healthAdvice(agent.health, name, session.pid, agent === session && session.spawn !== undefined),
  life: agent => (agent.health === undefined ? null : healthText(agent.health)),
};

/** The agent's role, with who gave it, unless it is the default one. */
export const roles: AgentFeature = {
  leads: agent => agent.role?.role === "lead",
  fields: (_session, agent) => [
    ["role", agent?.role === undefined ? null : `${agent.role.role}, ${sourceText(agent.role.by)}`],
  ],
};

export const spawns: AgentFeature = {
  opens: ({ name, spawn }) =>
    spawn === undefined ? null : `kite agents attach ${shellArgument(clean(name))}`,
  origin: ({ spawn }) => (typeof spawn?.parent === "string" ? [`spawned by ${clean(spawn.parent)}`] : []),
  fields: ({ spawn }) => [["spawned by", spawn === undefined ? null : (spawn.parent ?? personName())]],
};

/** Merges that came back, and that the main agent has not read of. */
export const returns: AgentFeature = {
  isShown: ({ cameBack }) => cameBack !== undefined,
  advice: (agent, _name, session) =>
    agent !== session || session.cameBack === undefined
      ? []
      : [unreadText(session.cameBack.unread, session.spawn !== undefined)],
  fields: (session, agent) => {
    const { cameBack, spawn } = session;
    if (agent !== session || cameBack === undefined) return [];
    const { merge, branch, base, unread } = cameBack;
    const why = unreadText(unread, spawn !== undefined);
    return [["merge", `${branch} was not merged into ${base} (${merge}): ${why}`]];
  },
};

// Events of the leading half as lines for a person.

export const leadEvents: AgentFeature = { sentence };

function sentence(event: EventLine, file: FileName): string | null {
  switch (event.event) {
    case "role_changed":
      return `role      ${clean(event.agent.name)} is ${event.role} (${sourceText(event.by)})`;
    case "check_recorded": {
      const who = event.by === null ? personName() : clean(event.by.name);
      return `${event.exit === 0 ? "green" : "red  "}     ${clean(event.check)} in ${file(event.worktree)}, run by ${who}`;
    }
    case "spawn_changed":
      return `agent     ${clean(event.name)}: ${event.state.replaceAll("_", " ")}`;
    case "merge_changed": {
      const [branch, base] = [event.branch, event.base].map(name =>
        clean(name.replace(/^refs\/heads\//, "")),
      );
      const why = event.reason === null ? "" : `: ${clean(event.reason)}`;
      return `merge     ${branch} into ${base} is ${event.state}${why}`;
    }
    case "merge_elsewhere_changed": {
      const { state, machine, branch, base } = event;
      const is = state === null ? "no longer waits" : `is ${state}`;
      return `merge     ${clean(branch)} into ${clean(base)} on ${clean(machine)} ${is}`;
    }
    case "agent_stalled":
      return `${event.state.padEnd(9)} ${clean(event.agent.name)} for ${duration(event.forMs)}: ${event.todo.map(clean).join(", ")}`;
    case "agent_recovered":
      return `back      ${clean(event.agent.name)} gave a sign of life`;
    case "debate_changed":
      return `debate    ${clean(event.debate)}: ${event.what} by ${event.by === null ? personName() : clean(event.by.name)}`;
    default:
      return null;
  }
}
