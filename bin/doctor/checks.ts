/** All checks of `kite doctor`, in the order of its lines. */

import { constants } from "node:fs";
import { dirname } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { userSettings } from "../../hooks/claude-code/settings/files.ts";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import { clients } from "../clients/list.ts";
import { trustCheck } from "../leading.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import type { Check } from "../view/doctor.ts";
import { fail } from "./advice.ts";
import { checkAgentTools } from "./agent-tools.ts";
import { checkClientSettings } from "./client-settings.ts";
import { checkClients } from "./clients.ts";
import { checkContext } from "./context.ts";
import { checkDaemon } from "./daemon.ts";
import { checkDiskUse } from "./disk-use.ts";
import { checkCopies, checkLive } from "./hooks.ts";
import { checkHome, checkNode, checkSocketPath, checkTools, isHomeless } from "./machine.ts";
import { barred } from "./odd-file.ts";
import { checkOff } from "./off.ts";
import { checkOwnFiles } from "./own-files.ts";
import { checkPath } from "./path.ts";
import { checkConfig } from "./settings.ts";
import { checkSharedStore } from "./shared-store.ts";
import {
  checkJournal,
  checkKeptWork,
  checkLogs,
  checkSpace,
  checkUnheardEnds,
  checkVoided,
} from "./store.ts";

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
    const files = await checkOwnFiles(world, isRunning);
    const journal = checkJournal(world, isRunning);
    if (isRunning) return [...files, ...found.checks, journal];
    const keeps = [...files, journal].filter(({ result }) => result === "fail");
    return [...files, journal, ...(keeps.length === 0 ? found.checks : found.checks.map(afterMending))];
  });
  yield* await guarded("disk", () => checkSpace(world, stats));
  yield* await guarded("size", () => checkDiskUse(world));
  if (stats !== null) yield* await guarded("kept work", () => checkKeptWork(world));
  if (stats !== null) yield checkVoided(stats, world.paths.log);
  yield* await guarded("logs", () => checkLogs(world, stats));
  yield* await guarded("ends", () => checkUnheardEnds(world));
  yield* await guarded("config", () => checkConfig(world));
  yield* await guarded("store", () => checkSharedStore(world));
  const { checkTrusted } = await trustCheck();
  yield* await guarded("trust", () => checkTrusted(world));
  yield* await guarded("off", () => checkOff(world));
  const shut = barred(dirname(userSettings(world.env)), constants.R_OK | constants.X_OK);
  if (shut !== null) {
    yield fail("hooks", `${shut.what}, so neither the client nor Kite reads the settings there`, shut.advice);
    return;
  }
  yield* await guarded("hooks", () => checkClientSettings(world));
  for (const client of clients) yield* await guarded(client.name, () => client.checks?.(world) ?? []);
  yield* await guarded("hook client", () => checkCopies(world, dist));
  yield* await guarded("agent tools", () => checkAgentTools(world));
  if (stats !== null) yield* await guarded("context", () => checkContext(world));
  if (stats !== null) yield* await guarded("hook", () => checkLive(world));
}

/** A start fails until the lines above are mended: the advice to start the daemon says so. */
function afterMending(check: Check): Check {
  if (check.fix?.does !== "kite up") return check;
  const { fix: _fix, ...rest } = check;
  return { ...rest, todo: "mend what is said above; then start it: kite up" };
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
