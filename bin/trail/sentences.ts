/** What happened, as sentences. */

import type { TrailLine } from "../../daemon/trail/line.ts";
import { isResource, nameOrPerson, riskReasons } from "../../protocol/names.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import type { Worded } from "../context/task-numbers.ts";
import { trailReason } from "../refusal-text.ts";
import { projectRoot, tilde } from "../view/places.ts";
import { elsewhereState } from "../view/session-notes.ts";
import { statusText } from "../view/sessions.ts";
import { standing } from "../view/task-names.ts";
import {
  clean,
  clock,
  counted,
  cut,
  duration,
  pad,
  paint,
  precise,
  type Screen,
  type Style,
  wrap,
} from "../view/text.ts";
import type { AgentNow, BlockerNow, FileNow, HolderNow, RefusalNow, TaskNow, WaiterNow } from "./about.ts";
import { actorIn, type Explained, nobody } from "./explained.ts";

// Lines of the trail as text.

const styles: Readonly<Record<TrailLine["decision"], Style>> = {
  allow: "green",
  deny: "red",
  wait: "blue",
  note: "dim",
  event: "dim",
};

const asIs: Worded = text => text;

/** The log omits shorter times, in milliseconds: every answer takes that long. */
const shownMs = 100;
/** Columns of an agent's name on a terminal. */
const nameColumns = 20;
/** Column at which a wrapped line continues. */
const indent = 10;

/** Returns one decision on a line of any length, without its time. */
export function logText(line: TrailLine, home: string, worded: Worded = asIs): string {
  const parts = [
    whoOf(line),
    whatOf(line),
    line.file === null ? "" : fileOf(line, home),
    worded(whyOf(line)),
    timeOf(line),
  ];
  return `${pad(line.decision, 8)}  ${parts.flatMap(part => clean(part) || []).join("  ")}`;
}

/** Returns one decision as lines: time, decision, agent, what it did, and the reason. */
export function logLines(line: TrailLine, screen: Screen, worded: Worded = asIs): string[] {
  const parts = [
    // In a pipe a line has any length, and grep finds the whole name.
    pad(Number.isFinite(screen.width) ? cut(whoOf(line), nameColumns) : whoOf(line), 16),
    pad(clean(whatOf(line)), 12),
    line.file === null ? "" : fileOf(line, screen.home),
    clean(worded(whyOf(line))),
    timeOf(line),
  ];
  const at = clock(line.at, screen.now);
  const text = `${at}  ${pad(line.decision, 5)}  ${parts.filter(part => part !== "").join("  ")}`;
  const [first = "", ...rest] = wrap(text.trimEnd(), screen.width, indent);
  const painted = first.replace(
    `  ${line.decision}`,
    `  ${paint(screen, styles[line.decision], line.decision)}`,
  );
  return [painted, ...rest];
}

function whoOf(line: TrailLine): string {
  const who = actorIn(line);
  return who === nobody ? "-" : clean(who);
}

/** The events whose names on the wire are not the words of people. */
const words: ReadonlyMap<string, string> = new Map([
  ["hold_began", "freeze"],
  ["hold_ended", "thaw"],
  ["resume", "thaw"],
  ["store_changed", "store"],
  ["machine_changed", "store"],
  ["machine_refused", "store"],
]);

/** Returns an event or a request in words: `task claim`. */
function eventWords(event: string): string {
  return words.get(event) ?? event.replaceAll("_", " ");
}

/** Returns the tool or the git command if there is one, because it says more than the hook's event. */
function whatOf({ event, type, decision }: TrailLine): string {
  if (decision === "event") return type === null ? event : `${event} ${type}`;
  const isTool = type !== null && (type.startsWith("git ") || event === "PreToolUse");
  return isTool ? type : eventWords(event);
}

/** Returns the reason as a sentence; the code alone is for programs. */
function whyOf(line: TrailLine): string {
  const why = trailReason(line) ?? (line.decision === "event" && line.rule === "write" ? "wrote it" : "");
  return [why, line.perhaps ?? ""].filter(part => part !== "").join(", ");
}

/** Returns how long it took, if that is worth a word. */
function timeOf({ decision, ms, waitedMs, heldMs }: TrailLine): string {
  if (heldMs !== undefined) return `held ${precise(heldMs)}`;
  if (decision === "event") return ms === undefined ? "" : `${ms} ms`;
  const took = waitedMs ?? ms ?? 0;
  return took >= shownMs ? `after ${precise(took)}` : "";
}

function fileOf(line: TrailLine, home: string): string {
  const file = line.file ?? "";
  const root = line.project === null ? "" : `${projectRoot(line.project)}/`;
  const inside = root !== "/" && root !== "" && file.startsWith(root) ? file.slice(root.length) : file;
  return clean(tilde(inside, home));
}

/** Shorter times, in milliseconds, are only the time of an answer. */
const noticedMs = 100;

/**
 * Returns the sentence with its time in front, wrapped to the width. `it`: what the sentence calls a task; without it,
 * its id, for which `worded` puts its number.
 */
export function explainLines(
  one: Explained,
  screen: Screen,
  it?: string,
  worded: (text: string) => string = text => text,
): string[] {
  return wrap(`${clock(one.at, screen.now)}  ${worded(sentence(one, screen, it))}`, screen.width, 10);
}

/** Returns the sentence of one thing that happened, on a line of any length. */
export function sentence(one: Explained, screen: Screen, it?: string): string {
  const who = clean(one.who);
  const file = one.file === null ? "" : fileName(one.file, one.project, screen.home);
  const command = one.command === null ? null : `\`${clean(one.command)}\``;
  const waited = one.waitedMs >= noticedMs ? ` after ${precise(one.waitedMs)}` : "";
  const reason = reasonOf(one);
  const why = reason === null ? "" : `: ${clean(reason)}`;
  const again =
    one.again === 0 ? "" : `, and again ${counted(one.again, "time")} until ${clock(one.until, screen.now)}`;
  switch (one.what) {
    case "took":
      return `${who} took ${file} at once${again}.`;
    case "waits":
      return ended(`${who} began to wait for ${file}${again}${why}`);
    case "waited":
      return `${who} waited ${precise(one.waitedMs)} for ${file}, then had it.${earlier(one, screen)}`;
    case "denied":
      return `${who} was denied ${command ?? file}${waited}${again}${ended(why)}${earlier(one, screen)}`;
    case "released":
      return releaseOf(one, who, file, again);
    case "not_released":
      return `${who} could not release ${file}${again}${ended(why)}`;
    case "began":
      return `${who}'s session began${again}.`;
    case "ended":
      return `${who}'s session ended${why === "" ? "" : ` (${clean(one.why ?? "")})`}.`;
    case "task":
      return taskSentence(one, who, why, it);
    case "noted":
      if (one.event === "lock_granted" && one.waitedMs >= noticedMs)
        return `${who} waited ${precise(one.waitedMs)} for ${file}, then ${ended(clean(reason ?? "had it"))}${earlier(one, screen)}`;
      if (command !== null) return `${who} ran ${command}${waited}${again}${ended(why)}`;
      if (file === "" && why === "") return `${who}: ${clean(eventWords(one.event))}${again}.`;
      return `${[one.who === nobody ? "" : who, file].filter(part => part !== "").join(", ")}${again}${ended(why)}`;
  }
}

/** A lock's end; an unlock needs no reason. */
function releaseOf({ heldMs, type, why }: Explained, who: string, file: string, again: string): string {
  const held = heldMs === null ? "" : ` after ${precise(heldMs)}`;
  if (why === null || type === "unlocked") return `${who} released ${file}${held}${again}.`;
  return `${who}'s lock on ${file} ended${held}${again}${ended(`: ${clean(why)}`)}`;
}

/** What was done to a task, `%`, and what could not be; one without a `%` has the task behind it. */
const taskVerbs: ReadonlyMap<string, readonly [did: string, could: string]> = new Map([
  ["task_create", ["created", "create"]],
  ["task_import", ["imported", "import"]],
  ["task_claim", ["claimed", "claim"]],
  ["task_claimed", ["claimed", "claim"]],
  ["task_release", ["gave % back", "give % back"]],
  ["task_remove", ["removed", "remove"]],
  ["active", ["began", "begin"]],
  ["done", ["finished", "finish"]],
  ["failed", ["gave % up as failed", "fail"]],
  ["pending", ["made % pending again", "make % pending"]],
]);

/** The reason in words; who had the file is left out where the sentence says it. */
function reasonOf({ code, why, before, holder }: Explained): string | null {
  return trailReason({ code, why, holder: before === null ? holder : null });
}

function taskSentence(one: Explained, who: string, reason: string, it?: string): string {
  const { event, type, task, why, isRefused } = one;
  const named = it ?? (task === null ? tasksIn(why) : clean(task));
  const [did, could] = taskVerbs.get(type ?? "") ?? taskVerbs.get(event) ?? ["changed", "change"];
  const phraseOf = (verb: string) =>
    verb.includes("%") ? verb.replace("%", () => named) : `${verb} ${named}`;
  if (isRefused) return `${who} could not ${phraseOf(could)}${ended(reason)}`;
  // The end of a claim that nobody asked for.
  if (event === "task_released" || event === "task_failed")
    return ended(`${who} lost ${named}: ${clean(why ?? "")}`);
  return `${who} ${phraseOf(did)}.`;
}

/** The tasks that a line of several lists with their status. */
function tasksIn(why: string | null): string {
  return why === null || why === "" ? "tasks" : clean(why);
}

function earlier({ before }: Explained, screen: Screen): string {
  return before === null ? "" : ` ${clean(before.who)} had taken it at ${clock(before.at, screen.now)}.`;
}

/** `text` with a full stop. */
function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Returns a file's name for people: inside its project, else from the home directory. */
export function fileName(file: string, project: string | null, home: string): string {
  const root = project?.startsWith("/") === true ? `${projectRoot(project)}/` : "";
  return clean(root !== "" && file.startsWith(root) ? file.slice(root.length) : tilde(file, home));
}

// What an agent that was refused something should do.

const waitsForHolder = "try again, which waits in the queue";
const otherTask = "claim another task: kite task claim";

/** By the refusal's code. A code without advice has a sentence that says what to do. */
const byCode: ReadonlyMap<string, string> = new Map([
  ["lock_held", waitsForHolder],
  ["lock_queue_full", waitsForHolder],
  ["lock_timeout", waitsForHolder],
  ["lock_given_up", "try again if it still needs the file"],
  ["lock_deadlock", "release what it holds by ending its answer or with kite unlock, then try again"],
  ["edits_held", "a person can end the freeze: kite thaw"],
  ["session_ended", "begin again: its next prompt registers the session"],
  ["unknown_session", "begin again: its next prompt registers the session"],
  ["task_claimed", otherTask],
  ["task_blocked", "finish the tasks that it waits for first: kite task graph"],
  ["no_ready_task", "finish the tasks that block others first: kite task graph"],
  ["path_unreachable", "try again: the file system did not answer in time"],
  ["store_full", "free space on the disk, then try again"],
]);

/** Returns what to do about a refusal, in words without a capital; null if its own sentence says it. */
export function adviceFor({ code, rule }: Pick<RefusalNow, "code" | "rule">): string | null {
  const known = byCode.get(code ?? "");
  if (known !== undefined) return known;
  if (rule === "guard")
    return "commit its own files by name (kite whose prints the command), or use a worktree";
  if (rule === "stale") return "read the file again, then write it: Kite keeps the lock";
  if (rule === "rescue") return "send exactly the same command again: it runs";
  return null;
}

// The present of a file, an agent or a task, a sentence for each fact.

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
    const { head, branch: on } = session;
    const branch = head !== undefined ? ` (${clean(head)})` : on === null ? "" : ` on branch ${clean(on)}`;
    const isNow = session.lastSeenMs < nowBelowMs;
    const lastSeen = isNow ? "heard of just now" : `heard of ${duration(session.lastSeenMs)} ago`;
    const needs = session.attention === null ? "" : `; it needs a person: ${clean(session.attention)}`;
    const client = session.client === undefined ? "" : ` (${clean(session.client)})`;
    return ended(`${name}${client} is ${statusText(session)} in ${where}${branch}, ${lastSeen}${needs}`);
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
  const denial = ended(
    `${clean(who)} was last denied ${deniedIn(refusal, screen)} at ${clock(at, screen.now)}${reason}`,
  );
  if (resolvedAt !== null)
    return `${denial} It got it at ${clock(resolvedAt, screen.now)}: nothing is left to do.`;
  const advice = end === null ? adviceFor(refusal) : null;
  return advice === null ? denial : `${denial} To do: ${advice}`;
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
