/** All checks of `kite doctor`, in the order of its lines. */
import { LocalError } from "../../client/errors.ts";
import type { StatsReply } from "../../protocol/daemon.ts";
import { errorText, isSystemError } from "../../protocol/system-error.ts";
import { trustCheck } from "../leading.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";

/** Yields each check as soon as it has a result. A check that the system refuses says so, and the others go on. */
export async function* allChecks(world: ProcessContext): AsyncGenerator<Check, void> {
  const machine = await import("./machine.ts");
  yield machine.checkNode();
  yield machine.checkTools(world);
  yield machine.checkHome(world);
  yield machine.checkSocketPath(world);
  const path = await import("./path.ts");
  yield* await guarded("path", () => path.checkPath(world));
  // Without a directory of its own, every other check would find only that.
  if (machine.isHomeless(world)) return;
  const store = await import("./store.ts");
  const { checkDaemon } = await import("./daemon.ts");
  let stats: StatsReply | null = null;
  yield* await guarded("daemon", async () => {
    const found = await checkDaemon(world);
    stats = found.stats;
    // What keeps a daemon from starting comes before the advice to start it.
    const isRunning = found.stats !== null;
    const journal = store.checkJournal(world, isRunning);
    return isRunning ? [...found.checks, journal] : [...store.checkLogFile(world), journal, ...found.checks];
  });
  yield* await guarded("disk", () => store.checkSpace(world, stats));
  if (stats !== null) yield store.checkVoided(stats, world.paths.log);
  yield* await guarded("logs", () => store.checkLogs(world, stats));
  yield* await guarded("ends", () => store.checkUnheardEnds(world));
  const settings = await import("./settings.ts");
  yield* await guarded("config", () => settings.checkConfig(world));
  const { checkTrusted } = await trustCheck();
  yield* await guarded("trust", () => checkTrusted(world));
  const { checkOff } = await import("./off.ts");
  yield* await guarded("off", () => checkOff(world));
  const client = await import("./client-settings.ts");
  yield* await guarded("hooks", () => client.checkClientSettings(world));
  const hooks = await import("./hooks.ts");
  const { dist } = await import("../program-paths.ts");
  yield* await guarded("hook client", () => hooks.checkCopies(world, dist));
  const { checkAgentTools } = await import("./agent-tools.ts");
  yield* await guarded("agent tools", () => checkAgentTools(world));
  if (stats !== null) yield* await guarded("hook", () => hooks.checkLive(world));
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
    return [{ check, result: "fail", detail: `it cannot be checked: ${errorText(error)}` }];
  }
}
