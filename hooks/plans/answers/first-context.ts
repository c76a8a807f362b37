/** Words what a session, or an agent within it, is told at its start. */
import { limits } from "../../../protocol/limits.ts";
import type { WorkedOn } from "../../../protocol/schemas/session.ts";
import { duration, quote, shellWord } from "../../../protocol/text.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import { type Answer, alsoTellPerson, nothing, tellPerson, withContext } from "./answer.ts";
import { outcomeOf, refusalOf } from "./outcome.ts";
import { changeLines, lengthOf, type Peers, peerLines } from "./peers.ts";

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
  const said = text === "" ? nothing : withContext(nothing, text);
  const unplaced = begun?.unplaced ?? null;
  return {
    ...(unplaced === null ? said : alsoTellPerson(said, unplacedText(unplaced))),
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
