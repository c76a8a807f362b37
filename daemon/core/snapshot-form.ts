/** How a snapshot stores the state: its header, its lists, and the rows of those whose fields change. */

import type {
  ContextItem,
  DirtyFile,
  ExpiredWrite,
  Freeze,
  Hold,
  KeptReply,
  MergeRisk,
  Message,
  NodeStart,
  Session,
  Waiter,
} from "./base-state.ts";
import type { Declaration } from "./declarations/table.ts";
import type { CheckResult } from "./lead/checks/table.ts";
import type { Debate } from "./lead/debates/table.ts";
import type { Merge } from "./lead/merges/table.ts";
import type { Spawn } from "./lead/spawns/table.ts";
import type { Conflict, PendingNotes } from "./messages/notice-table.ts";
import type { NewMessage } from "./messages/table.ts";
import type { EventCursor } from "./outcome.ts";
import type { KeptName, NameSource } from "./sessions/name-source.ts";
import type { GivenRole, Member, Teammate } from "./sessions/table.ts";
import type { StashEntry } from "./stashes/table.ts";
import type { Task, Tasks } from "./tasks/table.ts";

/** Single values, and lists that stay short. */
export interface Header {
  readonly format: number;
  readonly rules: number;
  readonly seq: number;
  readonly t: number;
  readonly storeId: string;
  readonly epoch: number;
  readonly nodes: readonly (readonly [string, NodeStart])[];
  readonly ended: readonly (readonly [string, number])[];
  readonly grants: number;
  readonly expiredWrites: readonly (readonly [string, ExpiredWrite])[];
  readonly taskCount: number;
  /** Absent in snapshots from before tasks were numbered by project. */
  readonly taskNumbers?: readonly (readonly [string, number])[];
  readonly taskNumbersFrom?: number;
  readonly taskStamp?: Tasks["stamp"];
  readonly contextVersions: number;
  /** Absent: no debate was ever opened. */
  readonly debateCount?: number;
  /** Absent: no agent was ever spawned. */
  readonly spawnCount?: number;
  /** Absent: no merge was ever queued. */
  readonly mergeCount?: number;
  readonly messageCount: number;
  readonly sent: readonly (readonly [string, readonly number[]])[];
  readonly editHoldCount: number;
  readonly noteCount: number;
  /** Absent in snapshots from before declarations. */
  readonly endedDeclarations?: number;
  readonly told: EventCursor;
}

type PlainHold = Omit<Hold, "row" | "placeInRow" | "place"> & {
  /** Absent: that of its first token. */
  readonly place?: number | undefined;
};
type PlainWaiter = Omit<Waiter, "row" | "blockers">;

/** The lists by the name on their lines, in the order of writing and reading. */
export interface Lists {
  sessions: Omit<Session, "agents" | "teammates" | "roles" | "members" | "namedBy"> & {
    /** Absent: the client, in snapshots from before sources of names. */
    readonly namedBy?: NameSource;
    readonly agents?: readonly (readonly [string, string])[];
    readonly teammates?: readonly (readonly [string | null, Teammate])[];
    /** Absent: nobody gave any. */
    readonly roles?: readonly (readonly [string | null, GivenRole])[];
    /** Absent: it leads no other session. */
    readonly members?: readonly (readonly [string, Member])[];
  };
  keptNames: readonly [string, KeptName];
  idle: string;
  holds: PlainHold;
  waiters: PlainWaiter;
  tasks: Task;
  writes: DirtyFile;
  settled: DirtyFile;
  risks: readonly [string, MergeRisk];
  notes: PendingNotes;
  conflicts: readonly [string, Omit<Conflict, "id">];
  declarations: Declaration;
  endedDeclarations: readonly [number, Declaration];
  context: ContextItem;
  debates: Debate;
  messages: NewMessage;
  editHolds: Freeze;
  checks: CheckResult;
  spawns: Spawn;
  merges: Merge;
  stashes: StashEntry;
  replies: readonly [string, KeptReply];
}

export type Part = { readonly [N in keyof Lists]?: readonly Lists[N][] };

export function plainSession({ roles, members, ...session }: Session): Lists["sessions"] {
  return {
    ...session,
    agents: [...session.agents],
    teammates: [...session.teammates],
    ...(roles.size === 0 ? {} : { roles: [...roles] }),
    ...(members.size === 0 ? {} : { members: [...members] }),
  };
}

/** Copies the fields in a fixed order, whatever created the object. Naming each is by far the fastest way to copy. */
export function plainHold(hold: Hold): PlainHold {
  return {
    key: hold.key,
    path: hold.path,
    file: hold.file,
    lexical: hold.lexical,
    dir: hold.dir,
    actor: hold.actor,
    kind: hold.kind,
    prompt: hold.prompt,
    bound: hold.bound,
    token: hold.token,
    first: hold.first,
    place: hold.place === hold.first.grant ? undefined : hold.place,
    since: hold.since,
    touched: hold.touched,
    renewed: hold.renewed,
    yieldMs: hold.yieldMs,
    flights: hold.flights,
    unseen: hold.unseen,
    expiredFlights: hold.expiredFlights,
    ancestors: hold.ancestors,
    loan: hold.loan,
    origin: hold.origin,
    askedAgain: hold.askedAgain,
    retry: hold.retry,
  };
}

/** Returns a lock as it was written; `addHold` puts it in its row. */
export function holdOf(plain: PlainHold): Hold {
  return {
    key: plain.key,
    path: plain.path,
    file: plain.file,
    lexical: plain.lexical,
    dir: plain.dir,
    actor: plain.actor,
    kind: plain.kind,
    prompt: plain.prompt,
    bound: plain.bound,
    token: plain.token,
    first: plain.first,
    place: plain.place ?? plain.first.grant,
    since: plain.since,
    touched: plain.touched,
    renewed: plain.renewed,
    yieldMs: plain.yieldMs,
    flights: plain.flights,
    unseen: plain.unseen,
    expiredFlights: plain.expiredFlights,
    ancestors: plain.ancestors,
    loan: plain.loan,
    origin: plain.origin,
    askedAgain: plain.askedAgain,
    retry: plain.retry,
    row: null,
    placeInRow: 0,
  };
}

export function plainWaiter(waiter: Waiter): PlainWaiter {
  return {
    ticket: waiter.ticket,
    origin: waiter.origin,
    actor: waiter.actor,
    files: waiter.files,
    single: waiter.single,
    kind: waiter.kind,
    prompt: waiter.prompt,
    flight: waiter.flight,
    yieldMs: waiter.yieldMs,
    ancestors: waiter.ancestors,
    bound: waiter.bound,
    placeMs: waiter.placeMs,
    detach: waiter.detach,
    progress: waiter.progress,
    since: waiter.since,
    waitMs: waiter.waitMs,
    deadline: waiter.deadline,
    waitEnd: waiter.waitEnd,
    retry: waiter.retry,
  };
}

export function plainTask(task: Task): Task {
  return {
    id: task.id,
    n: task.n,
    project: task.project,
    createdAt: task.createdAt,
    createdBy: task.createdBy,
    updatedAt: task.updatedAt,
    description: task.description,
    priority: task.priority,
    labels: task.labels,
    dependsOn: task.dependsOn,
    attempts: task.attempts,
    debate: task.debate,
    risk: task.risk,
    approved: task.approved,
    state: task.state,
  };
}

export function plainMessage(message: Message): NewMessage {
  return {
    id: message.id,
    order: message.order,
    project: message.project,
    from: message.from,
    text: message.text,
    bytes: message.bytes,
    replyTo: message.replyTo,
    thread: message.thread,
    urgent: message.urgent,
    broadcast: message.broadcast,
    at: message.at,
    letters: [...message.letters.values()],
  };
}
