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
} from "../process-context.ts";
import { projectOf } from "../project.ts";
import { ReportCounter } from "../report/counter.ts";
import { trailFlushed } from "../trail/flushed.ts";
import { sinceForms, sinceTime } from "../trail/since.ts";
import { reportMarkdown, reportView } from "../view/report.ts";
import { exitCodes, fail } from "../with-daemon.ts";

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
