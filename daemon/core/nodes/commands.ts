/** The commands of a log that several nodes share. A node is a daemon, which also has a log of its own. */
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { AgentEnd } from "../tables/messages.ts";
import type { AgentBegin, SessionBegin, SessionEnd } from "../tables/sessions.ts";
import type { TaskReturn } from "../tables/tasks.ts";

/** The levels of rules that a node's program knows. */
export interface Levels {
  readonly from: number;
  readonly to: number;
}

/** The node lives: its lease counts anew from this entry. The first one makes the node known. */
export interface NodeRenew {
  /** What people call its machine. */
  readonly machine: string;
  /** What binds the node to one machine and one home; a copy of the home has another. */
  readonly binding: string;
  readonly levels: Levels;
  /** The version of the node's program, to be shown to people. */
  readonly version?: string;
  /** Wall time in milliseconds, to be shown to people. */
  readonly wallMs: number;
}

/** The node leaves: its sessions end, and it is no longer known. It joins again in a new start alone. */
export type NodeLeave = object;

/** The session goes on under another id: its claims, its inbox and its name move there, and `from` ends. */
export interface SessionContinue extends Omit<SessionBegin, "anchor" | "revive" | "retry"> {
  readonly from: string;
  /** Further ids that it may have now: what they have goes along, and they end. */
  readonly also?: readonly string[];
}

/** What slices know of an actor that other nodes need, by the names of these parts: see `traitsOf` in `tables/entries.ts`. */
export type Traits = { readonly [part: string]: JsonValue };

/** Of a session: its main agent. Absent: none. */
interface WithTraits {
  readonly traits?: Traits;
}

/**
 * Something that a slice of the node's own log says of an actor, in a row of its own: `parts` in `tables/entries.ts`. The latest
 * one counts.
 */
export interface ActorPart {
  readonly session: string;
  /** Null: the session's main agent. */
  readonly agent: string | null;
  readonly part: string;
  /** Null: the actor has the part no more. */
  readonly value: JsonValue;
}

/** Something that a slice of the node's own log says of the node: `nodeParts` in `tables/entries.ts`. The latest one counts. */
export interface NodePartTold {
  readonly part: string;
  /** Null: the node has the part no more. */
  readonly value: JsonValue;
}

/** The node gave its agent the role that the entry `n` of the shared log sent. */
export interface RoleTaken {
  readonly session: string;
  /** Null: the session's main agent. */
  readonly agent: string | null;
  readonly n: number;
}

/** The node's own log has these sessions alive, and no others. */
export interface NodeSessionsAre {
  readonly sessions: readonly string[];
  /** The agents within them, by session; one that is not named has none. Absent: nothing is said of agents. */
  readonly agents?: readonly (readonly [session: string, agents: readonly string[]])[];
  /** The parts that the node itself has. Absent: nothing is said of these. */
  readonly nodeParts?: readonly string[];
  /** The parts that actors have. Absent: nothing is said of parts. */
  readonly parts?: readonly (readonly [session: string, agent: string | null, part: string])[];
}

/** The commands that a node's own log has for the shared one. `isLost`: its own node lost the session. */
export type Relayable =
  | ({ readonly type: "session_begin"; readonly isLost?: true } & SessionBegin & WithTraits)
  | ({ readonly type: "session_continue" } & SessionContinue & WithTraits)
  | ({ readonly type: "session_end" } & SessionEnd)
  | ({ readonly type: "agent_begin" } & AgentBegin & WithTraits)
  | ({ readonly type: "agent_end" } & AgentEnd)
  | ({ readonly type: "actor_part" } & ActorPart)
  | ({ readonly type: "node_sessions_are" } & NodeSessionsAre)
  | ({ readonly type: "task_return" } & TaskReturn)
  | ({ readonly type: "role_taken" } & RoleTaken)
  | ({ readonly type: "node_part" } & NodePartTold);

/** The place of a command in a node's outbox: numbers rise from one start of its daemon to the next, and within one. */
export interface OutboxNumber {
  /** Stands for a start: its core time in milliseconds, plus the count of starts. */
  readonly epoch: number;
  readonly n: number;
}

/**
 * A command that the node's own log has for the shared one. The node repeats it until the shared log has delivered it. An
 * entry that does not come after the latest one changes nothing. An entry that would leave out a row is refused.
 */
export interface Relayed {
  readonly number: OutboxNumber;
  /** The row before it in the outbox; absent: the shared log has all rows before it. */
  readonly after?: OutboxNumber;
  readonly command: Relayable;
}

export interface NodeCommands {
  node_renew: NodeRenew;
  node_leave: NodeLeave;
  node_sessions_are: NodeSessionsAre;
  session_continue: SessionContinue;
  actor_part: ActorPart;
  node_part: NodePartTold;
  relayed: Relayed;
}

export interface OfNode {
  readonly node: string;
}

/** The timers of nodes. */
export interface NodeDues {
  node_silent: OfNode;
}
