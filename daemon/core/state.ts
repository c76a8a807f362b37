import type { Actor } from "./actor.ts";
import type { LockKind } from "./commands.ts";
import type { FileRef } from "./file-ref.ts";
import { type ActorLocks, type ActorTable, actorTable } from "./locks/by-actor.ts";
import { OtherWords } from "./locks/by-words.ts";
import { WaitGraph } from "./locks/wait-graph.ts";
import { type Notes, noNotes } from "./messages/notice-table.ts";
import {
  type ContextTable,
  type EditHolds,
  type Messages,
  noContext,
  noEditHolds,
  noMessages,
} from "./messages/state.ts";
import type { Bound, Origin, Retry } from "./origin.ts";
import type { Reply, Told } from "./outcome.ts";
import { PathIndex } from "./path-index.ts";
import { noSessions, type Sessions } from "./sessions/table.ts";
import { noTasks, type Tasks } from "./tasks/table.ts";

export type * from "./messages/state.ts";
export type { Incarnation, Session, Sessions } from "./sessions/table.ts";

/** The level of rules this program applies; it also knows the one before. */
export const rulesLevel = 1;
export const rulesKnown: readonly number[] = [1];

/**
 * Everything that is true, as a value made of slices. What is written in a snapshot is under the slices' own
 * names; `derived` parts are indexes that can be built again from the rest.
 */
export interface State {
  /** The level of rules entries are applied under. */
  rules: number;
  /** The last entry applied. */
  seq: number;
  /** The core's time in milliseconds; never goes back. */
  t: number;
  storeId: string;
  epoch: number;
  /** The latest start of each node's daemon. */
  readonly nodes: Map<string, NodeStart>;
  readonly sessions: Sessions;
  readonly locks: Locks;
  readonly tasks: Tasks;
  readonly writes: Writes;
  /** By project, file and the two worktrees, oldest first. */
  readonly risks: Map<string, MergeRisk>;
  /** derived: risks by the sessions of their sides. */
  readonly risksOf: Map<string, Set<string>>;
  readonly notes: Notes;
  readonly context: ContextTable;
  readonly messages: Messages;
  readonly editHolds: EditHolds;
  /** Replies kept for retries, oldest first. */
  readonly replies: Map<string, KeptReply>;
  /** derived: their lengths together, as JSON in UTF-16 units. */
  replyChars: number;
  /** The latest event that anybody could hear of: the epoch and entry it came from, and its number there. */
  told: Told;
}

export interface NodeStart {
  readonly epoch: number;
  readonly at: number;
}

export interface Locks {
  readonly holds: Map<string, Hold>;
  /** By ticket, which is the entry that joined the line: in the order of the line. */
  readonly waiters: Map<number, Waiter>;
  /** Grants so far; the next token's last part is one more. */
  grants: number;
  /** Writes whose hold ended before they did, by actor and tool use, oldest first. */
  readonly expiredWrites: Map<string, ExpiredWrite>;
  /** derived */
  readonly heldPaths: PathIndex;
  /** derived */
  readonly waitedPaths: PathIndex;
  /** derived: tickets waiting for a key, each with the file that has it. */
  readonly waitersAt: Map<string, Map<number, FileRef>>;
  /** derived: held keys, and tickets of waiting requests, by words that are not the key's own path. */
  readonly heldWords: OtherWords<string>;
  readonly waitedWords: OtherWords<number>;
  /** derived: who waits for whom. */
  readonly graph: WaitGraph;
  /** derived */
  readonly actors: ActorTable;
  /** derived: waiting requests by where their answer goes. */
  readonly byOrigin: Map<string, number>;
  /** derived: held keys by the connections that they, or what comes back of them, are bound to. */
  readonly byBound: Map<string, Set<string>>;
}

/** Compared as (epoch, grant). */
export interface Token {
  readonly epoch: number;
  readonly grant: number;
}

export interface Hold {
  readonly key: string;
  /** As the latest request spelled it, where the key is folded. */
  path?: string | undefined;
  file: string;
  lexical: string;
  dir: boolean;
  readonly actor: Actor;
  kind: LockKind;
  prompt: string | null;
  bound: Bound | null;
  token: Token;
  /** The first token of this unbroken hold: what was issued between it and `token` is valid. */
  readonly first: Token;
  readonly since: number;
  touched: number;
  /** When a person was asked, which renews the lease once; or null. */
  renewed: number | null;
  readonly yieldMs: number;
  /** Tool uses that may write now. */
  flights: readonly string[];
  readonly ancestors: readonly (string | null)[];
  /** Whose explicit hold this is in truth: it comes back when the borrower is done. */
  loan: Loan | null;
  /**
   * Where the grant was sent, and where the actor, who asked again, was told so as well. What was not delivered goes
   * from these; without any the grant is undone. With `limits.grantAnswersMax` that asked again, one has heard.
   */
  origin: Origin;
  askedAgain: readonly Origin[];
  /** The retry that the answer to the latest request for it was kept for. */
  retry: Retry | null;
  /** derived: what its actor has; null until it is held. */
  row: ActorLocks | null;
}

/** An explicit hold that a descendant uses. */
export interface Loan {
  readonly actor: Actor;
  readonly bound: Bound | null;
  readonly first: Token;
  readonly since: number;
  readonly ancestors: readonly (string | null)[];
  /** As of the hold: whether its lender heard of it, and what a retry of that is told. */
  readonly origin: Origin;
  readonly askedAgain: readonly Origin[];
  readonly retry: Retry | null;
  readonly loan: Loan | null;
}

export interface ExpiredWrite {
  readonly actor: Actor;
  readonly key: string;
  readonly path?: string | undefined;
  readonly file: string;
  readonly at: number;
}

export interface Waiter {
  readonly ticket: number;
  /** Where the answer goes; null: detached, passed over until asked again. */
  origin: Origin | null;
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  single: boolean;
  kind: LockKind;
  prompt: string | null;
  flight: string | null;
  yieldMs: number;
  readonly ancestors: readonly (string | null)[];
  bound: Bound | null;
  placeMs: number;
  detach: boolean;
  progress: boolean;
  readonly since: number;
  waitMs: number;
  /** End of the wait while attached, of the place while detached. */
  deadline: number;
  /** End of the wait that `flight` asked for, however often it was interrupted: its hook goes by its own clock. */
  waitEnd: number;
  retry: Retry | null;
  /** derived: what its actor has; null until it is in line. */
  row: ActorLocks | null;
  /** derived: how much stands between it and its files; null while nobody listens for it. */
  blockers: number | null;
}

export interface Writes {
  /** By key, in the order of their latest writes. */
  readonly files: Map<string, DirtyFile>;
  /** derived: keys by the sessions of their writers. */
  readonly byWriter: Map<string, Set<string>>;
  /** derived: keys by the top of their worktree. */
  readonly byWorktree: Map<string, Set<string>>;
  /** derived: keys by project and path in the repository. */
  readonly byFile: Map<string, Set<string>>;
}

/** Work in one file of a repository in two of its worktrees. */
export interface MergeRisk {
  readonly project: string;
  readonly file: string;
  readonly sides: readonly [MergeSide, MergeSide];
  /** Sessions that were told with an answer of theirs. */
  readonly told: readonly string[];
}

export interface MergeSide {
  readonly worktree: string;
  readonly actor: Actor;
}

/** A file with uncommitted work in it, as far as was seen. */
export interface DirtyFile {
  readonly key: string;
  readonly file: string;
  readonly worktree: string;
  readonly project: string;
  /** Each actor once, the latest last. */
  readonly writers: readonly Writer[];
}

export interface Writer {
  readonly actor: Actor;
  /** As people saw it then: its session may be gone. */
  readonly name: string;
  readonly ancestors: readonly (string | null)[];
  readonly by: "edit" | "shell";
  /** Wall time in milliseconds. */
  readonly wallMs: number;
  /** The entry that noted its latest write. */
  readonly seq: number;
}

export interface KeptReply {
  readonly digest: string;
  readonly at: number;
  /** Where it was sent last. */
  readonly to: Origin;
  readonly reply: Reply;
  /** Of the reply as JSON, in UTF-16 units. */
  readonly chars: number;
}

/** The state before the first entry. */
export function emptyState(): State {
  const touched = new Set<string>();
  return {
    rules: rulesLevel,
    seq: 0,
    t: 0,
    storeId: "",
    epoch: 0,
    nodes: new Map(),
    sessions: noSessions(touched),
    locks: {
      holds: new Map(),
      waiters: new Map(),
      grants: 0,
      expiredWrites: new Map(),
      heldPaths: new PathIndex(),
      waitedPaths: new PathIndex(),
      waitersAt: new Map(),
      heldWords: new OtherWords(),
      waitedWords: new OtherWords(),
      graph: new WaitGraph(),
      actors: actorTable(touched),
      byOrigin: new Map(),
      byBound: new Map(),
    },
    tasks: noTasks(touched),
    writes: { files: new Map(), byWriter: new Map(), byWorktree: new Map(), byFile: new Map() },
    risks: new Map(),
    risksOf: new Map(),
    notes: noNotes(),
    context: noContext(),
    messages: noMessages(touched),
    editHolds: noEditHolds(touched),
    replies: new Map(),
    replyChars: 0,
    told: { epoch: 0, seq: 0, n: 0 },
  };
}
