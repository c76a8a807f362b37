/** The output of `kite agent`. */

import type { TrailLine } from "../../daemon/trail/line.ts";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { NamedAgent } from "../agent/named.ts";
import type { Worded } from "../tasks/numbering.ts";
import { standing } from "../tasks/standing.ts";
import { paint } from "./color.ts";
import { declarationFields, summaryOf } from "./declarations.ts";
import type { OneAgent } from "./feature.ts";
import { features } from "./features.ts";
import { type Field, fieldLines } from "./fields.ts";
import { logLines } from "./log.ts";
import { Places, projectName, tilde, whereabouts } from "./places.ts";
import { statusText } from "./sessions.ts";
import { clean, clock, counted, cut, duration, type Screen, widthOf, wrap } from "./text.ts";

export interface AgentData {
  readonly agent: NamedAgent;
  /** Null: the session ended meanwhile. */
  readonly session: SessionRow | null;
  readonly declaration: DeclarationRow | null;
  readonly locks: readonly LockRow[];
  readonly waits: readonly LockRow[];
  /** The tasks that it has claimed. */
  readonly tasks: readonly TaskRow[];
  readonly unread: number;
  /** The latest ones, in order. */
  readonly decisions: readonly TrailLine[];
}

export interface HistoryData {
  readonly agent: NamedAgent;
  readonly isLive: boolean;
  /** Declarations that ended, oldest first, as all lists here. */
  readonly declarations: readonly DeclarationRow[];
  readonly tasks: readonly TaskRow[];
  readonly decisions: readonly TrailLine[];
}

/** Longest result of a task in a history, in columns. */
const resultColumns = 200;
const locksShownMax = 10;
/** A title stays on one line, or its rest would stand where a line of Kite's own begins. */
const aboutMargin = 24;
const aboutColumnsMin = 12;

/** What is said besides the rows. */
export interface AgentWords {
  /** Puts numbers for the ids of tasks. */
  readonly worded?: Worded;
  /** Whether it is held to its role; null: nothing to say. */
  readonly held: string | null;
  /** The terminal of its session's process; null: it has none, or nobody can tell. */
  readonly terminal: string | null;
  /** What its session is about, for a person's screen; null: nothing says, or an agent reads. */
  readonly title: string | null;
}

/** One agent on one screen; files are relative to `cwd`. */
export function agentView(data: AgentData, cwd: string, screen: Screen, words: AgentWords): string[] {
  const fields = [
    ...placeFields(data, screen, words),
    ...declaredFields(data, cwd),
    ...lockFields(data, screen),
    ...dueFields(data),
  ];
  return [
    heading(data.agent, data.session === null ? "ended" : statusOf(data, data.session), screen),
    ...fieldLines(fields, screen),
    ...decisionLines(data.decisions, screen, words.worded),
  ];
}

/** The same without its locks and the decisions about it. */
export function agentCard(data: AgentData, cwd: string, screen: Screen, words: AgentWords): string[] {
  const fields = [...placeFields(data, screen, words), ...declaredFields(data, cwd), ...dueFields(data)];
  return fieldLines(fields, screen);
}

function declaredFields({ declaration }: AgentData, cwd: string): readonly Field[] {
  return declaration === null ? [["declared", "nothing"]] : declarationFields(declaration, cwd);
}

function dueFields({ tasks, unread }: AgentData): readonly Field[] {
  return [
    ["claimed", tasks.map(task => `#${task.number} ${task.description}`)],
    ["messages", unread === 0 ? null : `${unread} unread`],
  ];
}

/** What an agent declared before, finished, and how Kite decided on its requests. */
export function historyView(
  { agent, isLive, declarations, tasks, decisions }: HistoryData,
  screen: Screen,
  worded?: Worded,
): string[] {
  const declared = declarations.flatMap(row => [
    ...wrap(`${clock(row.declaredAt, screen.now)}  ${summaryOf(row)}`, screen.width - 2, 10),
  ]);
  const finished = tasks.flatMap(task => {
    const result = task.result === null ? "" : `: ${cut(clean(task.result), resultColumns)}`;
    const line = `${clock(task.updatedAt, screen.now)}  ${standing(task)}  #${task.number} ${clean(task.description)}${result}`;
    return wrap(line, screen.width - 2, 10);
  });
  return [
    heading(agent, isLive ? "live" : "ended", screen),
    ...section("Declared before", declared, screen),
    ...section("Finished tasks", finished, screen),
    ...decisionLines(decisions, screen, worded),
  ];
}

function heading({ name, id, agent }: NamedAgent, status: string, screen: Screen): string {
  const ids = agent === null ? clean(id) : `${clean(id)}, agent ${clean(agent)}`;
  const shown = cut(clean(name), screen.width);
  const rest = cut(`  ${status}  ${ids}`, Math.max(0, screen.width - widthOf(shown)));
  return paint(screen, "bold", shown) + paint(screen, "dim", rest);
}

function statusOf({ agent }: AgentData, session: SessionRow): string {
  const own = within(session, agent);
  if (own === undefined) return "ended";
  const lives = features.map(feature => feature.life?.(own) ?? null);
  return lives.find(life => life !== null) ?? (own === session ? statusText(session) : own.status);
}

export function within(session: SessionRow, { agent }: NamedAgent): OneAgent | undefined {
  return agent === null ? session : session.agents.find(one => one.agent === agent);
}

/** Where it works, and what it waits for a person for. */
function placeFields(
  { agent, session }: AgentData,
  screen: Screen,
  { held, terminal, title }: AgentWords,
): Field[] {
  if (session === null) return [["project", projectName(agent.project)]];
  const on = terminal === null ? "" : ` on ${clean(terminal)}`;
  const pid = session.pid === null ? "no process" : `pid ${session.pid}${on}`;
  const since = `since ${clock(session.registeredAt, screen.now)}`;
  const client = session.client === undefined ? [] : [clean(session.client)];
  const seen = `seen ${duration(session.lastSeenMs)} ago`;
  return [
    ["session", [clean(session.name), ...client, pid, since, seen].join(", ")],
    [
      "about",
      title === null
        ? null
        : `"${cut(clean(title).replaceAll('"', "'"), Math.max(aboutColumnsMin, screen.width - aboutMargin))}"`,
    ],
    ["project", projectName(session.project)],
    ["branch", whereabouts(session)],
    ["directory", tilde(session.cwd, screen.home)],
    ...features
      .flatMap(feature => feature.fields?.(session, within(session, agent)) ?? [])
      .map(
        (field): Field => (field[0] === "role" && held !== null ? ["role", `${field[1]}, ${held}`] : field),
      ),
  ];
}

function lockFields({ session, locks, waits, agent }: AgentData, screen: Screen): Field[] {
  const places = new Places(session === null ? [] : [session], [...locks, ...waits], screen.home);
  const held = locks.slice(0, locksShownMax).map(lock => {
    const queue = lock.waiters.length === 0 ? "" : `, ${counted(lock.waiters.length, "waiter")}`;
    return `${places.lock(lock)} for ${duration(lock.heldMs)}${queue}`;
  });
  const waited = waits.slice(0, locksShownMax).map(lock => {
    const own = lock.waiters.find(one => one.id === agent.id && one.agent === agent.agent);
    const behind = lock.holder === null ? "" : ` behind ${clean(lock.holder.name)}`;
    return `${places.lock(lock)}${behind}, ${duration(own?.waitedMs ?? 0)}`;
  });
  const more = (all: readonly LockRow[]) =>
    all.length <= locksShownMax ? [] : [`and ${all.length - locksShownMax} more`];
  return [
    ["holds", [...held, ...more(locks)]],
    ["waits for", [...waited, ...more(waits)]],
  ];
}

function decisionLines(decisions: readonly TrailLine[], screen: Screen, worded?: Worded): string[] {
  const lines = decisions.flatMap(line => logLines(line, { ...screen, width: screen.width - 2 }, worded));
  return section("Latest decisions", lines, screen);
}

function section(title: string, lines: readonly string[], screen: Screen): string[] {
  return lines.length === 0 ? [] : ["", paint(screen, "bold", title), ...lines.map(line => `  ${line}`)];
}
