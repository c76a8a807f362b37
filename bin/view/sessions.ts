/** Sessions and their agents as text. */

import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import { features } from "./features.ts";
import { ofProject, otherProjectLines, shownProject } from "./needs.ts";
import { Places, projectName, projectRoot, tilde, whereabouts } from "./places.ts";
import { agentNoteOf, compare, type NoteContext, noteOf, order } from "./session-notes.ts";
import {
  bound,
  type Cell,
  type Column,
  clean,
  clock,
  counted,
  cut,
  duration,
  type OneAgent,
  pad,
  paint,
  pipeColumns,
  type Screen,
  type Style,
  table,
  unbound,
  unpainted,
  widthOf,
  wrap,
} from "./text.ts";

// Sections of `kite watch`: how they share the lines of a screen, and what of them is shown where not all fits.

/** Lines that belong together, as a session's row and those of its agents. */
interface Item {
  readonly lines: readonly string[];
  /** The lines to show where its section does not fit; absent: all of them. */
  readonly short?: readonly string[];
  /** How many of the section's things these lines show; 0: it is a heading. */
  readonly count: number;
  /** It is shown whatever else is. */
  readonly isMarked?: boolean;
}

export interface Section {
  readonly title: string;
  readonly items: readonly Item[];
  /** What an item shows: `session`. */
  readonly noun: string;
  /** What the items are about, if the title alone says so. */
  readonly about?: string;
  /** The command that shows the rest. */
  readonly more: string;
  /** It gets the lines of its short form first, of what the least of each other section leaves. */
  readonly isMain?: boolean;
}

/** Returns an item for each line. */
export function lineItems(lines: readonly string[]): Item[] {
  return lines.map(line => ({ lines: [line], count: 1 }));
}

/** Least number of lines of a section: its title and one line. */
const least = 2;

/** Returns the sections, each with its title, in at most `room` lines. */
export function sectionLines(sections: readonly Section[], room: number, screen: Screen): string[] {
  const lines: string[] = [];
  const wants = sections.map(({ items }) => items.reduce((sum, item) => sum + item.lines.length, 1));
  // If there is room, a blank line separates sections.
  const isSpaced = wants.reduce((sum, want) => sum + want + 1, 0) <= room;
  const main = sections.findIndex(({ isMain }) => isMain === true);
  const inShort = sections[main]?.items.reduce((sum, { lines, short = lines }) => sum + short.length, 1);
  for (const [i, count] of share(wants, room, main, inShort).entries()) {
    const section = sections[i];
    if (section === undefined || count === 0) continue;
    if (isSpaced) lines.push("");
    lines.push(
      paint(screen, "bold", cut(section.title, screen.width)),
      ...fitted(section, count - 1, screen),
    );
  }
  return lines;
}

/**
 * Divides `room` lines among sections. Each gets its least, and the one at `main` up to `first` lines of what is left.
 * Then small wants are met in full, while the others share the rest evenly.
 */
export function share(wants: readonly number[], room: number, main = -1, first = wants[main] ?? 0): number[] {
  const shares = wants.map(() => 0);
  let left = room;
  for (const [i, want] of wants.entries()) {
    if (left < least) break;
    shares[i] = Math.min(want, least);
    left -= shares[i] ?? 0;
  }
  const begun = shares[main] ?? 0;
  const extra = begun === 0 ? 0 : Math.max(0, Math.min(left, first - begun));
  if (extra > 0) shares[main] = (shares[main] ?? 0) + extra;
  left -= extra;
  for (;;) {
    const hungry = wants.flatMap((want, i) => ((shares[i] ?? 0) > 0 && (shares[i] ?? 0) < want ? [i] : []));
    if (left === 0 || hungry.length === 0) return shares;
    for (const i of hungry) {
      if (left === 0) break;
      shares[i] = (shares[i] ?? 0) + 1;
      left -= 1;
    }
  }
}

/** Returns the section's lines, and how many of its things have no room. */
function fitted({ items, noun, about = "", more }: Section, room: number, screen: Screen): string[] {
  const all = items.flatMap(item => item.lines);
  if (all.length <= room) return all;
  const short = items.map(item => item.short ?? item.lines);
  if (short.flat().length <= room) return short.flat();
  const marked = items.findIndex(item => item.isMarked === true);
  if (room <= 1) return (short[Math.max(0, marked)] ?? []).slice(0, room);
  const shown = inRoom(short, Math.max(0, marked), room - 1);
  // A heading without a row below it says nothing.
  while (shown.length > 1 && items[shown.at(-1) ?? 0]?.count === 0) shown.pop();
  const lines = shown.flatMap(i => short[i] ?? []);
  const left = items.reduce((sum, { count }, i) => sum + (shown.includes(i) ? 0 : count), 0);
  if (left === 0) return lines.slice(0, room);
  const rest = cut(`  and ${counted(left, `more ${noun}`)}${about}: ${more}`, screen.width);
  return [...lines.slice(0, room - 1), paint(screen, "dim", rest)];
}

/** Returns the positions of the items that fit: from the first one on, or so many later that `marked` is among them. */
function inRoom(items: readonly (readonly string[])[], marked: number, room: number): number[] {
  const sizeOf = (i: number) => items[i]?.length ?? 0;
  let first = marked;
  for (let size = sizeOf(marked); first > 0 && size + sizeOf(first - 1) <= room; first -= 1)
    size += sizeOf(first - 1);
  const shown: number[] = [];
  let size = 0;
  for (let i = first; i < items.length; i += 1) {
    size += sizeOf(i);
    if (size > room && shown.length > 0) break;
    shown.push(i);
  }
  return shown;
}

interface SessionsData {
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
  /** What sessions are about, by their ids; absent where no person reads. */
  readonly titles?: ReadonlyMap<string, string>;
}

interface SessionsInFull extends SessionsData {
  /** The project to show in full, the others in a line each; null: all. */
  readonly project?: string | null;
  /** The terminal of each process that has one: `pts/3`, `tmux %5`. */
  readonly terminals?: ReadonlyMap<number, string> | undefined;
}

interface SessionsOptions {
  /** Many quiet sessions share a line; a session that works, waits, holds or asks always has its own. */
  readonly condense: boolean;
  /** Adds a second line per session: id, process, start, directory. */
  readonly detail: boolean;
  /** The id of the session whose row is marked, and has a line of its own. */
  readonly chosen?: string | undefined;
  readonly terminals?: ReadonlyMap<number, string> | undefined;
}

/** From this many sessions on, quiet ones are condensed. */
const crowdMin = 13;
const quietShownMax = 2;
const quietLinesMax = 2;
const agentsShownMax = 8;
/** Columns of a session's name, and of its branch and worktree. */
const nameColumns = 20;
const nameColumnsMin = 12;
const placeColumns = { narrow: 16, wide: 28 } as const;
const wideFrom = 100;
/** Screens on which brief rows cut names further, and the least room of a note in them. */
const narrowBelow = 60;
const briefNoteMin = 8;

/** `kite status --sessions`: every session in full. */
export function sessionsView(data: SessionsInFull, screen: Screen): string[] {
  if (data.sessions.length === 0) return ["No sessions."];
  const project = shownProject(data, data.project ?? null);
  const here = ofProject(data.sessions, project);
  const options = { condense: false, detail: true, terminals: data.terminals };
  const others = otherProjectLines(data, project, "kite status --sessions --all", screen);
  return [
    ...sessionLines({ ...data, sessions: here }, screen, options),
    ...(others.length === 0 ? [] : ["", ...others]),
  ];
}

interface Block {
  readonly isChosen?: boolean;
  readonly cells: Cell[];
  readonly note: (room: number) => string;
  readonly detail: string;
  /** Shown also where rows of agents have no room. */
  readonly isKept: boolean;
}

/** How a view that has little room shows sessions: a line each, and a few quiet ones share a line. */
interface BriefOptions {
  /** Each project has its heading. */
  readonly headings: boolean;
  readonly chosen: string | undefined;
  /** Tasks that the view names elsewhere, by their descriptions. */
  readonly tasks: ReadonlySet<string>;
}

/** Returns sessions by project; those that need a person or wait come first, quiet ones last. */
export function sessionLines(data: SessionsData, screen: Screen, options: SessionsOptions): string[] {
  const isCrowded = options.condense && data.sessions.length >= crowdMin;
  const groups = groupsOf(data, screen, { ...options, tasks: new Set() }, isCrowded);
  const blocks = groups.flatMap(group => group.sessions.flat());
  const rows = rowsOf(blocks, screen);
  const lines: string[] = [];
  for (const { project, sessions, condensed } of groups) {
    lines.push(heading(project, screen));
    for (const block of sessions.flat()) {
      const [row = "", ...below] = rows.get(block) ?? [];
      lines.push(block.isChosen === true ? marked(row, screen) : row, ...below);
      if (options.detail && block.detail !== "") {
        for (const line of wrap(block.detail, screen.width - 6))
          lines.push(`      ${paint(screen, "dim", line)}`);
      }
    }
    for (const status of ["idle", "lost"] as const)
      lines.push(...condensedLines(condensed, status, quietLinesMax, screen));
  }
  return lines;
}

/** Returns the lines of each session in the order of `sessionLines`. `short` leaves out agents who neither wait nor stand still. */
export function briefSessions(data: SessionsData, screen: Screen, options: BriefOptions): Item[] {
  const groups = groupsOf(data, screen, { ...options, isBrief: true }, true);
  const blocks = groups.flatMap(group => group.sessions.flat());
  const rows = new Map(
    table(
      blocks.map(({ cells }) => cells),
      columnsOf(screen, nameColumns),
      screen,
      4,
    ).map((line, i) => [blocks[i], line]),
  );
  const tableWidth = Math.max(0, ...[...rows.values()].map(line => widthOf(unpainted(line))));
  const room = screen.width - tableWidth - 2;
  const lineOf = (block: Block) => {
    const row = rows.get(block) ?? "";
    const note = room < briefNoteMin ? "" : cut(unbound(block.note(room)), room);
    const line = note === "" ? row : `${filled(row, tableWidth)}${note}`;
    return block.isChosen === true ? marked(line, screen) : line;
  };
  return groups.flatMap(({ project, sessions, condensed }) => [
    ...(options.headings ? [{ lines: [heading(project, screen)], count: 0 }] : []),
    ...sessions.map(own => ({
      lines: own.map(lineOf),
      short: own.filter(({ isKept }) => isKept).map(lineOf),
      count: 1,
      isMarked: own.some(({ isChosen }) => isChosen === true),
    })),
    ...(["idle", "lost"] as const).flatMap(status => {
      const lines = condensedLines(condensed, status, 1, screen);
      return lines.length === 0 ? [] : [{ lines, count: condensed.filter(s => s.status === status).length }];
    }),
  ]);
}

const noTitles: ReadonlyMap<string, string> = new Map();

/** The sessions of each project: those with rows of their own, and the quiet ones that share a line. */
function groupsOf(data: SessionsData, screen: Screen, options: BlockOptions, isCrowded: boolean) {
  const { locks, titles = noTitles } = data;
  const places = new Places(data.sessions, locks, screen.home);
  const context = { locks, places, tasks: options.tasks, titles };
  return byProject(data.sessions).map(([project, all]) => {
    const families = familiesOf(all);
    const isOwnLine = (one: SessionRow) => one.id === options.chosen;
    const quiet = families.filter(all => all.every(isQuiet) && !all.some(isOwnLine)).flat();
    const condensed = isCrowded && quiet.length > quietShownMax ? quiet : [];
    const shown = families.filter(([lead]) => lead !== undefined && !condensed.includes(lead));
    const sessions = shown.flatMap(family =>
      family.map((one, i) => blocksOf(one, context, screen, options, i === 0 ? "" : "└ ")),
    );
    return { project, condensed, sessions };
  });
}

function columnsOf(screen: Screen, name: number): Column[] {
  return [
    { min: 8, max: name + widthOf("└ ") },
    { min: 6, max: screen.width < wideFrom ? placeColumns.narrow : placeColumns.wide },
    {},
    { align: "right" },
  ];
}

/** Returns the row of each block and the lines below it. */
function rowsOf(blocks: readonly Block[], screen: Screen): ReadonlyMap<Block, readonly string[]> {
  const cells = blocks.map(block => block.cells);
  const notes = blocks.map(({ note }) => note(screen.width - 6));
  const summaries = blocks.flatMap(({ cells: [text, ...more] }) => (more.length === 0 ? [text] : []));
  const summaryColumns = Math.max(0, ...summaries.map(text => widthOf(`${text}`)));
  const drawnWith = (columns: number) => {
    const drawn = table(cells, columnsOf(screen, Math.max(columns, summaryColumns)), screen, 4);
    const tableWidth = Math.max(0, ...drawn.map(line => widthOf(unpainted(line))));
    const isBeside = (note: string) => tableWidth + 2 + widthOf(note) <= screen.width;
    return { drawn, tableWidth, isBeside, count: notes.filter(isBeside).length };
  };
  // A long name is cut where it takes the room of another's note.
  const [wide, narrow] = [drawnWith(nameColumns), drawnWith(nameColumnsMin)];
  const { drawn, tableWidth, isBeside } = narrow.count > wide.count ? narrow : wide;
  return new Map(
    blocks.map((block, i) => {
      const [row = "", note = ""] = [drawn[i], notes[i]];
      if (note === "") return [block, [row]];
      if (isBeside(note)) return [block, [filled(row, tableWidth) + unbound(note)]];
      return [block, [row, ...wrap(note, screen.width - 6).map(part => `      ${part}`)]];
    }),
  );
}

/** Fills a row up to its note. */
function filled(row: string, tableWidth: number): string {
  return row + pad("", tableWidth + 2 - widthOf(unpainted(row)));
}

/** The sessions in the order of their rows. */
export function inRowOrder(sessions: readonly SessionRow[]): readonly SessionRow[] {
  return byProject(sessions).flatMap(([, all]) => familiesOf(all).flat());
}

/** Marks a row: a `>` in its indent, and in reverse video where there is colour. */
function marked(row: string, screen: Screen): string {
  return `  ${paint(screen, "reverse", `> ${unpainted(row).slice(4)}`)}`;
}

/** Each session with its teammates that are sessions of their own behind it; the most urgent family first. */
function familiesOf(all: readonly SessionRow[]): SessionRow[][] {
  const ids = new Set(all.map(({ id }) => id));
  const leadOf = ({ teammate }: SessionRow) =>
    ids.has(teammate?.lead ?? "") ? (teammate?.lead ?? null) : null;
  const families = new Map(all.filter(one => leadOf(one) === null).map(one => [one.id, [one]]));
  for (const mate of [...all].sort(compare)) {
    const family = families.get(leadOf(mate) ?? "");
    if (family !== undefined) family.push(mate);
    else if (!families.has(mate.id)) families.set(mate.id, [mate]);
  }
  const firstOf = (family: readonly SessionRow[]) => [...family].sort(compare)[0];
  return [...families.values()].sort((a, b) => {
    const [x, y] = [firstOf(a), firstOf(b)];
    return x === undefined || y === undefined ? 0 : compare(x, y);
  });
}

/** Returns a project's name and directory. */
export function heading(project: string, screen: Screen): string {
  const name = cut(projectName(project), screen.width - 2);
  const room = screen.width - 4 - widthOf(name);
  const root = projectRoot(project);
  const where = room < 8 || root === name ? "" : cut(clean(tilde(root, screen.home)), room, "start");
  const shown = `  ${paint(screen, "bold", name)}`;
  return where === "" ? shown : `${shown}  ${paint(screen, "dim", where)}`;
}

function byProject(sessions: readonly SessionRow[]): [string, SessionRow[]][] {
  const groups = new Map<string, SessionRow[]>();
  for (const session of sessions) {
    const group = groups.get(session.project);
    if (group === undefined) groups.set(session.project, [session]);
    else group.push(session);
  }
  const rank = (all: readonly SessionRow[]) => (all.every(isQuiet) ? 1 : 0);
  return [...groups].sort(
    ([a, x], [b, y]) => rank(x) - rank(y) || order(projectName(a), projectName(b)) || order(a, b),
  );
}

function isQuiet(s: SessionRow): boolean {
  return (
    s.status !== "active" &&
    s.locks === 0 &&
    s.waitingFor === null &&
    s.attention === null &&
    !features.some(feature => feature.isShown?.(s)) &&
    s.incarnations < 2 &&
    troubleOf(s) === null &&
    !s.agents.some(isBusy)
  );
}

/** An agent with a line of its own: it works, waits, or holds something. */
function isBusy(a: AgentRow): boolean {
  return a.status === "active" || a.locks > 0 || a.waitingFor !== null || troubleOf(a) !== null;
}

/** The state of an agent that somebody has to look at; null: its plain status says all. */
function troubleOf(agent: OneAgent): { readonly text: string; readonly style: Style } | null {
  for (const feature of features) {
    const trouble = feature.trouble?.(agent) ?? null;
    if (trouble !== null) return trouble;
  }
  return null;
}

function stateOf(s: SessionRow): { text: string; style: Style } {
  if (s.attention !== null) return { text: "needs you", style: "yellow" };
  if (s.waitingFor !== null) return { text: "waits", style: "blue" };
  const trouble = troubleOf(s);
  if (trouble !== null) return trouble;
  const styles = { active: "green", idle: "dim", lost: "red" } as const;
  return { text: statusText(s), style: styles[s.status] };
}

/** Returns the age of the last sign of life: `now`, or a duration. */
function seen(ms: number): string {
  return ms < 2_000 ? "now" : duration(ms);
}

interface BlockOptions extends Pick<SessionsOptions, "terminals" | "chosen"> {
  readonly tasks: ReadonlySet<string>;
  readonly isBrief?: boolean;
}

function blocksOf(
  s: SessionRow,
  context: NoteContext,
  screen: Screen,
  { terminals, chosen, isBrief = false }: BlockOptions,
  under = "",
): Block[] {
  const columns = isBrief && screen.width < narrowBelow ? nameColumnsMin : nameColumns;
  const own: Block = {
    isChosen: s.id === chosen,
    cells: [
      { text: `${under}${cut(clean(s.name), columns)}`, style: "bold" },
      isBrief && screen.width < wideFrom ? "" : whereabouts(s),
      stateOf(s),
      { text: seen(s.lastSeenMs), style: "dim" },
    ],
    note: room => noteOf(s, context, room),
    detail: isBrief ? "" : detailOf(s, terminals, screen),
    isKept: true,
  };
  const busy = s.agents
    .filter(isBusy)
    .sort((a, b) => Number(b.waitingFor !== null) - Number(a.waitingFor !== null));
  const shown = busy.slice(0, agentsShownMax);
  const rest = [
    busy.length > shown.length ? `${busy.length - shown.length} more active` : "",
    busy.length < s.agents.length ? `${s.agents.length - busy.length} idle` : "",
  ].filter(part => part !== "");
  const summary = rest.length === 0 ? [] : [agentBlock([`└ ${rest.join(", ")}`], () => "", false)];
  const agents = shown.map(a => {
    const name = agentName(a, s);
    const trouble = a.waitingFor === null ? troubleOf(a) : null;
    const cells = [`└ ${cut(name, columns)}`, "", trouble ?? plainState(a)];
    const note = (room: number) => agentNoteOf(a, `${s.name}/${name}`, s, context, room);
    return agentBlock(cells, note, trouble !== null || a.waitingFor !== null);
  });
  return [own, ...agents, ...summary];
}

function agentBlock(cells: Cell[], note: Block["note"], isKept: boolean): Block {
  return { cells, note, detail: "", isKept };
}

function agentName(agent: AgentRow, s: SessionRow): string {
  const name = clean(agent.name);
  const prefix = `${clean(s.name)}/`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

function plainState(a: AgentRow): { text: string; style: Style } {
  if (a.waitingFor !== null) return { text: "waits", style: "blue" };
  return { text: a.status, style: a.status === "active" ? "green" : "dim" };
}

function detailOf(s: SessionRow, terminals: ReadonlyMap<number, string> | undefined, screen: Screen): string {
  const terminal = s.pid === null ? undefined : terminals?.get(s.pid);
  const on = terminal === undefined ? "" : ` on ${clean(terminal)}`;
  const pid = s.pid === null ? "no process" : `pid ${s.pid}${on}`;
  const cwd = clean(tilde(s.cwd, screen.home));
  const state = features
    .map(feature => feature.life?.(s) ?? "")
    .map(life => (life === "" ? "" : `, ${life}`));
  const client = s.client === undefined ? "" : `, ${clean(s.client)}`;
  return `${clean(s.id)}${client}, ${pid}, since ${clock(s.registeredAt, screen.now)}${state.join("")}, in ${cwd}`;
}

/** Returns a session's status as people read it; no event says of an advisory one whether a turn of its runs. */
export function statusText({ status, advisory }: Pick<SessionRow, "status" | "advisory">): string {
  return status === "lost" ? "silent" : advisory ? "advisory" : status;
}

function condensedLines(
  quiet: readonly SessionRow[],
  status: "idle" | "lost",
  linesMax: number,
  screen: Screen,
): string[] {
  const some = quiet.filter(s => s.status === status).sort((a, b) => a.lastSeenMs - b.lastSeenMs);
  if (some.length === 0) return [];
  const draw = (count: number, width: number) => {
    const names = some
      .slice(0, count)
      .map(s => bound(`${clean(s.name)}${s.advisory ? " (advisory)" : ""} ${seen(s.lastSeenMs)}`));
    const more = count < some.length ? [bound(`${some.length - count} more`)] : [];
    return wrap(`${some.length} ${statusText({ status })}: ${[...names, ...more].join(", ")}`, width - 4, 2);
  };
  const width = Number.isFinite(screen.width) ? screen.width : pipeColumns;
  let count = some.length;
  while (count > 1 && draw(count, width).length > linesMax) count -= 1;
  return draw(count, screen.width).map(line => `    ${paint(screen, "dim", line)}`);
}
