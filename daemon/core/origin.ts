/** Where a command came from, and by what it is known when it comes again. */

/** Where a command came from; answers go back there. `n` counts the proposals of one node and epoch. */
export interface Origin {
  readonly node: string;
  readonly epoch: number;
  readonly n: number;
}

/** The connection a lock is bound to. */
export interface Bound {
  readonly node: string;
  readonly epoch: number;
  readonly connection: number;
}

/** A retry's identity: who, their id for it, and a digest of the body. */
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
