import type { Command } from "commander";
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { ProcessContext } from "../process-context.ts";

interface ExplainFlags {
  readonly lines: string;
  readonly json?: boolean;
}

const help = `
The argument is a file or directory, or a session: its name or the beginning of its id. If it could be both, Kite takes
the session; write ./NAME for the file. The latest decision comes last. Explain reads the trail and needs no daemon.

--json: {"about":"file"|"session", "name", "explained":[{"at":MS, "who", "what":"took"|"waited"|"denied"|"released"|
"not_released"|"ended"|"noted", "file", "project", "command", "waitedMs", "again", "until", "before":{"who","at"}|null, "code",
"why"}]}

Exit codes: 0 done, 1 failed, or the trail has no decision about it.

Example:
  $ kite explain src/auth.ts
  14:02:07  alice took src/auth.ts at once.
  14:02:19  bob waited 12s for src/auth.ts, then had it. alice had taken it at 14:02:07.`;

export function add(program: Command): void {
  program
    .command("explain")
    .description("say which sessions waited, were denied or got a lock, and why")
    .argument("<file-or-session>", "what to explain")
    .option("-n, --lines <n>", "how many of the latest sentences", "20")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (subject: string, flags: ExplainFlags) => {
      const { processWorld } = await import("../process-context.ts");
      process.exitCode = await explainSubject(processWorld(), subject, flags);
    });
}

/** Returns the exit code. */
export async function explainSubject(
  world: ProcessContext,
  subject: string,
  flags: ExplainFlags,
): Promise<number> {
  const { exitCodes, fail } = await import("../with-daemon.ts");
  const { printFramed, printJson, screenOf } = await import("../process-context.ts");
  const { absolute } = await import("../actor.ts");
  const { isAbout, isOf } = await import("../trail/filter.ts");
  const { explain, explainLines } = await import("../view/explain.ts");
  const { readTrail } = await import("../../daemon/trail/read.ts");
  const { limits } = await import("../../protocol/limits.ts");
  const json = flags.json === true;
  const count = /^\d+$/.test(flags.lines) ? Number(flags.lines) : 0;
  if (count < 1 || count > limits.trailReadMax) {
    fail(world, json, "usage", `-n takes a number from 1 to ${limits.trailReadMax}, not ${flags.lines}`);
    return exitCodes.failed;
  }
  // Lines of other sessions show which session held a file before.
  const lines = await readTrail(world.paths.trail, { limit: limits.trailReadMax });
  const ofSession = (line: TrailLine) => isOf(line, subject);
  const file = absolute(world.cwd, subject).replace(/(?<=.)\/$/, "");
  const ofFile = (line: TrailLine) => isAbout(line, file);
  const about = !subject.includes("/") && lines.some(ofSession) ? "session" : "file";
  const wanted: (line: TrailLine) => boolean = about === "session" ? ofSession : ofFile;
  const explained = explain(lines, wanted).slice(-count);
  if (explained.length === 0) {
    const error = `the trail has no decision about a file or session ${subject}; see kite log`;
    fail(world, json, "nothing_known", error);
    return exitCodes.failed;
  }
  if (json) printJson(world, { about, name: subject, explained });
  else for (const one of explained) printFramed(world, explainLines(one, screenOf(world)));
  return exitCodes.done;
}
