import { resolve } from "node:path";
import type { Command } from "commander";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { type AskPerson, terminalQuestion } from "../ask-person.ts";
import { bundleFile, bundleParts, writeBundle } from "../doctor/bundle.ts";
import { allChecks } from "../doctor/checks.ts";
import { fixAll } from "../doctor/fix.ts";
import { isAgents } from "../person.ts";
import { type ProcessContext, print, printJson, type Run, screenOf } from "../process-context.ts";
import { type Check, checkLines, verdict } from "../view/doctor.ts";
import { bytes, clean, listed, paragraphs } from "../view/text.ts";
import { exitCodes, fail } from "../with-daemon.ts";

const help = `
Each line shows a check and its result, ok, warn or fail; the line below it says what to do. Without --fix, doctor
changes nothing. With --fix it asks for each step that it can do itself, does it, and checks again; --yes answers every
question with yes, but those that give up what is stored. In an agent's shell it does only what concerns nobody else, and
prints the other lines for its user.

--bundle writes the lines to a new file, for yourself alone, with versions, settings and where they come from, the latest
decisions, the end of the log and sizes. Paths and names are shortened; no prompt, file's text, message, value or token is
in it. Read it before you send it to anybody.

--json: {"ok":true|false, "checks":[{"check", "result", "detail", "todo"?, "fix"?}]}
  with --fix also "found", the checks before it, and "done":[{"fix", "failed"?}]; with --bundle "bundle":{"file", "bytes"}

Exit codes: 0 no check failed, 1 a check failed.

Examples:
  $ kite doctor
  $ kite doctor --fix
  $ kite doctor --bundle report.json`;

export interface DoctorFlags {
  readonly fix?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
  /** Where to write a report; true: to a file with the time in its name. */
  readonly bundle?: string | true;
}

export function add(command: Command, run: Run): void {
  command
    .description("check the installation, say what to do, and with --fix do it")
    .option("--fix", "do what the lines say, each step after a question")
    .option("--yes", "with --fix: do the steps without a question")
    .option("--bundle [file]", "write a report that you can send, without content and with short names")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: DoctorFlags) => run(world => doctor(world, flags, terminalQuestion())));
}

/** Returns the exit code. Prints each check as soon as it has a result. `ask` is null without a terminal. */
export async function doctor(
  world: ProcessContext,
  { fix = false, yes = false, json = false, bundle }: DoctorFlags,
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
  const report = bundle === undefined ? null : await reported(world, checks, bundle, json);
  if (report === "failed") return exitCodes.failed;
  const isWell = checks.every(c => c.result !== "fail");
  if (json) {
    const steps = done === null ? {} : { found: found.map(written), done: done.steps };
    printJson(world, {
      ok: isWell,
      checks: checks.map(written),
      ...steps,
      ...(report === null ? {} : { bundle: report }),
    });
  }
  return isWell ? exitCodes.done : exitCodes.failed;
}

/** Writes the report and says where it is; `failed` if it cannot be written, with the reason printed. */
async function reported(
  world: ProcessContext,
  checks: readonly Check[],
  named: string | true,
  json: boolean,
): Promise<{ readonly file: string; readonly bytes: number } | "failed"> {
  const file = named === true ? bundleFile(world) : resolve(world.cwd, named);
  try {
    const size = await writeBundle(world, checks, file);
    const parts = listed(bundleParts);
    const said = `Report: ${clean(file)} (${bytes(size)}), for yourself alone. It has ${parts}, with short names for paths and people. Read it before you send it.`;
    if (!json) print(world, ["", ...paragraphs(said, screenOf(world).width)]);
    return { file, bytes: size };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    fail(world, json, "not_written", `the report was not written: ${errorText(error)}`);
    return "failed";
  }
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
