/** Actors and the processes behind their sessions. */

/** A session, or an agent within it. `incarnation` tells two terminals with the same session id apart. */
export interface Actor {
  readonly session: string;
  readonly agent: string | null;
  readonly incarnation: number;
  /**
   * A command of the actor that holds locks of its own until it ends, behind the commands that it runs inside:
   * `outer/inner`. Absent: the actor itself.
   */
  readonly command?: string;
}

/** The process behind an incarnation, which ends when the process does. */
export interface Anchor {
  readonly pid: number;
  readonly startTime: string;
}

/** Returns a string unique to the actor or its command; for the main agent of the first incarnation it is the session id. */
export function actorKey(actor: Actor): string {
  const session = actor.incarnation === 0 ? actor.session : `${actor.session}\u0001${actor.incarnation}`;
  const key = actor.agent === null ? session : `${session}\u0000${actor.agent}`;
  return actor.command === undefined ? key : `${key}\u0002${actor.command}`;
}

/** Returns the actor itself, whichever command of it `actor` is. */
export function withoutCommand(actor: Actor): Actor {
  if (actor.command === undefined) return actor;
  const { session, agent, incarnation } = actor;
  return { session, agent, incarnation };
}

/** Whether both are the same actor, whichever commands of it they are. */
export function sameActor(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

/** Whether both are the same actor itself, or the same command of it. */
export function sameOwner(a: Actor, b: Actor): boolean {
  return sameActor(a, b) && a.command === b.command;
}

/** Whether `inner` is a command of the actor `outer`, or one that runs inside this command of the same actor. */
export function runsInside(inner: Actor, outer: Actor): boolean {
  if (inner.command === undefined || !sameActor(inner, outer)) return false;
  return outer.command === undefined || isInside(inner.command, outer.command);
}

/** Whether both are commands, and neither runs inside the other. Such commands exclude each other, also in one session. */
export function areBeside({ command: a }: Actor, { command: b }: Actor): boolean {
  return a !== undefined && b !== undefined && a !== b && !isInside(a, b) && !isInside(b, a);
}

function isInside(inner: string, outer: string): boolean {
  return inner.startsWith(`${outer}/`);
}

// Files as commands name them.

/**
 * A file as its request named it (`file`), as an absolute path without resolved links (`lexical`), and as its lock
 * key. `dir`: the whole subtree. `path`: the unfolded path if the key is case-folded. To show a file to people,
 * use `pathOf`.
 */
export interface FileRef {
  readonly file: string;
  readonly lexical: string;
  readonly key: string;
  readonly dir: boolean;
  readonly path?: string | undefined;
}

/** A file to release: `lexical` is enough to find it; `key` is null if the daemon could not resolve the path. */
export interface FileName {
  readonly file: string;
  readonly lexical: string;
  readonly key: string | null;
  readonly path?: string | undefined;
}

/** A written file of a repository: `file` is its path from the worktree's top, for people. */
export interface Written {
  readonly key: string;
  readonly file: string;
  /** Real path of the worktree's top. */
  readonly worktree: string;
  readonly project: string;
}

/** Whether the path is within a worktree: it names no root, and leads nowhere out of it. */
export function isWithin(path: string): boolean {
  return path.split("/").every(part => part !== "" && part !== "." && part !== "..");
}

// Where a command came from, and what identifies its retry.

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
