/** The logs between which tasks and context move, as a daemon has them; and moves that broke off, which it finishes. */

import type { Refusal } from "../../protocol/codes.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { storeRowsMax, type UnmovedRow } from "../../protocol/schemas/store.ts";
import { emptyState } from "../core/snapshot.ts";
import { type CopyLog, contentsOf } from "./copy.ts";
import { type BothLogs, type Copied, moveAll, type Sharing, unmoved } from "./share.ts";
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
    records: shared.records,
    wall: () => shared.wall(),
    relayed: () => shared.relayed(limits.storeShareMs),
  };
}

/** Both logs if the store does not answer. The store is read as this daemon knows it. */
export function logsOfCopy(
  store: SharedStore,
): Pick<BothLogs, "own" | "shared" | "node" | "records" | "wall"> {
  const { state, node, records } = store;
  const error = "the store does not answer";
  // A store that this daemon never read has nothing to copy back.
  const copy: CopyLog = {
    state: state ?? emptyState(),
    now: state?.t ?? 0,
    submitAndWait: () => Promise.resolve(refuse("store_away", error)),
  };
  return { own: ownLog(store), shared: copy, node, records, wall: () => store.wall() };
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
  const [own, { records }] = [ownLog(shared), shared];
  const left = unmoved({ own, records }).map(([project, as]) => {
    const { tasks, context } = contentsOf({ log: own, project });
    // The store has what a leave that broke off copied.
    const before = records.get(project, as)?.before ?? null;
    return {
      as,
      tasks: tasks.filter(({ id }) => before === null || before.tasks.includes(id)).length,
      context: context.filter(({ key }) => before === null || before.keys.includes(key)).length,
    };
  });
  const projects = [...new Set(left.filter(one => one.tasks + one.context > 0).map(({ as }) => as))];
  if (projects.length === 0) return null;
  return {
    projects: projects.slice(0, storeRowsMax),
    tasks: left.reduce((sum, { tasks }) => sum + tasks, 0),
    context: left.reduce((sum, { context }) => sum + context, 0),
    why: shared.moving.problem,
  };
}

/** Whether a move to the store, or a leave, broke off. */
export function hasUnmoved(shared: SharedStore): boolean {
  return unmoved({ own: ownLog(shared), records: shared.records }).length > 0;
}

/** Finishes what broke off. A person's command goes first. Rejects if something is left here. */
export async function finishMoves(
  shared: SharedStore,
  onMoved: (sharing: Sharing, copied: Copied) => void,
): Promise<void> {
  if (!hasUnmoved(shared)) return;
  await shared.moving.byDaemon(async () => {
    const logs = bothLogs(shared);
    if (!("ok" in logs)) await moveAll(logs, onMoved);
  });
}
