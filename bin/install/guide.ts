/**
 * `kite install` for a person: one step after the other, each after a question that says what it would write where.
 *
 * Invariants: a step is done as a whole or not at all. However it ends, the last lines say what was done and what was not;
 * run again, it asks only for what is missing.
 */

import { rmSync } from "node:fs";
import { LocalError } from "../../client/errors.ts";
import { ensureDaemon } from "../../client/launch.ts";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { nextLines } from "../commands/home-screen.ts";
import { isYes, type Questions } from "../context/person.ts";
import { interrupted, type ProcessContext, print, screenOf } from "../context/process-context.ts";
import { exitCodes } from "../context/with-daemon.ts";
import { allChecks } from "../doctor/doctor.ts";
import { type Check, checkLines, verdict } from "../doctor/results.ts";
import { daemonProgram } from "../version.ts";
import { clean, counted, paragraphs, wrap } from "../view/text.ts";
import type { AgentClient, Trust } from "./client.ts";
import { clients, clientsHere } from "./clients.ts";
import { commandStep, completionStep, type Step } from "./shell.ts";
import { connect, type Order, observeFirst } from "./wish.ts";
import { type FileToWrite, installLines } from "./words.ts";

// The step that connects one client.

/** Throws InstallFailed if the client cannot be connected. */
function clientStep(world: ProcessContext, client: AgentClient, order: Order): Step {
  const connection = client.plan(world, order.wish);
  const { bin } = world.paths;
  const mode: FileToWrite = { path: world.paths.config, does: "write", of: "the mode: observe" };
  const files = [...connection.files(), ...(order.observe ? [mode] : [])];
  const others = files.filter(({ path }) => !path.startsWith(`${bin}/`));
  const changes = others.filter(({ does }) => does === "create" || does === "change");
  return {
    what: `hooks for ${client.title}`,
    is: "open",
    writes: [
      ...others.map(({ path, does, of }) => `${path} (${does === "keep" ? `${of}, already there` : of})`),
      `${bin}/ (the programs that hooks start)`,
    ].map(clean),
    ...(changes.length === 0 ? { isThere: true } : {}),
    ...(client.find(world) === null
      ? { isUnsure: `${client.title} is not here: no program in PATH, no folder of its own` }
      : {}),
    work: async () => {
      await observeFirst(world, order);
      return installLines(await connect(world, connection), connection, false).filter(isOfNow);
    },
  };
}

/** The step in which the client is told that the person trusts Kite's hooks. */
async function trustStep(
  world: ProcessContext,
  client: AgentClient,
  trust: Trust | undefined,
): Promise<Step> {
  const what = `${client.title}'s trust in them`;
  if (trust === undefined || !client.isConnected(world))
    return { what, is: "impossible", says: `Kite's hooks are not there for ${client.title} to trust` };
  const missing = await trust.missing(world);
  if (missing === 0) return { what, is: "there", says: `${client.title} trusts Kite's hooks` };
  return {
    what,
    is: "open",
    writes: [
      clean(
        `${trust.file(world)} (by ${client.title} itself: that you trust ${counted(missing, "hook")} of Kite's)`,
      ),
    ],
    work: async () => {
      await trust.give(world);
      return [`${client.title} trusts Kite's hooks, in sessions that start from now on`];
    },
  };
}

/** What to do next is said when all steps are done. */
function isOfNow(line: string): boolean {
  return !line.startsWith("try next:");
}

const interruptedCode = 130;
/** How long it looks for a daemon at most. */
const lookMs = 1_000;

/** Runs all steps. `ask` is null for `--yes`. Returns the exit code. */
export async function guide(world: ProcessContext, order: Order, ask: Questions | null): Promise<number> {
  const stop = interrupted();
  const steps = stepsOf(world, order, ask === null);
  const done: string[] = [];
  const left: string[] = [];
  let hasFailed = false;
  let hasEnded = false;
  for (const [i, make] of steps.entries()) {
    if (hasEnded) {
      left.push(make.what);
      continue;
    }
    say(world, ["", `${i + 1} of ${steps.length}: ${make.what}`]);
    const result = await runStep(world, make.step, ask);
    if (result === "done") done.push(make.what);
    else if (result !== "there") left.push(make.what);
    hasFailed ||= result === "failed";
    hasEnded = result === "ended" || stop.aborted;
  }
  const lines = [
    "",
    `Done: ${done.length === 0 ? "nothing new" : done.join(", ")}.`,
    ...(left.length === 0 ? [] : [`Not done: ${left.join(", ")}. To be asked again: kite install`]),
  ];
  if (hasEnded) {
    say(world, [...lines, "Ended here; what is done stays: kite uninstall takes it back."]);
    return interruptedCode;
  }
  await look(world);
  say(world, [...lines, ...(await nextLines(world))]);
  return hasFailed ? exitCodes.failed : exitCodes.done;
}

/** Each step is made when it is its turn: one may depend on what another did. */
function stepsOf(
  world: ProcessContext,
  order: Order,
  isYes: boolean,
): readonly { readonly what: string; readonly step: () => Step | Promise<Step> }[] {
  // A client that nobody named and that is not here is asked about only if none is.
  const here = clientsHere(world);
  const chosen: readonly AgentClient[] = order.named ?? (here.length > 0 ? here : [clients[0]]);
  return [
    { what: "the command kite", step: () => commandStep(world) },
    ...chosen.flatMap(client => [
      { what: `hooks for ${client.title}`, step: () => clientStep(world, client, order) },
      // Without a question, only what the person typed is agreed to.
      ...(client.trust === undefined || (isYes && !order.trust)
        ? []
        : [{ what: `${client.title}'s trust in them`, step: () => trustStep(world, client, client.trust) }]),
    ]),
    { what: "completion", step: () => completionStep(world) },
    { what: "the daemon", step: () => daemonStep(world) },
  ];
}

async function daemonStep(world: ProcessContext): Promise<Step> {
  const what = "the daemon";
  const { paths, env } = world;
  try {
    const client = await world.connect({ name: "kite install", reconnect: false, timeoutMs: lookMs });
    client.close();
    return { what, is: "there", says: `pid ${client.daemon.pid}` };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
  }
  return {
    what,
    is: "open",
    writes: [`${paths.home}/ (its journal, its log and its socket)`],
    work: async () => {
      const { client } = await ensureDaemon({ paths, daemonProgram, env, name: "kite install" });
      // A person wants it up again.
      rmSync(paths.downFile, { force: true });
      const { pid } = client.daemon;
      client.close();
      return [`it runs: pid ${pid}; without sessions it ends by itself, and hooks start it again`];
    },
  };
}

type Result = "done" | "there" | "not" | "failed" | "ended";

/** A step that cannot even be looked at has failed like one that cannot be done: the others go on. */
async function runStep(
  world: ProcessContext,
  make: () => Step | Promise<Step>,
  ask: Questions | null,
): Promise<Result> {
  try {
    return await doStep(world, await make(), ask);
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    say(world, [`this failed: ${errorText(error)}`]);
    return "failed";
  }
}

async function doStep(world: ProcessContext, step: Step, ask: Questions | null): Promise<Result> {
  if (step.is !== "open") {
    say(world, [step.is === "there" ? `already there: ${step.says}` : `not possible: ${step.says}`]);
    return step.is === "there" ? "there" : "not";
  }
  const isThere = step.isThere === true;
  say(world, [isThere ? "already there:" : "would write:"]);
  show(world, step.writes);
  if (step.isUnsure !== undefined) say(world, [step.isUnsure]);
  const answer = isThere ? "yes" : await answerOf(ask, step.isUnsure === undefined);
  if (answer !== "yes") return answer === "no" ? "not" : "ended";
  say(world, await step.work());
  return isThere ? "there" : "done";
}

/** Asks until the answer is one; Enter is the default. */
async function answerOf(ask: Questions | null, byDefault: boolean): Promise<"yes" | "no" | "ended"> {
  if (ask === null) return "yes";
  for (;;) {
    const answer = await ask(byDefault ? "Do this? [Y/n] " : "Do this? [y/N] ");
    if (answer === null) return "ended";
    if (answer.trim() === "") return byDefault ? "yes" : "no";
    if (isYes(answer)) return "yes";
    if (/^no?$/i.test(answer.trim())) return "no";
  }
}

/** What doctor finds that is not well; it writes nothing. */
async function look(world: ProcessContext): Promise<void> {
  const screen = screenOf(world);
  const checks: Check[] = [];
  say(world, ["", "kite doctor:"]);
  for await (const check of allChecks(world, clients)) {
    checks.push(check);
    if (check.result !== "ok") print(world, checkLines(check, screen));
  }
  print(world, [verdict(checks, screen)]);
}

function say(world: ProcessContext, lines: readonly string[]): void {
  const { width } = screenOf(world);
  print(
    world,
    lines.flatMap(line => (line === "" ? [""] : paragraphs(line, width))),
  );
}

/** What would be written: the step has cleaned its paths; a line for a shell has signs that `clean` would change. */
function show(world: ProcessContext, lines: readonly string[]): void {
  const { width } = screenOf(world);
  print(
    world,
    lines.flatMap(line => wrap(line, width - 2, 2).map(part => `  ${part}`)),
  );
}
