/** `kite unlock` releases locks. */

import type { Command } from "commander";
import { isResource } from "../../protocol/names.ts";
import { shellArgument } from "../../protocol/text.ts";
import { actingSession } from "../context/actor.ts";
import { refuseAgent, seemsAgents } from "../context/person.ts";
import { type Client, type ProcessContext, print, printJson, type Run } from "../context/process-context.ts";
import { isOn, lockable, ownProject, projectOf } from "../context/project.ts";
import { ask, exitCodes, fail, Refused, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { clean } from "../view/text.ts";

interface UnlockFlags {
  readonly force?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

const help = `
Without --force, unlock releases only locks of the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its agent in
KITE_AGENT), and gives up its queue positions for the files. It releases all of the files, or none. @NAME is a resource,
the file of that name is ./@NAME (kite help lock).
With --force, each holder loses its lock; Kite tells the holder and records it in the log (kite log).

--json: {"ok":true, "released":[...]}, or the refusal.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite unlock src/auth.ts
  $ kite unlock --force src/auth.ts`;

export function add(command: Command, run: Run): void {
  command
    .argument("<file...>", "the files and resources (@NAME), as they were locked")
    .option("--force", "release the locks of any holder")
    .option(
      "--project <project>",
      "with --force: the project of resources, other than that of the working directory",
    )
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
  if (flags.project !== undefined && !force)
    return fail(world, json, "usage", "--project goes with --force: your own locks need no project");
  if (own === null && !force)
    return withDaemon(world, json, client => noneOfMine(world, client, files, json));
  const refused = force ? await refuseAgent(world, json, "unlock") : null;
  if (refused !== null) return refused;
  return withDaemon(
    world,
    json,
    async client => {
      // Nobody's session says which project's resource it is.
      const isForced = force && own === null && files.some(isResource);
      const project = isForced ? { project: flags.project ?? (await projectOf(world.cwd)) } : {};
      const answer = await ask(client, "file_unlock", {
        ...own,
        ...project,
        ...lockable(world.cwd, files),
        ...(force ? { force } : {}),
      }).catch(error => throwWhole(error, world));
      if (json) printJson(world, answer);
      else print(world, [`released: ${answer.released.map(clean).join(", ")}`]);
      return exitCodes.done;
    },
    force ? { person: "always" } : {},
  );
}

/** Without a session nothing can be one's own: says what would release the locks, if there are any. Returns the exit code. */
async function noneOfMine(
  world: ProcessContext,
  client: Client,
  files: readonly string[],
  json: boolean,
): Promise<number> {
  const locked = await rowsOf(client, "locks");
  const project = files.some(isResource) ? await ownProject(world) : null;
  const force = files.filter(file => locked.some(isOn(world.cwd, file, project)));
  const [first = ""] = files;
  const next =
    force.length === 0
      ? `nobody has locked ${files.length === 1 ? first : "these files"}; kite status --locks shows who holds which files`
      : `to release it for its holder: kite unlock --force ${force.map(shellArgument).join(" ")}`;
  const none = (await seemsAgents(world))
    ? "KITE_SESSION and CLAUDE_CODE_SESSION_ID name no session, so no lock is yours"
    : "you hold no lock at this terminal";
  return fail(world, json, "unknown_session", `${none}; ${next}`);
}

/** Says which files are locked to who named one that is not. */
function throwWhole(error: unknown, { cwd }: ProcessContext): never {
  if (!(error instanceof Refused) || error.refusal.code !== "not_held") throw error;
  const what = error.message.replace(cwd === "/" ? "" : `${cwd}/`, "");
  throw new Refused(error.refusal, `${what}; kite status --locks shows who holds which files`);
}
