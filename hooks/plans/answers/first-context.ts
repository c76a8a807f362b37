/** Words what a session, or an agent within it, is told at its start. */

import { limits } from "../../../protocol/limits.ts";
import type { DeclaredBrief, WorkedOn } from "../../../protocol/schemas/session.ts";
import type { AgentRow, SessionRow } from "../../../protocol/session-rows.ts";
import { duration, frame, nearPath, quote, shellWord } from "../../../protocol/text.ts";
import type { ElsewhereRow } from "../../../protocol/work.ts";
import type { FinishedNote, PeerLock } from "../../seam/outcomes.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import {
  type Answer,
  alsoTellPerson,
  nothing,
  outcomeOf,
  refusalOf,
  tellPerson,
  withContext,
} from "./answer.ts";

// Words who else works in a project and what is known there, in little room.

type Peers = Extract<HookOutcome, { did: "list_peers"; ok: true }>;

/** Longest quote of a task, of a result, and of a role or a file, in UTF-16 units. */
const taskChars = 120;
const shortChars = 60;

/** Lines about one kind of things, the nearest first; `what` names the rest of them. */
interface Section {
  readonly lines: readonly string[];
  /** How many there are for which no line was made. */
  readonly more?: number;
  readonly what: string;
}

/** Returns the lines about the others and about the project, of at most `room` UTF-16 units; none if there is nothing. */
function peerLines(session: string, cwd: string, peers: Peers, room: number): string[] {
  const live = peers.sessions.filter(s => s.id !== session && (s.status !== "lost" || lockCount(s) > 0));
  const fellows = fellowLines(peers, cwd);
  const others = [
    ...fellows,
    ...live.flatMap(s => [sessionLine(s, peers, cwd), ...agentLines(s, peers, cwd)]),
  ];
  const more = peers.moreSessions;
  const { elsewhere: far = [], moreElsewhere: moreFar = 0 } = peers;
  const sections: Section[] = [
    { lines: others, more, what: others.length > live.length ? "agents" : "sessions" },
    { lines: far.map(farLine), more: moreFar, what: "sessions on other machines" },
    { lines: peers.finished.map(finishedLine), what: "finished tasks" },
    { lines: keyLines(peers), what: "keys" },
  ];
  if (sections.every(({ lines }) => lines.length === 0)) return [];
  const head = [headline(fellows.length, live.length + more + far.length + moreFar), frame];
  return [...head, ...within(sections, room - lengthOf(head))];
}

/** Returns the lines about what changed, of at most `room` UTF-16 units; none if nothing did. */
function changeLines(
  peers: Peers,
  { gone, isFirst }: NonNullable<Peers["changes"]>,
  cwd: string,
  room: number,
): string[] {
  const others = peers.sessions.flatMap(s => [sessionLine(s, peers, cwd), ...agentLines(s, peers, cwd)]);
  const left = gone.map(name => quote(name, limits.nameBytes)).join(", ");
  const sections: Section[] = [
    { lines: others, more: peers.moreSessions, what: "agents" },
    { lines: gone.length === 0 ? [] : [`ended: ${left}`], what: "ended sessions" },
    { lines: peers.finished.map(finishedLine), what: "finished tasks" },
    { lines: keyLines(peers), what: "keys" },
  ];
  if (sections.every(({ lines }) => lines.length === 0)) return [];
  const what = isFirst
    ? "what other agents of this project do"
    : "what changed among the other agents of this project since you were told last";
  const head = [`Kite: ${what}.`, frame];
  return [...head, ...within(sections, room - lengthOf(head))];
}

/** Returns the length of lines, each with its end. */
function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

function headline(fellows: number, sessions: number): string {
  const own = `${fellows} other ${fellows === 1 ? "agent works" : "agents work"} in your session`;
  const far = `${sessions} other ${sessions === 1 ? "session works" : "sessions work"} in this project`;
  if (fellows + sessions === 0) return "Kite: nobody else works in this project now. From earlier work:";
  const who = fellows === 0 ? far : sessions === 0 ? own : `${own}, and ${far}`;
  return `Kite: ${who}. When you edit a file, you hold its lock until you have answered.`;
}

/** Returns what fits: of each section the first lines, and how many there are besides. */
function within(sections: readonly Section[], room: number): string[] {
  const shown: string[] = [];
  for (const { lines, more = 0, what } of sections) {
    const all = lines.length + more;
    let count = 0;
    for (const line of lines.slice(0, limits.noteRowsMax)) {
      const rest = all - count - 1;
      const end = rest === 0 ? [] : [`- and ${rest} more ${what}`];
      if (lengthOf([...shown, `- ${line}`, ...end]) > room) break;
      shown.push(`- ${line}`);
      count += 1;
    }
    const end = `- and ${all - count} more ${what}`;
    if (count < all && lengthOf([...shown, end]) <= room) shown.push(end);
  }
  return shown;
}

/** The agents beside one that starts within a session: the main agent if it is known what it does, then the others. */
function fellowLines(peers: Peers, cwd: string): string[] {
  const { own } = peers;
  if (own === null) return [];
  const isMainKnown = own.declared !== undefined || own.task !== null;
  const main = workText(own.declared, own.task) + filesText(peers, own.id, null, cwd);
  return [
    ...(isMainKnown ? [`${quote(own.name, limits.nameBytes)}, the main agent${main}`] : []),
    ...own.agents
      .filter(one => one.status === "active" || one.declared !== undefined)
      .map(one => agentLine(own, one, peers, cwd)),
  ];
}

/** The agents within another session that declared something. */
function agentLines(s: SessionRow, peers: Peers, cwd: string): string[] {
  return s.agents.filter(one => one.declared !== undefined).map(one => agentLine(s, one, peers, cwd));
}

function agentLine({ id, name }: SessionRow, one: AgentRow, peers: Peers, cwd: string): string {
  const who = quote(`${name}/${one.name}`, limits.nameBytes);
  const waits = one.waitingForPath === null ? "" : `, waits for ${near(one.waitingForPath, cwd)}`;
  return `${who}, ${one.status}${waits}${workText(one.declared, null)}${filesText(peers, id, one.agent, cwd)}`;
}

function sessionLine(s: SessionRow, peers: Peers, cwd: string): string {
  const at = s.head ?? s.branch;
  const branch =
    at === null ? "" : `, ${s.head === undefined ? "branch " : ""}${quote(at, limits.nameBytes)}`;
  const waiting = s.agents.find(a => a.waitingForPath !== null);
  const waits =
    s.waitingForPath !== null
      ? `, waits for ${near(s.waitingForPath, cwd)}`
      : waiting?.waitingForPath
        ? `, its agent ${quote(waiting.name, limits.nameBytes)} waits for ${near(waiting.waitingForPath, cwd)}`
        : "";
  const work = workText(s.declared, s.task) + filesText(peers, s.id, null, cwd) + locksText(peers, s, cwd);
  const status = s.status === "lost" ? `no sign of life for ${duration(s.lastSeenMs)}` : s.status;
  const client = s.client === undefined ? "" : ` (${s.client})`;
  return `${quote(s.name, limits.nameBytes)}${client}${branch}, ${status}${waits}${work}`;
}

/** Its name has its machine: `alice@desk`. Its files are not those of this machine. */
function farLine({ name, branch, state, tasks, declared }: ElsewhereRow): string {
  const where = branch === null ? "" : `, branch ${quote(branch, limits.nameBytes)}`;
  const silent = state === "there" ? "" : ", its machine is silent";
  return `${quote(name, limits.nameBytes)}, on another machine${where}${silent}${workText(declared, tasks[0] ?? null)}`;
}

function lockCount({ locks, agents }: SessionRow): number {
  return agents.reduce((sum, one) => sum + one.locks, locks);
}

/** What an agent declared of its role and its task, else the task that it claimed. */
function workText(declared: DeclaredBrief | undefined, claimed: WorkedOn | null): string {
  const role = declared?.role ?? "";
  const task = declared?.task || (claimed?.description ?? "");
  const is = role === "" ? "" : `, role ${quote(role, shortChars)}`;
  return task === "" ? is : `${is}, works on ${quote(task, taskChars)}`;
}

function filesText({ views }: Peers, id: string, agent: string | null, cwd: string): string {
  const view = views.find(one => one.id === id && one.agent === agent);
  if (view === undefined) return "";
  const rest = view.more === 0 ? [] : [`${view.more} more`];
  return `, will change ${[...view.files.map(file => quote(nearPath(file, cwd), shortChars)), ...rest].join(", ")}`;
}

/** What the session and its agents hold: what they write now first, then what they keep for longer. */
function locksText(peers: Peers, s: SessionRow, cwd: string): string {
  const locks = peers.locks.filter(({ session }) => session === s.id);
  const parts = holdTexts.flatMap(([stays, words]) => {
    const files = locks.filter(lock => lock.stays === stays).map(lock => lockText(lock, cwd));
    return files.length === 0 ? [] : [`, ${words(files.join(", "))}`];
  });
  const more = lockCount(s) - locks.length;
  return parts.join("") + (more <= 0 || locks.length === 0 ? "" : ` and ${more} more`);
}

const holdTexts: readonly (readonly [PeerLock["stays"], (files: string) => string])[] = [
  ["writes", files => `is editing ${files}`],
  ["kept", files => `keeps ${files} locked`],
  ["command", files => `runs a command that holds ${files}`],
  [null, files => `holds ${files}`],
];

function lockText({ file, isDirectory, heldMs, waiters, stays }: PeerLock, cwd: string): string {
  const about = [
    // How long it has the lock says nothing of the edit.
    ...(stays === "writes" ? [] : [duration(heldMs)]),
    ...(waiters === 0 ? [] : [`${waiters} in the queue`]),
  ];
  return near(isDirectory ? `${file}/` : file, cwd) + (about.length === 0 ? "" : ` (${about.join(", ")})`);
}

function finishedLine({ description, by, result }: FinishedNote): string {
  const who = by === null ? "" : ` by ${quote(by, limits.nameBytes)}`;
  const what = result === null ? "" : `: ${quote(result, taskChars)}`;
  return `finished${who}: ${quote(description, taskChars)}${what}`;
}

function keyLines({ keys, moreKeys }: Peers): string[] {
  if (keys.length === 0) return [];
  const rest = moreKeys === 0 ? [] : [`${moreKeys} more`];
  const names = [...keys.map(key => quote(key, shortChars)), ...rest].join(", ");
  return [`shared values, to be read with kite context get KEY: ${names}`];
}

function near(path: string, cwd: string): string {
  return quote(nearPath(path, cwd));
}

interface Start {
  readonly session: string;
  readonly cwd: string;
}

/** Longest list of claimed tasks, in UTF-16 units. */
const ownTasksChars = 600;

/** What a session is told at its start: who else is there, what is known of the project, its own tasks; else nothing. */
export function startAnswer(start: Start, socket: string, outcomes: readonly HookOutcome[]): Answer {
  const refused = refusalOf(outcomes);
  if (refused?.did === "begin") {
    return tellPerson(`Kite does not coordinate this session: ${quote(refused.refusal.error)}`);
  }
  const begun = outcomeOf(outcomes, "begin");
  const text = startText(start, outcomes);
  const answer = text === "" ? nothing : withContext(nothing, text);
  const unplaced = begun?.unplaced ?? null;
  return {
    ...(unplaced === null ? answer : alsoTellPerson(answer, unplacedText(unplaced))),
    env: envLines(start.session, socket),
  };
}

/** The same for an agent that starts within a session. */
export function agentStartAnswer(start: Start, outcomes: readonly HookOutcome[]): Answer {
  const text = startText(start, outcomes);
  return text === "" ? nothing : withContext(nothing, text);
}

/** What changed among the others since the session was told last, with a prompt of the session. */
export function promptAnswer(cwd: string, outcomes: readonly HookOutcome[]): Answer {
  const looked = outcomeOf(outcomes, "list_peers");
  if (looked === undefined || looked.changes === null) return nothing;
  const lines = changeLines(looked, looked.changes, cwd, limits.changesChars);
  return lines.length === 0 ? nothing : withContext(nothing, lines.join("\n"));
}

/** The session may be coordinated with no other one until its next event that waits. */
function unplacedText(why: string): string {
  return `Kite could not find the repository of this session in time and tries again with its next prompt: ${quote(why)}`;
}

/** Returns all that is told, at most `limits.startChars` long: what concerns the session itself, then what fits. */
function startText({ session, cwd }: Start, outcomes: readonly HookOutcome[]): string {
  const looked = outcomeOf(outcomes, "list_peers");
  if (looked === undefined) return "";
  const own = [...storeLines(looked), ...unreadLines(looked), ...taskLines(looked)];
  const others = peerLines(session, cwd, looked, limits.startChars - lengthOf(own));
  return [...others, ...own].join("\n");
}

/** As of when the tasks and messages are that other machines share, while the store does not answer. */
function storeLines({ storeAgoMs }: Peers): string[] {
  if (storeAgoMs === undefined) return [];
  return storeAgoMs === null
    ? ["Kite: the shared store is away, and tasks and messages of this project are not known."]
    : [
        `Kite: the shared store is away: tasks and messages are as of ${duration(storeAgoMs)} ago, and cannot be changed now.`,
      ];
}

function unreadLines({ unread }: Peers): string[] {
  if (unread === 0) return [];
  const what = unread === 1 ? "1 message for you is" : `${unread} messages for you are`;
  return [`Kite: ${what} unread. Some come with your next prompt or edit. To read all: kite message inbox`];
}

/** The tasks that the session has claimed, and the number of tasks to claim. */
function taskLines({ readyTasks, ownTasks }: Peers): string[] {
  const own = claimed(ownTasks);
  const more = ownTasks.length > own.length ? ` and ${ownTasks.length - own.length} more` : "";
  const mine = own.length === 0 ? [] : [`Kite: you have claimed ${own.join(", ")}${more}.`];
  const one = readyTasks === 1;
  const count = `${readyTasks} ${one ? "task" : "tasks"}`;
  const ready = `Kite: ${count} of this project ${one ? "is" : "are"} ready to be claimed (kite task ready).`;
  return [...mine, ...(readyTasks === 0 ? [] : [ready])];
}

function claimed(tasks: readonly WorkedOn[]): string[] {
  const shown: string[] = [];
  for (const { id, description } of tasks.slice(0, limits.noteRowsMax)) {
    const text = `${id} ${quote(description)}`;
    if (shown.length > 0 && lengthOf([...shown, text]) > ownTasksChars) break;
    shown.push(text);
  }
  return shown;
}

/** Lines for the environment of the session's shell commands. A value that would break its line is left out. */
function envLines(session: string, socket: string): string[] {
  const pairs = [
    ["KITE_SESSION", session],
    ["KITE_SOCKET", socket],
  ] as const;
  return pairs
    .filter(([, value]) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value))
    .map(([name, value]) => `export ${name}=${shellWord(value)}`);
}
