/** Whether machines and the shared log come to the same when all is well again. */

import { isAfter, nothingRelayed } from "../../daemon/core/nodes/table.ts";
import { stateHash } from "../../daemon/engine/replay.ts";
import { type Machine, type Store, within } from "./machines.ts";
import type { Speaker } from "./operations.ts";
import { copyOf, readOwnState, readSharedLog, type SharedLog, sessionsOf, stateAt } from "./shared-log.ts";

/** Waits until the log has each machine's sessions, and each machine the whole log. Yields what does not come. */
export async function settledFaults(
  store: Store,
  machines: readonly Machine[],
  speakers: readonly Speaker[],
  settleMs: number,
): Promise<string[]> {
  const wanted = (machine: Machine) =>
    speakers.flatMap(one => (one.machine === machine && !one.hasEnded ? [one.id] : [])).sort();
  let log: SharedLog | null = null;
  const isTold = async () => {
    log = await readSharedLog(store);
    const { state } = log;
    const isLost = [...state.sessions.live.values()].some(({ lostAt }) => lostAt !== null);
    return !isLost && machines.every(machine => sessionsOf(state, machine).join() === wanted(machine).join());
  };
  if (await within(isTold, settleMs)) return [];
  return machines.flatMap(machine => {
    const has = log === null ? [] : sessionsOf(log.state, machine);
    const lost = [...(log?.state.sessions.live.values() ?? [])].filter(
      ({ node, lostAt }) => node === machine.node && lostAt !== null,
    );
    if (lost.length > 0)
      return [`of machine ${machine.index}, which is there, ${lost.length} sessions count as lost`];
    if (has.join() === wanted(machine).join()) return [];
    return [
      `machine ${machine.index} has the sessions ${wanted(machine).join()}, the shared log ${has.join()}`,
    ];
  });
}

/** What a machine's daemon left when it was stopped: an outbox with nothing in it, and the state that the log comes to. */
export async function faultsOfMachine(machine: Machine, { entries, state }: SharedLog): Promise<string[]> {
  const { outbox } = await readOwnState(machine);
  // What the log has may be in the outbox still: the note of it comes a moment later.
  const relayed = state.leases.all.get(machine.node)?.relayed ?? nothingRelayed;
  const left = [...outbox.rows.values()].filter(({ number }) => isAfter(number, relayed));
  const copy = copyOf(machine);
  const isSame = copy !== null && stateHash(copy) === stateHash(stateAt(entries, copy.seq));
  return [
    ...machine.ends.map(end => `the daemon of machine ${machine.index} ended by itself: ${end}`),
    ...(left.length === 0
      ? []
      : [`the outbox of machine ${machine.index} keeps ${left.map(({ number: { n } }) => n).join()}`]),
    ...(isSame ? [] : [`machine ${machine.index} has another state than the log at entry ${copy?.seq}`]),
  ];
}
