import type { Refusal } from "../../protocol/codes.ts";
import type { AliasedCommand, GuardedCommand, GuardFinding, GuardMode } from "../../protocol/guard.ts";
import type { HookReply } from "../../protocol/hook.ts";
import type { FileLockReply } from "../../protocol/lock.ts";
import type { MessageRow } from "../../protocol/message.ts";
import type { SessionRow, WorkedOn } from "../../protocol/session.ts";
import type { FileNote, FreedFile, LockNote, MergeNote } from "./notices.ts";

/**
 * The seam between the daemon and an adapter for one agent's client. The adapter is pure: an event becomes
 * actions, the daemon carries them out in order up to the first refusal (a guard and an inbox after it too), and the
 * adapter puts the outcomes into what the hook prints. So the core knows nothing of any client, and the adapter nothing of sockets.
 */
export type HookAction =
  | {
      /** Register the session, or bring it up to date; `revive` lets an ended id begin again. */
      readonly do: "begin";
      readonly session: string;
      readonly cwd: string;
      readonly pid?: number;
      readonly revive: boolean;
    }
  | {
      /** A sign of life; `active` says whether a turn runs. Never registers anybody. */
      readonly do: "seen";
      readonly session: string;
      readonly agent?: string;
      readonly active?: boolean;
      /** What waits on a person, or null when nothing does any more. */
      readonly attention?: string | null;
      /** What people call the agent: a teammate's name, a subagent's type. With `agent` left out it says which one. */
      readonly agentName?: string;
      /** The main agent began it, perhaps through others: what that one holds passes to it. */
      readonly descends?: boolean;
      /** The agent is no more. */
      readonly ended?: boolean;
    }
  | {
      /** Take the file for the rest of the actor's turn; may wait. */
      readonly do: "lock";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly file: string;
      readonly cwd: string;
      readonly promptId: string | null;
      readonly toolUseId: string;
      readonly waitMs: number;
      /** Agents of the session whose holds pass to this one; null is the main agent. */
      readonly ancestors: readonly (string | null)[];
      /** The client's own file that names a nested agent's parent, or null where there is none to look at. */
      readonly parentFile: string | null;
      /** The tool would write over a change it never saw: where there is one, it is denied and not in flight. */
      readonly overwrites: boolean;
    }
  | {
      /** Look whether git commands reach other actors' uncommitted work, and take the indexes that they write. */
      readonly do: "guard";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly cwd: string;
      readonly toolUseId: string;
      readonly promptId: string | null;
      /** How long to wait for an index. */
      readonly waitMs: number;
      readonly commands: readonly GuardedCommand[];
      /** Those that may come to further ones. */
      readonly aliases: readonly AliasedCommand[];
      /** Why a part of the line could not be read, and passes; for the trail. null: all of it was. */
      readonly unread: string | null;
      /** As for a lock: whose holds pass to this actor, and whose work it may touch. */
      readonly ancestors: readonly (string | null)[];
      readonly parentFile: string | null;
      /** For the trail: what its first command is called, never words of the line. */
      readonly line: string;
      /** The whole line, to know it again; it is not kept. */
      readonly typed: string;
    }
  | {
      /** The actor makes a call that comes to the daemon through a process it shares with others. */
      readonly do: "acts";
      readonly session: string;
      readonly agent?: string;
      readonly toolUseId: string;
      readonly cwd: string;
      /** The shell line, where the call is a command in it. */
      readonly command?: string;
    }
  | {
      /** A write ended; with `toolUseId: null` all of the actor's. */
      readonly do: "flight_end";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly toolUseId: string | null;
      /** The file was written, and where, for people: "lines 10-40". */
      readonly wrote: boolean;
      readonly file: string | null;
      readonly cwd: string;
      readonly lines: string | null;
      /** Agents of the session that this one works for; null is the main agent. */
      readonly ancestors: readonly (string | null)[];
    }
  | {
      /** A shell command ended: what it changed is looked for among files that are held or not committed yet. */
      readonly do: "shell_end";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly toolUseId: string;
      readonly cwd: string;
      /** How long it ran; null where that is not told. */
      readonly ranMs: number | null;
      readonly ancestors: readonly (string | null)[];
    }
  | {
      /** The actor's git command waits for a person, or will not run: others may write the indexes it took. */
      readonly do: "index_end";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
    }
  | {
      /** A person is asked about the actor's write: its lease begins anew, once. */
      readonly do: "renew";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
    }
  | {
      /** Agents that are gone have ended their turn, whether an event said so or not. */
      readonly do: "reconcile";
      readonly session: string;
      readonly pid?: number;
      readonly isGone: (agent: string) => boolean;
    }
  | {
      /** The session's process goes on under another id: what it keeps waits a little for that. */
      readonly do: "suspend";
      readonly session: string;
      readonly pid?: number;
    }
  | {
      /** Release the actor's turn holds; with `keepPrompt` only those of other prompts. */
      readonly do: "turn_end";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly keepPrompt?: string;
    }
  | {
      /**
       * The actor's event is about to be answered: what it was shown before counts as read. With `take` the answer
       * shows what is unread next. Carried out after a refusal, too.
       */
      readonly do: "inbox";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly take: boolean;
    }
  | {
      /** The answer of an event that nobody waits for may tell what went past locks; messages stay unread. */
      readonly do: "notes";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
    }
  | {
      /** End the incarnation anchored at `pid`, or the session. */
      readonly do: "end";
      readonly session: string;
      readonly pid?: number;
      readonly cause: string;
    }
  | {
      /** A prompt came: what is to wake the session ends; one by a person lets it be woken anew. */
      readonly do: "prompted";
      readonly session: string;
      readonly promptId: string | null;
      readonly byPerson: boolean;
    }
  | {
      /** The session stopped: wait, for a while, until a file is free that its main agent was refused in this turn. */
      readonly do: "wake";
      readonly session: string;
      readonly promptId: string | null;
    }
  | {
      /** Look at who lives in the session's project. */
      readonly do: "look";
      readonly session: string;
    };

/** Actions that bring nothing to tell. */
export type PlainAction =
  | "seen"
  | "turn_end"
  | "end"
  | "flight_end"
  | "shell_end"
  | "index_end"
  | "renew"
  | "acts"
  | "reconcile"
  | "suspend"
  | "prompted";

/** What an action brought. `lock` tells whether and how long the actor waited, and who held the file before. */
export type HookOutcome =
  | {
      readonly did: "begin";
      readonly ok: true;
      readonly name: string;
      readonly project: string;
      /** Why the repository that the session works in is not known now. */
      readonly unplaced?: string;
    }
  | { readonly did: PlainAction; readonly ok: true }
  | { readonly did: "wake"; readonly ok: true; readonly freed: FreedFile | null }
  /** A lock that is not needed: the file is ignored. */
  | { readonly did: "ignored"; readonly ok: true }
  | {
      readonly did: "look";
      readonly ok: true;
      /** The session's own name. */
      readonly self: string;
      readonly sessions: readonly SessionRow[];
      readonly locks: readonly LockNote[];
      /** How many tasks of the project could be claimed now. */
      readonly readyTasks: number;
      /** The session's own claims, the latest first. */
      readonly ownTasks: readonly WorkedOn[];
      /** Messages in the main agent's inbox that it was not shown. */
      readonly unread: number;
    }
  | {
      readonly did: "inbox";
      readonly ok: true;
      /** To be shown now. */
      readonly messages: readonly MessageRow[];
      /** Unread ones beside these. */
      readonly unread: number;
      /** What happened to the agent's files since the last one, to be shown now, and how many older notes are lost. */
      readonly notes?: readonly FileNote[];
      readonly dropped?: number;
      /** In how many terminals the session is open, to be told now; null: in one, or told before. */
      readonly terminals?: number | null;
    }
  /** What went past locks since the last one, to be told now. */
  | {
      readonly did: "notes";
      readonly ok: true;
      readonly notes: readonly FileNote[];
      /** Older ones that there was no room for. */
      readonly dropped: number;
    }
  | {
      readonly did: "lock";
      readonly ok: true;
      readonly reply: FileLockReply;
      readonly waitedMs: number;
      /** The file is not what it was when the actor began to wait. */
      readonly changedWhileWaiting: boolean;
      /** Files with work in this and another worktree, that the session has not been told of. */
      readonly mergeRisks: readonly MergeNote[];
      /** Who wrote it meanwhile, as far as it was seen. */
      readonly changedBy: { readonly name: string; readonly lines: string | null } | null;
      readonly before: string | null;
    }
  | {
      readonly did: "guard";
      readonly ok: true;
      readonly mode: GuardMode;
      /** What the aliases came to. */
      readonly aliased: readonly GuardedCommand[];
      /** What the answer has to tell, all of it; nothing: the line may run. */
      readonly findings: readonly GuardFinding[];
      /** Why not everything could be looked at, a sentence; null where it could. */
      readonly unchecked: string | null;
      /** How long the actor waited for an index, and for whom. */
      readonly waitedMs: number;
      readonly before: string | null;
    }
  | {
      readonly did: HookAction["do"];
      readonly ok: false;
      readonly refusal: Refusal;
      readonly holder: LockNote | null;
      /** How long it was to wait at most, where that is less than was asked. */
      readonly waitMs?: number;
      /** The place in line that the actor keeps although it was refused, counted from 1. */
      readonly place?: number;
    };

/** What a plan needs from outside the payload. */
export interface HookContext {
  readonly env: Readonly<Record<string, string>>;
  readonly ppid: number | null;
  /** The socket, for the client's environment file. */
  readonly socket: string;
  readonly waitMs: number;
  /** The hook runs beside the one that ends the turn, and wakes its session when it exits with 2. */
  readonly wake: boolean;
}

export interface HookPlan {
  readonly event: string;
  readonly session: string | null;
  readonly agent: string | null;
  readonly tool: string | null;
  readonly file: string | null;
  readonly actions: readonly HookAction[];
  readonly answer: (outcomes: readonly HookOutcome[]) => Omit<HookReply, "ok">;
}

/** What the daemon knows of one agent client. Pure: it looks nothing up. */
export interface HookAdapter {
  /** Turns one event into a plan. Never throws: an event it does not know has no actions and an empty answer. */
  plan(event: Readonly<Record<string, unknown>>, context: HookContext): HookPlan;
  readonly agentFile: AgentFile;
}

/** A file in which the client keeps who began one of its agents. */
export interface AgentFile {
  /** Whether an absolute path can be such a file: no other is read, whatever an event names. */
  isOne(path: string): boolean;
  /** The agent that began this one; null where the text names none or is not what such a file holds. */
  parentIn(text: string): string | null;
}
