import { resolve } from "node:path";
import type { Command } from "commander";
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectRoot } from "../view/places.ts";

interface LogFlags {
  readonly lines: string;
  readonly session?: string;
  readonly file?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const help = `
The trail holds every decision: its time, session and file, whether Kite allowed or denied it, why and after how long.
It holds no prompts and no file contents. The command needs no daemon.

--json: the lines as they are stored, one object a line:
{"at":MS, "event", "id", "agent", "name", "project", "type", "file", "decision", "code"?, "why"?, "ms"?}

Exit codes: 0 done, 1 failed.

Examples:
  $ kite log -n 20
  $ kite log --session alice --follow
  $ kite log --file src/auth.ts`;

export function add(program: Command): void {
  program
    .command("log")
    .description("show each decision, and its reason")
    .option("-n, --lines <n>", "how many of the latest decisions", "50")
    .option("--session <name>", "only this session: its name, or the beginning of its id")
    .option("--file <file>", "only this file, or the files in this directory")
    .option("-f, --follow", "also print new decisions, until interrupted")
    .option("--json", "print one JSON object a line")
    .addHelpText("after", help)
    .action(async (flags: LogFlags) => {
      const { interrupted, processWorld } = await import("../process-context.ts");
      const until = flags.follow ? interrupted() : new AbortController().signal;
      process.exitCode = await log(processWorld(), flags, until);
    });
}

/** Returns the exit code; with `follow` when `until` is aborted. */
export async function log(world: ProcessContext, flags: LogFlags, until: AbortSignal): Promise<number> {
  const { exitCodes, fail } = await import("../with-daemon.ts");
  const { printFramed, printJson, screenOf } = await import("../process-context.ts");
  const { absolute } = await import("../actor.ts");
  const { logLines } = await import("../view/log.ts");
  const { readTrail } = await import("../../daemon/trail/read.ts");
  const { limits } = await import("../../protocol/limits.ts");
  const limit = /^\d+$/.test(flags.lines) ? Number(flags.lines) : -1;
  if (limit < 0 || limit > limits.trailReadMax) {
    fail(world, false, "usage", `-n takes a number from 0 to ${limits.trailReadMax}, not ${flags.lines}`);
    return exitCodes.failed;
  }
  const file = flags.file === undefined ? null : absolute(world.cwd, flags.file);
  const wanted = filterOf(flags.session ?? null, file);
  const isTerminal = world.stdout.isTTY === true;
  const showLines = (lines: readonly TrailLine[]) => {
    const screen = screenOf(world);
    // In a pipe each decision is one line of any length, so that grep finds whole decisions.
    const wide = isTerminal ? screen : { ...screen, width: Number.POSITIVE_INFINITY };
    for (const line of lines) {
      if (flags.json) printJson(world, line);
      else printFramed(world, logLines(line, wide));
    }
  };
  const read = () => readTrail(world.paths.trail, { limit, filter: wanted });
  if (flags.follow) {
    const { followTrail, readAtEnd } = await import("../follow-trail.ts");
    const { found, place } = await readAtEnd(world.paths.trail, read);
    showLines(found);
    await followTrail(world.paths.trail, place, lines => showLines(lines.filter(wanted)), until);
    return exitCodes.done;
  }
  const lines = await read();
  showLines(lines);
  if (lines.length === 0 && isTerminal) world.stderr.write("kite: the trail has no such decision yet\n");
  return exitCodes.done;
}

/** Returns a test for lines of this session and this file. A line's relative file starts at its project's directory. */
export function filterOf(session: string | null, file: string | null): (line: TrailLine) => boolean {
  const path = file?.replace(/(?<=.)\/$/, "") ?? null;
  return line => {
    if (session !== null) {
      const isNamed = line.name === session || line.name?.startsWith(`${session}/`) === true;
      if (!isNamed && line.id?.startsWith(session) !== true) return false;
    }
    if (path === null) return true;
    if (line.file === null) return false;
    const recorded = resolve(projectRoot(line.project ?? "/"), line.file);
    return recorded === path || recorded.startsWith(`${path}/`);
  };
}
