/** `kite log` shows each decision and its reason, and follows new ones. */

import { type FSWatcher, watch } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { fileName, type TrailLine, trailFiles } from "../../daemon/trail/line.ts";
import { type Place, readForward, readTrail, startBefore } from "../../daemon/trail/read.ts";
import { limits } from "../../protocol/limits.ts";
import {
  interrupted,
  jsonLine,
  type ProcessContext,
  print,
  printFramed,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { numbering } from "../context/task-numbers.ts";
import { exitCodes, fail } from "../context/with-daemon.ts";
import { clean } from "../view/text.ts";
import {
  decisionsIn,
  missingFile,
  sinceForms,
  sinceTime,
  type TrailFilter,
  trailFlushed,
  trailNames,
  unknownAgent,
  wantedBy,
} from "./explained.ts";
import { logLines } from "./sentences.ts";

// Follows the trail's files for `kite log --follow`.

/** How often `readAtEnd` reads again if the daemon writes meanwhile. */
const quietTries = 20;

/**
 * Runs `read`, and returns its result with the position in the trail at which it ended. If the daemon writes lines all
 * the time, a few lines of the result may lie after the position too.
 */
async function readAtEnd<T>(dir: string, read: () => Promise<T>): Promise<{ found: T; place: Place }> {
  let place = await trailEnd(dir);
  for (let tries = 1; ; tries += 1) {
    const found = await read();
    const end = await trailEnd(dir);
    const isQuiet = end.n === place.n && end.offset === place.offset;
    if (isQuiet || tries === quietTries) return { found, place };
    place = end;
  }
}

/**
 * Hands new lines of the trail after `from` to `show`, in order, until `until` is aborted. When the daemon begins the
 * next file, this function reads on there.
 */
async function followTrail(
  dir: string,
  from: Place,
  show: (lines: readonly TrailLine[]) => Promise<void>,
  until: AbortSignal,
): Promise<void> {
  // There may be no trail yet; the daemon creates its folder with the same mode.
  await mkdir(dir, { recursive: true, mode: 0o700 });
  let changed: () => void = () => {};
  const watcher: FSWatcher = watch(dir, () => changed());
  const abort = () => changed();
  until.addEventListener("abort", abort, { once: true });
  try {
    let place = from;
    while (!until.aborted) {
      const change = new Promise<void>(resolve => {
        changed = resolve;
      });
      for await (const { lines, end } of readForward(dir, place)) {
        await show(lines);
        place = end;
      }
      if (!until.aborted) await change;
    }
  } finally {
    until.removeEventListener("abort", abort);
    watcher.close();
  }
}

async function trailEnd(dir: string): Promise<Place> {
  const [newest] = await trailFiles(dir);
  if (newest === undefined) return { n: 0, offset: 0 };
  const handle = await open(join(dir, fileName(newest)), "r");
  try {
    return { n: newest, offset: (await handle.stat()).size };
  } finally {
    await handle.close();
  }
}

export interface LogFlags {
  readonly lines?: string;
  readonly agent?: string;
  /** The earlier name of `agent`. */
  readonly session?: string;
  readonly file?: string;
  readonly decision?: string;
  readonly since?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const help = `
The log holds every decision: its time, agent and file, whether Kite allowed or denied it, why and after how long.
It holds no prompts and no file contents, and of a shell command its first word only. The command needs no daemon.

Decisions: allow, deny, wait (a wait begins; its end has a line of its own), note (something ended or went past a lock
without a request), event (a hook was answered, a file was written; shown only on request).

--json: the lines as they are stored, one object a line:
{"at":MS, "event", "id", "agent", "name", "project", "type", "file", "decision", "rule"?, "code"?, "why"?,
"holder"?, "task"?, "ms"?, "waitedMs"?, "heldMs"?, "perhaps"?, "would"?, "chars"?, "files"?, "lines"?}

Exit codes: 0 done, 1 failed, or the log does not know the agent, or the file, which is not there.

Examples:
  $ kite log -n 20
  $ kite log --agent alice --follow
  $ kite log --file src/ --decision deny,wait --since 2h`;

export function add(command: Command, run: Run): void {
  command
    .option("-n, --lines <n>", "how many of the latest decisions; by default 50, with --since all")
    .option("--agent <name>", "only this session or agent: its name, or the beginning of its id")
    .option("--file <path>", "only this file, or the files in this directory")
    .option("--decision <decisions>", "only allow, deny, wait, note or event; several by commas")
    .option("--since <time>", "only decisions since then: 10m, 2h, 14:30, 2026-11-22T10:00")
    .option("-f, --follow", "also print new decisions, until interrupted")
    .option("--json", "print one JSON object a line")
    .addOption(new Option("--session <name>").hideHelp())
    .addHelpText("after", help)
    .action(async (flags: LogFlags) => {
      const until = flags.follow ? interrupted() : new AbortController().signal;
      await run(world => log(world, flags, until));
    });
}

/** Lines without `-n` and `--since`. */
const linesDefault = 50;

/** Returns the exit code; with `follow` when `until` is aborted. */
export async function log(world: ProcessContext, flags: LogFlags, until: AbortSignal): Promise<number> {
  const query = await askedBy(world, flags);
  if (typeof query === "string") return fail(world, flags.json === true, "usage", query);
  const { filter, limit } = query;
  const wanted = wantedBy(filter);
  const isTerminal = world.stdout.isTTY === true;
  let count = 0;
  const show = async (lines: readonly TrailLine[]) => {
    count += lines.length;
    // In a pipe each decision is one line of any length, so that grep finds whole decisions; COLUMNS asks for a width.
    const isWrapped = isTerminal || (world.env["COLUMNS"] ?? "") !== "";
    const screen = isWrapped ? screenOf(world) : { ...screenOf(world), width: Number.POSITIVE_INFINITY };
    if (flags.json) print(world, lines.map(jsonLine));
    else {
      const worded = await numbering(world, null, lines.map(({ why = "" }) => why).join(" "));
      printFramed(
        world,
        lines.flatMap(line => logLines(line, screen, worded)),
      );
    }
  };
  await trailFlushed(world);
  const place = await showStored(world.paths.trail, { filter, limit, wanted }, show);
  const unknown =
    count === 0 && filter.agent !== undefined ? await unknownAgent(world.paths.trail, filter.agent) : null;
  const { paths } = filter;
  const missing =
    count === 0 && paths !== undefined
      ? await missingFile(world.paths.trail, { paths, cwd: world.cwd })
      : null;
  const noFile =
    missing === null
      ? null
      : `there is no file ${clean(flags.file ?? "")}, and the log knows none of that name` +
        (missing.meant === null ? "" : `; did you mean ${clean(missing.meant)}?`);
  if (flags.follow) {
    if (noFile !== null) world.stderr.write(`kite: ${noFile}\n`);
    if (unknown !== null) world.stderr.write(`kite: ${unknown}\n`);
    await followTrail(world.paths.trail, place, lines => show(lines.filter(wanted)), until);
    return exitCodes.done;
  }
  if (unknown !== null) return fail(world, flags.json === true, "unknown_agent", unknown);
  if (noFile !== null) return fail(world, flags.json === true, "unknown_file", noFile);
  if (count === 0 && (isTerminal || paths !== undefined))
    world.stderr.write("kite: the log has no such decision yet\n");
  return exitCodes.done;
}

interface LogQuery {
  readonly filter: TrailFilter;
  /** Lines at most, the latest ones; null: all since a time. */
  readonly limit: number | null;
}

/** Returns what the flags ask for, or a sentence about what is wrong with them. */
async function askedBy(world: ProcessContext, flags: LogFlags): Promise<LogQuery | string> {
  const { lines, agent = flags.session, file, decision } = flags;
  if (lines !== undefined && !(/^\d+$/.test(lines) && Number(lines) <= limits.trailReadMax))
    return `-n takes a number from 0 to ${limits.trailReadMax}, not ${lines}`;
  const decisions = decision === undefined ? undefined : decisionsIn(decision);
  if (typeof decisions === "string") return decisions;
  const since = flags.since === undefined ? undefined : sinceTime(flags.since, world.now());
  if (since === null) return `--since takes ${sinceForms}, not ${flags.since}`;
  const paths = file === undefined ? undefined : await trailNames(world, file);
  const all = since === undefined ? linesDefault : null;
  return {
    filter: { agent, paths, decisions, since },
    limit: lines === undefined ? all : Number(lines),
  };
}

interface Wanted extends LogQuery {
  readonly wanted: (line: TrailLine) => boolean;
}

/** Shows the stored lines, and returns the position after them. */
async function showStored(
  dir: string,
  { filter, limit, wanted }: Wanted,
  show: (lines: readonly TrailLine[]) => Promise<void>,
) {
  const { since } = filter;
  if (limit === null && since !== undefined) {
    let place = await startBefore(dir, since);
    for await (const { lines, end } of readForward(dir, place)) {
      await show(lines.filter(wanted));
      place = end;
    }
    return place;
  }
  const read = () => readTrail(dir, { limit: limit ?? linesDefault, filter: wanted, since });
  const { found, place } = await readAtEnd(dir, read);
  await show(found);
  return place;
}
