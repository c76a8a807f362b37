/** The note of a session's or an agent's row: what it waits for, does, works on and holds. */

import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { DeclaredBrief, DoingRow, WorkedOn } from "../../protocol/schemas/session.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { features } from "./features.ts";
import type { Places } from "./places.ts";
import {
  bound,
  clean,
  counted,
  cut,
  duration,
  type OneAgent,
  paint,
  type Screen,
  table,
  widthOf,
} from "./text.ts";

/** Columns of a task's description, and of a role. */
const taskColumns = 48;
const roleColumns = 24;
/** Columns of the file that an agent writes, and from when on an age is shown, in milliseconds. */
const fileColumns = 40;
const fileColumnsMin = 9;
/** Columns of a title. */
const titleColumns = 48;
const titleColumnsMin = 12;
const pastShownMs = 10_000;

/** What a note needs besides the agent that it is about. */
export interface NoteContext {
  readonly locks: readonly LockRow[];
  readonly places: Places;
  /** Tasks that the view names elsewhere, by their descriptions. */
  readonly tasks: ReadonlySet<string>;
  /** What sessions are about, by their ids; only a person's screen has any. */
  readonly titles: ReadonlyMap<string, string>;
}

/** Returns the note of a session's row for a line of `room` columns: a path in it is cut in its middle. */
export function noteOf(s: SessionRow, context: NoteContext, room: number): string {
  const parts: string[] = [];
  if (s.client !== undefined) parts.push(clean(s.client));
  if (s.attention !== null) parts.push(clean(s.attention));
  parts.push(...adviceOn(s, s.name, s));
  parts.push(...waitNote({ id: s.id, agent: null }, s.waitingFor, context, room));
  parts.push(...aboutNote(s, context, room));
  if (s.waitingFor === null) parts.push(...doingNote(s, context.places, room));
  parts.push(...workNote(s.declared, s.task, context), ...heldNote(s.locks));
  parts.push(...features.flatMap(feature => feature.origin?.(s) ?? []));
  if (s.container === true) parts.push("in a container");
  if (s.incarnations > 1) parts.push(`open in ${s.incarnations} terminals`);
  return parts.join(", ");
}

/** Returns the note of the row of an agent within a session, as `noteOf` does; people call the agent `name`. */
export function agentNoteOf(
  agent: AgentRow,
  name: string,
  s: SessionRow,
  context: NoteContext,
  room: number,
): string {
  const parts = [
    ...adviceOn(agent, name, s),
    ...waitNote({ id: s.id, agent: agent.agent }, agent.waitingFor, context, room),
    ...(agent.waitingFor === null ? doingNote(agent, context.places, room) : []),
    ...workNote(agent.declared, null, context),
    ...heldNote(agent.locks),
  ];
  return parts.join(", ");
}

/** The title in quotes: it may say anything. It leaves room for what the session does. */
function aboutNote({ id, name }: SessionRow, { titles }: NoteContext, room: number): string[] {
  const title = clean(titles.get(id) ?? "").replaceAll('"', "'");
  if (title === "" || sameWords(title, name)) return [];
  return [bound(`"${cut(title, Math.max(titleColumnsMin, Math.min(titleColumns, Math.floor(room / 2))))}"`)];
}

/** Whether the session is called by its title, as it is if a person gave it. */
function sameWords(title: string, name: string): boolean {
  return (
    title
      .split(/[^\p{L}\p{N}._]+/u)
      .filter(Boolean)
      .join("-") === name
  );
}

type Waiter = Pick<LockRow["waiters"][number], "id" | "agent">;

/** The file that an agent waits for, and its holder, on one line. */
function waitNote(who: Waiter, file: string | null, context: NoteContext, room: number): string[] {
  if (file === null) return [];
  const { locks, places } = context;
  const rows = locks.filter(l => l.waiters.some(w => w.id === who.id && w.agent === who.agent));
  const row = rows.find(l => l.path === file || l.file === file) ?? rows[0];
  const path = row === undefined ? places.file(file) : places.lock(row);
  const behind = row?.holder == null ? "" : ` behind ${clean(row.holder.name)}`;
  const columns = Math.max(fileColumnsMin, room - widthOf(`for ${behind}`));
  return [bound(`for ${cut(path, columns, "middle")}${behind}`)];
}

/** What an active agent does: `writes src/auth.ts`; what it did, and how that ended, if it does nothing since: `git refused`. */
function doingNote(
  { status, doing }: Pick<SessionRow, "status" | "doing">,
  places: Places,
  room: number,
): string[] {
  if (doing === undefined || status !== "active") return [];
  const { verb, what, forMs } = doing;
  // A program is known by its name alone.
  const isFile = what.includes("/");
  const columns = Math.max(fileColumnsMin, Math.min(fileColumns, room - widthOf(verb) - 1));
  const named = isFile ? cut(places.file(what), columns, "middle") : clean(what);
  return [doingText({ verb, what, forMs }, named)];
}

/** Returns what an agent does or did, in words; `named` is how the view names its file or program. */
export function doingText({ verb, what, forMs }: DoingRow, named: string): string {
  if (verb === "writes" || verb === "runs") return `${verb} ${named}`;
  const ago = forMs < pastShownMs ? "" : ` ${duration(forMs)} ago`;
  if (verb === "wrote" || verb === "ran") return `${verb} ${named}${ago}`;
  return `${what.includes("/") ? "edit of " : ""}${named} ${verb}${ago}`;
}

/** What an agent declared (`tester on "Page the list"`), else the task that it claimed. */
function workNote(
  declared: DeclaredBrief | undefined,
  claimed: WorkedOn | null,
  { tasks }: NoteContext,
): string[] {
  const role = cut(clean(declared?.role ?? ""), roleColumns);
  const named = declared?.task || (claimed?.description ?? "");
  const task = tasks.has(named) ? "" : clean(named);
  const on = task === "" ? "" : `on "${cut(task, taskColumns)}"`;
  const note = [role, on].filter(text => text !== "").join(" ");
  return [note, declared?.mismatched === true ? "identity mismatch" : ""].filter(text => text !== "");
}

function heldNote(count: number): string[] {
  return count === 0 ? [] : [`holds ${counted(count, "lock")}`];
}

/** What to do about an agent, called `name`. */
function adviceOn(agent: OneAgent, name: string, session: SessionRow): string[] {
  return features.flatMap(feature => feature.advice?.(agent, name, session) ?? []);
}

// Which sessions come first: those that need a person, then those that wait.

/** Whether a person has to do something: answer a question, or look at an agent that stands still. */
export function needsPerson(s: SessionRow): boolean {
  return s.attention !== null || hasTrouble(s);
}

/** Whether somebody has to look at the session's main agent or one of its agents. */
export function hasTrouble(s: SessionRow): boolean {
  const needsLook = (one: OneAgent) => features.some(feature => feature.needsPerson?.(one));
  return needsLook(s) || s.agents.some(needsLook);
}

/** Returns true if the session's main agent or one of its agents waits for a file. */
export function hasWait(s: SessionRow): boolean {
  return s.waitingFor !== null || s.agents.some(a => a.waitingFor !== null);
}

function urgency(s: SessionRow): number {
  if (needsPerson(s)) return 0;
  if (hasWait(s)) return 1;
  return { active: 2, idle: 3, lost: 4 }[s.status];
}

/** Those that need a person first, then those that wait, then by activity and name. */
export function compare(a: SessionRow, b: SessionRow): number {
  return urgency(a) - urgency(b) || order(a.name, b.name) || order(a.id, b.id);
}

/** Orders texts by their characters, the same everywhere. */
export function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// Sessions of other machines that share a store with this one, as text.

const elsewhereShownMax = 20;
const elsewhereStates = { there: "", away: "its machine is silent", lost: "lost" } as const;

/** Returns what is said of a session's state, and of roles that wait for its machine to give them; empty: nothing. */
export function elsewhereState({ state, rolesWaiting = [] }: ElsewhereRow): string {
  const roles = rolesWaiting.map(({ agent, role }) => {
    const what = role === null ? "the end of its role" : `the role ${role}`;
    return clean(
      agent === null ? `${what} waits` : `${what.replace("its role", "the role")} of ${agent} waits`,
    );
  });
  return [elsewhereStates[state], ...roles].filter(text => text !== "").join(", ");
}

/** Returns a heading, and a line each. */
export function elsewhereLines(all: readonly ElsewhereRow[], screen: Screen): string[] {
  const more = all.length - elsewhereShownMax;
  return [
    "",
    paint(screen, "bold", elsewhereTitle(all)),
    ...elsewhereTable(all.slice(0, elsewhereShownMax), screen),
    ...(more > 0 ? [`  and ${counted(more, "session")} more`] : []),
  ];
}

export function elsewhereTitle(all: readonly ElsewhereRow[]): string {
  return `On ${counted(new Set(all.map(({ machine }) => machine)).size, "other machine")}`;
}

/** Returns a line for each session: its name with its machine, role, branch, what it claims, and whether it is silent. */
export function elsewhereTable(all: readonly ElsewhereRow[], screen: Screen): string[] {
  const rows = all.map(row => [
    { text: clean(row.name), style: "bold" as const },
    clean(row.role ?? ""),
    { text: clean(row.branch ?? ""), style: "dim" as const },
    clean(row.tasks[0]?.description ?? row.declared?.task ?? ""),
    { text: elsewhereState(row), style: "yellow" as const },
  ]);
  const columns = [{ min: 9, max: 30 }, { max: 12 }, { min: 4, max: 20 }, { min: 9 }, { min: 4 }];
  return table(rows, columns, screen, 2);
}
