/** The logs between which tasks and context move, as a daemon has them; and moves that broke off, which it finishes. */

import type { Refusal } from "../../protocol/codes.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { storeRowsMax, type UnmovedRow } from "../../protocol/store.ts";
import { emptyState } from "../core/empty-state.ts";
import { type CopyLog, CopyRefused, contentsOf } from "./copy.ts";
import { type BothLogs, moveRest, unmoved } from "./share.ts";
import type { SharedStore } from "./shared-store.ts";

export function bothLogs(shared: SharedStore): BothLogs | Refusal {
  const { engine, refusal, node } = shared;
  if (refusal !== null) return refusal;
  if (engine === null) throw new Error("the store is open, and its log is not");
  return {
    own: ownLog(shared),
    shared: engine,
    node,
    machine: shared.machine ?? "machine",
    relayed: () => shared.relayed(limits.storeShareMs),
  };
}

/** Both logs where the store does not answer: it is read as this daemon knows it. */
export function logsOfCopy(store: SharedStore): Pick<BothLogs, "own" | "shared" | "node"> {
  const { state, node } = store;
  const error = "the store does not answer";
  // A store that this daemon never read has nothing to copy back.
  const copy: CopyLog = {
    state: state ?? emptyState(),
    now: state?.t ?? 0,
    submitAndWait: () => Promise.resolve(refuse("store_away", error)),
  };
  return { own: ownLog(store), shared: copy, node };
}

function ownLog(shared: SharedStore): CopyLog {
  const { own } = shared;
  return {
    get state() {
      return own.state;
    },
    get now() {
      return own.now;
    },
    submitAndWait: command =>
      command.type === "sharing_set" ? shared.setSharing(command) : own.submitAndWait(command),
  };
}

/** Returns what the own log still has that belongs to the store; null: nothing. */
export function unmovedOf(shared: SharedStore): UnmovedRow | null {
  const own = ownLog(shared);
  const left = unmoved(own).map(([project, as]) => ({ as, ...contentsOf({ log: own, project }) }));
  if (left.length === 0) return null;
  return {
    projects: [...new Set(left.map(({ as }) => as))].slice(0, storeRowsMax),
    tasks: left.reduce((sum, { tasks }) => sum + tasks.length, 0),
    context: left.reduce((sum, { context }) => sum + context.length, 0),
    why: shared.moving.problem,
  };
}

/** Whether the own log still has something that belongs to the store. */
export function hasUnmoved(shared: SharedStore): boolean {
  return unmoved(ownLog(shared)).length > 0;
}

/**
 * Moves to the store what a move that broke off left in the own log. A person's command goes
 * first. Rejects, when each project was tried, with an error that says of which one something is left here.
 */
export async function finishMoves(shared: SharedStore): Promise<void> {
  const left = unmoved(ownLog(shared));
  if (left.length === 0) return;
  await shared.moving.byDaemon(async () => {
    const problems: Error[] = [];
    for (const [project, as] of left) {
      const logs = bothLogs(shared);
      if ("ok" in logs) return;
      try {
        await moveRest(logs, project, as);
      } catch (error) {
        if (!(error instanceof CopyRefused)) throw error;
        problems.push(
          new Error(
            `${project} is shared as ${as}, and what is left of it here could not go to the store: ${error.message}`,
            { cause: error },
          ),
        );
      }
    }
    const [first] = problems;
    if (first !== undefined) throw first;
  });
}
