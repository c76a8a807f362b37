/** Words what a session is told at its start. */
import { limits } from "../../../protocol/limits.ts";
import type { SessionRow } from "../../../protocol/session.ts";
import { duration, frame, nearPath, quote, shellWord } from "../../../protocol/text.ts";
import type { LockNote } from "../../seam/notices.ts";
import type { HookOutcome } from "../../seam/plan.ts";
import { alsoTellPerson, context, nothing, type Output, tellPerson } from "./output.ts";

type Begun = Extract<HookOutcome, { did: "begin"; ok: true }>;
type Looked = Extract<HookOutcome, { did: "list_peers"; ok: true }>;

/** What a session is told at its start: the other sessions, their locks, and tasks to claim; else nothing. */
export function startAnswer(
  { session, cwd }: { readonly session: string; readonly cwd: string },
  socket: string,
  outcomes: readonly HookOutcome[],
): Output {
  const refused = outcomes.find(o => !o.ok);
  if (refused?.did === "begin") {
    return tellPerson(`Kite does not coordinate this session: ${quote(refused.refusal.error)}`);
  }
  const looked = outcomes.find((o): o is Looked => o.did === "list_peers" && o.ok);
  const begun = outcomes.find((o): o is Begun => o.did === "begin" && o.ok);
  const told = looked === undefined ? [] : [others(session, cwd, looked), tasks(looked)];
  const text = told.filter(part => part !== null).join("\n") || null;
  const said = text === null ? nothing : context("SessionStart", text);
  const unplaced = begun?.unplaced ?? null;
  return {
    ...(unplaced === null ? said : alsoTellPerson(said, unplacedText(unplaced))),
    env: envLines(session, socket),
  };
}

/** The session may be coordinated with no other one until its next event that waits. */
function unplacedText(why: string): string {
  return `Kite could not find the repository of this session in time and tries again with its next prompt: ${quote(why)}`;
}

function others(session: string, cwd: string, looked: Looked): string | null {
  const unread = unreadLine(looked.unread);
  const live = looked.sessions.filter(s => s.id !== session && s.status !== "lost");
  if (live.length === 0) return unread === null ? null : `Kite: ${unread}`;
  const held = looked.locks.filter(l => !isOf(looked.self, l.holder));
  const count = `${live.length} other ${live.length === 1 ? "session works" : "sessions work"}`;
  return [
    `Kite: ${count} in this project. When you edit a file, you hold its lock until your turn ends.`,
    frame,
    ...rows(
      live.map(s => sessionLine(s, cwd)),
      "sessions",
    ),
    ...rows(
      held.map(l => lockLine(l, cwd)),
      "files",
    ),
    ...(unread === null ? [] : [unread]),
  ].join("\n");
}

function unreadLine(count: number): string | null {
  if (count === 0) return null;
  const what = count === 1 ? "1 message for you is" : `${count} messages for you are`;
  return `${what} unread. Some come with your next prompt or edit. To read all: kite message inbox`;
}

/** The tasks that the session has claimed, and the number of tasks to claim. */
function tasks({ readyTasks, ownTasks }: Looked): string | null {
  const own = ownTasks
    .slice(0, limits.noteRowsMax)
    .map(({ id, description }) => `${id} ${quote(description)}`);
  const more = ownTasks.length > own.length ? ` and ${ownTasks.length - own.length} more` : "";
  const mine = own.length === 0 ? [] : [`Kite: you have claimed ${own.join(", ")}${more}.`];
  const one = readyTasks === 1;
  const count = `${readyTasks} ${one ? "task" : "tasks"}`;
  const ready = `Kite: ${count} of this project ${one ? "is" : "are"} ready to be claimed (kite task ready).`;
  return [...mine, ...(readyTasks === 0 ? [] : [ready])].join("\n") || null;
}

function rows(lines: readonly string[], what: string): string[] {
  const shown = lines.slice(0, limits.noteRowsMax).map(line => `- ${line}`);
  const more = lines.length - shown.length;
  return more === 0 ? shown : [...shown, `- and ${more} more ${what}`];
}

function sessionLine(s: SessionRow, cwd: string): string {
  const branch = s.branch === null ? "" : `, branch ${quote(s.branch, limits.nameBytes)}`;
  const waiting = s.agents.find(a => a.waitingForPath !== null);
  const near = (path: string) => quote(nearPath(path, cwd));
  const waits =
    s.waitingForPath !== null
      ? `, waits for ${near(s.waitingForPath)}`
      : waiting?.waitingForPath
        ? `, its agent ${quote(waiting.name, limits.nameBytes)} waits for ${near(waiting.waitingForPath)}`
        : "";
  const task = s.task === null ? "" : `, works on ${quote(s.task.description)}`;
  return `${quote(s.name, limits.nameBytes)}${branch}, ${s.status}${waits}${task}`;
}

function lockLine(l: LockNote, cwd: string): string {
  const waiters = l.waiters === 0 ? "" : `, ${l.waiters} in the queue`;
  const who = quote(l.holder, limits.nameBytes);
  return `${quote(nearPath(l.file, cwd))} is held by ${who}, for ${duration(l.heldMs)} now${waiters}`;
}

/** A session's own locks are those of its name, its agents (`name/...`) and its other terminals (`name#2`). */
function isOf(name: string, holder: string): boolean {
  return holder === name || holder.startsWith(`${name}/`) || holder.startsWith(`${name}#`);
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
