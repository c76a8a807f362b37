/** `kite report` sums up what Kite did: waits, denials, collisions, work kept, costs. */

import { resolve } from "node:path";
import type { Command } from "commander";
import { readForward, startBefore } from "../../daemon/trail/read.ts";
import {
  type ProcessContext,
  print,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { exitCodes, fail } from "../context/with-daemon.ts";
import { projectName } from "../view/places.ts";
import { clean, clock, pad, paint, precise, type Screen, wrap } from "../view/text.ts";
import { sinceForms, sinceTime, trailFlushed } from "./explained.ts";
import { type Counts, type Report, ReportCounter, type Stops } from "./report-counter.ts";
import { grouped, hookLines } from "./stats.ts";

// The output of `kite report`, for a terminal and as Markdown.

/** A report, and what it was asked for. */
interface ReportView extends Report {
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

interface ReportFlags {
  readonly since: string;
  readonly project?: string | true;
  readonly json?: boolean;
  readonly markdown?: boolean;
}

/** What each line of a report means. */
const meanings: readonly (readonly [name: string, ...says: readonly string[]])[] = [
  [
    "Edits",
    "those that were given their file. Locks on request are those of kite lock and of agents' tools.",
  ],
  ["Waits", "those that ended, with the file or in vain."],
  [
    "Denials",
    "steps that Kite denied. Of each, the report says that the same agent had the file later, or that the same command",
    "passed; that the agent went on with something else; that its session ended without either (it gave up); or that",
    "the log does not tell yet (open).",
  ],
  [
    "Collisions",
    "an agent asked to write a file while another agent held it in its turn. Without Kite, both would have written the",
    "file within one turn. An agent that asks again while the other one has the file counts once. Where the log does",
    "not say who had the file, nothing is counted.",
  ],
  [
    "Stopped",
    "commands that the guard denied. Lines are those that no commit has, in the files of others that the command would",
    "have wiped, as Kite counted them at the denial. Where it could not count all of them, no number stands for them.",
  ],
  [
    "Past Kite",
    "changes by shell commands, or of which no hook told; writes after the lock had passed on; kite off; uncommitted",
    "work that was wiped all the same, or that another agent committed or discarded.",
  ],
  ["Tasks", "the median is that of the times from the last claim of a task to done."],
  [
    "Hooks",
    "how long the daemon took to answer, without waits for others and without the hook's own process. The sessions'",
    "time is the time between the log lines of a session; more than five minutes between two of them are a pause.",
  ],
  [
    "Context",
    "the length of the hooks' answers with the form around their words, so that agents read less than that. The",
    "answers of Kite's tools are not in it.",
  ],
  ["Observed", "what Kite would have done while it only observed (kite install --observe)."],
];

const help = `
Report says from the log what Kite did, for whoever asks whether coordination pays. It needs no daemon.

${meanings.map(([name, ...says]) => `  ${name}: ${says.join(" ")}`).join("\n")}

--markdown is for a message or a pull request: it has no paths and no texts of messages.

--json: {"since":MS, "from":MS|null, "until":MS|null, "logFrom":MS|null, "project", "lines", "sessions",
"edits":{"count", "waited", "onRequest"}, "waits":{"count", "refused", "medianMs", "longestMs", "totalMs"},
"denials":{"count", "rules":[{"name", "count"}], "fates":{"got", "elsewhere", "gaveUp", "open"}}, "collisions",
"stops":{"count", "commands":[{"name", "count"}], "kinds":{"stash", "reset", "removal", "commit", "other"}, "counted",
"countedLines", "files", "lines"}, "pastKite":{"shell", "unhooked", "late", "off", "wiped", "taken"}, "tasks":{"created",
"claimed", "done", "failed", "medianMs"}, "messages":{"sent", "broadcasts"}, "hooks":{"events":[{"event", "count",
"p50Ms", "p95Ms", "p99Ms", "maxMs"}], "totalMs", "sessionsMs", "share"}, "context":{"answers", "chars"}, "observed"?:{
"waits", "denials", "tells", "collisions", "stops":[{"name", "count"}]}}; logFrom is when the log begins, if that is
later than since.

Exit codes: 0 done, 1 failed.

Examples:
  $ kite report
  $ kite report --since 7d --project . --markdown`;

export function add(command: Command, run: Run): void {
  command
    .option("--since <time>", "only since then: 24h, 7d, 14:30, 2026-11-22T10:00", "24h")
    .option("--project [DIR]", "only the project around DIR (by default the working directory)")
    .option("--markdown", "print Markdown, for a message or a pull request")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: ReportFlags) => run(world => report(world, flags)));
}

/** Columns of an output that is no terminal. */
const pipeColumns = 80;

/** Returns the exit code. Throws `ProjectUnknown`. */
export async function report(world: ProcessContext, flags: ReportFlags): Promise<number> {
  const json = flags.json === true;
  if (json && flags.markdown === true) return fail(world, json, "usage", "say either --json or --markdown");
  const since = sinceTime(flags.since, world.now());
  if (since === null) return fail(world, json, "usage", `--since takes ${sinceForms}, not ${flags.since}`);
  const { project: named } = flags;
  const project =
    named === undefined ? null : await projectOf(resolve(world.cwd, named === true ? "." : named));
  await trailFlushed(world);
  const counter = new ReportCounter({ since, project });
  const { trail } = world.paths;
  let firstAt: number | null = null;
  for await (const { lines } of readForward(trail, await startBefore(trail, since))) {
    firstAt ??= lines[0]?.at ?? null;
    for (const line of lines) counter.add(line);
  }
  const { report: figures } = counter;
  const logFrom = firstAt !== null && firstAt > since ? firstAt : null;
  const shown = { since, project, logFrom, ...figures };
  if (json) printJson(world, shown);
  else if (flags.markdown === true) print(world, reportMarkdown(shown));
  else printFramed(world, reportView(shown, screenOf(world, pipeColumns)));
  return exitCodes.done;
}
