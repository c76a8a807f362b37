import type { Command } from "commander";
import type { ProcessContext } from "../process-context.ts";

interface UnlockFlags {
  readonly force?: boolean;
  readonly json?: boolean;
}

const help = `
Without --force the locks must be those of the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its agent in
KITE_AGENT); a place in line is given up too. All of the files are released, or none.
With --force whoever holds them loses them, is told, and it is recorded: kite log.

--json: {"ok":true, "released":[...]}, or the refusal.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite unlock src/auth.ts
  $ kite unlock --force src/auth.ts`;

export function add(program: Command): void {
  program
    .command("unlock")
    .description("release locks")
    .argument("<file...>", "the files, as they were locked")
    .option("--force", "release them whoever holds them")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (files: readonly string[], flags: UnlockFlags) => {
      const { processWorld } = await import("../process-context.ts");
      process.exitCode = await unlock(processWorld(), files, flags);
    });
}

/** Returns the exit code. */
export async function unlock(
  world: ProcessContext,
  files: readonly string[],
  flags: UnlockFlags,
): Promise<number> {
  const { absolute, actingSession } = await import("../actor.ts");
  const { exitCodes, fail, Refused, withDaemon } = await import("../with-daemon.ts");
  const { print, printJson } = await import("../process-context.ts");
  const { clean } = await import("../view/text.ts");
  const json = flags.json === true;
  const force = flags.force === true;
  const own = actingSession(world.env);
  if (own === null && !force) {
    const error =
      "no session is named in KITE_SESSION or CLAUDE_CODE_SESSION_ID; to release whoever holds it: kite unlock --force FILE";
    fail(world, json, "unknown_session", error);
    return exitCodes.failed;
  }
  return withDaemon(world, json, async client => {
    const answer = await client.request("file_unlock", {
      ...own,
      files: files.map(file => absolute(world.cwd, file)),
      ...(force ? { force } : {}),
    });
    if (!answer.ok) throw new Refused(answer);
    if (json) printJson(world, answer);
    else print(world, [`released: ${answer.released.map(clean).join(", ")}`]);
    return exitCodes.done;
  });
}
