/** Counts the trail's lines for a report: what Kite did, and what that cost. */

import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine, TrailWould } from "../../daemon/trail/line.ts";
import { limits } from "../../protocol/limits.ts";
import { isCommandsSession, isResource } from "../../protocol/names.ts";
import { projectRoot } from "../view/places.ts";
import { actorIn, isTaking, keyIn, LockHistory } from "./explained.ts";
import { HookTimer, type HookTimes, ruleOf, Times, waitIn } from "./stats.ts";

// Collisions that Kite kept from happening.

/** Pairs that are remembered, so that an agent which asks again counts once. */
const pairsMax = 20_000;

/**
 * Counts collisions. One agent asked to write a file while another agent held it, in the turn in which the holder wrote
 * it or was about to. Without Kite both would have written the file within that turn. However often an agent asks while
 * the other one has the file, that is one collision; it is one for each agent that asks. A resource is no file. Where
 * the log does not say who had the file, nothing is counted: the true number may be higher.
 */
class Collisions {
  readonly #pairs = new BoundedMap<string, true>({ entriesMax: pairsMax });
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Takes the next line; `history` knows the lines before it. */
  add(line: TrailLine, history: LockHistory): void {
    const isAsked = line.decision === "wait" || line.decision === "deny" || line.would !== undefined;
    if (!isAsked || ruleOf(line) !== "lock" || line.event === "file_unlock") return;
    const file = keyIn(line);
    if (file === null || isResource(line.file ?? "")) return;
    const asker = actorIn(line);
    const holder = history.otherHolder(file, asker);
    const who = holder?.who ?? line.holder;
    if (who === undefined) return;
    const pair = [file, who, holder?.at ?? "", asker].join("\n");
    if (this.#pairs.has(pair)) return;
    this.#pairs.set(pair, true);
    this.#count += 1;
  }
}

// What a report counts. Durations are milliseconds, `from`, `until` and `since` wall time.

/** By the name of a rule or a command, the most frequent first. */
export type Counts = readonly { readonly name: string; readonly count: number }[];

/**
 * What became of a denied step. `got`: the same agent had the file later, or the same command passed. `elsewhere`: it did not, and the
 * agent went on with something else. `gaveUp`: its session ended without either. `open`: the log does not tell yet.
 */
type Fate = "got" | "elsewhere" | "gaveUp" | "open";

/** What a git command or a plain one does to uncommitted work that it reaches. */
const stopKinds = ["stash", "reset", "removal", "commit", "other"] as const;
type StopKind = (typeof stopKinds)[number];

interface Waits {
  readonly count: number;
  /** Waits that ended without the file. */
  readonly refused: number;
  readonly medianMs: number | null;
  readonly longestMs: number | null;
  readonly totalMs: number;
}

/** Git commands, `rm` and the like that the guard denied, since they reached uncommitted work of others. */
export interface Stops {
  readonly count: number;
  readonly commands: Counts;
  readonly kinds: Readonly<Record<StopKind, number>>;
  /** Stops of commands that would have wiped work, whose files were counted; those with counted lines among them. */
  readonly counted: number;
  readonly countedLines: number;
  readonly files: number;
  readonly lines: number;
}

/** Changes that Kite did not let through, since they did not ask it. */
interface PastKite {
  /** Files that a shell command changed while another agent held them, or had uncommitted work in them. */
  readonly shell: number;
  /** Changes of which no hook told. */
  readonly unhooked: number;
  /** Writes that ended when the lock had passed to another agent. */
  readonly late: number;
  /** How often somebody switched Kite off. */
  readonly off: number;
  /** Files with uncommitted work of another that were wiped all the same, and that another committed or discarded. */
  readonly wiped: number;
  readonly taken: number;
}

interface TaskFigures {
  readonly created: number;
  readonly claimed: number;
  readonly done: number;
  readonly failed: number;
  /** From the last claim of a task to its end as done; null: none has both in the log. */
  readonly medianMs: number | null;
}

interface HookCosts {
  readonly events: readonly HookTimes[];
  readonly totalMs: number;
  /** How long sessions were at work: the time between two lines of a session, unless it is a pause. */
  readonly sessionsMs: number;
  /** Of `sessionsMs`; null: no session was at work. */
  readonly share: number | null;
}

/** What Kite would have done while it only observed. */
interface WouldHave {
  readonly waits: number;
  readonly denials: number;
  readonly tells: number;
  readonly collisions: number;
  readonly stops: Counts;
}

export interface Report {
  readonly lines: number;
  readonly from: number | null;
  readonly until: number | null;
  readonly sessions: number;
  readonly edits: { readonly count: number; readonly waited: number; readonly onRequest: number };
  readonly waits: Waits;
  readonly denials: {
    readonly count: number;
    readonly rules: Counts;
    readonly fates: Readonly<Record<Fate, number>>;
  };
  readonly collisions: number;
  readonly stops: Stops;
  readonly pastKite: PastKite;
  readonly tasks: TaskFigures;
  readonly messages: { readonly sent: number; readonly broadcasts: number };
  readonly hooks: HookCosts;
  /** Answers of hooks that had words, and their length in UTF-16 units with the form around them. */
  readonly context: { readonly answers: number; readonly chars: number };
  /** Absent: Kite acted all the time. */
  readonly observed?: WouldHave;
}

// Counts by names that come from clients and agents, in bounded memory.

function increment(counts: Map<string, number>, name: string): void {
  const known = counts.has(name) || counts.size < limits.hookKindsMax ? name : "others";
  counts.set(known, (counts.get(known) ?? 0) + 1);
}

/** The most frequent first. */
function countsOf(counts: ReadonlyMap<string, number>): Counts {
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}

// Which steps Kite denied, and what became of each.

/** Different denials that may still come to something; of more, the oldest stay open. */
const openMax = 20_000;
/** Agents whose steps are counted. */
const agentsMax = 10_000;

/** What an agent was denied and did not get since. */
interface Denied {
  readonly session: string | null;
  readonly agent: string;
  /** How often. */
  times: number;
  /** How many steps the agent had done when it was denied last. */
  steps: number;
}

/** Whether the line is a request of an agent or a person, and not an event of a client's hook. */
function isRequest({ event }: TrailLine): boolean {
  return /^[a-z]+(?:_[a-z]+)*$/.test(event);
}

/**
 * Whether Kite denied a step: an edit, a shell line, a lock, or what a gate forbids. A request that was wrong, or came too early as a
 * claim without a ready task, is none.
 */
function isDenial(line: TrailLine): boolean {
  if (line.decision !== "deny" || line.event === "file_unlock") return false;
  if (!isRequest(line) || line.event === "file_lock") return true;
  return line.event.startsWith("task_") && ruleOf(line) !== "task";
}

/** Follows denials to what became of them. One that the same agent gets again and again has one fate. */
class DenialFates {
  readonly #open = new BoundedMap<string, Denied>({
    entriesMax: openMax,
    onDelete: key => this.#forget(key),
  });
  /** Keys of open denials by the session that each begins with: a session's end looks at its own alone. */
  readonly #keys = new Map<string, Set<string>>();
  readonly #agents = new BoundedMap<string, { steps: number }>({ entriesMax: agentsMax });
  readonly #ended = { got: 0, elsewhere: 0, gaveUp: 0 };
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Takes the next line, whether or not it is a denial. */
  add(line: TrailLine): void {
    if (line.event === "SessionEnd" || line.event === "session_ended") this.#end(line.id);
    else if (isDenial(line)) this.#deny(line);
    else if (isStep(line)) this.#goOn(line);
  }

  get counts(): Readonly<Record<Fate, number>> {
    const counts = { ...this.#ended };
    for (const denied of this.#open.values()) if (this.#isLeft(denied)) counts.elsewhere += denied.times;
    const { got, elsewhere, gaveUp } = counts;
    // Those that were forgotten are open, too.
    return { ...counts, open: this.#count - got - elsewhere - gaveUp };
  }

  #deny(line: TrailLine): void {
    this.#count += 1;
    const agent = agentOf(line);
    const { steps } = this.#seen(agent);
    const key = `${agent}\n${subjectOf(line)}`;
    const denied = this.#open.get(key);
    if (denied === undefined) {
      this.#open.set(key, { session: line.id, agent, times: 1, steps });
      const keys = this.#keys.get(sessionOf(key));
      if (keys === undefined) this.#keys.set(sessionOf(key), new Set([key]));
      else keys.add(key);
    } else {
      denied.times += 1;
      denied.steps = steps;
    }
  }

  /** The agent took a file, wrote, or had a command let through. */
  #goOn(line: TrailLine): void {
    const agent = agentOf(line);
    this.#seen(agent).steps += 1;
    const key = `${agent}\n${subjectOf(line)}`;
    const denied = this.#open.get(key);
    if (denied === undefined) return;
    this.#ended.got += denied.times;
    this.#open.delete(key);
  }

  #end(session: string | null): void {
    for (const key of [...(this.#keys.get(session ?? "") ?? [])]) {
      const denied = this.#open.get(key);
      if (denied === undefined || denied.session !== session) continue;
      this.#ended[this.#isLeft(denied) ? "elsewhere" : "gaveUp"] += denied.times;
      this.#open.delete(key);
    }
  }

  #forget(key: string): void {
    const keys = this.#keys.get(sessionOf(key));
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(sessionOf(key));
  }

  #seen(agent: string): { steps: number } {
    const known = this.#agents.get(agent);
    if (known !== undefined) return known;
    const first = { steps: 0 };
    this.#agents.set(agent, first);
    return first;
  }

  /** Whether the agent did something else after the denial. */
  #isLeft({ agent, steps }: Denied): boolean {
    return (this.#agents.get(agent)?.steps ?? 0) > steps;
  }
}

function isStep(line: TrailLine): boolean {
  if (isTaking(line)) return true;
  if (line.decision === "event") return line.rule === "write";
  const rule = ruleOf(line);
  return line.decision === "allow" && !isRequest(line) && (rule === "guard" || rule === "ignore");
}

/** What tells what was denied from other things that an agent does: the file; of the guard, the command. */
function subjectOf(line: TrailLine): string {
  // What stopped a command until its files are kept lets it pass when it is sent again.
  if (ruleOf(line) === "guard" || (ruleOf(line) === "rescue" && line.decision === "deny"))
    return `command ${line.type}`;
  return keyIn(line) ?? line.task ?? `${line.event} ${line.type}`;
}

/** Returns what the key of a denial begins with: the session's id, or the name of who has none. */
function sessionOf(key: string): string {
  return key.slice(0, key.indexOf("\n"));
}

function agentOf({ id, agent, name }: TrailLine): string {
  return `${id ?? name}\n${agent ?? ""}`;
}

// Commands that the guard denied, and the work that they would have wiped.

/** By the first words of a command in short form. */
const kinds: readonly (readonly [RegExp, StopKind])[] = [
  [/^git stash\b/, "stash"],
  [/^git (?:add|commit)\b/, "commit"],
  [/^git (?:clean|rm|worktree)\b/, "removal"],
  [/^git (?:reset|checkout|restore|switch|rebase|merge|pull|cherry-pick|revert|am|apply|bisect)\b/, "reset"],
  [/^(?:rm|unlink|rmdir|truncate|shred|mv|cp|tee|install|rsync|dd|apply_patch|>)(?:\s|$)/, "removal"],
];

class StopCounter {
  readonly #commands = new Map<string, number>();
  readonly #kinds = Object.fromEntries(stopKinds.map(kind => [kind, 0])) as Record<StopKind, number>;
  #count = 0;
  #counted = 0;
  #countedLines = 0;
  #files = 0;
  #lines = 0;

  /** Takes a denial of the guard. */
  stop({ type }: TrailLine): void {
    const command = type ?? "a command";
    this.#count += 1;
    increment(this.#commands, command);
    this.#kinds[kinds.find(([begins]) => begins.test(command))?.[1] ?? "other"] += 1;
  }

  /** Takes what such a denial spared. */
  spare({ files = 0, lines }: TrailLine): void {
    this.#counted += 1;
    this.#files += files;
    if (lines === undefined) return;
    this.#countedLines += 1;
    this.#lines += lines;
  }

  get stops(): Stops {
    return {
      count: this.#count,
      commands: countsOf(this.#commands),
      kinds: { ...this.#kinds },
      counted: this.#counted,
      countedLines: this.#countedLines,
      files: this.#files,
      lines: this.#lines,
    };
  }
}

// Tasks and how long they took.

/** Tasks whose claim is remembered until they are done. */
const claimsMax = 10_000;

class TaskCounter {
  readonly #claimedAt = new BoundedMap<string, number>({ entriesMax: claimsMax });
  readonly #times = new Times();
  #created = 0;
  #claimed = 0;
  #done = 0;
  #failed = 0;

  /** Takes a line of an event whose name begins with `task_`. */
  add(line: TrailLine): void {
    const { event, type, task, at } = line;
    if (event === "task_failed") this.#failed += 1;
    else if (event === "task_claimed") this.#claim(task, at);
    if (line.decision !== "allow") return;
    if (event === "task_create" || event === "task_import") this.#created += tasksIn(line);
    else if (event === "task_claim" || (event === "task_update" && type === "active")) this.#claim(task, at);
    else if (event === "task_update" && type === "failed") this.#failed += 1;
    else if (event === "task_update" && type === "done") this.#end(task, at);
  }

  #claim(task: string | undefined, at: number): void {
    this.#claimed += 1;
    if (task !== undefined) this.#claimedAt.set(task, at);
  }

  #end(task: string | undefined, at: number): void {
    this.#done += 1;
    const since = task === undefined ? undefined : this.#claimedAt.get(task);
    if (task === undefined || since === undefined) return;
    this.#times.add(at - since);
    this.#claimedAt.delete(task);
  }

  get figures(): TaskFigures {
    return {
      created: this.#created,
      claimed: this.#claimed,
      done: this.#done,
      failed: this.#failed,
      medianMs: this.#times.percentile(0.5),
    };
  }
}

/** How many tasks a line is about: it names the first ones, and counts the rest. */
function tasksIn({ why = "", task }: TrailLine): number {
  const named = why === "" ? [] : why.split(", ");
  const more = Number(/ and (\d+) more$/.exec(why)?.[1] ?? 0);
  return Math.max(named.length + more, task === undefined ? 0 : 1);
}

/** Which lines count. */
export interface ReportScope {
  /** Wall time in milliseconds; earlier lines only tell who had a file. */
  readonly since: number;
  /** Null: every project. */
  readonly project: string | null;
}

/** Sessions that are told apart; of more, those that began first are forgotten. */
const sessionsMax = 10_000;
/** A longer time between two lines of a session, in milliseconds, is a pause, and none of it counts as work. */
const pauseMs = 5 * 60_000;

interface SessionSeen {
  project: string | null;
  /** Of its last line that counts; null: none does yet. */
  at: number | null;
}

/** Takes the trail's lines, older ones first. Keeps numbers, and a bounded number of names. */
export class ReportCounter {
  readonly #scope: ReportScope;
  readonly #history = new LockHistory();
  readonly #sessions = new BoundedMap<string, SessionSeen>({ entriesMax: sessionsMax });
  readonly #waits = new Times();
  readonly #rules = new Map<string, number>();
  readonly #fates = new DenialFates();
  readonly #collisions = new Collisions();
  readonly #stops = new StopCounter();
  readonly #tasks = new TaskCounter();
  readonly #hooks = new HookTimer();
  readonly #wouldStop = new Map<string, number>();
  readonly #wouldCollide = new Collisions();
  readonly #would = { wait: 0, deny: 0, tell: 0 };
  readonly #past = { shell: 0, unhooked: 0, late: 0, off: 0, wiped: 0, taken: 0 };
  readonly #edits = { count: 0, waited: 0, onRequest: 0 };
  readonly #messages = { sent: 0, broadcasts: 0 };
  readonly #context = { answers: 0, chars: 0 };
  #refusedWaits = 0;
  #sessionCount = 0;
  #sessionsMs = 0;
  #lines = 0;
  #from: number | null = null;
  #until: number | null = null;

  constructor(scope: ReportScope) {
    this.#scope = scope;
  }

  add(line: TrailLine): void {
    const isCounted = this.#noteSession(line);
    if (isCounted) this.#count(line);
    this.#history.add(line);
  }

  /** Notes of which project the session is, and how long it was at work. Returns whether the line counts. */
  #noteSession(line: TrailLine): boolean {
    const { id, project, at } = line;
    const { since, project: only } = this.#scope;
    const known = id === null ? undefined : this.#sessions.get(id);
    const where = project ?? known?.project ?? null;
    const isHere = only === null || where === only || isOffThere(line, only);
    const isCounted = at >= since && isHere;
    if (id === null || id === "" || isCommandsSession(id)) return isCounted;
    const session = known ?? { project: where, at: null };
    if (known === undefined) this.#sessions.set(id, session);
    session.project = where;
    if (!isCounted) return false;
    if (session.at === null) this.#sessionCount += 1;
    else if (at - session.at <= pauseMs) this.#sessionsMs += Math.max(0, at - session.at);
    session.at = at;
    return true;
  }

  #count(line: TrailLine): void {
    this.#lines += 1;
    this.#from ??= line.at;
    this.#until = line.at;
    if (line.would !== undefined) {
      this.#observe(line, line.would);
      return;
    }
    this.#fates.add(line);
    if (line.decision === "event") this.#event(line);
    else if (line.event.startsWith("task_")) this.#tasks.add(line);
    else this.#decision(line);
    if (isDenial(line)) {
      for (const rule of ruleOf(line).split(",")) increment(this.#rules, rule);
      if (ruleOf(line) === "guard") this.#stops.stop(line);
    }
    this.#collisions.add(line, this.#history);
  }

  #event(line: TrailLine): void {
    if (line.event === "work_spared") this.#stops.spare(line);
    if (line.ms !== undefined) this.#hooks.add(line.event, line.ms);
    if (line.chars === undefined) return;
    this.#context.answers += 1;
    this.#context.chars += line.chars;
  }

  #decision(line: TrailLine): void {
    const { event, decision } = line;
    const waitedMs = waitIn(line);
    if (waitedMs !== null) {
      this.#waits.add(waitedMs);
      if (decision === "deny") this.#refusedWaits += 1;
    }
    if (isTaking(line) && event !== "lock_granted") {
      if (isRequest(line)) this.#edits.onRequest += 1;
      else {
        this.#edits.count += 1;
        if (waitedMs !== null) this.#edits.waited += 1;
      }
    }
    if (event === "message_send" && decision === "allow") this.#messages.sent += 1;
    if (event === "broadcast" && decision === "allow") this.#messages.broadcasts += 1;
    const past = pastKite.get(event);
    if (past !== undefined) this.#past[past] += 1;
  }

  #observe(line: TrailLine, would: TrailWould): void {
    this.#would[would] += 1;
    if (would === "deny" && ruleOf(line) === "guard") increment(this.#wouldStop, line.type ?? "a command");
    if (would !== "tell") this.#wouldCollide.add(line, this.#history);
  }

  get report(): Report {
    const { totalMs } = this.#hooks;
    return {
      lines: this.#lines,
      from: this.#from,
      until: this.#until,
      sessions: this.#sessionCount,
      edits: { ...this.#edits },
      waits: {
        count: this.#waits.count,
        refused: this.#refusedWaits,
        medianMs: this.#waits.percentile(0.5),
        longestMs: this.#waits.maxMs,
        totalMs: this.#waits.totalMs,
      },
      denials: { count: this.#fates.count, rules: countsOf(this.#rules), fates: this.#fates.counts },
      collisions: this.#collisions.count,
      stops: this.#stops.stops,
      pastKite: { ...this.#past },
      tasks: this.#tasks.figures,
      messages: { ...this.#messages },
      hooks: {
        events: this.#hooks.times,
        totalMs,
        sessionsMs: this.#sessionsMs,
        share: this.#sessionsMs === 0 ? null : totalMs / this.#sessionsMs,
      },
      context: { ...this.#context },
      ...(this.#hasObserved ? { observed: this.#observed } : {}),
    };
  }

  get #hasObserved(): boolean {
    const { wait, deny, tell } = this.#would;
    return wait + deny + tell > 0;
  }

  get #observed(): WouldHave {
    const { wait: waits, deny: denials, tell: tells } = this.#would;
    return { waits, denials, tells, collisions: this.#wouldCollide.count, stops: countsOf(this.#wouldStop) };
  }
}

/** Whether Kite was switched off everywhere, or in this project. */
function isOffThere({ event, type, file }: TrailLine, project: string): boolean {
  return event === "switched_off" && (type === "all" || file === projectRoot(project));
}

/** The notes about changes that Kite did not let through, by the event that they tell of. */
const pastKite: ReadonlyMap<string, "shell" | "unhooked" | "late" | "off" | "wiped" | "taken"> = new Map([
  ["bypassed", "shell"],
  ["write_seen", "unhooked"],
  ["lost_update", "late"],
  ["switched_off", "off"],
  ["work_wiped", "wiped"],
  ["work_taken", "taken"],
]);
