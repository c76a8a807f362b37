import { mkdirSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { ConnectionClosed, NotRunning } from "../../client/errors.ts";
import { stopDaemon } from "../../client/launch.ts";
import { lostStoreProblem } from "../../daemon/journal/store-mark.ts";
import { type AskPerson, isYes, terminalQuestion } from "../ask-person.ts";
import { atWork } from "../at-work.ts";
import { refuseAgent } from "../person.ts";
import { type Client, type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { refusalText } from "../refusal-text.ts";
import { counted, listed } from "../view/text.ts";
import { exitCodes } from "../with-daemon.ts";

interface DownFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
}

const help = `
If sessions are at work, down says who they are, and asks on a terminal. Their edits are not coordinated until the next
kite up; what is stored (tasks, messages, locks) comes back with it.

An agent's shell cannot: other sessions would lose their locks. To get out of Kite's way it has kite off --session NAME.

--json: {"stopped":true|false, "pid":PID|null, "atWork":[NAME, ...]}

Exit codes: 0 done, 1 not confirmed, refused or failed.

Example:
  $ kite down
  kite stopped: pid 4711`;

export function add(command: Command, run: Run): void {
  command
    .description("stop the daemon, and keep hooks from starting it until the next `kite up`")
    .option("--yes", "do not ask, even if sessions are at work")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: DownFlags) => run(world => down(world, flags, terminalQuestion())));
}

/** Returns the exit code. `ask` is null without a terminal: then the daemon stops without a question. */
export async function down(
  world: ProcessContext,
  { yes = false, json = false }: DownFlags,
  ask: AskPerson | null,
): Promise<number> {
  const refused = await refuseAgent(world, json, "down");
  if (refused !== null) return refused;
  const { paths } = world;
  const working = await atWork(world);
  if (working.length > 0 && !json) {
    const names = listed(working.slice(0, namesMax), Math.max(0, working.length - namesMax));
    print(world, [`${counted(working.length, "session")} at work: ${names}`]);
    print(world, ["Their edits are not coordinated until the next kite up."]);
    if (!yes && ask !== null && !isYes(await ask("Stop the daemon? [y/N] "))) {
      print(world, ["The daemon goes on."]);
      return exitCodes.failed;
    }
  }
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  // Before the daemon stops: else a hook could start the next one meanwhile.
  writeFileSync(paths.downFile, "", { mode: 0o600 });
  const pid = await stop(world);
  const problem = lostStoreProblem(paths);
  const why = problem === null ? {} : { problem };
  if (json) printJson(world, { stopped: pid !== null, pid, atWork: working, ...why });
  else print(world, [pid === null ? "kite was not running" : `kite stopped: pid ${pid}`]);
  if (!json && problem !== null) print(world, [`${problem.slice(0, 1).toUpperCase()}${problem.slice(1)}`]);
  return exitCodes.done;
}

const namesMax = 8;

/** Returns the pid of the stopped daemon, null if none ran. Throws if the daemon refuses or does not exit. */
async function stop(world: ProcessContext): Promise<number | null> {
  try {
    const connect = () => world.connect({ name: "kite down" });
    const client: Client = await connect().catch(error => {
      // The daemon listened and exited before it answered: now no daemon listens, or the next one does.
      if (error instanceof ConnectionClosed) return connect();
      throw error;
    });
    const { pid } = client.daemon;
    const refusal = await stopDaemon(client, false);
    if (refusal !== null) {
      throw new ConnectionClosed(`the daemon (pid ${pid}) did not stop: ${refusalText(refusal, "terminal")}`);
    }
    return pid;
  } catch (error) {
    if (error instanceof NotRunning) return null;
    throw error;
  }
}
