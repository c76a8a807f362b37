/** `kite stats` counts decisions, waits and denials, and times hooks. */

import type { Command } from "commander";
import type { TrailDecision, TrailLine, TrailWould } from "../../daemon/trail/line.ts";
import { readForward, startBefore } from "../../daemon/trail/read.ts";
import type { Tokens } from "../../hooks/claude-code/transcripts.ts";
import { limits } from "../../protocol/limits.ts";
import {
  type ProcessContext,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { exitCodes, fail } from "../context/with-daemon.ts";
import {
  type Cell,
  type Column,
  clean,
  clock,
  counted,
  paint,
  precise,
  type Screen,
  table,
  wrap,
} from "../view/text.ts";
import { actorIn, pathIn, sinceForms, sinceTime, trailFlushed } from "./explained.ts";
import { fileName } from "./sentences.ts";
import { mostTokens, type NamedTokens, type SessionTokens, totalOf } from "./tokens.ts";

// Durations of the trail, counted in bounded memory.

/** Digits that are kept of a duration: there are no more different ones of a length than these tell apart. */
const digits = 4;
/** A longer time, in milliseconds, counts as this one: some eleven days. */
const longestMs = 1_000_000_000;

/** Counts durations in milliseconds. Their sum and the longest one are exact; percentiles have four digits. */
export class Times {
  readonly #counts = new Map<number, number>();
  #count = 0;
  #totalMs = 0;
  #maxMs: number | null = null;

  get count(): number {
    return this.#count;
  }

  get totalMs(): number {
    return this.#totalMs;
  }

  /** Null: nothing was counted. */
  get maxMs(): number | null {
    return this.#maxMs;
  }

  add(ms: number): void {
    const known = Math.min(longestMs, Math.max(0, ms));
    const rounded = Number(known.toPrecision(digits));
    this.#counts.set(rounded, (this.#counts.get(rounded) ?? 0) + 1);
    this.#count += 1;
    this.#totalMs += known;
    this.#maxMs = Math.max(this.#maxMs ?? 0, known);
  }

  /** Returns the least duration that the share of them does not exceed; null: nothing was counted. */
  percentile(share: number): number | null {
    return this.percentiles([share])[0] ?? null;
  }

  /** Returns the percentiles of shares that ascend; none, if nothing was counted. */
  percentiles(shares: readonly number[]): readonly number[] {
    const found: number[] = [];
    let counted = 0;
    for (const [ms, times] of [...this.#counts].sort(([a], [b]) => a - b)) {
      counted += times;
      for (let share = shares[found.length]; share !== undefined; share = shares[found.length]) {
        if (counted < Math.ceil(this.#count * share)) break;
        found.push(ms);
      }
    }
    return found;
  }
}

export interface HookTimes {
  readonly event: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Names of events that are counted on their own: they come from clients. */
const eventsMax = limits.hookKindsMax;

/** Counts by event how long hooks took. */
export class HookTimer {
  readonly #byEvent = new Map<string, Times>();

  add(event: string, ms: number): void {
    const name = this.#byEvent.has(event) || this.#byEvent.size < eventsMax ? event : "others";
    const times = this.#byEvent.get(name) ?? new Times();
    this.#byEvent.set(name, times);
    times.add(ms);
  }

  /** The most frequent event first. */
  get times(): readonly HookTimes[] {
    return [...this.#byEvent].map(timesOf).sort((a, b) => b.count - a.count);
  }

  get totalMs(): number {
    return [...this.#byEvent.values()].reduce((sum, { totalMs }) => sum + totalMs, 0);
  }
}

function timesOf([event, times]: readonly [string, Times]): HookTimes {
  const [p50Ms = 0, p95Ms = 0, p99Ms = 0] = times.percentiles([0.5, 0.95, 0.99]);
  return { event, count: times.count, p50Ms, p95Ms, p99Ms, maxMs: times.maxMs ?? 0 };
}

// Numbers of the trail, for `kite stats`.

/** How often a rule decided what; a rule is whatever the trail's lines name. */
type RuleCounts = { readonly rule: string } & Readonly<Record<Exclude<TrailDecision, "event">, number>>;

/** How often Kite would have let a step wait, denied it, or told its agent something. */
type WouldCounts = Readonly<Record<TrailWould, number>>;

/** The most frequent first. */
interface ObservedCounts {
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

// Tokens for a terminal: numbers alone.

/** Returns a number with its thousands apart. */
export function grouped(n: number): string {
  return n.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Sentences about what transcripts count. */
export function tokenSentences(tokens: SessionTokens): string[] {
  const { own, agents, agentCount } = tokens;
  const isPartial = own.isPartial || agents.isPartial;
  const more = isPartial ? ["That is not all: ask again, and Kite counts on from there."] : [];
  const all = `Its transcript counts ${words(own.tokens)}, in ${counted(own.messages, "message")}.`;
  if (agentCount === 0) return [all, ...more];
  const their = agentCount === 1 ? "Its agent adds" : `Its ${agentCount} agents add`;
  return [all, `${their} ${words(agents.tokens)}; together ${words(totalOf(tokens))}.`, ...more];
}

function words({ input, output, cacheRead, cacheWritten }: Tokens): string {
  const cache = `${grouped(cacheRead)} from the cache and ${grouped(cacheWritten)} into it`;
  return `${grouped(input)} tokens in, ${grouped(output)} out, ${cache}`;
}

// The output of `kite stats`.

/** Returns a table for each kind of number. Omits kinds of which the trail has none. */
export function statsView(stats: TrailStats, screen: Screen, tokens: readonly NamedTokens[] = []): string[] {
  const { from, until, lines } = stats;
  if (from === null || until === null) return wrap("The log has no lines of that time.", screen.width);
  const noun = lines === 1 ? "line" : "lines";
  const span = `${grouped(lines)} ${noun} of the log, from ${clock(from, screen.now)} to ${clock(until, screen.now)}`;
  return [
    ...wrap(span, screen.width),
    ...decisionLines(stats, screen),
    ...observedLines(stats, screen),
    ...waitLines(stats, screen),
    ...denialLines(stats, screen),
    ...holderLines(stats, screen),
    ...tokenLines(tokens, screen),
    ...hookLines(stats, screen),
  ];
}

const right: Column = { align: "right" };

function decisionLines({ decisions }: TrailStats, screen: Screen): string[] {
  const rows = decisions.map(({ rule, allow, deny, wait, note }) => [
    { text: clean(rule), style: "bold" as const },
    ...[allow, deny, wait, note].map(count),
  ]);
  const head = ["rule", "allowed", "denied", "waits", "notes"];
  return section("Decisions", head, rows, [{ min: 6 }, right, right, right, right], screen);
}

/** What Kite would have done while it only observed, by rule and by file. */
function observedLines({ observed }: TrailStats, screen: Screen): string[] {
  if (observed === undefined) return [];
  const cells = ({ wait, deny, tell }: WouldCounts) => [wait, deny, tell].map(count);
  const rules = observed.rules.map(row => [{ text: clean(row.rule), style: "bold" as const }, ...cells(row)]);
  const files = observed.files.map(row => [
    { text: fileName(row.file, row.project, screen.home), style: "bold" as const },
    ...cells(row),
  ]);
  const heads = ["would wait", "would deny", "would tell"];
  const numbers = [right, right, right];
  return [
    ...section("Kite only observed", ["rule", ...heads], rules, [{ min: 6 }, ...numbers], screen),
    ...section(
      "Kite only observed, by file",
      ["file", ...heads],
      files,
      [{ min: 8, cut: "start" }, ...numbers],
      screen,
    ),
  ];
}

function waitLines({ waits }: TrailStats, screen: Screen): string[] {
  const { count: ended, medianMs, p95Ms, maxMs } = waits;
  if (medianMs === null || p95Ms === null || maxMs === null) return [];
  const times = `median ${precise(medianMs)}, p95 ${precise(p95Ms)}, longest ${precise(maxMs)}`;
  const lines = wrap(`${counted(ended, "wait")} ended: ${times}`, screen.width - 2);
  return ["", paint(screen, "bold", "Waits for others"), ...lines.map(line => `  ${line}`)];
}

function denialLines({ denials }: TrailStats, screen: Screen): string[] {
  const rows = denials.map(({ who, count: times, rules }) => [
    { text: clean(who), style: "bold" as const },
    grouped(times),
    {
      text: Object.entries(rules)
        .map(([rule, n]) => `${clean(rule)} ${grouped(n)}`)
        .join(", "),
      style: "dim" as const,
    },
  ]);
  return section("Denied most", null, rows, [{ min: 8 }, right, { min: 8 }], screen);
}

function holderLines({ holders }: TrailStats, screen: Screen): string[] {
  const rows = holders.map(({ file, project, who, heldMs, at, why }) => [
    { text: fileName(file, project, screen.home), style: "bold" as const },
    clean(who),
    precise(heldMs),
    { text: `until ${clock(at, screen.now)}${why === null ? "" : `: ${clean(why)}`}`, style: "dim" as const },
  ]);
  return section(
    "Held longest",
    null,
    rows,
    [{ min: 16, cut: "start" }, { min: 8 }, right, { min: 14 }],
    screen,
  );
}

/** By session with its agents, over its whole life. */
function tokenLines(tokens: readonly NamedTokens[], screen: Screen): string[] {
  const rows = tokens.map(({ name, counts }) => {
    const { input, output, cacheRead, cacheWritten } = totalOf(counts);
    const numbers = [input, output, cacheRead, cacheWritten].map(count);
    const isPartial = counts.own.isPartial || counts.agents.isPartial;
    return [{ text: `${clean(name)}${isPartial ? " (in part)" : ""}`, style: "bold" as const }, ...numbers];
  });
  const head = ["session", "in", "out", "from cache", "into cache"];
  return section(
    "Tokens, with those of its agents",
    head,
    rows,
    [{ min: 8, max: 40 }, right, right, right, right],
    screen,
  );
}

/** The table of how long hooks took. */
export function hookLines({ hooks }: Pick<TrailStats, "hooks">, screen: Screen): string[] {
  const rows = hooks.map(({ event, count: answers, p50Ms, p95Ms, p99Ms, maxMs }) => [
    { text: clean(event), style: "bold" as const },
    grouped(answers),
    ...[p50Ms, p95Ms, p99Ms, maxMs].map(ms => ms.toFixed(1)),
  ]);
  const head = ["event", "answers", "p50", "p95", "p99", "max"];
  const columns = [{ min: 10 }, right, right, right, right, right];
  return section("Hooks, in ms in the daemon, without waits for others", head, rows, columns, screen);
}

function section(
  title: string,
  head: readonly string[] | null,
  rows: readonly (readonly Cell[])[],
  columns: readonly Column[],
  screen: Screen,
): string[] {
  if (rows.length === 0) return [];
  const top = head === null ? [] : [head.map(text => ({ text, style: "dim" as const }))];
  const titles = wrap(title, screen.width).map(line => paint(screen, "bold", line));
  return ["", ...titles, ...table([...top, ...rows], columns, screen, 2)];
}

/** A count in a table; none is a dash. */
function count(n: number): string {
  return n === 0 ? "-" : grouped(n);
}

/** `1,234`, in any locale. */

interface StatsFlags {
  readonly since?: string;
  readonly json?: boolean;
}

const help = `
Stats counts what the log tells: decisions by the rule that made them, how long agents waited for others, who was
denied most, which locks were held longest, and how long the daemon took to answer hooks. It needs no daemon. A lock
counts when it ends: kite status --locks shows those that are held now. The time of a hook's own process is not in the log.
Of the time in which Kite only observed (kite install --observe), it counts what Kite would have done: how many edits and
commands would have waited, would have been denied, and how often agents would have been told something, by rule and file.

Of the latest 50 sessions it shows the ten with the most tokens over their whole life, as their transcripts count them: the
command reads these itself, at most 64 MiB a call, and keeps numbers alone. What was not read yet says so.

--json: {"since":MS|null, "lines", "from":MS|null, "until":MS|null, "decisions":[{"rule", "allow", "deny", "wait",
"note"}], "waits":{"count", "medianMs", "p95Ms", "maxMs"}, "denials":[{"who", "count", "rules":{RULE:count}}],
"holders":[{"file", "project", "who", "heldMs", "at":MS, "why"}], "observed"?:{"rules":[{"rule", "wait", "deny", "tell"}],
"files":[{"file", "project", "wait", "deny", "tell"}]}, "tokens":[{"name", "id", "counts":{"own", "agents":{"tokens":{"input",
"output", "cacheRead", "cacheWritten"}, "messages", "isPartial"}, "agentCount"}}], "hooks":[{"event", "count", "p50Ms", "p95Ms", "p99Ms", "maxMs"}]}

Exit codes: 0 done, 1 failed.

Examples:
  $ kite stats
  $ kite stats --since 2h`;

export function add(command: Command, run: Run): void {
  command
    .option("--since <time>", "only since then: 10m, 2h, 14:30, 2026-11-22T10:00; by default all")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: StatsFlags) => run(world => stats(world, flags)));
}

/** Sessions whose tokens are shown. */
const tokenRowsMax = 10;

/** Columns of an output that is no terminal. */
const pipeColumns = 80;

/** Returns the exit code. */
export async function stats(world: ProcessContext, flags: StatsFlags): Promise<number> {
  const json = flags.json === true;
  const since = flags.since === undefined ? Number.NEGATIVE_INFINITY : sinceTime(flags.since, world.now());
  if (since === null) return fail(world, json, "usage", `--since takes ${sinceForms}, not ${flags.since}`);
  await trailFlushed(world);
  const counter = new TrailCounter();
  const { trail } = world.paths;
  for await (const { lines } of readForward(trail, await startBefore(trail, since)))
    for (const line of lines) if (line.at >= since) counter.add(line);
  const tokens = mostTokens(world, counter.sessions, tokenRowsMax);
  if (json) printJson(world, { since: flags.since === undefined ? null : since, ...counter.stats, tokens });
  else printFramed(world, statsView(counter.stats, screenOf(world, pipeColumns), tokens));
  return exitCodes.done;
}
