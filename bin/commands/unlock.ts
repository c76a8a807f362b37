import type { Command } from "commander";
import { absolute, actingSession } from "../actor.ts";
import { refuseAgent } from "../person.ts";
import { type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { clean } from "../view/text.ts";
import { ask, exitCodes, fail, withDaemon } from "../with-daemon.ts";

interface UnlockFlags {
  readonly force?: boolean;
  readonly json?: boolean;
}

const help = `
Without --force, unlock releases only locks of the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its agent in
KITE_AGENT), and gives up its queue positions for the files. It releases all of the files, or none.
With --force, each holder loses its lock; Kite tells the holder and records it in the trail (kite log).

--json: {"ok":true, "released":[...]}, or the refusal.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite unlock src/auth.ts
  $ kite unlock --force src/auth.ts`;

export function add(command: Command, run: Run): void {
  command
    .argument("<file...>", "the files, as they were locked")
    .option("--force", "release the locks of any holder")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((files: readonly string[], flags: UnlockFlags) => run(world => unlock(world, files, flags)));
}

/** Returns the exit code. */
export async function unlock(
  world: ProcessContext,
  files: readonly string[],
  flags: UnlockFlags,
): Promise<number> {
  const json = flags.json === true;
  const force = flags.force === true;
  const own = actingSession(world.env);
  if (own === null && !force) {
    const error =
      "KITE_SESSION and CLAUDE_CODE_SESSION_ID name no session; to release any holder's lock: kite unlock --force FILE";
    return fail(world, json, "unknown_session", error);
  }
  const refused = force ? await refuseAgent(world, json, "unlock") : null;
  if (refused !== null) return refused;
  return withDaemon(
    world,
    json,
    async client => {
      const answer = await ask(client, "file_unlock", {
        ...own,
        files: files.map(file => absolute(world.cwd, file)),
        ...(force ? { force } : {}),
      });
      if (json) printJson(world, answer);
      else print(world, [`released: ${answer.released.map(clean).join(", ")}`]);
      return exitCodes.done;
    },
    force ? { person: "always" } : {},
  );
}
