import { existsSync, rmSync } from "node:fs";
import type { Command } from "commander";
import { LocalError, StartFailed } from "../../client/errors.ts";
import { ensureDaemon, stopDaemon } from "../../client/launch.ts";
import { olderStoreAdvice, olderStoreText } from "../../daemon/journal/store-mark.ts";
import { limits } from "../../protocol/limits.ts";
import { fewFiles } from "../few-files.ts";
import { nextLines } from "../next-step.ts";
import { type Client, type ProcessContext, print, type Run } from "../process-context.ts";
import { daemonProgram } from "../program-paths.ts";
import { refusalText } from "../refusal-text.ts";
import { beginEmptyStore } from "../repair/begin-empty.ts";
import { isRebuilt } from "../stale-build.ts";
import { isOlder, version } from "../version.ts";
import { clock } from "../view/text.ts";

interface UpOptions {
  readonly foreground?: boolean;
  readonly unlessDown?: boolean;
  readonly empty?: boolean;
  readonly json?: boolean;
}

const help = `
If the journal is missing, although there was one, no daemon starts: put its folder back if you have it. With --empty a
person gives up what it held.

Example:
  $ kite up
  kite started: version 0.1.0, pid 4711, /home/ada/.kite/kite.sock`;

export function add(command: Command, run: Run): void {
  command
    .option("--foreground", "run it in this terminal, until interrupted")
    .option("--unless-down", "do nothing after `kite down`, as hooks do")
    .option("--empty", "begin with an empty store if the journal is missing: for a person")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((options: UpOptions) => run(world => up(world, options)));
}

async function up(world: ProcessContext, options: UpOptions): Promise<number> {
  const { paths } = world;
  const unlessDown = options.unlessDown === true;
  if (unlessDown && existsSync(paths.downFile)) {
    const why = "kite stays down: `kite down` stopped it; to start it: kite up";
    print(world, [options.json ? '{"started":false}' : why]);
    return 0;
  }
  if (options.empty === true) {
    const refused = await beginEmptyStore(world, options.json === true);
    if (refused !== null) return refused;
  }
  if (options.foreground) {
    rmSync(paths.downFile, { force: true });
    // A program of its own, which is large.
    const { runDaemon } = await import("../daemon.ts");
    return runDaemon({ foreground: true });
  }
  const { started, replaced, daemon, few } = await launch(world, unlessDown);
  if (!unlessDown) rmSync(paths.downFile, { force: true });
  const older = olderStoreText(paths, world.now(), at => clock(at, world.now()));
  const { version, pid } = daemon;
  const rebuilt = !started && isRebuilt(paths);
  if (options.json) {
    const warning = few === null ? {} : { warning: few.text };
    const note = older === null ? {} : { note: older };
    const said = { started, replaced, rebuilt, version, pid, socket: paths.socket, ...warning, ...note };
    print(world, [JSON.stringify(said)]);
    return 0;
  }
  const what = started ? "started" : "was running already";
  const instead = replaced === null ? "" : ` in place of ${replaced}`;
  print(world, [`kite ${what}${instead}: version ${version}, pid ${pid}, ${paths.socket}`]);
  if (few !== null) print(world, [`${few.text}; to start it with more: ${few.line}`]);
  if (older !== null) print(world, [`note: ${older}; ${olderStoreAdvice}`]);
  if (rebuilt)
    print(world, ["this daemon started before the last build of kite; to load that: kite down && kite up"]);
  if (world.stdout.isTTY === true) print(world, await nextLines(world));
  return 0;
}

/** Makes sure that a daemon not older than this program runs. Asks an older one once to hand over. */
async function launch({ paths, env }: ProcessContext, unlessDown: boolean) {
  const options = { paths, daemonProgram, env, name: "kite up", unlessDown };
  let { started, client } = await ensureDaemon(options);
  let replaced: string | null = null;
  if (isOlder(client.daemon.version, version)) {
    replaced = client.daemon.version;
    const refusal = await stopDaemon(client, true);
    if (refusal !== null) {
      const why = refusalText(refusal, "terminal");
      throw new StartFailed(`version ${replaced} runs and does not hand over: ${why}`);
    }
    ({ started, client } = await ensureDaemon(options));
  }
  try {
    // A newer daemon is let be.
    const few = client.daemon.version === version ? await fewFilesOf(client) : null;
    return { started, replaced, daemon: client.daemon, few };
  } finally {
    client.close();
  }
}

/** Returns what is to be said of the daemon's open files; null if there is nothing, or it does not answer in time. */
async function fewFilesOf(client: Client) {
  try {
    const stats = await client.request("stats", {}, { timeoutMs: limits.shutdownMs });
    return stats.ok ? fewFiles(stats) : null;
  } catch (error) {
    // The daemon runs, which is what was asked for; `kite doctor` looks again.
    if (!(error instanceof LocalError)) throw error;
    return null;
  }
}
