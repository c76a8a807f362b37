/** Runs merges, its own and those that nobody attends to, until its own have ended. */

import { randomUUID } from "node:crypto";
import { LocalError } from "../../../client/errors.ts";
import type { MergeReason, MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ParamsOf } from "../../../protocol/schemas/requests.ts";
import { type Acting, actingSession } from "../../context/actor.ts";
import type { Client, ProcessContext } from "../../context/process-context.ts";
import type { FindRepository } from "../../context/project.ts";
import { ask, Refused, rowsOf } from "../../context/with-daemon.ts";
import { refusalText } from "../../refusal-text.ts";
import { trustedPrograms } from "../check-trust.ts";
import { attempt, runChecks, sweepTrials, trialFolder } from "./attempt.ts";
import {
  gitOf,
  Interrupted,
  isSystems,
  type MergeRepository,
  reasonFor,
  shortOf,
  type Tried,
} from "./git.ts";

// Which agents keep files as they are: by a lock, or with uncommitted work that Kite knows of.

/** Returns for each path that an agent keeps why; of the caller's own locks none count. */
async function keepersOf(
  client: Client,
  { own, project }: { readonly own: Acting | null; readonly project: string },
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set(paths);
  const kept = new Map<string, string>();
  for (const { path, writers } of await rowsOf(client, "writes", { project })) {
    const [latest] = writers;
    if (latest === undefined || !wanted.has(path)) continue;
    const who = latest.id === own?.id ? "your own" : `${latest.name}'s`;
    kept.set(path, `${who} uncommitted work`);
  }
  for (const { path, file, holder } of await rowsOf(client, "locks")) {
    if (holder === null || holder.id === own?.id) continue;
    const held = file.endsWith("/") ? paths.filter(one => one.startsWith(`${path}/`)) : [path];
    for (const one of held) if (wanted.has(one)) kept.set(one, `${holder.name} holds it`);
  }
  return kept;
}

// A runner's side of the queue: it asks for its turn at each change, and hears if it lost the right to go on.

/** The merge is no longer this process's: somebody cancelled it, or the daemon gave it to another runner. */
class RightLost extends LocalError {
  override readonly name = "RightLost";
}

type Outcome = ParamsOf<"merge_report">["outcome"];

export class Turns {
  /** The name of this process in the queue. */
  readonly runner = randomUUID();
  readonly #client: Client;
  readonly #place: { readonly project: string; readonly base: string };
  readonly #own: Acting | null;
  readonly #stop: AbortSignal;
  #running: { readonly id: string; readonly lost: AbortController } | null = null;
  #changes = 0;
  #wake: () => void = () => {};

  constructor(
    client: Client,
    place: { readonly project: string; readonly base: string },
    own: Acting | null,
    stop: AbortSignal,
  ) {
    this.#client = client;
    this.#place = place;
    this.#own = own;
    this.#stop = stop;
    stop.addEventListener("abort", () => this.#changed(), { once: true });
  }

  /** Begins to hear of the queue, before anything is asked. Throws `Refused`. */
  async begin(): Promise<void> {
    const { project } = this.#place;
    this.#client.onEvent(event => {
      if (event.event !== "merge_changed") return;
      const isOver = event.merge === this.#running?.id && event.state !== "running";
      if (isOver) this.#running?.lost.abort();
      this.#changed();
    });
    this.#client.onLagged(() => this.#changed());
    void this.#client.closed.then(() => {
      this.#running?.lost.abort();
      this.#changed();
    });
    await ask(this.#client, "subscribe", { project, events: ["merge_changed"] });
    await ask(this.#client, "merge_attach", { runner: this.runner });
  }

  /** Queues branches. Throws `Refused`. */
  async queue(
    request: Pick<ParamsOf<"merge_queue">, "merges" | "rebase" | "checkOnly">,
  ): Promise<readonly MergeRow[]> {
    const named = { ...this.#own, ...this.#place, runner: this.runner };
    return (await ask(this.#client, "merge_queue", { ...named, ...request })).merges;
  }

  /**
   * Returns this process's next merge, when it is its turn; null if nothing is left for it. `drain`: it also takes what no
   * process attends to. `waits` hears what is ahead. Throws `Interrupted`, `Refused`, or why the connection ended.
   */
  async next(drain: boolean, waits: (ahead: MergeRow) => void): Promise<MergeRow | null> {
    const named = { ...this.#own, ...this.#place, runner: this.runner };
    for (;;) {
      if (this.#stop.aborted) throw new Interrupted("interrupted");
      const seen = this.#changes;
      const { merge, ahead, left } = await ask(this.#client, "merge_take", { ...named, drain });
      if (merge !== null || left === 0) return merge;
      if (ahead !== null) waits(ahead);
      await this.#changeAfter(seen);
    }
  }

  /** Runs `work` with a signal that aborts if the merge is no longer this process's. */
  async whileRunning<T>({ id }: MergeRow, work: (lost: AbortSignal) => Promise<T>): Promise<T> {
    const lost = new AbortController();
    this.#running = { id, lost };
    try {
      return await work(lost.signal);
    } catch (error) {
      if (!lost.signal.aborted || this.#stop.aborted || !(error instanceof Interrupted)) throw error;
      throw new RightLost(`${id} is no longer this command's to merge`);
    } finally {
      this.#running = null;
    }
  }

  /** Reports what came of a run. Throws `RightLost` if it no longer counts. */
  async report({ id, runs }: MergeRow, outcome: Outcome): Promise<MergeRow> {
    // Its own report is no loss of its right.
    if (outcome.is !== "moving") this.#running = null;
    const named = { ...this.#own, runner: this.runner, merge: id, run: runs, outcome };
    const answer = await this.#client.request("merge_report", named);
    if (answer.ok) return answer.merge;
    throw new RightLost(refusalText(answer, "terminal"));
  }

  /** Cancels what this process has queued and has not run. */
  async cancelRest(reason: MergeReason): Promise<void> {
    await ask(this.#client, "merge_cancel", { ...this.#own, runner: this.runner, reason });
  }

  #changed(): void {
    this.#changes += 1;
    this.#wake();
  }

  /** Resolves when something has changed since `seen` was read. */
  #changeAfter(seen: number): Promise<void> {
    return new Promise(resolve => {
      if (this.#changes !== seen) resolve();
      else this.#wake = resolve;
    });
  }
}

/** How long a client looks for its daemon: the right to run lasts no longer. */
export const reconnectMs = limits.boundGraceMs;

interface Running {
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
  let lastAhead = "";
  const waits = (ahead: MergeRow) => {
    if (ahead.id === lastAhead) return;
    lastAhead = ahead.id;
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
