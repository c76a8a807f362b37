import type { Command } from "commander";
import { whatIsOff } from "../off/now.ts";
import { type Scope, switchOn } from "../off/store.ts";
import { type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { tilde } from "../view/places.ts";
import { clean } from "../view/text.ts";
import { exitCodes, fail } from "../with-daemon.ts";
import { nameOf, type OffFlags, scopeOf } from "./off.ts";

type OnFlags = Omit<OffFlags, "for">;

const help = `
Without options Kite is on again here: everywhere, and in the project around the working directory. With options this
command undoes the \`kite off\` that had the same ones. It lists the scopes in which Kite is still off.

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
  const ended = await switchScopesOn(world, scope);
  const stillOff = whatIsOff(world);
  const [first = scope] = ended;
  if (json) {
    const was = ended.length > 0 ? "off" : "on";
    printJson(world, { ok: true, scope: first.is, name: nameOf(first), was, stillOff });
    return exitCodes.done;
  }
  const texts = ended.length > 0 ? ended.map(one => `Kite is on${where(one, world)}.`) : [notOff(scope)];
  print(world, [...texts, ...stillOff]);
  return exitCodes.done;
}

/** Switches Kite on in `scope`; if that is everywhere, also in the project one stands in. Returns where it was off. */
async function switchScopesOn(world: ProcessContext, scope: Scope): Promise<readonly Scope[]> {
  const here = scope.is === "all" ? await scopeOf(world, { project: true }) : null;
  const ended: Scope[] = [];
  for (const one of [scope, here])
    if (one !== null && typeof one !== "string" && (await switchOn(world.paths.home, one, world.now())))
      ended.push(one);
  return ended;
}

function where(scope: Scope, world: ProcessContext): string {
  if (scope.is === "all") return "";
  return scope.is === "session" ? " for it" : ` in ${clean(tilde(scope.directory, world.env["HOME"] ?? ""))}`;
}

function notOff(scope: Scope): string {
  if (scope.is === "session") return `Kite was not off for a session called ${clean(scope.id)}.`;
  return `Kite was not off${scope.is === "project" ? " there" : ""}.`;
}
