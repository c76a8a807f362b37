/** `kite up` starts the daemon, and `kite down` stops it. */

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { ConnectionClosed, LocalError, NotRunning, StartFailed } from "../../client/errors.ts";
import { ensureDaemon, stopDaemon } from "../../client/launch.ts";
import { lostStoreProblem, olderStoreAdvice, olderStoreText } from "../../daemon/journal/store-mark.ts";
import { limits } from "../../protocol/limits.ts";
import { type AskPerson, isYes, refuseAgent, terminalQuestion } from "../context/person.ts";
import { type Client, type ProcessContext, print, printJson, type Run } from "../context/process-context.ts";
import { atWork, exitCodes, fewFiles } from "../context/with-daemon.ts";
import { beginEmptyStore } from "../doctor/repair.ts";
import { refusalText } from "../refusal-text.ts";
import { daemonProgram, isOlder, isRebuilt, version } from "../version.ts";
import { clock, counted, listed } from "../view/text.ts";
import { nextLines } from "./home-screen.ts";

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
    const report = { started, replaced, rebuilt, version, pid, socket: paths.socket, ...warning, ...note };
    print(world, [JSON.stringify(report)]);
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

interface DownFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
}

const helpDown = `
If sessions are at work, down says who they are, and asks on a terminal. Their edits are not coordinated until the next
kite up; what is stored (tasks, messages, locks) comes back with it.

An agent's shell cannot: other sessions would lose their locks. To get out of Kite's way it has kite off --session NAME.

--json: {"stopped":true|false, "pid":PID|null, "atWork":[NAME, ...]}

Exit codes: 0 done, 1 not confirmed, refused or failed.

Example:
  $ kite down
  kite stopped: pid 4711`;

export function addDown(command: Command, run: Run): void {
  command
    .description("stop the daemon, and keep hooks from starting it until the next `kite up`")
    .option("--yes", "do not ask, even if sessions are at work")
    .option("--json", "print one JSON object")
    .addHelpText("after", helpDown)
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
