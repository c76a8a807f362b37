/** Counts the trail's lines for a report: what Kite did, and what that cost. */
import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine, TrailWould } from "../../daemon/trail/line.ts";
import { isCommandsSession } from "../../protocol/names.ts";
import { isTaking, LockHistory } from "../trail/lock-history.ts";
import { ruleOf, waitIn } from "../trail/stats.ts";
import { HookTimer, Times } from "../trail/times.ts";
import { projectRoot } from "../view/places.ts";
import { Collisions } from "./collisions.ts";
import { countsOf, increment } from "./counts.ts";
import { DenialFates, isDenial, isRequest } from "./denials.ts";
import type { Report, WouldHave } from "./figures.ts";
import { StopCounter } from "./stops.ts";
import { TaskCounter } from "./tasks.ts";

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
