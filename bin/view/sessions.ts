/** Sessions and their agents as text. */
import type { LockRow } from "../../protocol/lock.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import { paint, type Style, unpainted } from "./color.ts";
import type { OneAgent } from "./feature.ts";
import { features } from "./features.ts";
import { ofProject, otherProjectLines, shownProject } from "./other-projects.ts";
import { Places, projectName, projectRoot, tilde, whereabouts } from "./places.ts";
import { agentNoteOf, noteOf } from "./session-notes.ts";
import { type Cell, table } from "./table.ts";
import { bound, clean, clock, cut, duration, pad, pipeColumns, type Screen, widthOf, wrap } from "./text.ts";
import { compare, order } from "./urgency.ts";

export interface SessionsData {
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
}

interface SessionsInFull extends SessionsData {
  /** The project to show in full, the others in a line each; null: all. */
  readonly project?: string | null;
  /** The terminal of each process that has one: `pts/3`, `tmux %5`. */
  readonly terminals?: ReadonlyMap<number, string> | undefined;
}

export interface SessionsOptions {
  /**
   * Many quiet sessions share a line, with `always` a few, too; a session that works, waits, holds or asks always has its
   * own.
   */
  readonly condense: boolean | "always";
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
const placeColumns = { narrow: 16, wide: 28 } as const;
const wideFrom = 100;

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
  readonly note: string;
  readonly detail: string;
}

/** Returns sessions by project; those that need a person or wait come first, quiet ones last. */
export function sessionLines(data: SessionsData, screen: Screen, options: SessionsOptions): string[] {
  const places = new Places(data.sessions, data.locks, screen.home);
  const crowded = options.condense === "always" || (options.condense && data.sessions.length >= crowdMin);
  const groups = byProject(data.sessions).map(([project, all]) => {
    const families = familiesOf(all);
    const isOwnLine = (one: SessionRow) => one.id === options.chosen;
    const quiet = families.filter(all => all.every(isQuiet) && !all.some(isOwnLine)).flat();
    const condensed = crowded && quiet.length > quietShownMax ? quiet : [];
    const shown = families.filter(([lead]) => lead !== undefined && !condensed.includes(lead));
    const blocks = shown.flatMap(([lead, ...mates]) => [
      ...(lead === undefined ? [] : blocksOf(lead, data.locks, places, screen, options)),
      ...mates.flatMap(mate => blocksOf(mate, data.locks, places, screen, options, "└ ")),
    ]);
    return { project, condensed, blocks };
  });
  const rows = groups.flatMap(g => g.blocks);
  const columns = [
    { min: 8 },
    { min: 6, max: screen.width < wideFrom ? placeColumns.narrow : placeColumns.wide },
    {},
    { align: "right" as const },
  ];
  const drawn = table(
    rows.map(r => r.cells),
    columns,
    screen,
    4,
  );
  const tableWidth = Math.max(0, ...drawn.map(line => widthOf(unpainted(line))));
  const lines: string[] = [];
  let next = 0;
  for (const group of groups) {
    lines.push(heading(group.project, screen));
    for (const block of group.blocks) {
      const [row = "", ...below] = withNote(drawn[next] ?? "", block.note, tableWidth, screen);
      lines.push(block.isChosen === true ? marked(row, screen) : row, ...below);
      if (options.detail && block.detail !== "") {
        for (const line of wrap(block.detail, screen.width - 6))
          lines.push(`      ${paint(screen, "dim", line)}`);
      }
      next += 1;
    }
    for (const status of ["idle", "lost"] as const) {
      lines.push(...condensedLines(group.condensed, status, screen));
    }
  }
  return lines;
}

/** The sessions in the order of their rows. */
export function inRowOrder(sessions: readonly SessionRow[]): readonly SessionRow[] {
  return byProject(sessions).flatMap(([, all]) => familiesOf(all).flat());
}

/** Marks a row: a `>` in its indent, and in reverse video where there is colour. */
function marked(row: string, screen: Screen): string {
  return `  ${paint(screen, "reverse", `> ${unpainted(row).slice(4)}`)}`;
}

/** The position of the marked row among the lines; -1: there is none. */
export function markedAt(lines: readonly string[]): number {
  return lines.findIndex(line => unpainted(line).startsWith("  > "));
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
  return { text: s.status, style: styles[s.status] };
}

/** Returns the age of the last sign of life: `now`, or a duration. */
function seen(ms: number): string {
  return ms < 2_000 ? "now" : duration(ms);
}

function blocksOf(
  s: SessionRow,
  locks: readonly LockRow[],
  places: Places,
  screen: Screen,
  { terminals, chosen }: SessionsOptions,
  under = "",
): Block[] {
  const own: Block = {
    isChosen: s.id === chosen,
    cells: [
      { text: `${under}${cut(clean(s.name), nameColumns)}`, style: "bold" },
      whereabouts(s),
      stateOf(s),
      { text: seen(s.lastSeenMs), style: "dim" },
    ],
    note: noteOf(s, locks, places),
    detail: detailOf(s, terminals, screen),
  };
  const busy = s.agents
    .filter(isBusy)
    .sort((a, b) => Number(b.waitingFor !== null) - Number(a.waitingFor !== null));
  const shown = busy.slice(0, agentsShownMax);
  const rest = [
    busy.length > shown.length ? `${busy.length - shown.length} more active` : "",
    busy.length < s.agents.length ? `${s.agents.length - busy.length} idle` : "",
  ].filter(part => part !== "");
  const summary = rest.length === 0 ? [] : [{ cells: [`└ ${rest.join(", ")}`], note: "", detail: "" }];
  const agents = shown.map(a => {
    const note = agentNoteOf(a, `${s.name}/${agentName(a, s)}`, s, locks, places);
    const trouble = a.waitingFor === null ? troubleOf(a) : null;
    return agentBlock(agentName(a, s), trouble ?? plainState(a), note);
  });
  return [own, ...agents, ...summary];
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

function agentBlock(name: string, state: Cell, note: string): Block {
  return { cells: [`└ ${cut(name, nameColumns)}`, "", state], note, detail: "" };
}

function detailOf(s: SessionRow, terminals: ReadonlyMap<number, string> | undefined, screen: Screen): string {
  const terminal = s.pid === null ? undefined : terminals?.get(s.pid);
  const on = terminal === undefined ? "" : ` on ${clean(terminal)}`;
  const pid = s.pid === null ? "no process" : `pid ${s.pid}${on}`;
  const cwd = clean(tilde(s.cwd, screen.home));
  const state = features
    .map(feature => feature.life?.(s) ?? "")
    .map(life => (life === "" ? "" : `, ${life}`));
  return `${clean(s.id)}, ${pid}, since ${clock(s.registeredAt, screen.now)}${state.join("")}, in ${cwd}`;
}

/** Puts the note beside the line if it fits, else below it. */
function withNote(line: string, note: string, tableWidth: number, screen: Screen): string[] {
  if (note === "") return [line];
  if (tableWidth + 2 + widthOf(note) <= screen.width) {
    const filled = line + pad("", tableWidth + 2 - widthOf(unpainted(line)));
    return [filled + note];
  }
  return [line, ...wrap(note, screen.width - 6).map(part => `      ${part}`)];
}

function condensedLines(quiet: readonly SessionRow[], status: "idle" | "lost", screen: Screen): string[] {
  const some = quiet.filter(s => s.status === status).sort((a, b) => a.lastSeenMs - b.lastSeenMs);
  if (some.length === 0) return [];
  const draw = (count: number, width: number) => {
    const names = some.slice(0, count).map(s => bound(`${clean(s.name)} ${seen(s.lastSeenMs)}`));
    const more = count < some.length ? [bound(`${some.length - count} more`)] : [];
    return wrap(`${some.length} ${status}: ${[...names, ...more].join(", ")}`, width - 4, 2);
  };
  const width = Number.isFinite(screen.width) ? screen.width : pipeColumns;
  let count = some.length;
  while (count > 1 && draw(count, width).length > quietLinesMax) count -= 1;
  return draw(count, screen.width).map(line => `    ${paint(screen, "dim", line)}`);
}
