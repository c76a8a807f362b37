/** `kite watch`: sessions, locks, tasks and events on one screen of any size. */
import type { RefusalRow } from "../../protocol/daemon.ts";
import type { LockRow } from "../../protocol/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { TaskRow } from "../../protocol/task.ts";
import { refusalText } from "../refusal-text.ts";
import { paint, unpainted } from "./color.ts";
import { lockLines } from "./locks.ts";
import { ofProject, otherProjectLines, shownProject } from "./other-projects.ts";
import { inRowOrder, markedAt, sessionLines } from "./sessions.ts";
import { table } from "./table.ts";
import { summaryOf, tasksView } from "./tasks.ts";
import { clean, clock, counted, cut, type Screen, widthOf } from "./text.ts";
import { hasWait, needsPerson } from "./urgency.ts";
import { firstMode, keysHelp, type WatchMode } from "./watch-keys.ts";

export interface WatchData {
  readonly version: string;
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
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
}

/** One event as text; `at` is wall time in milliseconds. */
export interface News {
  readonly at: number;
  readonly text: string;
}

interface Section {
  readonly title: string;
  readonly lines: readonly string[];
  /** The command that shows the rest. */
  readonly more: string;
  /** The position of a line that is always shown. */
  readonly kept?: number;
}

/** Least number of lines of a section: its title and one line. */
const least = 2;

/** Least rows of a screen with a footer. */
const footerFrom = 8;

/** Returns the screen: at most `rows` lines. */
export function watchView(all: WatchData, screen: Screen, rows: number): string[] {
  const { mode = firstMode } = all;
  const data = withoutOthers(all);
  const lines = [header(all, screen)];
  const footer = rows < footerFrom ? [] : [footerLine(data, mode, screen)];
  const room = Math.max(0, rows - lines.length - footer.length);
  const body =
    mode.at === "help" ? helpLines(screen) : sectionLines(sectionsOf(data, all, screen), room, screen);
  lines.push(...body.slice(0, room));
  if (footer.length > 0) {
    while (lines.length < rows - 1) lines.push("");
    lines.push(...footer);
  }
  return lines.map(line => within(line, screen.width));
}

function sectionsOf(data: WatchData, all: WatchData, screen: Screen): Section[] {
  const chosen = data.mode?.at === "agent" ? chosenSession(data) : undefined;
  if (chosen !== undefined) return agentSections(data, chosen, screen);
  const sections = [
    sessionSection(data, screen),
    otherSection(data, all, screen),
    lockSection(data, screen),
    taskSection(data, screen),
    newsSection(data, screen),
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

function sectionLines(sections: readonly Section[], room: number, screen: Screen): string[] {
  const lines: string[] = [];
  const wants = sections.map(({ lines: own }) => own.length + 1);
  // If there is room, a blank line separates sections.
  const spaced = wants.reduce((sum, want) => sum + want + 1, 0) <= room;
  for (const [i, given] of share(wants, room).entries()) {
    const section = sections[i];
    if (section === undefined || given === 0) continue;
    if (spaced) lines.push("");
    lines.push(
      paint(screen, "bold", cut(section.title, screen.width)),
      ...fitted(section, given - 1, screen),
    );
  }
  return lines;
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
    locks: ofProject(all.locks, project).filter(l =>
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
  return sessions[Math.min(data.mode?.chosen ?? 0, sessions.length - 1)];
}

function agentSections(data: WatchData, session: SessionRow, screen: Screen): Section[] {
  const { id, name } = session;
  const own = data.locks.filter(l => l.holder?.id === id || l.waiters.some(w => w.id === id));
  const one = { sessions: [session], locks: data.locks };
  const news = data.news.filter(({ text }) => text.includes(name));
  const refusals = data.refusals.filter(r => r.id === id);
  const sections = [
    {
      title: clean(name),
      lines: sessionLines(one, screen, { condense: false, detail: true }),
      more: `kite explain ${clean(name)}`,
    },
    lockSection({ ...data, locks: own, sessions: [session] }, screen),
    taskSection({ ...data, tasks: data.tasks.filter(t => t.assignee === id) }, screen),
    newsSection({ ...data, news, refusals }, screen),
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

function helpLines(screen: Screen): string[] {
  return ["", ...table(keysHelp, [{}, { min: 12 }], screen, 2)];
}

function footerLine(data: WatchData, { at, filter }: WatchMode, screen: Screen): string {
  const chosen = chosenSession(data);
  const shown = filter === "" ? "/ filter" : `/ "${clean(filter)}"`;
  const parts =
    at === "filter"
      ? [`show rows with: ${clean(filter)}_`, "Enter keeps it", "Esc clears it"]
      : at === "agent" || at === "help"
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

/** Cuts a line of a table whose least width exceeds the terminal's. */
function within(line: string, width: number): string {
  return widthOf(unpainted(line)) <= width ? line : cut(unpainted(line), width);
}

/** Divides `room` lines among sections: small wants are met in full, the others share the rest evenly. */
export function share(wants: readonly number[], room: number): number[] {
  const given = wants.map(() => 0);
  let left = room;
  for (const [i, want] of wants.entries()) {
    if (left < least) break;
    given[i] = Math.min(want, least);
    left -= given[i] ?? 0;
  }
  for (;;) {
    const hungry = wants.flatMap((want, i) => ((given[i] ?? 0) > 0 && (given[i] ?? 0) < want ? [i] : []));
    if (left === 0 || hungry.length === 0) return given;
    for (const i of hungry) {
      if (left === 0) break;
      given[i] = (given[i] ?? 0) + 1;
      left -= 1;
    }
  }
}

function fitted({ lines, more, kept = 0 }: Section, room: number, screen: Screen): string[] {
  if (lines.length <= room) return [...lines];
  if (room <= 1) return lines.slice(kept, kept + room);
  const hidden = lines.length - room + 1;
  const rest = cut(`  and ${counted(hidden, "more line")}: ${more}`, screen.width);
  const first = Math.max(0, kept - room + 2);
  return [...lines.slice(first, first + room - 1), paint(screen, "dim", rest)];
}

function header({ version, away, sessions, locks, tasks }: WatchData, screen: Screen): string {
  const time = clock(screen.now, screen.now);
  if (away !== null) return paint(screen, "yellow", cut(`${time} · ${clean(away)}`, screen.width));
  const needs = sessions.filter(needsPerson).length;
  const waiting = sessions.filter(hasWait).length;
  const counts = [
    counted(sessions.length, "session"),
    ...(needs > 0 ? [`${needs} need${needs === 1 ? "s" : ""} you`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    counted(locks.length, "lock"),
    counted(tasks.length, "open task"),
  ];
  const line = [time, ...counts, `Kite ${clean(version)}`].join(" · ");
  return paint(screen, "bold", cut(line, screen.width));
}

function sessionSection(data: WatchData, screen: Screen): Section {
  const { sessions, locks } = data;
  const chosen = chosenSession(data)?.id;
  const lines = sessionLines({ sessions, locks }, screen, { condense: "always", detail: false, chosen });
  return { title: "Sessions", lines, more: "kite status --sessions", kept: Math.max(0, markedAt(lines)) };
}

function otherSection({ project = null }: WatchData, all: WatchData, screen: Screen): Section {
  const [, ...lines] = otherProjectLines(all, project, "", screen);
  return { title: "Other projects: p", lines, more: "kite status --all" };
}

function lockSection({ sessions, locks }: WatchData, screen: Screen): Section {
  const options = { quietMax: locks.length, headings: false };
  const lines = locks.length === 0 ? [] : lockLines({ sessions, locks }, screen, options);
  return { title: "Locks", lines, more: "kite status --locks" };
}

function taskSection({ tasks }: WatchData, screen: Screen): Section {
  const lines = tasks.length === 0 ? [] : tasksView({ tasks, none: "" }, screen);
  return { title: `Tasks: ${summaryOf(tasks)}`, lines, more: "kite task list" };
}

/** Latest first, so that a small screen drops the oldest. */
function newsSection({ news, refusals }: WatchData, screen: Screen): Section {
  const refused = refusals.map(r => ({
    at: r.at,
    text: `refused   ${r.name === null || r.name === "" ? "" : `${clean(r.name)}: `}${clean(refusalText({ ...r, locked_by_name: r.holder }, "terminal"))}`,
  }));
  const all = [...news, ...refused].sort((a, b) => b.at - a.at);
  const lines = all.map(({ at, text }) => cut(`  ${clock(at, screen.now)}  ${text}`, screen.width));
  return { title: "Latest", lines, more: "kite log" };
}
