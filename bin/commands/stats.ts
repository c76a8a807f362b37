import type { Command } from "commander";
import { readForward, startBefore } from "../../daemon/trail/read.ts";
import { type ProcessContext, printFramed, printJson, type Run, screenOf } from "../process-context.ts";
import { mostTokens } from "../tokens/session.ts";
import { trailFlushed } from "../trail/flushed.ts";
import { sinceForms, sinceTime } from "../trail/since.ts";
import { TrailCounter } from "../trail/stats.ts";
import { statsView } from "../view/stats.ts";
import { exitCodes, fail } from "../with-daemon.ts";

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
