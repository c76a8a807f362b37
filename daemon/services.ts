import type { HookAdapter } from "../protocol/adapter.ts";
import type { GuardMode, TreeChange } from "../protocol/guard.ts";
import type { Baselines, Stamped } from "./baselines.ts";
import type { Clock } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { Actor, Anchor } from "./core/entry.ts";
import type { Engine } from "./engine.ts";
import type { EventHub } from "./event-hub.ts";
import type { Changed } from "./facts-change.ts";
import type { CommitMark } from "./facts-commit.ts";
import type { Repository } from "./facts-git.ts";
import type { Unreachable } from "./facts-outside.ts";
import type { PathFact } from "./facts-path.ts";
import type { FileState } from "./facts-work.ts";
import type { GitPlace } from "./git-child.ts";
import type { Guarded } from "./guard-taken.ts";
import type { GuardTold } from "./guard-told.ts";
import type { HookLocks } from "./hook-lock.ts";
import type { HookNotes } from "./hook-notes.ts";
import type { HookWakes } from "./hook-wake.ts";
import type { PresenceTable } from "./presence.ts";
import type { ProjectRules } from "./project-rules.ts";
import type { Recorder } from "./recorder.ts";
import type { RiskNotes } from "./risk-notes.ts";
import type { SilenceReader } from "./silence.ts";
import type { Suspicions } from "./suspicions.ts";
import type { ToolUses } from "./tool-uses.ts";
import type { Turns } from "./turns.ts";
import type { Allowance } from "./work-clock.ts";
import type { Writers } from "./writers.ts";

/** Facts of the outside world, gathered before a command is made. */
export interface Facts {
  /** The name as an absolute path, in words alone. */
  lexical(cwd: string, file: string): string;
  /** The answer where it can be had without waiting, else null. */
  pathNow(cwd: string, file: string): PathFact | null;
  path(cwd: string, file: string): Promise<PathFact | Unreachable>;
  /** What the file is now; null when it cannot be looked at in time. */
  stamped(path: string): Promise<Stamped | null>;
  /** The same when it can be had without waiting, else null. */
  stampedNow(lexical: string, path: string): Stamped | null;
  /** The parent that a client's own file about a nested agent names; null where it names none. */
  parentAgent(file: string): Promise<string | null | Unreachable>;
  repository(cwd: string): Promise<Repository | Unreachable>;
  /** What is uncommitted among `files` (relative to the worktree). */
  work(
    place: GitPlace,
    files: readonly string[],
    allowance?: Allowance,
  ): Promise<ReadonlyMap<string, FileState> | Unreachable>;
  /** What looks at several places may spend together. */
  allowance(): Allowance;
  /** Which of `files` a command would change that puts other commits into the working tree. */
  change(place: GitPlace, change: TreeChange, files: readonly string[]): Promise<Changed | Unreachable>;
  /** The text of an alias of git's where a command runs; null where there is none. */
  alias(name: string, cwd: string, gitDir: string | null): Promise<string | null | Unreachable>;
  /** The worktree of a command in `cwd` that was given a git directory of its own; null where there is none. */
  worktreeOf(cwd: string, gitDir: string): Promise<string | null | Unreachable>;
  /** Where a repository stands, for `commits` to go on from. */
  commitMark(place: GitPlace): Promise<CommitMark | Unreachable>;
  /** Files among `files` that are in commits made since `mark`, with the abbreviated id of each one's latest. */
  commits(
    place: GitPlace,
    mark: CommitMark,
    files: readonly string[],
  ): Promise<ReadonlyMap<string, string> | Unreachable>;
  /** The process as an anchor, if the daemon itself can see it and it is the user's. */
  anchor(pid: number): Anchor | null;
  isAlive(anchor: Anchor): boolean;
}

/** What request handlers work with. */
export interface Services {
  readonly node: string;
  readonly version: string;
  readonly startedAt: number;
  readonly socket: string;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly presence: PresenceTable;
  readonly facts: Facts;
  readonly events: EventHub;
  readonly turns: Turns;
  readonly recorder: Recorder;
  readonly adapter: HookAdapter | null;
  readonly silence: SilenceReader;
  readonly hookWaitMs: number;
  readonly rules: ProjectRules;
  readonly treeGuard: GuardMode;
  readonly hookLocks: HookLocks;
  readonly hookNotes: HookNotes;
  readonly hookWakes: HookWakes;
  readonly writers: Writers;
  readonly riskNotes: RiskNotes;
  readonly toolUses: ToolUses;
  readonly baselines: Baselines;
  readonly suspicions: Suspicions;
  readonly guardTold: GuardTold;
  readonly guarded: Guarded;
  readonly counters: Counters;
  connections(): Iterable<Connection>;
  /** Bytes in the journal after the last snapshot, and whether the disk is full. */
  journal(): { readonly bytes: number; readonly full: boolean };
  /** Ends the daemon after the replies under way. */
  stop(why: string): void;
}

/** Since the daemon started. */
export interface Counters {
  requests: number;
  refused: number;
  readonly hooks: Map<string, number>;
}

/** The part of a session that acts: by the process it came from, else the first one alive. */
export function actorOf(
  services: Services,
  session: string,
  agent: string | null,
  pid: number | null,
): Actor {
  const incarnations = services.engine.state.sessions.live.get(session)?.incarnations;
  const own = incarnations?.find(i => pid !== null && i.anchor?.pid === pid);
  return { session, agent, incarnation: (own ?? incarnations?.[0])?.ordinal ?? 0 };
}
