/** Checks the installed hooks: where sessions lack them, whether they are current, whether an event gets through. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync } from "node:fs";
import { commandsIn, type HookCommand, userSettings } from "../../hooks/claude-code/settings/files.ts";
import { linkTarget } from "../../hooks/install/file.ts";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import { defined } from "../defined.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { rowsOf } from "../with-daemon.ts";
import { advise, fail, ok, warn } from "./advice.ts";
import { copiesProblem, unfit } from "./copies.ts";
import { installAgain, recordedFiles } from "./installed.ts";
import { isOffEverywhere } from "./off.ts";
import { checkSessionPaths } from "./path.ts";
import { placesIn, unhooked } from "./unhooked.ts";
import { withDaemon } from "./with-daemon.ts";

/** Claude Code never sends this event; the daemon only counts it. */
const event = "KiteDoctor";
const roundTrips = 5;

/** Checks that the copies that hooks run equal those of this Kite, which was built into `dist`. */
export function checkCopies(world: ProcessContext, dist: string): Check[] {
  const { paths } = world;
  const check = "hook client";
  if (lstatSync(paths.bin, { throwIfNoEntry: false }) === undefined) return [];
  const problem = copiesProblem(world, dist);
  if (problem === null) return [ok(check, `of this version, in ${paths.bin}`)];
  const { detail, isBroken } = problem;
  return [(isBroken ? fail : warn)(check, detail, installAgain(world))];
}

/** Finds sessions without hooks, and sends an event through each command that installed hooks run. Needs a daemon. */
export function checkLive(world: ProcessContext): Promise<Check[]> {
  return withDaemon(world, client => checkHooks(world, client));
}

async function checkHooks(world: ProcessContext, client: Client): Promise<Check[]> {
  const sessions = await rowsOf(client, "sessions");
  const bare = unhooked(world, sessions);
  const [first] = bare;
  const checks: Check[] = [];
  if (first !== undefined) {
    const detail = `sessions work in ${placesIn(bare)} without hooks: Kite does not coordinate their edits`;
    const only = bare.length === 1 ? shellArgument(first) : "DIR";
    checks.push(
      warn("hooks", detail, advise(`there only: kite install --project ${only}; everywhere`, "kite install")),
    );
  }
  checks.push(...checkSessionPaths(sessions));
  // While Kite is off, hooks do not call the daemon; that is no fault.
  if (isOffEverywhere(world)) return checks;
  for (const command of installedCommands(world)) checks.push(await roundTrip(world, client, command));
  return checks;
}

/** Returns the distinct commands of installed hooks, without the arguments behind the hook's own path. */
function installedCommands({ paths, env }: ProcessContext): readonly HookCommand[] {
  // The client itself wrote into the user's settings that it has the plugin.
  const files = new Set([linkTarget(userSettings(env)), ...recordedFiles(paths)]);
  const commands = [...files].flatMap(file => commandsIn(file, paths.bin));
  const program = (word: string) => word.startsWith(`${paths.bin}/hook`);
  const bare = commands.map(({ command, args }) => ({
    command,
    args: args.slice(0, args.findIndex(program) + 1),
  }));
  return [...new Map(bare.map(one => [JSON.stringify(one), one])).values()];
}

/** Sends an event without effect through the hook as installed; the daemon's count shows that it arrived. */
async function roundTrip(
  world: ProcessContext,
  client: Client,
  { command, args }: HookCommand,
): Promise<Check> {
  const check = "hook";
  const program = args.find(word => word.startsWith(`${world.paths.bin}/hook`)) ?? command;
  const reason = unfit(program);
  if (reason !== null) return fail(check, `${reason}, so no event reaches the daemon`, installAgain(world));
  const before = await countOf(client);
  const times: number[] = [];
  for (let n = 0; n < roundTrips; n += 1) {
    const began = performance.now();
    const ended = await run(world, command, [...args, String(limits.hookTurnBudgetMs)]);
    if (ended !== null) {
      return fail(check, `${program} does not run: ${ended}`, installAgain(world));
    }
    times.push(performance.now() - began);
  }
  const arrived = (await countOf(client)) - before;
  if (arrived < roundTrips) {
    const detail = `${program}: ${arrived} of ${roundTrips} events reached the daemon`;
    const reason =
      arrived === 0 ? "Kite's files are in order" : "the daemon did not answer the others in time";
    const todo = `${reason}: run kite doctor again; if it stays so, see ${world.paths.log}`;
    return (arrived === 0 ? fail : warn)(check, detail, todo);
  }
  const median = times.sort((a, b) => a - b)[roundTrips >> 1] ?? 0;
  return ok(check, `${program}: an event and back in ${median.toFixed(1)} ms`);
}

async function countOf(client: Client): Promise<number> {
  const stats = await client.request("stats", {});
  return stats.ok ? (stats.hooks[event] ?? 0) : 0;
}

/** Runs the command as the client does, with a minimal environment. Returns null, or what went wrong. */
async function run(
  { env }: ProcessContext,
  command: string,
  args: readonly string[],
): Promise<string | null> {
  const { HOME, PATH } = env;
  const child = spawn(command, args, {
    env: defined({ HOME, PATH }),
    stdio: ["pipe", "ignore", "ignore"],
    timeout: limits.hookTurnTimeoutMs,
    killSignal: "SIGKILL",
  });
  // If the hook ended before it read the event, its exit code says so.
  child.stdin.on("error", () => undefined);
  child.stdin.end(JSON.stringify({ hook_event_name: event, session_id: "kite-doctor" }));
  try {
    const [code, signal] = await once(child, "close");
    return code === 0 ? null : `it ended with ${signal ?? code}`;
  } catch (error) {
    return errorText(error);
  }
}
