import type { Command } from "commander";
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { ProcessContext } from "../process-context.ts";

interface ExplainFlags {
  readonly lines: string;
  readonly json?: boolean;
}

const help = `
FILE is a file or a directory as typed here; SESSION a name, or how an id begins. What is both is taken as a
session; write ./NAME for the file. The latest comes last. It is read from the trail, with or without a daemon.

--json: {"about":"file"|"session", "name", "explained":[{"at":MS, "who", "what":"took"|"waited"|"denied"|"released"|
"not_released"|"ended"|"noted", "file", "project", "command", "waitedMs", "again", "until", "before":{"who","at"}|null, "code",
"why"}]}

Exit codes: 0 done, 1 failed or nothing known.

Example:
  $ kite explain src/auth.ts
  14:02:07  alice took src/auth.ts at once.
  14:02:19  bob waited 12s for src/auth.ts, then had it. alice had taken it at 14:02:07.`;

export function add(program: Command): void {
  program
    .command("explain")
    .description("say who waited, was denied or let through, and why")
    .argument("<file-or-session>", "what to explain")
    .option("-n, --lines <n>", "how many sentences, the latest", "20")
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
  const { filterOf } = await import("./log.ts");
  const { explain, explainLines } = await import("../view/explain.ts");
  const { readTrail } = await import("../../daemon/trail/read.ts");
  const { limits } = await import("../../protocol/limits.ts");
  const json = flags.json === true;
  const count = /^\d+$/.test(flags.lines) ? Number(flags.lines) : 0;
  if (count < 1 || count > limits.trailReadMax) {
    fail(world, json, "usage", `-n takes a number from 1 to ${limits.trailReadMax}, not ${flags.lines}`);
    return exitCodes.failed;
  }
  // The lines of others tell who had a file before.
  const lines = await readTrail(world.paths.trail, { limit: limits.trailReadMax });
  const ofSession = filterOf(subject, null);
  const ofFile = filterOf(null, absolute(world.cwd, subject));
  const about = !subject.includes("/") && lines.some(ofSession) ? "session" : "file";
  const wanted: (line: TrailLine) => boolean = about === "session" ? ofSession : ofFile;
  const explained = explain(lines, wanted).slice(-count);
  if (explained.length === 0) {
    const error = `nothing was decided about ${subject}, neither as a file nor as a session; see kite log`;
    fail(world, json, "nothing_known", error);
    return exitCodes.failed;
  }
  if (json) printJson(world, { about, name: subject, explained });
  else for (const one of explained) printFramed(world, explainLines(one, screenOf(world)));
  return exitCodes.done;
}
