/** `kite watch`: sessions, locks, tasks and events on one screen of any size. */

import { nameOrPerson } from "../../protocol/names.ts";
import type { RefusalRow } from "../../protocol/schemas/daemon.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { StoreState } from "../../protocol/schemas/store.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow, SameFileRow } from "../../protocol/work.ts";
import { refusalText } from "../refusal-text.ts";
import { summaryOf } from "../tasks/standing.ts";
import { paint, unpainted } from "./color.ts";
import { elsewhereTable, elsewhereTitle, sameFileAbout, sameFileTitle } from "./elsewhere.ts";
import { lockItems } from "./locks.ts";
import { needsText } from "./needs.ts";
import { locksOfProject, ofProject, otherProjectLines, shownProject } from "./other-projects.ts";
import { sameFileLines } from "./risks.ts";
import { briefSessions, heading, inRowOrder, sessionLines } from "./sessions.ts";
import { storeHead } from "./store.ts";
import { table } from "./table.ts";
import { taskGroups } from "./tasks.ts";
import { clean, clock, counted, cut, type Screen, widthOf, wrap } from "./text.ts";
import { hasWait } from "./urgency.ts";
import { actions, firstMode, keysHelp, type WatchMode } from "./watch-keys.ts";
import { lineItems, type Section, sectionLines } from "./watch-section.ts";

export interface WatchData {
  readonly version: string;
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
  /** What sessions are about, by their ids; absent where no person reads. */
  readonly titles?: ReadonlyMap<string, string>;
  /** The store that machines share, and the sessions of the others; absent: none is set. */
  readonly store?: StoreState;
  readonly elsewhere?: readonly ElsewhereRow[];
  /** Files that branches here and on other machines changed. */
  readonly sameFiles?: readonly SameFileRow[];
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
export interface Page {
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
    sameFileSection(data, screen),
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
      has(s.name, s.branch, s.worktree, s.waitingFor, s.attention, ...s.agents.map(a => a.name)),
    ),
    ...(all.elsewhere === undefined
      ? {}
      : {
          elsewhere: ofProject(all.elsewhere, project).filter(s =>
            has(s.name, s.branch, s.machine, s.role ?? null),
          ),
        }),
    ...(all.sameFiles === undefined
      ? {}
      : {
          sameFiles: ofProject(all.sameFiles, project).filter(({ file, sides }) =>
            has(file, ...sides.flatMap(({ name, branch }) => [name, branch])),
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
  return ["", ...table(keysHelp, [{}, { min: 12 }], screen, 2)];
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

/** Files that others changed, too, on a branch of another machine. */
function sameFileSection({ sameFiles = [] }: WatchData, screen: Screen): Section {
  const items = lineItems(sameFileLines(sameFiles, screen));
  return { title: `${sameFileTitle}: ${sameFileAbout}`, items, noun: "file", more: "kite status" };
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
