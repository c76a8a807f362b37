/** All checks of `kite doctor`, in the order of its lines. */

import { LocalError } from "../../client/errors.ts";
import type { StatsReply } from "../../protocol/daemon.ts";
import { errorText, isSystemError } from "../../protocol/system-error.ts";
import { trustCheck } from "../leading.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import type { Check } from "../view/doctor.ts";
import { fail } from "./advice.ts";
import { checkAgentTools } from "./agent-tools.ts";
import { checkClientSettings } from "./client-settings.ts";
import { checkClients } from "./clients.ts";
import { checkDaemon } from "./daemon.ts";
import { checkDiskUse } from "./disk-use.ts";
import { checkCopies, checkLive } from "./hooks.ts";
import { checkHome, checkNode, checkSocketPath, checkTools, isHomeless } from "./machine.ts";
import { checkOff } from "./off.ts";
import { checkPath } from "./path.ts";
import { checkConfig } from "./settings.ts";
import { checkJournal, checkLogFile, checkLogs, checkSpace, checkUnheardEnds, checkVoided } from "./store.ts";

/** Yields each check as soon as it has a result. A check that the system refuses says so, and the others go on. */
export async function* allChecks(world: ProcessContext): AsyncGenerator<Check, void> {
  yield checkNode();
  yield checkTools(world);
  yield checkHome(world);
  yield checkSocketPath(world);
  yield* await guarded("path", () => checkPath(world));
  yield* await guarded("client", () => checkClients(world));
  // Without a directory of its own, every other check would find only that.
  if (isHomeless(world)) return;
  let stats: StatsReply | null = null;
  yield* await guarded("daemon", async () => {
    const found = await checkDaemon(world);
    stats = found.stats;
    // What keeps a daemon from starting comes before the advice to start it.
    const isRunning = found.stats !== null;
    const journal = checkJournal(world, isRunning);
    return isRunning ? [...found.checks, journal] : [...checkLogFile(world), journal, ...found.checks];
  });
  yield* await guarded("disk", () => checkSpace(world, stats));
  yield* await guarded("size", () => checkDiskUse(world));
  if (stats !== null) yield checkVoided(stats, world.paths.log);
  yield* await guarded("logs", () => checkLogs(world, stats));
  yield* await guarded("ends", () => checkUnheardEnds(world));
  yield* await guarded("config", () => checkConfig(world));
  const { checkTrusted } = await trustCheck();
  yield* await guarded("trust", () => checkTrusted(world));
  yield* await guarded("off", () => checkOff(world));
  yield* await guarded("hooks", () => checkClientSettings(world));
  yield* await guarded("hook client", () => checkCopies(world, dist));
  yield* await guarded("agent tools", () => checkAgentTools(world));
  if (stats !== null) yield* await guarded("hook", () => checkLive(world));
}

async function guarded(
  check: string,
  work: () => Check | readonly Check[] | Promise<Check | readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    const found = await work();
    return "check" in found ? [found] : found;
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    return [fail(check, `it cannot be checked: ${errorText(error)}`)];
  }
}
