/** `kite doctor` checks the installation, and does what it advises if a person agrees. */

import { constants } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { userSettings } from "../../hooks/claude-code/settings/files.ts";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import { type AskPerson, isAgents, isYes, personLine, terminalQuestion } from "../context/person.ts";
import { type ProcessContext, print, printJson, type Run, screenOf } from "../context/process-context.ts";
import { exitCodes, fail as failCommand } from "../context/with-daemon.ts";
import { trustCheck } from "../leading.ts";
import { dist } from "../version.ts";
import { bytes, clean, listed, paragraphs } from "../view/text.ts";
import { bundleFile, bundleParts, writeBundle } from "./bundle.ts";
import { checkAgentTools, checkClientSettings, checkClients } from "./clients.ts";
import {
  checkConfig,
  checkContext,
  checkHome,
  checkNode,
  checkSocketPath,
  checkTools,
  isHomeless,
} from "./configuration.ts";
import { checkDaemon } from "./daemon.ts";
import {
  checkDiskUse,
  checkJournal,
  checkKeptWork,
  checkLogs,
  checkOwnFiles,
  checkSpace,
  checkUnheardEnds,
  checkVoided,
} from "./files.ts";
import { checkCopies, checkLive } from "./hooks.ts";
import { barred, checkOff } from "./odd-files.ts";
import { checkPath } from "./path.ts";
import { type Check, checkLines, type Fix, fail, verdict } from "./results.ts";
import { checkSharedStore } from "./shared-store.ts";

// All checks of `kite doctor`, in the order of its lines.

/** A client of agents, with what doctor says of it: `bin/install/clients.ts` has a row for each. */
interface CheckedClient {
  readonly name: string;
  checks?(world: ProcessContext): Promise<readonly Check[]>;
}

/** Yields each check as soon as it has a result. A check that the system refuses says so, and the others go on. */
export async function* allChecks(
  world: ProcessContext,
  clients: readonly CheckedClient[],
): AsyncGenerator<Check, void> {
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

// Does what doctor's checks advise, one step after the other, each after a question.

/** A step that was done. */
interface Step {
  readonly fix: string;
  /** Why it failed. */
  readonly failed?: string;
}

/** A mended fault can uncover another one, such as a daemon that can start again. */
const roundsMax = 4;

/** Who answers, and what is printed. */
interface FixOptions {
  /** Asks the person; null: `--yes` answered every question. */
  readonly ask: AskPerson | null;
  readonly isQuiet: boolean;
  /** An agent runs doctor: what only a person may do is refused, with the line for the person. */
  readonly isAgent: boolean;
}

/**
 * Asks for each fix of `checks` and does it, then checks again, until no new fix is found. The same fix is offered once:
 * a step that did not help is for a person. Returns the last checks.
 */
export async function fixAll(
  world: ProcessContext,
  checks: Check[],
  { ask, isQuiet, isAgent }: FixOptions,
  check: () => Promise<Check[]>,
): Promise<{ readonly checks: Check[]; readonly steps: readonly Step[] }> {
  const steps: Step[] = [];
  const offered = new Set<string>();
  let found = checks;
  for (let round = 0; round < roundsMax; round += 1) {
    const fresh = distinct(found).filter(({ does }) => !offered.has(does));
    let isDone = false;
    for (const fix of fresh) {
      offered.add(fix.does);
      if (!isQuiet) print(world, ["", ...paragraphs(fix.does, screenOf(world).width)]);
      const refusal = refusalOf(world, fix, ask, isAgent);
      if (refusal !== null) {
        steps.push({ fix: fix.does, failed: refusal });
        if (!isQuiet) print(world, paragraphs(refusal, screenOf(world).width));
        continue;
      }
      if (ask !== null && !isYes(await ask("Do this? [y/N] "))) continue;
      const step = await done(world, fix, ask);
      steps.push(step.step);
      if (!isQuiet) print(world, paragraphs(step.result, screenOf(world).width));
      isDone = true;
    }
    if (!isDone) break;
    if (!isQuiet) print(world, [""]);
    found = await check();
  }
  return { checks: found, steps };
}

/** Returns why this caller does not do the step, or null. */
function refusalOf(world: ProcessContext, fix: Fix, ask: AskPerson | null, isAgent: boolean): string | null {
  if (isAgent && fix.byAgents !== true) return personLine(world, "fix", fix.does);
  if (fix.givesUp !== true || ask !== null) return null;
  return `--yes does not stand for this: it gives up what is stored; run it yourself: ${fix.does}`;
}

/** Several checks may advise the same step. */
function distinct(checks: readonly Check[]): Fix[] {
  return [...new Map(checks.flatMap(({ fix }) => (fix === undefined ? [] : [[fix.does, fix]]))).values()];
}

async function done(
  world: ProcessContext,
  fix: Fix,
  ask: AskPerson | null,
): Promise<{ readonly step: Step; readonly result: string }> {
  try {
    const result = await fix.work(world, ask);
    return { step: { fix: fix.does }, result: result === "" ? "done" : result };
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    const failed = errorText(error);
    return { step: { fix: fix.does, failed }, result: `this failed: ${failed}` };
  }
}

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

export function addDoctor(command: Command, run: Run, clients: readonly CheckedClient[]): void {
  command
    .description("check the installation, say what to do, and with --fix do it")
    .option("--fix", "do what the lines say, each step after a question")
    .option("--yes", "with --fix: do the steps without a question")
    .option("--bundle [file]", "write a report that you can send, without content and with short names")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: DoctorFlags) => run(world => doctor(world, clients, flags, terminalQuestion())));
}

/** Returns the exit code. Prints each check as soon as it has a result. `ask` is null without a terminal. */
export async function doctor(
  world: ProcessContext,
  clients: readonly CheckedClient[],
  { fix = false, yes = false, json = false, bundle }: DoctorFlags,
  ask: AskPerson | null = null,
): Promise<number> {
  if (fix && !yes && (ask === null || json)) {
    const error = "kite doctor --fix asks at a terminal; without one, or with --json, add --yes";
    return failCommand(world, json, "usage", error);
  }
  const check = () => checked(world, clients, json);
  const found = await check();
  const who = { ask: yes ? null : ask, isQuiet: json, isAgent: fix && (await isAgents(world)) };
  const done = fix ? await fixAll(world, found, who, check) : null;
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
    const notice = `Report: ${clean(file)} (${bytes(size)}), for yourself alone. It has ${parts}, with short names for paths and people. Read it before you send it.`;
    if (!json) print(world, ["", ...paragraphs(notice, screenOf(world).width)]);
    return { file, bytes: size };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    failCommand(world, json, "not_written", `the report was not written: ${errorText(error)}`);
    return "failed";
  }
}

/** A check as JSON has it: its fix by what it does. */
function written({ fix, ...check }: Check): object {
  return fix === undefined ? check : { ...check, fix: fix.does };
}

async function checked(
  world: ProcessContext,
  clients: readonly CheckedClient[],
  isQuiet: boolean,
): Promise<Check[]> {
  const screen = screenOf(world);
  const checks: Check[] = [];
  for await (const check of allChecks(world, clients)) {
    checks.push(check);
    if (!isQuiet) print(world, checkLines(check, screen));
  }
  if (!isQuiet) print(world, ["", verdict(checks, screen)]);
  return checks;
}
