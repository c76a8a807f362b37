import type { Command } from "commander";
import { whatIsOff } from "../off/now.ts";
import { switchOn } from "../off/store.ts";
import { type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { exitCodes, fail } from "../with-daemon.ts";
import { nameOf, type OffFlags, scopeOf } from "./off.ts";

type OnFlags = Omit<OffFlags, "for">;

const help = `
On undoes the \`kite off\` that had the same options. It lists the scopes in which Kite is still off.

--json: {"ok":true, "scope":"all"|"project"|"session", "name":STRING|null, "was":"off"|"on", "stillOff":[...]}

Exit codes: 0 done, 1 refused or failed.

Example:
  $ kite on
  Kite is on.`;

export function add(command: Command, run: Run): void {
  command
    .option("--project [DIR]", "in the project around DIR (by default the working directory)")
    .option("--session <name>", "for this session: its name, or the beginning of its id")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: OnFlags) => run(world => on(world, flags)));
}

/** Returns the exit code. */
export async function on(world: ProcessContext, { json, ...flags }: OnFlags): Promise<number> {
  // The session may have ended, so its name is looked up in the file that `kite off` wrote.
  const scope =
    flags.session === undefined || flags.project !== undefined
      ? await scopeOf(world, flags)
      : ({ is: "session", id: flags.session, name: null } as const);
  if (typeof scope === "string") return fail(world, json === true, "usage", scope);
  const was = await switchOn(world.paths.home, scope, world.now());
  const stillOff = whatIsOff(world);
  if (json) {
    printJson(world, { ok: true, scope: scope.is, name: nameOf(scope), was: was ? "off" : "on", stillOff });
    return exitCodes.done;
  }
  const where = { all: "", project: " there", session: " for it" }[scope.is];
  print(world, [was ? `Kite is on${where}.` : `Kite was not off${where}.`, ...stillOff]);
  return exitCodes.done;
}
