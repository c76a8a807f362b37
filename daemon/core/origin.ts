/** Where a command came from, and what identifies its retry. */

/** The proposer of a command, to which answers go. `n` counts the proposals of one node and epoch. */
export interface Origin {
  readonly node: string;
  readonly epoch: number;
  readonly n: number;
}

/** The connection that a lock is bound to: its close releases the lock. */
export interface Bound {
  readonly node: string;
  readonly epoch: number;
  readonly connection: number;
}

/** A retry's identity: the sender, its id for the request, and a digest of the body. */
export interface Retry {
  readonly by: string;
  readonly requestId: string;
  readonly digest: string;
}

export function originKey(origin: Origin): string {
  return `${origin.node} ${origin.epoch} ${origin.n}`;
}

export function boundKey(bound: Bound): string {
  return `${bound.node} ${bound.epoch} ${bound.connection}`;
}
