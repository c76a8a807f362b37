/** `kite watch`: sessions, locks, tasks and events on one screen of any size. */

import { nameOrPerson } from "../../protocol/names.ts";
import type { RefusalRow } from "../../protocol/schemas/daemon.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { StoreState } from "../../protocol/schemas/store.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { textOfKey } from "../context/process-context.ts";
import { refusalText } from "../refusal-text.ts";
import { lockItems } from "../view/locks.ts";
import { locksOfProject, needsText, ofProject, otherProjectLines, shownProject } from "../view/needs.ts";
import { elsewhereTable, elsewhereTitle, hasWait } from "../view/session-notes.ts";
import {
  briefSessions,
  heading,
  inRowOrder,
  lineItems,
  type Section,
  sectionLines,
  sessionLines,
} from "../view/sessions.ts";
import { storeHead } from "../view/store.ts";
import { summaryOf } from "../view/task-names.ts";
import { taskGroups } from "../view/tasks.ts";
import {
  clean,
  clock,
  counted,
  cut,
  paint,
  type Screen,
  unpainted,
  table as watchTable,
  widthOf,
  wrap,
} from "../view/text.ts";

// The keys of `kite watch`: what one keystroke changes in what is shown, and what it does to the chosen session.

/** What a key does to the chosen session: a command line, run as a person types it. */
export interface Action {
  readonly key: string;
  readonly does: string;
  /** Returns the words of the command; `who` means the session, `text` is what the person typed. */
  readonly words: (who: string, text: string) => readonly string[];
  /** It changes something, so the person is asked first: the question about the session `name`. */
  readonly asks?: (name: string) => string;
  /** The person types a text first, and sends it. */
  readonly isTyped?: true;
  /** The command would begin a program of its own at a terminal, as a pager. */
  readonly isPiped?: true;
}

const table = {
  explain: {
    key: "e",
    does: "explain it: what it holds, waits for and was refused",
    words: who => ["explain", "--agent", who],
  },
  diff: {
    key: "d",
    does: "show what it changed and has not committed",
    words: who => ["diff", "--", who],
    isPiped: true,
  },
  message: {
    key: "m",
    does: "write it a message",
    words: (who, text) => ["message", "send", "--", who, text],
    isTyped: true,
  },
  go: { key: "g", does: "go to its terminal in tmux, or say where it is", words: who => ["go", "--", who] },
  release: {
    key: "r",
    does: "give back its tasks and edit locks",
    words: who => ["release", "--", who],
    asks: name => `give back what ${name} has`,
  },
  off: {
    key: "o",
    does: "let all of its edits through for an hour",
    words: who => ["off", `--session=${who}`, "--for", "1h"],
    asks: name => `let edits of ${name} through for 1 h`,
  },
} as const satisfies Readonly<Record<string, Action>>;

export type ActionName = keyof typeof table;
export const actions: Readonly<Record<ActionName, Action>> = table;

const actionNames = Object.keys(table) as ActionName[];

/** What the screen shows. */
export interface WatchMode {
  /**
   * `filter`: a person types a text. `agent`: one session fills the screen. `page`: what a command said. `message`: a
   * person types a message to the chosen session. `confirm`: `action` waits for a yes.
   */
  readonly at: "all" | "filter" | "agent" | "help" | "page" | "message" | "confirm";
  /** Rows of sessions, locks and news without this text are left out; empty: none. */
  readonly filter: string;
  /** All projects in full, not only the working directory's. */
  readonly isAll: boolean;
  /** The id of the chosen session; null: the first one, until a screen has shown it. */
  readonly chosen: string | null;
  /** The row in which the chosen session last stood. */
  readonly row: number;
  /** The message as far as it is typed. */
  readonly text: string;
  /** The action that is asked about or typed for; with `isDue` it is to be done now. */
  readonly action: ActionName | null;
  readonly isDue: boolean;
  /** The first line of the page that is shown. */
  readonly top: number;
}

export const firstMode: WatchMode = {
  at: "all",
  filter: "",
  isAll: false,
  chosen: null,
  row: 0,
  text: "",
  action: null,
  isDue: false,
  top: 0,
};

const keysHelp: readonly (readonly [keys: string, does: string])[] = [
  ["q, Ctrl-C", "end"],
  ["/", "show only rows with a text; Enter keeps it, Esc clears it"],
  ["p", "all projects, or the one of the working directory"],
  ["up, down", "choose a session; on a page: scroll"],
  ["Enter", "show the chosen session alone; Enter or Esc goes back"],
  ...actionNames.map(name => [actions[name].key, actions[name].does] as const),
  ["?", "these keys"],
];

const filterMax = 40;
const messageMax = 1_000;
const backspace = new Set(["\u007f", "\b"]);

/**
 * Returns what the screen shows of other rows: the same session is chosen, wherever it stands now. If it has no row,
 * the one in its place is chosen. If it ended (`isLive`), what was about it alone ends, too: its screen, a message, a
 * question.
 */
export function following(
  mode: WatchMode,
  rows: readonly string[],
  isLive: (id: string) => boolean,
): WatchMode {
  const { at, chosen } = mode;
  const isAboutOne = at === "agent" || at === "message" || at === "confirm";
  if (at === "page" || (isAboutOne && chosen !== null && isLive(chosen))) return mode;
  const row = rows.indexOf(chosen ?? "");
  const next = isAboutOne ? { ...mode, at: "all" as const, action: null, text: "" } : mode;
  return row === -1 ? chosenAt(next, mode.row, rows) : { ...next, row };
}

function chosenAt(mode: WatchMode, wanted: number, rows: readonly string[]): WatchMode {
  const row = Math.max(0, Math.min(rows.length - 1, wanted));
  return { ...mode, chosen: rows[row] ?? null, row };
}

/** Returns what the screen shows after a key, or null if the watch ends. `rows`: the sessions that can be chosen. */
export function afterKey(mode: WatchMode, key: string, rows: readonly string[]): WatchMode | null {
  if (key === "\u0003") return null;
  switch (mode.at) {
    case "filter":
      return afterFilterKey(mode, key);
    case "message":
      return afterMessageKey(mode, key);
    case "confirm":
      // Any other key is a no.
      return key === "y" ? { ...mode, at: "all", isDue: true } : { ...mode, at: "all", action: null };
    case "page":
      return afterPageKey(mode, key);
    default:
      return afterScreenKey(mode, key, rows);
  }
}

function afterScreenKey(mode: WatchMode, key: string, rows: readonly string[]): WatchMode | null {
  switch (key) {
    case "q":
      return null;
    case "/":
      return { ...mode, at: "filter", filter: "" };
    case "p":
      return { ...mode, isAll: !mode.isAll };
    case "?":
      return { ...mode, at: mode.at === "help" ? "all" : "help" };
    case "\r":
    case "\n":
      return { ...mode, at: mode.at === "all" && rows.length > 0 ? "agent" : "all" };
    case "\u001b":
      return mode.at === "all" ? { ...mode, filter: "" } : { ...mode, at: "all" };
    case "\u001b[A":
    case "k":
      return chosenAt(mode, mode.row - 1, rows);
    case "\u001b[B":
    case "j":
      return chosenAt(mode, mode.row + 1, rows);
    default:
      return mode.at === "help" || mode.chosen === null ? mode : begun(mode, key);
  }
}

/** Begins the action of the key: it is due, or asks, or is typed first. */
function begun(mode: WatchMode, key: string): WatchMode {
  const name = actionNames.find(one => actions[one].key === key);
  if (name === undefined) return mode;
  const { asks, isTyped } = actions[name];
  if (isTyped === true) return { ...mode, at: "message", action: name, text: "" };
  return asks === undefined
    ? { ...mode, action: name, text: "", isDue: true }
    : { ...mode, at: "confirm", action: name, text: "" };
}

function afterPageKey(mode: WatchMode, key: string): WatchMode | null {
  switch (key) {
    case "q":
      return null;
    case "\u001b":
    case "\r":
    case "\n":
      return { ...mode, at: "all", top: 0 };
    case "\u001b[A":
    case "k":
      return { ...mode, top: Math.max(0, mode.top - 1) };
    case "\u001b[B":
    case "j":
      return { ...mode, top: mode.top + 1 };
    case " ":
      return { ...mode, top: mode.top + pageStep };
    case "b":
      return { ...mode, top: Math.max(0, mode.top - pageStep) };
    default:
      return mode;
  }
}

/** Lines by which a page moves at once; a small screen shows as many. */
const pageStep = 10;

function afterMessageKey(mode: WatchMode, key: string): WatchMode {
  const isEmpty = mode.text.trim() === "";
  if (key === "\r" || key === "\n")
    return isEmpty ? { ...mode, at: "all", action: null } : { ...mode, at: "all", isDue: true };
  if (key === "\u001b") return { ...mode, at: "all", action: null, text: "" };
  return { ...mode, text: typed(mode.text, key, messageMax) };
}

function afterFilterKey(mode: WatchMode, key: string): WatchMode {
  if (key === "\r" || key === "\n") return { ...mode, at: "all" };
  if (key === "\u001b") return { ...mode, at: "all", filter: "" };
  return { ...mode, filter: typed(mode.filter, key, filterMax) };
}

function typed(text: string, key: string, max: number): string {
  if (backspace.has(key)) return [...text].slice(0, -1).join("");
  return (text + (textOfKey(key) ?? "")).slice(0, max);
}

export interface WatchData {
  readonly version: string;
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
  /** What sessions are about, by their ids; absent where no person reads. */
  readonly titles?: ReadonlyMap<string, string>;
  /** The store that machines share, and the sessions of the others; absent: none is set. */
  readonly store?: StoreState;
  readonly elsewhere?: readonly ElsewhereRow[];
  /** Unfinished tasks. */
  readonly tasks: readonly TaskRow[];
  readonly refusals: readonly RefusalRow[];
  /** Events as text, oldest first. */
  readonly news: readonly News[];
  /** Why the view gets no updates; null if it gets them. */
  readonly away: string | null;
  /** The project to show in full, the others in a line each; null: all. */
  readonly project?: string | null;
  readonly mode?: WatchMode;
  /** The terminals of processes that were looked at. */
  readonly terminals?: ReadonlyMap<number, string>;
  /** What a command said, for a screen of its own. */
  readonly page?: Page;
  /** What a command said in one line; empty: nothing. */
  readonly notice?: string;
  /** What to do where there are no sessions. */
  readonly next?: readonly string[];
}

/** Lines of a command, in its own colours. */
interface Page {
  readonly title: string;
  readonly lines: readonly string[];
}

/** One event as text; `at` is wall time in milliseconds. */
export interface News {
  readonly at: number;
  readonly text: string;
}

/** Least rows of a screen with a footer. */
const footerFrom = 8;

/** Returns the screen: at most `rows` lines. */
export function watchView(all: WatchData, screen: Screen, rows: number): string[] {
  const { mode = firstMode } = all;
  if (mode.at === "page" && all.page !== undefined) return pageView(all.page, mode.top, screen, rows);
  const data = withoutOthers(all);
  const lines = [header(all, screen), ...storeLines(all, screen)].slice(0, Math.max(1, rows - 1));
  const footer = rows < footerFrom ? [] : [footerLine(data, mode, screen)];
  const room = Math.max(0, rows - lines.length - footer.length);
  const sections = sectionsOf(data, all, screen);
  const body =
    mode.at === "help"
      ? helpLines(screen)
      : [...emptyLines(all, screen), ...sectionLines(sections, room, screen)];
  lines.push(...body.slice(0, room));
  if (footer.length > 0) {
    while (lines.length < rows - 1) lines.push("");
    lines.push(...footer);
  }
  return lines.map(line => within(line, screen.width));
}

/** Returns the last line from which a page of so many rows is full. */
export function lastTop({ lines }: Page, rows: number): number {
  return Math.max(0, lines.length - Math.max(1, rows - pageFrame));
}

/** The title of a page and its footer. */
const pageFrame = 2;

function pageView(page: Page, top: number, screen: Screen, rows: number): string[] {
  const room = Math.max(1, rows - pageFrame);
  const shown = page.lines.slice(top, top + room);
  const left = page.lines.length - top - shown.length;
  const rest = left === 0 ? [] : [`${counted(left, "line")} below`];
  const keys = ["Esc back", "up, down, space, b scroll", "q end", ...rest].join("   ");
  const lines = [
    paint(screen, "bold", cut(clean(page.title), screen.width)),
    ...shown,
    ...Array.from({ length: room - shown.length }, () => ""),
    paint(screen, "dim", cut(keys, screen.width)),
  ];
  return lines.slice(0, rows).map(line => within(line, screen.width));
}

/** Nobody is there: what to do, in place of an empty screen. */
function emptyLines({ sessions, away, next = [] }: WatchData, screen: Screen): string[] {
  if (sessions.length > 0 || away !== null || next.length === 0) return [];
  return ["", "No sessions.", ...next].flatMap(line => (line === "" ? [""] : wrap(line, screen.width)));
}

function sectionsOf(data: WatchData, all: WatchData, screen: Screen): Section[] {
  const chosen = data.mode?.at === "agent" ? chosenSession(all) : undefined;
  if (chosen !== undefined) return agentSections(all, chosen, screen);
  const sections = [
    sessionSection(data, screen),
    elsewhereSection(data, screen),
    otherSection(data, all, screen),
    lockSection(data, screen),
    taskSection(data, screen),
    newsSection(data, screen),
  ];
  return sections.filter(({ items }) => items.length > 0);
}

/** Returns the rows of the shown project that have the filter's text. */
function withoutOthers(all: WatchData): WatchData {
  const { mode = firstMode } = all;
  const project = mode.isAll ? null : shownProject(all, all.project ?? null);
  const text = mode.filter.toLowerCase();
  const has = (...words: readonly (string | null)[]) =>
    text === "" || words.some(word => word?.toLowerCase().includes(text) === true);
  return {
    ...all,
    sessions: ofProject(all.sessions, project).filter(s =>
      has(
        s.name,
        s.branch,
        s.head ?? null,
        s.worktree,
        s.waitingFor,
        s.attention,
        ...s.agents.map(a => a.name),
      ),
    ),
    ...(all.elsewhere === undefined
      ? {}
      : {
          elsewhere: ofProject(all.elsewhere, project).filter(s =>
            has(s.name, s.branch, s.machine, s.role ?? null),
          ),
        }),
    locks: locksOfProject(all.locks, project).filter(l =>
      has(l.path, l.holder?.name ?? null, ...l.waiters.map(w => w.name)),
    ),
    tasks: ofProject(all.tasks, project).filter(t => has(t.description, t.assigneeName, t.id)),
    news: all.news.filter(n => has(n.text)),
    refusals: all.refusals.filter(r => has(r.name, r.error, r.file)),
    project,
  };
}

/** Returns the sessions that can be chosen, in the order of their rows: the most urgent first. */
export function choosable(all: WatchData): readonly SessionRow[] {
  return inRowOrder(withoutOthers(all).sessions);
}

function chosenSession(data: WatchData): SessionRow | undefined {
  const sessions = inRowOrder(data.sessions);
  return sessions.find(({ id }) => id === data.mode?.chosen) ?? sessions[0];
}

function agentSections(data: WatchData, session: SessionRow, screen: Screen): Section[] {
  const { id, name } = session;
  const own = data.locks.filter(l => l.holder?.id === id || l.waiters.some(w => w.id === id));
  const { titles } = data;
  const one = { sessions: [session], locks: data.locks, ...(titles === undefined ? {} : { titles }) };
  const news = data.news.filter(({ text }) => text.includes(name));
  const refusals = data.refusals.filter(r => r.id === id);
  const sections = [
    {
      title: clean(name),
      items: lineItems(
        sessionLines(one, screen, { condense: false, detail: true, terminals: data.terminals }),
      ),
      noun: "line",
      about: ` about ${clean(name)}`,
      more: `kite explain ${clean(name)}`,
    },
    lockSection({ ...data, locks: own, sessions: [session] }, screen),
    taskSection({ ...data, tasks: data.tasks.filter(t => t.assignee === id) }, screen),
    newsSection({ ...data, news, refusals }, screen),
  ];
  return sections.filter(({ items }) => items.length > 0);
}

function helpLines(screen: Screen): string[] {
  return ["", ...watchTable(keysHelp, [{}, { min: 12 }], screen, 2)];
}

function footerLine(data: WatchData, mode: WatchMode, screen: Screen): string {
  const { at, filter, text, action } = mode;
  const chosen = chosenSession(data);
  const name = clean(chosen?.name ?? "");
  if (at === "message") {
    const keys = "   Enter sends it   Esc does not";
    const begin = `to ${cut(name, Math.floor(screen.width / 4))}: `;
    const room = Math.max(1, screen.width - widthOf(begin) - widthOf(keys) - 1);
    return paint(screen, "yellow", cut(`${begin}${cut(clean(text), room, "start")}_${keys}`, screen.width));
  }
  const asks = at === "confirm" && action !== null ? actions[action].asks : undefined;
  if (asks !== undefined) {
    const keys = "? y yes   other keys no";
    const room = Math.max(1, screen.width - widthOf(asks("") + keys));
    return paint(screen, "yellow", asks(cut(name, room)) + keys);
  }
  if (data.notice !== undefined && data.notice !== "") return paint(screen, "yellow", unpainted(data.notice));
  const shown = filter === "" ? "/ filter" : `/ "${clean(filter)}"`;
  const parts =
    at === "filter"
      ? [`show rows with: ${clean(filter)}_`, "Enter keeps it", "Esc clears it"]
      : at === "agent"
        ? ["Esc back", ...actionKeys, "q end"]
        : at === "help"
          ? ["Esc back", "q end"]
          : [
              "q end",
              shown,
              "p projects",
              "? keys",
              ...(chosen === undefined ? [] : [`Enter ${clean(chosen.name)}`]),
            ];
  return paint(screen, "dim", cut(parts.join("   "), screen.width));
}

const actionKeys = Object.entries(actions).map(([name, { key }]) => `${key} ${name}`);

/** Cuts a line of a table whose least width exceeds the terminal's. */
function within(line: string, width: number): string {
  return widthOf(unpainted(line)) <= width ? line : cut(unpainted(line), width);
}

function header(
  { version, away, sessions, locks, tasks, project = null }: WatchData,
  screen: Screen,
): string {
  const time = clock(screen.now, screen.now);
  if (away !== null) return paint(screen, "yellow", cut(`${time} · ${clean(away)}`, screen.width));
  const needs = needsText(sessions, project, screen.width - widthOf(`${time} · needs you: `));
  const waiting = sessions.filter(hasWait).length;
  const counts = [
    ...(needs === "" ? [] : [`needs you: ${needs}`]),
    counted(sessions.length, "session"),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    counted(locks.length, "lock"),
    counted(tasks.length, "open task"),
  ];
  const line = [time, ...counts, `Kite ${clean(version)}`].join(" · ");
  return paint(screen, "bold", cut(line, screen.width));
}

/** Most lines about the store at the top. */
const storeLinesMax = 2;

/** What stands about the store below the header; nothing where no daemon answers, since nobody knows then. */
function storeLines({ store, away }: WatchData, screen: Screen): string[] {
  if (store === undefined || away !== null) return [];
  const { text, isTrouble } = storeHead(store, screen.now);
  if (!isTrouble) return [paint(screen, "dim", cut(text, screen.width))];
  const [first = "", ...more] = wrap(text, screen.width, 2);
  const fitting = [first, ...(more.length < storeLinesMax ? more : [cut(more.join(" "), screen.width)])];
  return fitting.map(line => paint(screen, "yellow", line));
}

function sessionSection(data: WatchData, screen: Screen): Section {
  const { sessions, tasks } = data;
  const projects = [...new Set(sessions.map(({ project }) => project))];
  const [project] = projects;
  const isOne = project !== undefined && projects.length === 1;
  const where = isOne
    ? ` in${heading(project, { ...screen, color: false, width: screen.width - 14 }).slice(1)}`
    : "";
  const options = {
    headings: !isOne,
    chosen: chosenSession(data)?.id,
    tasks: new Set(tasks.map(({ description }) => description)),
  };
  return {
    title: `Sessions: ${sessions.length}${where}`,
    items: sessions.length === 0 ? [] : briefSessions(data, screen, options),
    noun: "session",
    more: "kite status --sessions",
    isMain: true,
  };
}

/** Sessions of other machines, which cannot be chosen: only their own machine acts on them. */
function elsewhereSection({ elsewhere = [] }: WatchData, screen: Screen): Section {
  const items = lineItems(elsewhereTable(elsewhere, screen));
  return { title: elsewhereTitle(elsewhere), items, noun: "session", more: "kite status" };
}

function otherSection({ project = null }: WatchData, all: WatchData, screen: Screen): Section {
  const [, ...lines] = otherProjectLines(all, project, "", screen, true);
  const items = lineItems(lines);
  return { title: "Other projects: p", items, noun: "project", more: "kite status --all" };
}

function lockSection({ sessions, locks }: WatchData, screen: Screen): Section {
  const items = lockItems({ sessions, locks }, screen, false);
  return { title: `Locks: ${locks.length}`, items, noun: "lock", more: "kite status --locks" };
}

function taskSection({ tasks }: WatchData, screen: Screen): Section {
  const groups = taskGroups(tasks, screen);
  const items = groups.flatMap(({ title, lines }) => [
    ...(groups.length > 1 ? [{ lines: [title], count: 0 }] : []),
    ...lineItems(lines),
  ]);
  return { title: `Tasks: ${summaryOf(tasks)}`, items, noun: "task", more: "kite task list" };
}

/** Latest first, so that a small screen drops the oldest. */
function newsSection({ news, refusals }: WatchData, screen: Screen): Section {
  const refused = refusals.map(r => ({
    at: r.at,
    text: `refused   ${clean(nameOrPerson(r.name))}: ${clean(refusalText({ ...r, locked_by_name: r.holder }, "terminal"))}`,
  }));
  const all = [...news, ...refused].sort((a, b) => b.at - a.at);
  const lines = all.map(({ at, text }) => cut(`  ${clock(at, screen.now)}  ${text}`, screen.width));
  return { title: "Latest", items: lineItems(lines), noun: "event", more: "kite log" };
}
