/**
 * The nodes of a shared log, each with its lease. The log of one daemon alone has none.
 *
 * Invariants: a log that a node has entered once is shared for ever, also while it has no node. A node is known from its
 * first `node_renew` to its `node_leave`. `relayed` only rises. There are at most `limits.nodesMax`.
 */
import type { Limits } from "../../../protocol/limits.ts";
import { Records, unique } from "../frame/records.ts";
import { head, valueList } from "../frame/saved-rows.ts";
import type { Levels, OutboxNumber } from "./commands.ts";

export interface NodeLease {
  readonly node: string;
  /** What people call its machine; unique among the nodes. */
  readonly machine: string;
  /** The name that it asks for, if that was another node's. It keeps `machine` while it asks for the same one. */
  readonly asked?: string;
  readonly binding: string;
  readonly levels: Levels;
  /** The version of its program, to be shown to people. */
  readonly version?: string;
  /** The epoch of the daemon that renewed it last; an earlier one speaks no more. */
  readonly epoch: number;
  /** Core time of the latest renewal, and wall time of the first one. */
  readonly renewedAtMs: number;
  readonly joinedWallMs: number;
  /** Its sessions count as lost. */
  readonly isLost: boolean;
  /** The number of the latest command that it relayed from its own log. */
  readonly relayed: OutboxNumber;
}

export const nothingRelayed: OutboxNumber = { epoch: 0, n: 0 };

/** Whether `a` comes after `b` in an outbox. */
export function isAfter(a: OutboxNumber, b: OutboxNumber): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.n > b.n);
}

export const leaseRecords = new Records("all", ({ node }: NodeLease) => node, {
  byMachine: unique(({ machine }) => machine),
});

export interface NodeLeases extends ReturnType<typeof leaseRecords.empty> {
  readonly limits: Limits;
  /** Whether several nodes share this log: the first lease makes it so, for good. */
  isShared: boolean;
}

export function noLeases(limits: Limits): NodeLeases {
  return { ...leaseRecords.empty(), limits, isShared: false };
}

/** Whether several nodes share this log. */
export function isShared({ leases }: { readonly leases: NodeLeases }): boolean {
  return leases.isShared;
}

/** Gives the node this lease, in the place of the one that it had. */
export function putLease(leases: NodeLeases, lease: NodeLease): void {
  leases.isShared = true;
  leaseRecords.put(leases, lease);
}

/** Returns `machine`, or `machine-2`, `machine-3`… if another node has it. */
export function freeMachine({ all, byMachine }: NodeLeases, node: string, machine: string): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? machine : `${machine}-${n}`;
    const owner = byMachine.get(name);
    if (owner === undefined || owner === node || !all.has(owner)) return name;
  }
}

export const leaseRows = {
  head: head(
    ({ isShared }: NodeLeases): { readonly isShared?: true } => (isShared ? { isShared } : {}),
    (leases, stored) => {
      leases.isShared = stored.isShared === true;
    },
  ),
  lists: { leases: valueList(({ all }: NodeLeases) => all, putLease) },
};

/** Yields a sentence for each broken invariant. */
export function* checkLeases({
  leases,
  t,
}: {
  readonly leases: NodeLeases;
  readonly t: number;
}): Generator<string> {
  yield* leaseRecords.check(leases, "nodes", leases.limits.nodesMax);
  if (leases.all.size > 0 && !leases.isShared) yield "a log that is not shared has a node";
  if (leases.byMachine.size !== leases.all.size) yield "two nodes have one machine's name";
  for (const { node, renewedAtMs } of leases.all.values())
    if (renewedAtMs > t) yield `node ${node} renews its lease in the future`;
}
