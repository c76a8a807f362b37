/** The commands of a node's own log about what it shares. */
import type { OutboxNumber } from "../nodes/commands.ts";

/**
 * From now on the sessions of these projects, and of no others, are known to the other nodes. All are told of anew, since the
 * shared log may have ended some while the node was away.
 */
export interface SharingSet {
  /** This node's id in the shared log. With another one than before, the outbox begins anew. Empty: nothing is shared. */
  readonly node: string;
  /** Each shared project as it is called here, and in the shared log. */
  readonly projects: readonly (readonly [project: string, as: string])[];
  /**
   * The number of the latest row that the shared log has of this node, as the reply to `node_renew` says. If this outbox
   * never gave that number, an older copy of the home was put back. Then numbers go on after it, and all sessions have new
   * ids there.
   */
  readonly relayed?: OutboxNumber;
  /** The level of rules of the shared log; absent: the one that was said before. */
  readonly level?: number;
}

/** The shared log has the rows up to this one. */
export interface OutboxSent {
  readonly node: string;
  readonly last: OutboxNumber;
}

export interface OutboxCommands {
  sharing_set: SharingSet;
  outbox_sent: OutboxSent;
}
