/** The types between the daemon and an adapter: plan, context, and what the daemon knows of a client. */

import type { HookReply } from "../../protocol/schemas/hook.ts";
import type { Doing } from "../../protocol/schemas/session.ts";
import type { HookAction, HookOutcome } from "./slices.ts";
import type { ClientTeams } from "./teams.ts";

// What is known of an agent client besides the form of its events: a value of its folder.

/** How far a client's hooks reach in time, and what they tell of who acts. */
export interface ClientLimits {
  /** The longest wait of an edit for its lock, in ms. A shorter wait of the user's settings holds. */
  readonly lockWaitMaxMs: number;
  /** Both events around a call have its id. False: an end is that of the latest call with the same tool and input. */
  readonly namesCalls: boolean;
  /**
   * How long after its allow a write may still land if the client never tells its end, in ms. `yieldMs` later its lock
   * yields, and the next prompt ends it. Null: the client tells the end of each write, or of its turn.
   */
  readonly untoldWriteMs: number | null;
  /** The same for a patch that a shell line applies. */
  readonly untoldPatchMs: number | null;
  /** A prompt that names no turn shows that the turn before is over. False: it tells nothing about turns. */
  readonly promptsEndTurns: boolean;
  /**
   * Without a turn for this long, in ms, a session counts as lost: its hooks' parent may run many sessions and outlive them.
   * Null: its process or an event ends it.
   */
  readonly idleEndMs: number | null;
  /**
   * The client tells no end of the session that `/clear` ends, and the next session of the same process goes on with
   * it. If the process's command line has one of these words, it runs many sessions. Then nobody can tell which session
   * ended. Null: the client tells the end.
   */
  readonly clearGoesOnUnless: readonly string[] | null;
  /** Events name the subagent that acts. False: all agents of a session share their locks. */
  readonly tellsSubagents: boolean;
  /** It refuses to write over a change that its agent has not read. False: the daemon does, where the whole file is replaced. */
  readonly refusesStaleWrites: boolean;
  /** It asks about all calls of a message before the first of them runs. */
  readonly asksAllFirst: boolean;
}

/** What plans and their words need to know of a client. */
interface ClientWords {
  /** The name of its tool that runs a shell line. */
  readonly shellTool: string;
  /** Variables of its shells that often say where a command runs. */
  readonly placeVariables: readonly string[];
  /** Variables by which `kite` knows that an agent of the client runs it. */
  readonly agentVariables: readonly string[];
}

export interface AgentClient {
  /** Its name in installed entries, on the wire and in lists: `codex`. At most 40 of `a-z` and `-`. */
  readonly name: string;
  /** Its name in sentences: `Codex`. */
  readonly title: string;
  readonly limits: ClientLimits;
  readonly words: ClientWords;
}

/** What a plan needs from outside the payload. */
export interface HookContext {
  readonly env: Readonly<Record<string, string>>;
  readonly ppid: number | null;
  /** The socket, for the client's environment file. */
  readonly socket: string;
  /** Kite's own directory. */
  readonly home: string;
  readonly waitMs: number;
  /** The hook runs beside the one that ends the turn, and wakes its session when it exits with 2. */
  readonly wake: boolean;
  /** The event is what the client gives its status line. */
  readonly statusLine?: boolean;
  /** Ids for the calls of a client that names none. */
  readonly calls: CallIds;
}

/** Gives ids to calls by their words, of at most 100 characters; two calls may have the same words. */
export interface CallIds {
  /** Returns the id of a call that is about to run. */
  begins(words: string): string;
  /** Returns the id of the latest call with these words that has not ended; the first one's if none is known. */
  ends(words: string): string;
}

/**
 * One event at the seam between the daemon and the adapter for one agent client. The adapter, which is pure, turns it into
 * actions. The daemon runs them up to the first refusal (`actions.ts` says which run after it, too). The adapter
 * words the outcomes for the hook to print. So the core knows no client, and the adapter no sockets.
 */
export interface HookPlan {
  readonly event: string;
  readonly session: string | null;
  readonly agent: string | null;
  readonly tool: string | null;
  /** The id of the call that may still be denied; absent: the event is about none. */
  readonly toolUseId?: string;
  readonly file: string | null;
  /** What the actor does now, or did, if the event says it. */
  readonly doing: Doing | null;
  /** The client, if its entries name it; the daemon sets it. */
  readonly client?: string;
  /** The record of the spawned agent that the session is, by `KITE_SPAWN` in its environment. */
  readonly spawn?: string;
  /** The client's own folder, as far as the event tells. */
  readonly home: string | null;
  /** The transcript of the session; null if the event names none. */
  readonly transcript: string | null;
  /** The event is a subagent's and does not say whose: this client tells no agents apart. */
  readonly namesNoAgent?: true;
  readonly actions: readonly HookAction[];
  /** The rule by which the adapter itself refuses the step, and the reason for the trail; absent if the outcomes tell whether it may happen. */
  readonly refuses?: { readonly rule: string; readonly why: string };
  readonly answer: (outcomes: readonly HookOutcome[]) => Omit<HookReply, "ok">;
  /**
   * The answer of outcomes that deny the tool, with what the person in front of the session reads. The person reads
   * that Kite stopped the tool, and how to learn more. `name` is the agent's. Absent: the event is about no tool that
   * could be denied. Null: the answer tells the person something else already.
   */
  readonly tellDenial?: (outcomes: readonly HookOutcome[], name: string) => Omit<HookReply, "ok"> | null;
}

/** What the daemon knows of one agent client. Pure: it reads no file and no clock. */
export interface HookAdapter extends AgentClient {
  /** Turns one event into a plan. Never throws: an unknown event has no actions and an empty answer. */
  plan(event: Readonly<Record<string, unknown>>, context: HookContext): HookPlan;
  /** Null: the client has no such files, or none that anybody but the client may read. */
  readonly agentFile: AgentFile | null;
  readonly teams: ClientTeams | null;
  readonly lifeFiles: LifeFiles | null;
}

/** A file in which the client keeps the parent of one of its agents. */
export interface AgentFile {
  /** Whether an absolute path can be such a file. The daemon reads no other, whatever an event names. */
  isOne(path: string): boolean;
  /** The parent of the agent; null if the text names none or does not have the form of such a file. */
  parentIn(text: string): string | null;
}

/** Files in which the client shows that an agent lives. Pure: it says which they are, and what their texts mean. */
export interface LifeFiles {
  /** The files of an agent; null if `transcript` cannot be a transcript of the client. */
  of(agent: WatchedAgent): { readonly transcript: string; readonly status: string | null } | null;
  /** What the end of a transcript tells, by its last lines, the oldest first; the first may be cut. */
  readEnd(lines: readonly string[]): TranscriptEnd;
  /** Which subagent acts, by the same lines of the main agent's transcript; null: the main agent itself, as far as they tell. */
  readSubagent(lines: readonly string[]): LikelySubagent | null;
  /** What the status file of this session says; null if it is another session's, or has another form. */
  readStatus(text: string, session: string): ClientStatus | null;
}

/**
 * A subagent that probably acts: a guess, for texts and the trail alone. It owns nothing, and no gate holds anybody back by it.
 */
export interface LikelySubagent {
  /** The kind of agent that was asked for. */
  readonly type: string;
  /** What it was asked to do, in a few words; null: the call does not say. */
  readonly description: string | null;
  /** Another subagent began it. */
  readonly isNested: boolean;
  /** So many further subagents run beside it, and each of these may be the one. Those that wait for it do not count. */
  readonly others: number;
}

export interface WatchedAgent {
  readonly session: string;
  readonly agent: string | null;
  /** The transcript that the session's events name. */
  readonly transcript: string;
  readonly pid: number | null;
}

/**
 * `tool`: a tool is called and has not answered. `service`: the client asks the model's service again and again.
 * `interrupted`: a person interrupted the turn. `model`: none of these. `unknown`: the lines do not tell.
 */
export type TranscriptEnd = "tool" | "service" | "interrupted" | "model" | "unknown";

/** `waiting`: on a person; `on` says for what, in the client's words. */
export interface ClientStatus {
  readonly status: "busy" | "idle" | "waiting";
  readonly on: string;
}

// How a client that runs in a terminal is started as an agent.

/** An agent to start. */
export interface TerminalOrder {
  readonly name: string;
  /** What it is to do, and what Kite tells it of itself; it does not begin with `-`. */
  readonly prompt: string;
  readonly model: string | null;
}

export interface TerminalClient {
  /** Its name, as its adapter has it. */
  readonly name: string;
  readonly program: string;
  /** Returns the arguments of a session at work on its prompt, under the person's own permissions, that a person can join. */
  readonly words: (order: TerminalOrder) => string[];
}
