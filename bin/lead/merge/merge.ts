/** `kite merge`: queues branches for a base, and merges them in their turn. */
import { refuse } from "../../../protocol/codes.ts";
import type { MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { shellArgument } from "../../../protocol/text.ts";
import { actingSession } from "../../actor.ts";
import {
  type Client,
  interrupted,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  screenOf,
} from "../../process-context.ts";
import { clean, counted, wrap } from "../../view/text.ts";
import { exitCodes, printShown, Refused, rowsOf, withDaemon } from "../../with-daemon.ts";
import { nestingProblem } from "../checks/nesting.ts";
import { checksAt } from "../checks/read.ts";
import { mergeLines, reasonLines } from "../view/merges.ts";
import { spawnedReaders } from "./authors.ts";
import { type Planned, planOf, waitingFor } from "./plan.ts";
import { type MergeRepository, repositoryFor } from "./repository.ts";
import { untrusted } from "./run-checks.ts";
import { type RanAll, runMerges } from "./runner.ts";
import { shortOf } from "./trial.ts";
import { reconnectMs, Turns } from "./turns.ts";

export interface MergeFlags {
  readonly into?: string;
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly rebase?: boolean;
  readonly json?: boolean;
}

/** As a shell exits after Ctrl-C. */
const interruptedExit = 130;

/** Merges the branches that the names mean; without names what waits for the base unattended. Returns the exit code. */
export async function merge(
  world: ProcessContext,
  names: readonly string[],
  flags: MergeFlags,
  stop: AbortSignal = interrupted(),
): Promise<number> {
  const json = flags.json === true;
  const repository = await repositoryFor(world, flags.into, stop);
  return withDaemon(
    world,
    json,
    async client => {
      const plan = await planOf(world, client, repository, names);
      const checks = await checksFor(world);
      if (flags.dryRun !== true) return mergeAll(world, client, { repository, plan, flags, checks, stop });
      const { project, base } = repository;
      const planned = new Set(plan.map(({ branch }) => branch));
      const all = await waitingFor(client, project, base);
      const waiting = all.filter(({ branch }) => !planned.has(branch));
      return printShown(world, json, { base, waiting, plan, checks }, () =>
        planLines({ base, waiting, plan, checks }),
      );
    },
    { reconnect: true, reconnectMs },
  );
}

/** Returns the names of the checks that will run. Throws `Refused` if they may not. */
async function checksFor(world: ProcessContext): Promise<readonly string[]> {
  const named = await checksAt(world, world.cwd);
  const why = untrusted(named) ?? nestingProblem(world.env, named.repository.project);
  if (why !== null) throw new Refused(refuse("invalid_request", why));
  for (const problem of named.problems) world.stderr.write(`! ${clean(problem)}\n`);
  return named.checks.map(({ name }) => name);
}

interface MergeRun {
  readonly repository: MergeRepository;
  readonly plan: readonly Planned[];
  readonly flags: MergeFlags;
  readonly checks: readonly string[];
  readonly stop: AbortSignal;
}

async function mergeAll(world: ProcessContext, client: Client, asked: MergeRun): Promise<number> {
  const { repository, plan, flags, checks, stop } = asked;
  const { project, base } = repository;
  const json = flags.json === true;
  const say = (text: string) => {
    if (!json) world.stderr.write(`kite: ${clean(text)}\n`);
  };
  if (checks.length === 0) say(`no checks are named in ${project}; nothing is checked but that it merges`);
  for (const { branch, uncommitted, isMerged } of plan) {
    if (isMerged)
      say(`${shortOf(base)} has all of ${shortOf(branch)} already: there is nothing new to merge`);
    if (uncommitted > 0)
      say(`${counted(uncommitted, "file")} of ${shortOf(branch)} not committed, and not merged`);
  }
  const turns = new Turns(client, { project, base }, actingSession(world.env), stop);
  await turns.begin();
  const how = { rebase: flags.rebase === true, checkOnly: flags.check === true };
  const queued = plan.length === 0 ? [] : await turns.queue({ ...how, merges: plan.map(wanted) });
  const own = new Set(queued.map(({ id }) => id));
  const running = { world, client, repository, turns, stop, drain: plan.length === 0, say };
  const done = await runMerges(running, own);
  const named = new Set([...own, ...done.ran]);
  const rows = (await rowsOf(client, "merges", { project })).filter(({ id }) => named.has(id));
  if (json) printJson(world, { base, merges: rows, stopped: done.stopped });
  else show(world, rows, done, shortOf(base), await spawnedReaders(client, project, rows));
  const isGood = rows.every(({ state }) => state === "merged" || state === "checked");
  if (done.stopped?.code === "interrupted") return interruptedExit;
  return isGood && done.stopped === null ? exitCodes.done : exitCodes.failed;
}

function wanted({ branch, author, tasks, after }: Planned) {
  const by = author === null ? {} : { author: authorOf(author) };
  return { branch, ...by, tasks: [...tasks], after: after.slice(0, limits.mergeAfterMax) };
}

function authorOf({ id, agent }: NonNullable<Planned["author"]>) {
  return agent === null ? { id } : { id, agent };
}

function show(
  world: ProcessContext,
  rows: readonly MergeRow[],
  { stopped }: RanAll,
  base: string,
  spawned: ReadonlySet<string>,
): void {
  const screen = screenOf(world);
  if (rows.length === 0) print(world, [`Nothing waits to be merged into ${clean(base)}.`]);
  printFramed(world, mergeLines(rows, screen, spawned));
  print(world, nextLines(rows, screen.width));
  if (stopped === null || rows.some(({ reason }) => reason?.text === stopped.text)) return;
  print(world, ["Stopped:", ...reasonLines(stopped, screen)]);
}

/** What to do about the branches that came back. */
function nextLines(rows: readonly MergeRow[], width: number): string[] {
  const back = rows.filter(({ state }) => state === "returned").map(({ branch }) => clean(shortOf(branch)));
  if (back.length === 0) return [];
  const names = back.map(shellArgument).join(" ");
  const where = back.length === 1 ? "on that branch" : "on these branches";
  return wrap(`Next: have it mended and committed ${where}, then: kite merge ${names}`, width, 2);
}

interface Plan {
  readonly base: string;
  /** Merges that no command attends to: the next command merges them first. */
  readonly waiting: readonly MergeRow[];
  readonly plan: readonly Planned[];
  readonly checks: readonly string[];
}

function planLines({ base, waiting, plan, checks }: Plan): string[] {
  const into = clean(shortOf(base));
  if (waiting.length + plan.length === 0) return [`Nothing waits to be merged into ${into}.`];
  const first = waiting.map(({ id, branch }) => `${clean(shortOf(branch))} (${id}), which waits already`);
  const then = plan.map(({ branch, author, after, isMerged }) => {
    const who = author === null ? "" : ` by ${clean(author.name)}`;
    const behind = after.length === 0 ? "" : `, after ${after.map(one => clean(shortOf(one))).join(", ")}`;
    return `${clean(shortOf(branch))}${who}${behind}${isMerged ? `; ${into} has it already` : ""}`;
  });
  const run = checks.length === 0 ? "no checks" : `${counted(checks.length, "check")} (${checks.join(", ")})`;
  const lines = [...first, ...then].map((line, i) => `${i + 1}. ${line}`);
  return [`Would merge into ${into}, with ${run}:`, ...lines];
}
