/** `kite merge` queues branches for a base, and merges them in their turn. */

import type { Command } from "commander";
import { refuse } from "../../../protocol/codes.ts";
import type { MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { shellArgument } from "../../../protocol/text.ts";
import { who } from "../../agents/messages.ts";
import { actingSession } from "../../context/actor.ts";
import {
  type Client,
  interrupted,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../../context/process-context.ts";
import { projectOf } from "../../context/project.ts";
import {
  ask,
  exitCodes,
  fail,
  printDone,
  printShown,
  Refused,
  rowsOf,
  withDaemon,
} from "../../context/with-daemon.ts";
import { clean, counted, wrap } from "../../view/text.ts";
import { nestingProblem } from "../check-run.ts";
import { checksAt } from "../check-trust.ts";
import { elsewhereLines, mergeLines, reasonLines } from "../view/work.ts";
import { untrusted } from "./attempt.ts";
import { type MergeRepository, repositoryFor, shortOf } from "./git.ts";
import { type Planned, planOf, spawnedReaders, waitingFor } from "./plan.ts";
import { type RanAll, reconnectMs, runMerges, Turns } from "./runner.ts";

// `kite merge --list` and `--cancel`.

/** Merges that have ended and are shown: the latest. */
const endedMax = 10;

interface QueueFlags {
  /** Another project than the working directory's. */
  readonly project?: string;
  readonly json?: boolean;
}

/** Shows the merges of a project, in their order. Returns the exit code. */
async function listMerges(world: ProcessContext, flags: QueueFlags): Promise<number> {
  const project = flags.project ?? (await projectOf(world.cwd));
  const json = flags.json === true;
  return withDaemon(world, json, async client => {
    const rows = await rowsOf(client, "merges", { project });
    const others = await rowsOf(client, "merges_elsewhere", { project });
    if (json) printJson(world, { merges: rows, ...(others.length === 0 ? {} : { elsewhere: others }) });
    else if (rows.length + others.length === 0) print(world, ["No merges."]);
    else {
      const screen = screenOf(world);
      const own = mergeLines(shown(rows), screen, await spawnedReaders(client, project, rows));
      printFramed(world, [...own, ...elsewhereLines(others, screen, own.length > 0)]);
    }
    return exitCodes.done;
  });
}

function shown(rows: readonly MergeRow[]): readonly MergeRow[] {
  const isOpen = ({ state }: MergeRow) => state === "queued" || state === "running";
  return [...rows.filter(row => !isOpen(row)).slice(-endedMax), ...rows.filter(isOpen)];
}

/**
 * Cancels one merge, by its id or a part that fits one merge of the project alone. The command that runs it goes on
 * with the next. Returns the exit code.
 */
async function cancelMerge(world: ProcessContext, id: string, flags: QueueFlags): Promise<number> {
  const by = await who(world, flags.project);
  const json = flags.json === true;
  return withDaemon(world, json, async client => {
    const reply = await ask(client, "merge_cancel", { ...by, merge: id });
    return printDone(world, json, reply, () => reply.cancelled.map(one => `cancelled ${one}`));
  });
}

// `kite merge`: queues branches for a base, and merges them in their turn.

interface MergeFlags {
  readonly into?: string;
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly rebase?: boolean;
  readonly json?: boolean;
}

/** As a shell exits after Ctrl-C. */
const interruptedExit = 130;

/** Merges the branches that the names mean; without names what waits for the base unattended. Returns the exit code. */
async function merge(
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

async function mergeAll(world: ProcessContext, client: Client, run: MergeRun): Promise<number> {
  const { repository, plan, flags, checks, stop } = run;
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

// Which words and options of `kite merge` fit together. Pure.

interface MergeUsage extends MergeFlags {
  readonly pr?: boolean;
  readonly list?: boolean;
  readonly cancel?: string;
  readonly project?: string;
}

/** Returns a sentence if the command line says something that would not count, else null. */
export function wrongUsage(names: readonly string[], flags: MergeUsage): string | null {
  return aboutQueue(names, flags) ?? aboutNames(names, flags);
}

/** `--list` and `--cancel` take nothing else: what else was meant would be left undone. */
function aboutQueue(names: readonly string[], flags: MergeUsage): string | null {
  const { list = false, cancel, project, into, check, dryRun, rebase, pr } = flags;
  if (project?.trim() === "") return "--project needs the path of a project";
  if (!list && cancel === undefined)
    return project === undefined
      ? null
      : "--project goes with --list or --cancel; to merge, run kite merge there";
  if (list && cancel !== undefined) return "use --list or --cancel, not both";
  if (cancel?.trim() === "") return "--cancel needs the id of a merge; kite merge --list shows them";
  const extraWords = [
    ...(into === undefined ? [] : ["--into"]),
    ...(check === true ? ["--check"] : []),
    ...(dryRun === true ? ["--dry-run"] : []),
    ...(rebase === true ? ["--rebase"] : []),
    ...(pr === true ? ["--pr"] : []),
    ...names,
  ];
  const [first] = extraWords;
  if (first === undefined) return null;
  return list
    ? `--list shows all merges of the project; leave out ${first}`
    : `--cancel takes one merge, by its id; leave out ${first}`;
}

function aboutNames(names: readonly string[], flags: MergeUsage): string | null {
  const { into, check, rebase, pr, dryRun } = flags;
  if (pr === true && names.length !== 1) return "--pr takes one branch, or one agent";
  if (pr === true && (check === true || rebase === true || dryRun === true))
    return "--pr goes with --into alone: it merges nothing here, and asks you";
  if (into?.trim() === "") return "--into needs the name of a branch, such as main";
  if (names.some(name => name.trim() === "")) return "one of the names is empty; name branches, or agents";
  if (names.length > limits.mergeBranchesMax)
    return `one command merges at most ${limits.mergeBranchesMax} branches; name fewer`;
  const [how] = [...(check === true ? ["--check"] : []), ...(rebase === true ? ["--rebase"] : [])];
  if (how === undefined || names.length > 0) return null;
  // What waits is merged as it was queued: that moves the base, whatever is asked for now.
  return `${how} needs the names of branches or agents; without names kite merge merges what waits, as it was queued`;
}

const help = `
A name is a branch, or an agent: then the branch of its worktree. An agent of kite spawn may have ended. Each branch is
merged into the base in a worktree of its own, and the project's checks (kite check) run there: a fresh checkout, without
what git ignores. A line "setup" beside the checks in .kite/config.json, such as "npm ci", runs once before them. If all
are green, the base moves forward to the merge. One merge of a base runs at a time, in the order of asking; branches of
one command are merged as their authors' tasks depend on each other, else as given.

A branch that conflicts, or whose checks are red, goes back: its author gets a message (of a spawned agent that has ended
the agent that spawned it), its author's task is pending again, and the next one follows. What builds on it (by tasks) is
cancelled. Other trouble stops the command: checks that are not trusted, a base that cannot move, a full disk.

Where the base is checked out, its files move with it. If a file that the merge changes has uncommitted work there, is
assumed to be unchanged, is in the way untracked, or is locked by another agent, the command stops and names it; other
uncommitted work stays as it is. A base in several worktrees, or in a rebase, does not move.

No hook of the repository runs, neither on the merge nor on the base: the checks decide. Submodules are merged as commits
and not checked out. --rebase puts the branch's commits onto the base; the branch itself stays where it is.

--pr merges nothing here: it pushes the branch to the remote and lets gh, if it is installed, open a pull request into the
base. Only a person may; it shows what goes where and asks each time. It never forces. No hook runs: with a hook pre-push it
pushes nothing. What the repository's own git configuration names for a push counts only after kite check --trust.

Without names it merges what waits for the base and no command attends to: commands that were killed leave such.
Ctrl-C removes the worktree, and cancels what the command queued.

--json: {"base", "merges":[the merges that it queued or ran, as in kite merge --list], "stopped": why it stopped, or null};
with --dry-run {"base", "waiting":[merges that no command attends to, which are merged first], "plan":[{"branch", "author", "tasks", "after", "uncommitted": files, "isMerged"}], "checks"}; with --list {"merges"}; with
--cancel {"cancelled":[ids]}.

Exit codes: 0 all merged, or with --check all could be; 1 one was not, or refused; 3 no daemon runs; 130 interrupted.

Examples:
  $ kite merge alice bob
  $ kite merge pay cart --into release --check
  $ kite merge alice --pr
  $ kite merge --list`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name...]", "branches, or agents")
    .option("--into <base>", "the branch to merge into; by default the main worktree's")
    .option("--check", "merge and check, and leave the base where it is")
    .option("--dry-run", "say which branches would be merged, in which order")
    .option("--rebase", "rebase each branch onto the base instead of merging it")
    .option("--pr", "push the branch and open a pull request with gh, instead of merging here; it asks you")
    .option("--list", "show what waits, runs, and has ended")
    .option("--cancel <id>", "cancel a merge: its id, or a part of it that fits one of the project alone")
    .option(
      "--project <project>",
      "with --list or --cancel: another project than that of the working directory",
    )
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (names: readonly string[], flags: MergeUsage) => {
      const json = flags.json === true;
      const wrong = wrongUsage(names, flags);
      if (wrong !== null) {
        await run(async world => fail(world, json, "usage", wrong));
        return;
      }
      if (flags.list === true || flags.cancel !== undefined) {
        const { cancel } = flags;
        await run(world =>
          cancel === undefined ? listMerges(world, flags) : cancelMerge(world, cancel, flags),
        );
        return;
      }
      const [name] = names;
      if (flags.pr === true && name !== undefined) {
        const { pullRequest } = await import("./pull-request.ts");
        await run(world => pullRequest(world, name, flags));
        return;
      }
      await run(world => merge(world, names, flags));
    });
}
