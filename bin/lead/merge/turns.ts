/** A runner's side of the queue: it asks for its turn at each change, and hears if it lost the right to go on. */
import { randomUUID } from "node:crypto";
import { LocalError } from "../../../client/errors.ts";
import type { MergeReason, MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ParamsOf } from "../../../protocol/schemas/requests.ts";
import type { Acting } from "../../actor.ts";
import type { Client } from "../../process-context.ts";
import { refusalText } from "../../refusal-text.ts";
import { ask } from "../../with-daemon.ts";
import { Interrupted } from "./git.ts";

/** The merge is no longer this process's: somebody cancelled it, or the daemon gave it to another runner. */
export class RightLost extends LocalError {
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
    asked: Pick<ParamsOf<"merge_queue">, "merges" | "rebase" | "checkOnly">,
  ): Promise<readonly MergeRow[]> {
    const named = { ...this.#own, ...this.#place, runner: this.runner };
    return (await ask(this.#client, "merge_queue", { ...named, ...asked })).merges;
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
