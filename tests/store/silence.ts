/** A machine that the others do not hear of for longer than `limits.nodeLostMs`, by the store's clock. */
import { limits } from "../../protocol/limits.ts";
import type { Faulty } from "./faults.ts";
import { type Machine, type Store, within } from "./machines.ts";

/** Less than makes a machine away that renews its lease between two steps. */
const stepMs = limits.nodeAwayMs - 10_000;
const steps = Math.ceil(limits.nodeLostMs / stepMs) + 1;
/** A step waits for so long for the other machines, which may be cut off as well. */
const othersMs = 5_000;

/**
 * Stores that had a silence. A second one within a request would move the clock past `limits.replyKeptMs`: then a repeat is a
 * request of its own.
 */
const silenced = new WeakSet<Store>();

/** Cuts a machine off until its sessions count as lost, and lets it come back: once in a history. */
export async function silence(machine: Machine, { machines, store, probe, note }: Faulty): Promise<void> {
  if (silenced.has(store)) return;
  silenced.add(store);
  note(`silence of ${machine.index}`);
  for (const proxy of machine.proxies) {
    proxy.refuses = true;
    proxy.cut();
  }
  const others = machines.filter(one => one !== machine).map(({ node }) => node);
  for (let step = 0; step < steps; step += 1) {
    const from = await store.moveClock(stepMs);
    await haveRenewed(store, others, from, othersMs);
  }
  if (await within(() => isLost(store, machine), othersMs)) note(`lost is ${machine.index}`);
  await probe(machine);
  for (const proxy of machine.proxies) proxy.refuses = false;
}

/** Waits until these nodes renewed their leases at `from` or later, by the store's clock; resolves with whether they did. */
export function haveRenewed(
  store: Store,
  nodes: readonly string[],
  from: number,
  ms: number,
): Promise<boolean> {
  return within(async () => {
    const renewed = await renewals(store);
    return nodes.every(node => (renewed.get(node) ?? 0) >= from);
  }, ms);
}

/** Returns the time of each node's last renewal, by the store's clock. */
function renewals(store: Store): Promise<ReadonlyMap<string, number>> {
  const text = `SELECT node, max(at) FROM kite.entries WHERE command LIKE '{"type":"node_renew"%' GROUP BY node`;
  return store.query(async connection => {
    const rows = await connection.query(text);
    return new Map(rows.map(([node, at]) => [String(node), Number(at)]));
  });
}

/** Whether the log has the entry that loses the sessions of the machine's node behind its last renewal. */
function isLost(store: Store, { node }: Machine): Promise<boolean> {
  const text = `SELECT max(seq) FILTER (WHERE node = $1 AND command LIKE '{"type":"node_renew"%'),
      max(seq) FILTER (WHERE command LIKE '%"node_silent"%' AND position($1 in command) > 0)
    FROM kite.entries`;
  return store.query(async connection => {
    const [[renewed, lost] = []] = await connection.query(text, [node]);
    return lost !== null && Number(lost) > Number(renewed ?? 0);
  });
}
