import type { Command } from "commander";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";

const help = `
Each line shows a check and its result, ok, warn or fail; the line below it says what to do. Doctor changes nothing.

--json: {"ok":true|false, "checks":[{"check", "result", "detail", "todo"?}]}

Exit codes: 0 no check failed, 1 a check failed.

Example:
  $ kite doctor`;

export function add(program: Command): void {
  program
    .command("doctor")
    .description("check the installation, and say what to do")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { processWorld } = await import("../process-context.ts");
      process.exitCode = await doctor(processWorld(), json === true);
    });
}

/** Returns the exit code. Prints each check as soon as it has a result. */
export async function doctor(world: ProcessContext, json: boolean): Promise<number> {
  const { print, printJson, screenOf } = await import("../process-context.ts");
  const { checkLines, verdict } = await import("../view/doctor.ts");
  const checks: Check[] = [];
  const screen = screenOf(world);
  for await (const check of allChecks(world)) {
    checks.push(check);
    if (!json) print(world, checkLines(check, screen));
  }
  const isWell = checks.every(c => c.result !== "fail");
  if (json) printJson(world, { ok: isWell, checks });
  else print(world, ["", verdict(checks, screen)]);
  return isWell ? 0 : 1;
}

async function* allChecks(world: ProcessContext): AsyncGenerator<Check, void> {
  const machine = await import("../doctor/machine.ts");
  yield machine.checkNode();
  yield machine.checkTools(world);
  yield machine.checkHome(world);
  yield machine.checkSocketPath(world);
  const { checkDaemon } = await import("../doctor/daemon.ts");
  const { checks, stats } = await checkDaemon(world);
  yield* checks;
  const store = await import("../doctor/store.ts");
  yield store.checkJournal(world);
  yield store.checkSpace(world, stats);
  if (stats !== null) yield store.checkVoided(stats, world.paths.log);
  yield store.checkLogs(world, stats);
  const settings = await import("../doctor/settings.ts");
  yield* await settings.checkConfig(world);
  yield* settings.checkInstalls(world);
  const hooks = await import("../doctor/hooks.ts");
  const { dist } = await import("../program-paths.ts");
  yield* hooks.checkCopies(world, dist);
  const { checkAgentTools } = await import("../doctor/agent-tools.ts");
  yield* await checkAgentTools(world);
  if (stats !== null) yield* await hooks.checkLive(world);
}
