/** The output of `kite stats`. */

import type { NamedTokens } from "../tokens/session.ts";
import { totalOf } from "../tokens/session.ts";
import type { TrailStats, WouldCounts } from "../trail/stats.ts";
import { paint } from "./color.ts";
import { fileName } from "./explain.ts";
import { type Cell, type Column, table } from "./table.ts";
import { clean, clock, counted, precise, type Screen, wrap } from "./text.ts";
import { grouped } from "./tokens.ts";

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
  const said = wrap(`${counted(ended, "wait")} ended: ${times}`, screen.width - 2);
  return ["", paint(screen, "bold", "Waits for others"), ...said.map(line => `  ${line}`)];
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
