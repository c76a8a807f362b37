/** Numbers of the trail, for `kite stats`. */
import type { TrailDecision, TrailLine, TrailWould } from "../../daemon/trail/line.ts";
import { pathIn } from "./filter.ts";
import { actorIn } from "./lock-history.ts";
import { HookTimer, type HookTimes, Times } from "./times.ts";

/** How often a rule decided what; a rule is whatever the trail's lines name. */
export type RuleCounts = { readonly rule: string } & Readonly<
  Record<Exclude<TrailDecision, "event">, number>
>;

/** How often Kite would have let a step wait, denied it, or told its agent something. */
export type WouldCounts = Readonly<Record<TrailWould, number>>;

/** The most frequent first. */
export interface ObservedCounts {
  readonly rules: readonly ({ readonly rule: string } & WouldCounts)[];
  readonly files: readonly ({ readonly file: string; readonly project: string | null } & WouldCounts)[];
}

/** Times are milliseconds; `from`, `until` and `at` are wall time. */
export interface TrailStats {
  readonly lines: number;
  readonly from: number | null;
  readonly until: number | null;
  /** The busiest rule first. */
  readonly decisions: readonly RuleCounts[];
  /** Waits that ended, with a grant or a refusal. */
  readonly waits: {
    readonly count: number;
    readonly medianMs: number | null;
    readonly p95Ms: number | null;
    readonly maxMs: number | null;
  };
  /** The most denied agents first. */
  readonly denials: readonly {
    readonly who: string;
    readonly count: number;
    readonly rules: Readonly<Record<string, number>>;
  }[];
  /** The longest held locks that ended. */
  readonly holders: readonly {
    readonly file: string;
    readonly project: string | null;
    readonly who: string;
    readonly heldMs: number;
    readonly at: number;
    readonly why: string | null;
  }[];
  /** What Kite would have done while it only observed; absent if the trail has nothing of it. */
  readonly observed?: ObservedCounts;
  /** By event; hooks that waited for others are not counted here. */
  readonly hooks: readonly HookTimes[];
}

/** Agents, and locks, in the result. */
const shownMax = 10;
/** The latest sessions, whose tokens are counted. */
const sessionsMax = 50;
/** In lines of earlier versions, shorter waits than this, in milliseconds, are only the time of an answer. */
const noticedMs = 100;

/** Counts lines one by one; it keeps numbers only. */
export class TrailCounter {
  readonly #rules = new Map<string, Record<Exclude<TrailDecision, "event">, number>>();
  readonly #waits = new Times();
  readonly #denials = new Map<string, { count: number; readonly rules: Map<string, number> }>();
  readonly #hooks = new HookTimer();
  readonly #wouldByRule = new Map<string, Would>();
  readonly #wouldByFile = new Map<string, Would>();
  #holders: TrailStats["holders"] = [];
  #lines = 0;
  #from: number | null = null;
  #until: number | null = null;

  /** The sessions of the lines by id, with their latest names; the latest one last. */
  readonly sessions = new Map<string, string>();

  add(line: TrailLine): void {
    this.#lines += 1;
    this.#noteSession(line);
    this.#from ??= line.at;
    this.#until = line.at;
    if (line.decision === "event") {
      if (line.ms !== undefined) this.#hooks.add(line.event, line.ms);
      return;
    }
    // Several gates may decide at once.
    const rules = ruleOf(line).split(",");
    // Nothing was decided.
    if (line.would !== undefined) {
      this.#observe(line, line.would, rules);
      return;
    }
    for (const rule of rules) {
      const counts = this.#rules.get(rule) ?? { allow: 0, deny: 0, wait: 0, note: 0 };
      this.#rules.set(rule, counts);
      counts[line.decision] += 1;
    }
    const waitedMs = waitIn(line);
    if (waitedMs !== null) this.#waits.add(waitedMs);
    if (line.decision === "deny") this.#deny(actorIn(line), rules);
    if (line.heldMs !== undefined) this.#hold(line, line.heldMs);
  }

  #noteSession({ id, agent, name }: TrailLine): void {
    if (id === null) return;
    const known = agent === null && name ? name : (this.sessions.get(id) ?? id.slice(0, 8));
    this.sessions.delete(id);
    this.sessions.set(id, known);
    const [oldest] = this.sessions.keys();
    if (this.sessions.size > sessionsMax && oldest !== undefined) this.sessions.delete(oldest);
  }

  #observe({ file, project }: TrailLine, would: TrailWould, rules: readonly string[]): void {
    for (const rule of rules) countIn(this.#wouldByRule, rule, project)[would] += 1;
    if (file !== null) countIn(this.#wouldByFile, file, project)[would] += 1;
  }

  #deny(who: string, by: readonly string[]): void {
    const denials = this.#denials.get(who) ?? { count: 0, rules: new Map<string, number>() };
    this.#denials.set(who, denials);
    denials.count += 1;
    for (const rule of by) denials.rules.set(rule, (denials.rules.get(rule) ?? 0) + 1);
  }

  #hold(line: TrailLine, heldMs: number): void {
    const least = this.#holders[shownMax - 1];
    if (least !== undefined && least.heldMs >= heldMs) return;
    const { at, project, why = null } = line;
    const held = { file: pathIn(line) ?? "", project, who: actorIn(line), heldMs, at, why };
    this.#holders = [...this.#holders, held].sort((a, b) => b.heldMs - a.heldMs).slice(0, shownMax);
  }

  get #observed(): ObservedCounts {
    return {
      rules: mostFrequent(this.#wouldByRule).map(([rule, { wait, deny, tell }]) => ({
        rule,
        wait,
        deny,
        tell,
      })),
      files: mostFrequent(this.#wouldByFile)
        .slice(0, shownMax)
        .map(([file, counts]) => ({ file, ...counts })),
    };
  }

  get stats(): TrailStats {
    const decisions = [...this.#rules].map(([rule, counts]) => ({ rule, ...counts }));
    const waits = this.#waits;
    const denials = [...this.#denials].map(([who, { count, rules }]) => {
      const busiest = [...rules].sort((a, b) => b[1] - a[1]);
      return { who, count, rules: Object.fromEntries(busiest) };
    });
    return {
      lines: this.#lines,
      from: this.#from,
      until: this.#until,
      decisions: decisions.sort((a, b) => total(b) - total(a)),
      waits: {
        count: waits.count,
        medianMs: waits.percentile(0.5),
        p95Ms: waits.percentile(0.95),
        maxMs: waits.maxMs,
      },
      denials: denials.sort((a, b) => b.count - a.count).slice(0, shownMax),
      holders: this.#holders,
      ...(this.#wouldByRule.size === 0 ? {} : { observed: this.#observed }),
      hooks: this.#hooks.times,
    };
  }
}

type Would = Record<TrailWould, number> & { readonly project: string | null };

function countIn(map: Map<string, Would>, key: string, project: string | null): Would {
  const counts = map.get(key) ?? { project, wait: 0, deny: 0, tell: 0 };
  map.set(key, counts);
  return counts;
}

/** The most frequent first. */
function mostFrequent(counts: ReadonlyMap<string, Would>): readonly (readonly [string, Would])[] {
  const sum = ({ wait, deny, tell }: Would) => wait + deny + tell;
  return [...counts].sort(([, a], [, b]) => sum(b) - sum(a));
}

function total({ allow, deny, wait, note }: RuleCounts): number {
  return allow + deny + wait + note;
}

/** Returns the rule that a line names. Lines of earlier versions name none. */
export function ruleOf({ rule, event, type, code }: TrailLine): string {
  if (rule !== undefined) return rule;
  if (code === "edits_held") return "freeze";
  if (type?.startsWith("git ") === true) return "guard";
  if (event.startsWith("task_")) return "task";
  if (event.startsWith("debate_")) return "debate";
  if (event === "declare") return "declaration";
  if (/^(?:message_|broadcast$|resume$)/.test(event)) return "message";
  if (event === "SessionEnd") return "session";
  return /^(?:file_(?:un)?lock|lock_\w+|PreToolUse|Stop)$/.test(event) ? "lock" : "write";
}

/** Returns how long the actor waited for others before the decision; null if it did not. */
export function waitIn(line: TrailLine): number | null {
  const { rule, waitedMs, ms = 0, decision, file } = line;
  if (waitedMs !== undefined) return waitedMs;
  const isOld = rule === undefined && file !== null && (decision === "allow" || decision === "deny");
  return isOld && ms >= noticedMs && ruleOf(line) === "lock" ? ms : null;
}
