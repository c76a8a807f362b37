/** The output of `kite report`, for a terminal and as Markdown. */
import type { Counts, Report, Stops } from "../report/figures.ts";
import { paint } from "./color.ts";
import { projectName } from "./places.ts";
import { hookLines } from "./stats.ts";
import { clean, clock, pad, precise, type Screen, wrap } from "./text.ts";
import { grouped } from "./tokens.ts";

/** A report, and what it was asked for. */
export interface ReportView extends Report {
  /** Wall time in milliseconds. */
  readonly since: number;
  readonly project: string | null;
  /** When the log begins, if that is later than `since`; else null. */
  readonly logFrom: number | null;
}

/** Shows a name that a client or an agent gave. */
type ShowName = (name: string) => string;

const labelColumns = 12;

/** Returns a line or two for each kind of figure. */
export function reportView(report: ReportView, screen: Screen): string[] {
  const { hooks } = report;
  const rows = rowsOf(report, clean).flatMap(([label, text]) => {
    const [first = "", ...rest] = wrap(text, Math.max(1, screen.width - labelColumns));
    const margin = " ".repeat(labelColumns);
    return [paint(screen, "bold", pad(label, labelColumns)) + first, ...rest.map(line => margin + line)];
  });
  return [
    ...headOf(report, screen.now).flatMap(line => wrap(clean(line), screen.width)),
    ...(rows.length === 0 ? [] : ["", ...rows.map(line => line.trimEnd())]),
    ...hookLines({ hooks: hooks.events }, screen),
  ];
}

/** Returns the same as Markdown, for a message or a pull request. Names that others gave stand as code. */
export function reportMarkdown(report: ReportView): string[] {
  const rows = rowsOf(report, code);
  const { events } = report.hooks;
  const times = events.map(({ event, count, p50Ms, p95Ms, p99Ms, maxMs }) => {
    const ms = [p50Ms, p95Ms, p99Ms, maxMs].map(one => one.toFixed(1));
    return `| ${[code(event), grouped(count), ...ms].join(" | ")} |`;
  });
  // Without a day of today, each time has its date.
  const head = headOf(report, 0, code);
  return [
    "### What Kite did",
    "",
    ...head,
    ...(rows.length === 0 ? [] : ["", "| | |", "| --- | --- |"]),
    ...rows.map(([label, text]) => `| ${label} | ${text} |`),
    ...(times.length === 0 ? [] : ["", "Hooks, in ms in the daemon, without waits for others:", ""]),
    ...(times.length === 0
      ? []
      : ["| event | answers | p50 | p95 | p99 | max |", "| --- | ---: | ---: | ---: | ---: | ---: |"]),
    ...times,
  ];
}

/** As code, in which nothing is markup, a mention or the end of a cell. */
function code(name: string): string {
  return `\`${clean(name).replaceAll("`", "'").replaceAll("|", "/") || " "}\``;
}

function headOf(
  { from, until, lines, project, since, logFrom }: ReportView,
  now: number,
  name: ShowName = clean,
): string[] {
  const where = project === null ? "" : ` in ${name(projectName(project))}`;
  const late = logFrom === null ? "" : ` The log begins at ${clock(logFrom, now)}: it has nothing of before.`;
  if (from === null || until === null)
    return [`The log has no lines${where} since ${clock(since, now)}.${late}`];
  const span = `From ${clock(from, now)} to ${clock(until, now)}${where}: ${many(lines, "line")} of the log.`;
  return [span + late];
}

type Row = readonly [label: string, text: string];

function rowsOf(report: ReportView, name: ShowName): Row[] {
  const { sessions, hooks, edits, collisions, messages, context, observed } = report;
  if (report.lines === 0) return [];
  const onRequest = edits.onRequest === 0 ? "" : `; ${many(edits.onRequest, "lock")} on request`;
  const share = hooks.share === null ? "" : `, ${percent(hooks.share)} of the sessions' time`;
  const answers = hooks.events.reduce((sum, { count }) => sum + count, 0);
  return [
    ["Sessions", `${grouped(sessions)}, at work for ${precise(hooks.sessionsMs)}`],
    [
      "Edits",
      `${grouped(edits.count)} had their file, ${grouped(edits.waited)} of them after a wait${onRequest}`,
    ],
    ["Waits", waitText(report)],
    ["Denials", denialText(report, name)],
    ["Collisions", collisionText(collisions)],
    ["Stopped", stopText(report.stops, name)],
    ["Past Kite", pastText(report)],
    ...taskRow(report),
    ["Messages", `${grouped(messages.sent)} sent, ${many(messages.broadcasts, "broadcast")}`],
    ["Hooks", `${many(answers, "answer")} took ${precise(hooks.totalMs)} together${share}`],
    [
      "Context",
      context.answers === 0
        ? "no words for agents"
        : `at most ${grouped(context.chars)} characters for agents, in ${many(context.answers, "answer")}`,
    ],
    ...(observed === undefined ? [] : observedRow(observed, name)),
  ];
}

function waitText({ waits }: Report): string {
  const { count, medianMs, longestMs, totalMs, refused } = waits;
  if (medianMs === null || longestMs === null) return "none";
  const times = `median ${precise(medianMs)}, longest ${precise(longestMs)}, ${precise(totalMs)} together`;
  return `${grouped(count)}: ${times}${refused === 0 ? "" : `; ${grouped(refused)} in vain`}`;
}

function denialText({ denials }: Report, name: ShowName): string {
  const { count, rules, fates } = denials;
  if (count === 0) return "none";
  const words = [
    [fates.got, "had later what they were denied"],
    [fates.elsewhere, "went on with something else"],
    [fates.gaveUp, "gave up"],
    [fates.open, "open"],
  ] as const;
  const became = words.flatMap(([times, word]) => (times === 0 ? [] : [`${grouped(times)} ${word}`]));
  return `${grouped(count)} (${named(rules, name)}): ${became.join(", ")}`;
}

function collisionText(count: number): string {
  const it = "an agent asked for a file while another one had it";
  return count === 0 ? "none" : `${grouped(count)} kept from happening: ${it}`;
}

function stopText({ count, commands, files, lines, counted: known, countedLines }: Stops, name: ShowName) {
  if (count === 0) return "no command on uncommitted work of others";
  const what = `${many(count, "command")} on uncommitted work of others (${named(commands, name)})`;
  if (known === 0) return what;
  const unknown = known - countedLines;
  const rest = unknown === 0 ? "" : `; of ${grouped(unknown)}, the lines are not known`;
  const work = countedLines === 0 ? "" : `${many(lines, "line")} in `;
  return `${what}; ${work}${many(files, "file")} would have been lost${rest}`;
}

function pastText({ pastKite }: Report): string {
  const { shell, unhooked, late, off, wiped, taken } = pastKite;
  const words = [
    [shell, `${many(shell, "file")} changed by shell commands that another had`],
    [unhooked, `${many(unhooked, "change")} that no hook told of`],
    [late, `${many(late, "write")} after the lock had passed on`],
    [off, `switched off ${many(off, "time")}`],
    [wiped, `${many(wiped, "file")} with uncommitted work wiped`],
    [taken, `${many(taken, "file")} with work of another committed or discarded`],
  ] as const;
  return words.flatMap(([times, word]) => (times === 0 ? [] : [word])).join(", ") || "nothing";
}

function taskRow({ tasks }: Report): Row[] {
  const { created, claimed, done, failed, medianMs } = tasks;
  if (created + claimed + done + failed === 0) return [];
  const time = medianMs === null ? "" : `; median ${precise(medianMs)} from claim to done`;
  const counts = `${grouped(created)} created, ${grouped(claimed)} claimed, ${grouped(done)} done`;
  return [["Tasks", `${counts}, ${grouped(failed)} failed${time}`]];
}

function observedRow(
  { waits, denials, tells, collisions, stops }: NonNullable<Report["observed"]>,
  name: ShowName,
): Row[] {
  const would = `Kite would have let ${many(waits, "step")} wait, denied ${grouped(denials)}, and told agents something ${many(tells, "time")}`;
  const stopped = stops.length === 0 ? "" : `; it would have stopped ${named(stops, name)}`;
  return [["Observed", `${would}; ${many(collisions, "collision")} that it let happen${stopped}`]];
}

/** `n` with its thousands apart and its noun. */
function many(n: number, noun: string): string {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** Names that are shown of a list; of the rest, how many there are. */
const namesShown = 8;

function named(counts: Counts, name: ShowName): string {
  const shown = counts.slice(0, namesShown).map(one => `${name(one.name)} ${grouped(one.count)}`);
  const more = counts.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function percent(share: number): string {
  return share < 0.0001 ? "less than 0.01 %" : `${(share * 100).toFixed(2)} %`;
}
