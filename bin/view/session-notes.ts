/** The note of a session's or an agent's row: what it waits for, does, works on and holds. */
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { DeclaredBrief, DoingRow, WorkedOn } from "../../protocol/schemas/session.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import type { OneAgent } from "./feature.ts";
import { features } from "./features.ts";
import type { Places } from "./places.ts";
import { bound, clean, counted, cut, duration, widthOf } from "./text.ts";

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
