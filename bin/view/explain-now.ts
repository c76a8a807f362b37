/** The present of a file, an agent or a task, a sentence for each fact. */

import { isResource, nameOrPerson, riskReasons } from "../../protocol/names.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { trailReason } from "../refusal-text.ts";
import { standing } from "../tasks/standing.ts";
import type { AgentNow, RefusalNow } from "../trail/about-agent.ts";
import type { FileNow, HolderNow, WaiterNow } from "../trail/about-file.ts";
import type { BlockerNow, TaskNow } from "../trail/about-task.ts";
import { adviceFor } from "./advice.ts";
import { elsewhereState } from "./elsewhere.ts";
import { ended, fileName } from "./explain.ts";
import { eventWords } from "./log.ts";
import { tilde } from "./places.ts";
import { statusText } from "./sessions.ts";
import { clean, clock, counted, duration, type Screen } from "./text.ts";

/** What happened within this time happened just now, in milliseconds. */
const nowBelowMs = 2_000;
/** Sentences of one kind; the rest is counted. */
const sentencesMax = 10;

/** Sentences about a file; `isLive`: a daemon told them. */
export function fileNow(now: FileNow, isLive: boolean, screen: Screen): string[] {
  const nameOf = (file: string, project: string | null) => fileName(file, project, screen.home);
  const free = isLive ? "Nobody holds it or waits for it." : "As far as the log tells, nobody holds it.";
  const holders = some(now.holders, "lock", isLive, one => holderSentence(one, screen));
  const waiters = some(now.waiters, "waiter", isLive, one => waiterSentence(one, screen));
  const freezes = some(now.freezes, "freeze", isLive, ({ file, project, who, leftMs }) => {
    return `${clean(nameOrPerson(who))} froze ${nameOf(file, project)} for another ${duration(leftMs)}: others may not edit it.`;
  });
  const write = now.lastWrite;
  const isFile = !isResource(now.path);
  const wrote =
    write === null
      ? "The log tells of no write."
      : `${clean(write.who)} wrote ${nameOf(write.file, write.project)} last, at ${clock(write.at, screen.now)}${howOf(write)}.`;
  return [
    ...(holders.length + waiters.length === 0 ? [free] : [...holders, ...waiters]),
    ...freezes,
    ...(isFile ? [wrote] : []),
  ];
}

function howOf({ by, isCommitted }: NonNullable<FileNow["lastWrite"]>): string {
  const how = by === "shell" ? ", by a shell command" : "";
  return isCommitted === false ? `${how}; that work is not committed` : how;
}

function holderSentence(
  { file, project, who, kind, heldMs, leaseLeftMs }: HolderNow,
  screen: Screen,
): string {
  const [name, path] = [clean(who), fileName(file, project, screen.home)];
  const since = clock(screen.now - heldMs, screen.now);
  if (kind === null) return `${name} took ${path} at ${since}, and the log tells of no release.`;
  const until =
    kind === "turn"
      ? `its edit lock ends when ${name} has answered its prompt`
      : leaseLeftMs === undefined
        ? `its kept lock ends when ${name} unlocks it, or with the session`
        : `its lock ends when ${name} unlocks it, or in ${duration(leaseLeftMs)} if ${name} does not lock it again`;
  return `${name} holds ${path} since ${since}: ${until}.`;
}

function waiterSentence(
  { file, project, who, waitedMs, position, holder }: WaiterNow,
  screen: Screen,
): string {
  const path = fileName(file, project, screen.home);
  const behind = holder === null ? "" : ` behind ${clean(holder)}`;
  return `${clean(who)} waits for ${path} since ${clock(screen.now - waitedMs, screen.now)}${behind}, queue position ${position}.`;
}

/** Sentences about an agent; `isLive`: a daemon runs. */
export function agentNow(now: AgentNow, isLive: boolean, screen: Screen): string[] {
  if (now.elsewhere !== undefined) return elsewhereNow(now.elsewhere);
  const name = clean(now.session?.name ?? now.name);
  const holds = some(now.holds, "lock", isLive, one => holderSentence(one, screen));
  const waits = some(now.waits, "wait", isLive, one => waiterSentence(one, screen));
  const nothing = isLive && now.session !== null ? [`${name} holds nothing and waits for nothing.`] : [];
  return [
    lifeSentence(now, name, isLive, screen),
    ...(now.session?.task ? [`${name} works on ${clean(now.session.task.id)}.`] : []),
    ...(holds.length + waits.length === 0 ? nothing : [...holds, ...waits]),
    refusalSentence(now, screen),
  ];
}

/** Sentences about an agent of another machine. */
function elsewhereNow(row: ElsewhereRow): string[] {
  const name = clean(row.name);
  const branch = row.branch === null ? "" : ` on branch ${clean(row.branch)}`;
  const state = elsewhereState(row);
  const [task] = row.tasks;
  return [
    ended(`${name} is of the machine ${clean(row.machine)}${branch}${state === "" ? "" : `: ${state}`}`),
    ...(task === undefined ? [] : [`${name} works on ${clean(task.id)}.`]),
    "Its locks, waits and refusals are known on that machine alone.",
  ];
}

function lifeSentence(
  { session, ended: end, lastSeenAt }: AgentNow,
  name: string,
  isLive: boolean,
  screen: Screen,
): string {
  if (session !== null) {
    const where = clean(tilde(session.worktree, screen.home));
    const branch = session.branch === null ? "" : ` on branch ${clean(session.branch)}`;
    const isNow = session.lastSeenMs < nowBelowMs;
    const heard = isNow ? "heard of just now" : `heard of ${duration(session.lastSeenMs)} ago`;
    const needs = session.attention === null ? "" : `; it needs a person: ${clean(session.attention)}`;
    const client = session.client === undefined ? "" : ` (${clean(session.client)})`;
    return ended(`${name}${client} is ${statusText(session)} in ${where}${branch}, ${heard}${needs}`);
  }
  if (end !== null) {
    const why = end.why === null ? "" : ` (${clean(end.why)})`;
    return `${name}'s session ended at ${clock(end.at, screen.now)}${why}.`;
  }
  const seen =
    lastSeenAt === null ? "" : `; the log's last line about it is of ${clock(lastSeenAt, screen.now)}`;
  return isLive ? `${name} is not live${seen}.` : `${name} may be live or not: no daemon tells${seen}.`;
}

function refusalSentence({ refusal, ended: end }: AgentNow, screen: Screen): string {
  if (refusal === null) return "The log tells of no refusal.";
  const { at, who, resolvedAt } = refusal;
  const why = trailReason(refusal);
  const reason = why === null ? "" : `: ${clean(why)}`;
  const said = ended(
    `${clean(who)} was last denied ${deniedIn(refusal, screen)} at ${clock(at, screen.now)}${reason}`,
  );
  if (resolvedAt !== null)
    return `${said} It got it at ${clock(resolvedAt, screen.now)}: nothing is left to do.`;
  const advice = end === null ? adviceFor(refusal) : null;
  return advice === null ? said : `${said} To do: ${advice}`;
}

function deniedIn({ file, project, command, event, task }: RefusalNow, screen: Screen): string {
  if (command !== null) return `\`${clean(command)}\``;
  if (file !== null) return fileName(file, project, screen.home);
  return `a ${clean(eventWords(event))}${task === null ? "" : ` of ${clean(task)}`}`;
}

/** Sentences about a task; `isLive`: a daemon runs. */
export function taskNow(now: TaskNow, isLive: boolean, screen: Screen): string[] {
  const { id, task, unknown } = now;
  if (unknown !== undefined) return [ended(`What it is now is not known: ${unknown}`)];
  if (task === null)
    return [isLive ? "It was removed." : "What blocks it now, only a daemon knows. Start it: kite up"];
  const { createdBy, createdAt, description } = task;
  const created = `${clean(nameOrPerson(createdBy))} created ${clean(id)} at ${clock(createdAt, screen.now)}`;
  return [ended(`${created}: ${clean(description)}`), ...standingOf(task, now.blockers, screen)];
}

function standingOf(task: TaskRow, blockers: readonly BlockerNow[], screen: Screen): string[] {
  const id = clean(task.id);
  const who = task.assigneeName === null ? "somebody" : clean(task.assigneeName);
  const at = clock(task.updatedAt, screen.now);
  const result = task.result === null ? "" : `: ${clean(task.result)}`;
  const rest = task.blockedBy.length - blockers.length;
  switch (standing(task)) {
    case "active":
      return task.assigneeLost === undefined
        ? [`It is active since ${at}: ${who} works on it.`]
        : [
            `It is active since ${at}: ${who} has it and is lost, so nothing is heard of it.`,
            `To free it: kite task release ${id}`,
          ];
    case "done":
      return [ended(`It is done since ${at}${result}`)];
    case "failed":
      return [ended(`It failed at ${at}${result}`), `To try it again: kite task retry ${id}`];
    case "ready":
      if (task.held !== null)
        return [
          ended(
            `Nobody can claim it now. It is ${task.risk} (${riskReasons[task.risk]}): ${clean(task.held)}`,
          ),
        ];
      return [`Nothing blocks it. To claim it: kite task claim ${id}`];
    case "blocked":
      return [
        ...blockers.map(blockerSentence),
        ...(rest > 0 ? [`It waits for ${counted(rest, "other task")}, too.`] : []),
      ];
  }
}

function blockerSentence({ id, status, assigneeName }: BlockerNow): string {
  const who = assigneeName === null ? "somebody" : clean(assigneeName);
  const state = {
    pending: "nobody works on that",
    active: `${who} works on that`,
    failed: "that failed, so it has to be tried again first",
    done: "that is done",
  }[status];
  return `It waits for ${clean(id)}: ${state}.`;
}

function some<T>(all: readonly T[], noun: string, isLive: boolean, sentence: (one: T) => string): string[] {
  const shown = all.slice(0, sentencesMax).map(sentence);
  const more = `And ${counted(all.length - shown.length, noun)} more${isLive ? ": kite status --locks" : "."}`;
  return all.length > shown.length ? [...shown, more] : shown;
}
