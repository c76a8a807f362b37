/** `kite watch`: sessions, locks, tasks and events on one screen of any size. */
import type { RefusalRow } from "../../protocol/daemon.ts";
import type { LockRow } from "../../protocol/lock.ts";
import type { SessionRow } from "../../protocol/session.ts";
import type { TaskRow } from "../../protocol/task.ts";
import { paint, unpainted } from "./color.ts";
import { lockLines } from "./locks.ts";
import { sessionLines } from "./sessions.ts";
import { summaryOf, tasksView } from "./tasks.ts";
import { clean, clock, counted, cut, type Screen, widthOf } from "./text.ts";

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
}

/** Least number of lines of a section: its title and one line. */
const least = 2;

/** Returns the screen: at most `rows` lines. */
export function watchView(data: WatchData, screen: Screen, rows: number): string[] {
  const sections = [
    sessionSection(data, screen),
    lockSection(data, screen),
    taskSection(data, screen),
    newsSection(data, screen),
  ];
  const lines = [header(data, screen)];
  const room = Math.max(0, rows - lines.length);
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
  return lines.map(line => within(line, screen.width));
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

function fitted({ lines, more }: Section, room: number, screen: Screen): string[] {
  if (lines.length <= room) return [...lines];
  if (room <= 1) return lines.slice(0, room);
  const hidden = lines.length - room + 1;
  const rest = cut(`  and ${counted(hidden, "more line")}: ${more}`, screen.width);
  return [...lines.slice(0, room - 1), paint(screen, "dim", rest)];
}

function header({ version, away, sessions, locks, tasks }: WatchData, screen: Screen): string {
  const time = clock(screen.now, screen.now);
  if (away !== null) return paint(screen, "yellow", cut(`${time} · ${clean(away)}`, screen.width));
  const counts = [
    counted(sessions.length, "session"),
    counted(locks.length, "lock"),
    counted(tasks.length, "open task"),
  ];
  const line = [time, ...counts, `Kite ${clean(version)}`].join(" · ");
  return paint(screen, "bold", cut(line, screen.width));
}

function sessionSection({ sessions, locks }: WatchData, screen: Screen): Section {
  const lines =
    sessions.length === 0
      ? ["  none"]
      : sessionLines({ sessions, locks }, screen, { condense: true, detail: false });
  return { title: "Sessions", lines, more: "kite sessions" };
}

function lockSection({ sessions, locks }: WatchData, screen: Screen): Section {
  const options = { quietMax: locks.length, headings: false };
  const lines = locks.length === 0 ? ["  none"] : lockLines({ sessions, locks }, screen, options);
  return { title: "Locks", lines, more: "kite locks" };
}

function taskSection({ tasks }: WatchData, screen: Screen): Section {
  const lines = tasks.length === 0 ? ["  none"] : tasksView({ tasks, none: "" }, screen);
  const title = tasks.length === 0 ? "Tasks" : `Tasks: ${summaryOf(tasks)}`;
  return { title, lines, more: "kite task list" };
}

/** Latest first, so that a small screen drops the oldest. */
function newsSection({ news, refusals }: WatchData, screen: Screen): Section {
  const refused = refusals.map(r => ({
    at: r.at,
    text: `refused   ${r.name === null || r.name === "" ? "" : `${clean(r.name)}: `}${clean(r.error)}`,
  }));
  const all = [...news, ...refused].sort((a, b) => b.at - a.at);
  const lines = all.map(({ at, text }) => cut(`  ${clock(at, screen.now)}  ${text}`, screen.width));
  return { title: "Latest", lines: lines.length === 0 ? ["  nothing yet"] : lines, more: "kite log" };
}
