import type { Command } from "commander";
import { type AskPerson, terminalQuestion } from "../ask-person.ts";
import { allChecks } from "../doctor/checks.ts";
import { fixAll } from "../doctor/fix.ts";
import { isAgents } from "../person.ts";
import { type ProcessContext, print, printJson, type Run, screenOf } from "../process-context.ts";
import { type Check, checkLines, verdict } from "../view/doctor.ts";
import { exitCodes, fail } from "../with-daemon.ts";

const help = `
Each line shows a check and its result, ok, warn or fail; the line below it says what to do. Without --fix, doctor
changes nothing. With --fix it asks for each step that it can do itself, does it, and checks again; --yes answers every
question with yes, but those that give up what is stored. In an agent's shell it does only what concerns nobody else, and
prints the other lines for its user.

--json: {"ok":true|false, "checks":[{"check", "result", "detail", "todo"?, "fix"?}]}
  with --fix also "found", the checks before it, and "done":[{"fix", "failed"?}]

Exit codes: 0 no check failed, 1 a check failed.

Examples:
  $ kite doctor
  $ kite doctor --fix`;

export interface DoctorFlags {
  readonly fix?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .description("check the installation, say what to do, and with --fix do it")
    .option("--fix", "do what the lines say, each step after a question")
    .option("--yes", "with --fix: do the steps without a question")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: DoctorFlags) => run(world => doctor(world, flags, terminalQuestion())));
}

/** Returns the exit code. Prints each check as soon as it has a result. `ask` is null without a terminal. */
export async function doctor(
  world: ProcessContext,
  { fix = false, yes = false, json = false }: DoctorFlags,
  ask: AskPerson | null = null,
): Promise<number> {
  if (fix && !yes && (ask === null || json)) {
    const error = "kite doctor --fix asks at a terminal; without one, or with --json, add --yes";
    return fail(world, json, "usage", error);
  }
  const found = await checked(world, json);
  const who = { ask: yes ? null : ask, isQuiet: json, isAgent: fix && (await isAgents(world)) };
  const done = fix ? await fixAll(world, found, who, () => checked(world, json)) : null;
  const checks = done?.checks ?? found;
  const isWell = checks.every(c => c.result !== "fail");
  if (json) {
    const steps = done === null ? {} : { found: found.map(written), done: done.steps };
    printJson(world, { ok: isWell, checks: checks.map(written), ...steps });
  }
  return isWell ? exitCodes.done : exitCodes.failed;
}

/** A check as JSON has it: its fix by what it does. */
function written({ fix, ...check }: Check): object {
  return fix === undefined ? check : { ...check, fix: fix.does };
}

async function checked(world: ProcessContext, isQuiet: boolean): Promise<Check[]> {
  const screen = screenOf(world);
  const checks: Check[] = [];
  for await (const check of allChecks(world)) {
    checks.push(check);
    if (!isQuiet) print(world, checkLines(check, screen));
  }
  if (!isQuiet) print(world, ["", verdict(checks, screen)]);
  return checks;
}
