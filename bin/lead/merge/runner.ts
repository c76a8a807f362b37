/** Runs merges, its own and those that nobody attends to, until its own have ended. */
import { LocalError } from "../../../client/errors.ts";
import type { MergeReason, MergeRow } from "../../../protocol/lead/merge.ts";
import { actingSession } from "../../actor.ts";
import type { Client, ProcessContext } from "../../process-context.ts";
import type { FindRepository } from "../../project.ts";
import { Refused } from "../../with-daemon.ts";
import { trustedPrograms } from "../checks/trusted-store.ts";
import { attempt } from "./attempt.ts";
import { gitOf, Interrupted } from "./git.ts";
import { keepersOf } from "./keepers.ts";
import type { MergeRepository } from "./repository.ts";
import { runChecks } from "./run-checks.ts";
import { isSystems, reasonFor, shortOf, type Tried } from "./trial.ts";
import { sweepTrials, trialFolder } from "./trial-folders.ts";
import { RightLost, type Turns } from "./turns.ts";

export interface Running {
  readonly world: ProcessContext;
  readonly client: Client;
  readonly repository: MergeRepository;
  readonly turns: Turns;
  readonly stop: AbortSignal;
  /** Whether it also runs what nobody attends to when its own have ended. */
  readonly drain: boolean;
  readonly say: (text: string) => void;
  readonly find?: FindRepository | undefined;
}

export interface RanAll {
  /** Ids of the merges that this process ran. */
  readonly ran: readonly string[];
  /** Why it stopped before its own had ended; null: it did not. */
  readonly stopped: MergeReason | null;
}

/** Runs merges in their turn. `own`: ids of those that this process queued. */
export async function runMerges(running: Running, own: ReadonlySet<string>): Promise<RanAll> {
  const { turns, say, drain } = running;
  const ran: string[] = [];
  let on: string | null = null;
  let told = "";
  const waits = (ahead: MergeRow) => {
    if (ahead.id === told) return;
    told = ahead.id;
    say(`waits for its turn: ${shortOf(ahead.branch)} (${ahead.id}) is first`);
  };
  try {
    for (;;) {
      const merge = await turns.next(drain, waits);
      if (merge === null) return { ran, stopped: null };
      ran.push(merge.id);
      const { stopped, checked }: Turn = await runOne(running, merge, own.has(merge.id), on);
      if (stopped !== null) return { ran, stopped: await endRest(turns, stopped) };
      on = checked ?? on;
    }
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    return { ran, stopped: await endRest(turns, byInterrupt) };
  }
}

interface Turn {
  readonly stopped: MergeReason | null;
  /** Where a trial ended: the next one begins there. */
  readonly checked: string | null;
}

async function runOne(running: Running, merge: MergeRow, isOwn: boolean, on: string | null): Promise<Turn> {
  const { turns, say } = running;
  const into = `${shortOf(merge.branch)} ${merge.rebase ? "onto" : "into"} ${shortOf(merge.base)}`;
  say(`${into} (${merge.id})`);
  try {
    const tried = await turns.whileRunning(merge, lost => tryIt(running, merge, on, lost));
    if (tried.is === "stopped") return await afterStop(running, merge, isOwn, tried.reason);
    await turns.report(merge, outcomeOf(tried));
    return { stopped: null, checked: tried.is === "checked" ? tried.commit : null };
  } catch (error) {
    if (error instanceof Interrupted)
      return { stopped: await giveUpInterrupted(turns, merge, isOwn), checked: null };
    if (!(error instanceof RightLost)) throw error;
    say(`${into}: ${error.message}`);
    return { stopped: null, checked: null };
  }
}

/**
 * Ends an own merge that could not go on, and this command with it. One of others that nobody attends to, and for which the
 * base cannot move, leaves the queue: it would stop everybody behind it. If git or the disk failed, it stays first.
 */
async function afterStop(
  { turns, say }: Running,
  merge: MergeRow,
  isOwn: boolean,
  reason: MergeReason,
): Promise<Turn> {
  const isPassed = !isOwn && reason.code === "base";
  await giveUp(turns, merge, isOwn || isPassed, reason);
  if (!isPassed) return { stopped: isOwn ? reason : reasonOfOther(merge, reason), checked: null };
  const branch = shortOf(merge.branch);
  say(`${branch} (${merge.id}) leaves the queue: ${reason.text}. To queue it again: kite merge ${branch}`);
  return { stopped: null, checked: null };
}

/** Why a merge of others ends this command: it stays first in the queue until somebody merges it or takes it out. */
function reasonOfOther({ id, branch }: MergeRow, { code, text }: MergeReason): MergeReason {
  if (code === "interrupted") return byInterrupt;
  const first = `${shortOf(branch)} (${id}) is first in the queue`;
  return reasonFor(code, `${first}: ${text}. To take it out of the queue: kite merge --cancel ${id}`);
}

async function giveUpInterrupted(turns: Turns, merge: MergeRow, isOwn: boolean): Promise<MergeReason> {
  try {
    await giveUp(turns, merge, isOwn, byInterrupt);
  } catch (error) {
    // Somebody cancelled it at the same time.
    if (!(error instanceof RightLost)) throw error;
  }
  return byInterrupt;
}

const byInterrupt = reasonFor("interrupted", "the command was interrupted");

async function tryIt(
  running: Running,
  merge: MergeRow,
  on: string | null,
  lost: AbortSignal,
): Promise<Tried> {
  const { world, client, repository, turns, say, find } = running;
  const { gitDir, project } = repository;
  const stop = AbortSignal.any([running.stop, lost]);
  const git = gitOf(world.env, gitDir, stop);
  const own = actingSession(world.env);
  try {
    await sweepTrials(client, world.paths, gitOf(world.env, gitDir, running.stop), say);
    return await attempt({
      git,
      gitDir,
      folder: trialFolder(world.paths, merge),
      merge,
      on,
      checks: (worktree, files, own) => runChecks({ world, git: own, stop, say, find }, worktree, files),
      trusted: trustedPrograms(world.paths.trusted, project),
      keepers: paths => keepersOf(client, { own, project }, paths),
      mayMove: async commit => {
        await turns.report(merge, { is: "moving", commit });
      },
      say,
    });
  } catch (error) {
    const isOurs = error instanceof Interrupted || error instanceof RightLost || error instanceof Refused;
    if (isOurs || !(error instanceof LocalError || isSystems(error))) throw error;
    return { is: "stopped", reason: reasonFor("failed", error.message) };
  }
}

function outcomeOf(tried: Exclude<Tried, { readonly is: "stopped" }>) {
  return tried.is === "returned" ? tried : { is: tried.is, commit: tried.commit };
}

/** Ends a merge, or leaves it to the next runner. */
async function giveUp(turns: Turns, merge: MergeRow, ends: boolean, reason: MergeReason): Promise<void> {
  await turns.report(merge, ends ? { is: "cancelled", reason } : { is: "queued" });
}

/** Cancels what is left of the command's own, and returns why. */
async function endRest(turns: Turns, reason: MergeReason): Promise<MergeReason> {
  await turns.cancelRest(reason);
  return reason;
}
