/** What a person does next, by what is there already: hooks, and sessions. */
import { LocalError } from "../client/errors.ts";
import { commandsIn } from "../hooks/claude-code/settings/find-entries.ts";
import { readInstalls } from "../hooks/claude-code/settings/installs.ts";
import { userSettings } from "../hooks/claude-code/settings/project.ts";
import { InstallFailed } from "../hooks/install/failed.ts";
import type { ProcessContext } from "./process-context.ts";

/** How long it looks for a daemon at most. */
const lookMs = 1_000;

/** Returns the next step, where so many sessions are known. */
export function nextStep(world: ProcessContext, sessions: number): readonly string[] {
  if (sessions > 0) return ["Next: kite status shows who does what; kite watch keeps showing it."];
  if (!hasHooks(world))
    return ["Next: kite install, which connects Claude Code; kite demo shows first what Kite does."];
  return [
    "Next: type a prompt in two Claude Code sessions of one repository, then run kite status.",
    "kite demo shows a conflict of four sessions without them.",
  ];
}

/** The same; asks the daemon for the sessions if one runs. */
export async function nextLines(world: ProcessContext): Promise<readonly string[]> {
  try {
    const client = await world.connect({ name: "kite", reconnect: false, timeoutMs: lookMs });
    try {
      const stats = await client.request("stats", {});
      return nextStep(world, stats.ok ? stats.sessions : 0);
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return nextStep(world, 0);
  }
}

/** Whether hooks are installed somewhere; what cannot be read counts as none. */
function hasHooks({ env, paths }: ProcessContext): boolean {
  if (commandsIn(userSettings(env), paths.bin).length > 0) return true;
  try {
    return readInstalls(paths.installs).some(({ file }) => commandsIn(file, paths.bin).length > 0);
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return false;
  }
}
