/** The output of `kite status`. */

import { nameOrPerson, personName } from "../../protocol/names.ts";
import type { RefusalRow, StatsReply, TaskCounts } from "../../protocol/schemas/daemon.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { HoldRow } from "../../protocol/schemas/message.ts";
import type { OverviewReply } from "../../protocol/schemas/overview.ts";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow, RiskRow } from "../../protocol/work.ts";
import { refusalText } from "../refusal-text.ts";
import { features } from "./features.ts";
import { lockLines, riskLines } from "./locks.ts";
import { locksOfProject, needsLines, ofProject, otherProjectLines, shownProject } from "./needs.ts";
import { Places, tilde } from "./places.ts";
import { elsewhereLines, hasTrouble, hasWait } from "./session-notes.ts";
import { sessionLines } from "./sessions.ts";
import { storeHead } from "./store.ts";
import { handles, heldIn, numbersOfOne } from "./task-names.ts";
import {
  type Cell,
  clean,
  clock,
  counted,
  cut,
  duration,
  paint,
  type Screen,
  table,
  widthOf,
  wrap,
} from "./text.ts";

// The red and critical tasks that a person watches over.

/** The red and critical tasks that run, and those that wait for a lead or a person's yes. */
export function watchedLines(
  tasks: readonly TaskRow[],
  sessions: readonly SessionRow[],
  screen: Screen,
): string[] {
  const handle = handles(tasks);
  const numbers = numbersOfOne(tasks);
  const rows = tasks.map((task): Cell[] => [
    handle(task.id),
    { text: task.risk, style: "red" },
    {
      text: task.status === "active" ? `runs ${duration(screen.now - task.updatedAt)}` : "ready",
      style: "dim",
    },
    clean(task.description),
    { text: watchedNote({ ...task, held: heldIn(task, numbers) }, sessions), style: "dim" },
  ]);
  return table(rows, [{}, {}, {}, { min: 12 }, { min: 12 }], screen, 2);
}

function watchedNote(task: TaskRow, sessions: readonly SessionRow[]): string {
  if (task.held !== null) return clean(task.held);
  if (task.status !== "active")
    return task.approved ? "approved, nobody claimed it yet" : "nobody claimed it yet";
  const who = clean(nameOrPerson(task.assigneeName));
  const leads = sessions
    .filter(({ project }) => project === task.project)
    .flatMap(session => [session, ...session.agents])
    .filter(agent => agent.name !== task.assigneeName && features.some(feature => feature.leads?.(agent)))
    .map(({ name }) => clean(name));
  const lead = leads.length > 0 ? `lead: ${leads.join(", ")}` : "no lead is alive; it goes on";
  return `${who}; ${task.approved ? "approved" : lead}`;
}

export interface StatusData {
  /** The project to show in full, the others in a line each; null: all. */
  readonly project?: string | null;
  /** A person named that project, so it is shown also if nobody works there. */
  readonly isNamed?: boolean;
  /** A person reads it: it names who needs one in every project. */
  readonly isPersons?: boolean;
  readonly stats: Pick<StatsReply, "version" | "pid" | "upMs" | "sessions" | "locks" | "tasks">;
  readonly socket: string;
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
  /** What sessions are about, by their ids; absent where no person reads. */
  readonly titles?: ReadonlyMap<string, string>;
  readonly holds: readonly HoldRow[];
  readonly refusals: readonly RefusalRow[];
  readonly risks: readonly RiskRow[];
  /** The tasks of `project`; absent: the daemon does not tell. */
  readonly projectTasks?: TaskCounts;
  /** The red and critical tasks that are active or ready. */
  readonly watched: readonly TaskRow[];
  /** What was wiped lately and is still lost. */
  readonly wiped?: readonly WipeRow[];
  /** Sessions of other machines; absent where no store is set. */
  readonly elsewhere?: readonly ElsewhereRow[];
  /** What a person does next where no session is known. */
  readonly next?: readonly string[];
  /** The store that machines share; absent: none is set. */
  readonly store?: NonNullable<OverviewReply["store"]>;
  /** What is wrong with the whole daemon, each with what to do. */
  readonly warnings: readonly string[];
}

const noneHere = "No sessions in this project.";
const quietLocksMax = 12;
const refusalsShownMax = 5;
const risksShownMax = 10;
const watchedShownMax = 10;
const wipedShownMax = 3;

/** `kite status`: the daemon, the sessions, their locks and waiters, the latest refusals. */
export function statusView(all: StatusData, screen: Screen): string[] {
  const wantedProject = all.project ?? null;
  const project = all.isNamed === true ? wantedProject : shownProject(all, wantedProject);
  const data = project === null ? all : within(all, project);
  const isPersons = all.isPersons === true;
  const needs = needsLines(all.sessions, project, isPersons, screen);
  const { away, open } = all.store === undefined ? noStore : storeLines(all.store, screen);
  const head = [...away, ...needs, ...daemonLines(data, screen), ...open];
  const lines = [...head, ...warningLines(data.warnings, screen), ""];
  if (data.sessions.length === 0) {
    const none = all.sessions.length > 0 ? [noneHere] : ["No sessions.", ...(all.next ?? [])];
    lines.push(...none.flatMap(line => wrap(line, screen.width)));
  } else {
    lines.push(title("Sessions", summary(all, screen), screen));
    lines.push(...sessionLines(data, screen, { condense: true, detail: false }));
    lines.push(...left(data.stats.sessions - all.sessions.length, "session", screen));
  }
  const { elsewhere = [] } = data;
  if (elsewhere.length > 0) lines.push(...elsewhereLines(elsewhere, screen));
  const others = otherProjectLines(all, project, "kite status --all", screen, isPersons);
  if (others.length > 0) lines.push("", ...others);
  lines.push("");
  if (data.locks.length === 0) {
    lines.push(project === null ? "No locks." : "No locks in this project.");
  } else {
    lines.push(
      title("Locks", "", screen),
      ...lockLines(data, screen, { quietMax: quietLocksMax, headings: false }),
    );
    lines.push(...left(data.stats.locks - all.locks.length, "lock", screen));
  }
  if (data.holds.length > 0) {
    lines.push("", title("Frozen files", "kite thaw ends it", screen), ...holdLines(data, screen));
  }
  lines.push(...taskLines((project === null ? null : data.projectTasks) ?? data.stats.tasks, screen));
  if (data.watched.length > 0) {
    lines.push("", title("Red and critical tasks", "they run one at a time in a project", screen));
    lines.push(...watchedLines(data.watched.slice(0, watchedShownMax), data.sessions, screen));
    lines.push(...left(data.watched.length - watchedShownMax, "task", screen, " (kite task list)"));
  }
  if (data.risks.length > 0) {
    lines.push("", title("To be merged", "changed in two worktrees, see kite risk", screen));
    lines.push(...riskLines(data.risks.slice(0, risksShownMax), screen));
    lines.push(...left(data.risks.length - risksShownMax, "file", screen, ""));
  }
  if (data.wiped !== undefined && data.wiped.length > 0) {
    lines.push("", title("Wiped lately", "Kite kept it", screen), ...wipedLines(data.wiped, screen));
    lines.push(...left(data.wiped.length - wipedShownMax, "wipe", screen, " (kite rescue)"));
  }
  if (data.refusals.length > 0) lines.push("", ...refusalLines(data, screen));
  return lines;
}

/** Returns the rows of one project. */
function within(data: StatusData, project: string): StatusData {
  const sessions = ofProject(data.sessions, project);
  const isHere = (id: string | null) => id === null || sessions.some(s => s.id === id);
  return {
    ...data,
    sessions,
    locks: locksOfProject(data.locks, project),
    holds: ofProject(data.holds, project),
    refusals: data.refusals.filter(({ id }) => isHere(id)),
    risks: ofProject(data.risks, project),
    watched: ofProject(data.watched, project),
    ...(data.wiped === undefined ? {} : { wiped: ofProject(data.wiped, project) }),
    ...(data.elsewhere === undefined ? {} : { elsewhere: ofProject(data.elsewhere, project) }),
  };
}

/** Frozen files: the session that froze them, the time left, and the reason. */
function holdLines(data: StatusData, screen: Screen): string[] {
  const places = new Places(data.sessions, data.locks, screen.home);
  const rows = data.holds.map(hold => [
    { text: hold.files.map(file => places.file(file)).join(", "), style: "bold" as const },
    hold.by === null ? personName() : clean(hold.by.name),
    { text: `${duration(hold.leftMs)} left`, style: "dim" as const },
    clean(hold.text).trim(),
  ]);
  return table(
    rows,
    [{ min: 9, cut: "middle" }, { min: 5, max: 24 }, { align: "right" }, { min: 9 }],
    screen,
    2,
  );
}

/** Wiped work, a line each: how long ago, the command that brings it back, what it was and who wiped it. */
function wipedLines(wiped: readonly WipeRow[], screen: Screen): string[] {
  const rows = wiped.slice(0, wipedShownMax).map(({ wipe, at, by, command, files, more }) => {
    const [first] = files;
    const isOne = files.length === 1 && more === 0;
    const lines = isOne && first?.lines != null ? `${counted(first.lines, "line")} of ` : "";
    // At further files the daemon did not look.
    const atMost = more === 0 ? "" : "up to ";
    const others = isOne ? "" : ` and ${atMost}${counted(files.length - 1 + more, "other file")}`;
    const who = by === null ? clean(command) : `${clean(by.name)}: ${clean(command)}`;
    return [
      { text: duration(screen.now - at), style: "dim" as const },
      { text: `kite rescue restore ${clean(wipe)}`, style: "bold" as const },
      `${lines}${clean(first?.file ?? "")}${others}`,
      { text: who, style: "dim" as const },
    ];
  });
  const command = "kite rescue restore r-1".length;
  const columns = [
    { align: "right" as const },
    { min: command },
    { min: 12, cut: "middle" as const },
    { min: 9 },
  ];
  return table(rows, columns, screen, 2);
}

/** The number of unfinished tasks; no line if all are done. */
function taskLines(counts: TaskCounts, screen: Screen): string[] {
  const open = (["active", "ready", "blocked", "failed"] as const).filter(name => counts[name] > 0);
  if (open.length === 0) return [];
  const short = open.map(name => `${counts[name]} ${name}`).join(", ");
  const full = `${short} (kite task list)`;
  return ["", title("Tasks", widthOf(`Tasks: ${full}`) > screen.width ? short : full, screen)];
}

/** The status without a daemon, and the scopes in which Kite is off. */
export function notRunningView(screen: Screen, keptDown: boolean, isOff: readonly string[] = []): string[] {
  const why = keptDown
    ? "Kite is not running, and hooks do not start it. Start it: kite up"
    : "Kite is not running. Start it: kite up";
  return [...wrap(why, screen.width), ...warningLines(isOff, screen)];
}

function daemonLines(data: StatusData, screen: Screen): string[] {
  const { stats } = data;
  const since = clock(screen.now - stats.upMs, screen.now);
  const parts = [
    `Kite ${clean(stats.version)}`,
    `pid ${stats.pid}`,
    `up ${duration(stats.upMs)} since ${since}`,
    clean(tilde(data.socket, screen.home)),
  ];
  const lines: string[] = [];
  let line = "";
  for (const part of parts) {
    const grown = line === "" ? part : `${line} · ${part}`;
    if (line !== "" && widthOf(grown) > screen.width) {
      lines.push(line);
      line = part;
    } else {
      line = grown;
    }
  }
  lines.push(line);
  return lines.map((l, i) => paint(screen, i === 0 ? "bold" : "plain", cut(l, screen.width, "start")));
}

interface StoreLines {
  readonly away: readonly string[];
  readonly open: readonly string[];
}

const noStore: StoreLines = { away: [], open: [] };

/** What is wrong with the store stands above all else. */
function storeLines(store: NonNullable<StatusData["store"]>, screen: Screen): StoreLines {
  const { text, isTrouble } = storeHead(store, screen.now);
  const lines = wrap(text, screen.width, 2);
  return isTrouble
    ? { away: lines.map(line => paint(screen, "yellow", line)), open: [] }
    : { away: [], open: lines };
}

function warningLines(warnings: readonly string[], screen: Screen): string[] {
  return warnings.flatMap(w => wrap(`! ${clean(w)}`, screen.width, 2)).map(l => paint(screen, "yellow", l));
}

function title(text: string, more: string, screen: Screen): string {
  const rest = more === "" ? "" : paint(screen, "dim", `: ${more}`);
  return widthOf(`${text}: ${more}`) > screen.width
    ? paint(screen, "bold", text)
    : paint(screen, "bold", text) + rest;
}

function summary(data: StatusData, screen: Screen): string {
  const count = (test: (s: SessionRow) => boolean) => data.sessions.filter(test).length;
  const asking = count(s => s.attention !== null);
  const waiting = count(hasWait);
  const stalled = count(hasTrouble);
  const projects = new Set(data.sessions.map(s => s.project)).size;
  const parts = [
    `${data.stats.sessions}`,
    asking > 0 ? `${asking} need${asking === 1 ? "s" : ""} you` : "",
    stalled > 0 ? `${stalled} stalled or stopped` : "",
    waiting > 0 ? `${waiting} waiting` : "",
  ];
  const [first = "", ...rest] = parts.filter(p => p !== "");
  const short = [first, ...rest].join(", ");
  const full = projects > 1 ? [`${first} in ${projects} projects`, ...rest].join(", ") : short;
  return widthOf(`Sessions: ${full}`) > screen.width ? short : full;
}

function left(count: number, noun: string, screen: Screen, why = ", not fetched"): string[] {
  if (count <= 0) return [];
  return wrap(`and ${counted(count, noun)} more${why}`, screen.width - 2).map(line => `  ${line}`);
}

/** A row has columns of its own for who was refused and which file. */
function refusedText({ code, error, holder }: RefusalRow): string {
  return clean(refusalText({ code, error, locked_by_name: holder }, "terminal"));
}

function refusalLines(data: StatusData, screen: Screen): string[] {
  const places = new Places(data.sessions, data.locks, screen.home);
  const latest = [...data.refusals].sort((a, b) => b.at - a.at).slice(0, refusalsShownMax);
  const rows = latest.map(r => [
    { text: duration(screen.now - r.at), style: "dim" as const },
    clean(nameOrPerson(r.name ?? r.id?.slice(0, 8) ?? null)),
    r.file === null ? "" : places.file(r.file),
    refusedText(r),
  ]);
  const columns = [
    { align: "right" as const },
    { min: 5, max: 20 },
    { min: 9, max: 40, cut: "middle" as const },
    { min: 9 },
  ];
  return [title("Refused lately", "", screen), ...table(rows, columns, screen, 2)];
}
