/** The actions of the base that an adapter may put into a plan. */

import type { AliasedCommand, GuardedCommand } from "../../protocol/guard.ts";

// The files that plain commands of a shell line name: between an adapter and the daemon.

/** A path that a command names. It is absolute, perhaps with a `topFolder`, and may be a pattern of the shell's. */
export interface NamedPath {
  /** The command in short form: `rm`, `sed -i`. */
  readonly name: string;
  readonly path: string;
}

/** A command leaves none of what is in the file. */
export interface WipedPath extends NamedPath {
  /** Files below the path, too. */
  readonly isDeep: boolean;
  /** The file at the path is removed; a symbolic link there, and not what it leads to. */
  readonly isRemoved: boolean;
  /** Only files are wiped that are below `from` as they are below `to`. */
  readonly copied?: { readonly from: string; readonly to: string };
}

/** A command changes a part of the file, or moves it. A folder is changed only if it is moved. */
export interface EditedPath extends NamedPath {
  readonly isMoved: boolean;
  /** It stands for the nearest file of its name, from its folder up to the top of the worktree. */
  readonly isNearest?: true;
}

export interface NamedFiles {
  readonly wiped: readonly WipedPath[];
  readonly edited: readonly EditedPath[];
  /** Files that the line writes anew, by `tee` or a redirection: the guard of its git commands looks at these. */
  readonly rewritten: readonly NamedPath[];
}

/** The whole text of a file as a tool sent it, if the event of its write has it. */
export interface SentText {
  /** At most as many UTF-16 units as it has, and what it is made of. */
  readonly chars: number;
  /** Makes the text; null: the event does not have it after all. Pure; never throws. */
  readonly text: () => string | null;
}

/** What a client's limits say of a write; absent fields: its end is told, and it has begun when the next one asks. */
export interface WriteTerms {
  /** Its end may never be told: this long after its allow, in milliseconds, it counts as done. */
  readonly untoldMs?: number;
  /** The actor's earlier writes may not have begun yet. */
  readonly beside?: true;
}

/** A write whose client does not look whether its agent has seen the files as they are. */
export interface UncheckedWrite {
  /** Those that the tool replaces or deletes as a whole: what its agent has not seen of them would be lost. */
  readonly whole: readonly string[];
  /** Of a write of one file: when its agent read it last, as wall time in milliseconds; absent: the client does not tell. */
  readonly readAtMs?: number;
}

/** A call of a tool that is about to run, for actions that may wait before it does. */
interface WaitingCall {
  readonly session: string;
  readonly agent?: string;
  readonly pid?: number;
  readonly cwd: string;
  readonly toolUseId: string;
  readonly promptId: string | null;
  /** The longest wait, in milliseconds. */
  readonly waitMs: number;
  /** Agents of the session whose locks pass to this one, and whose work it may touch; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  /** The client's own file that names a nested agent's parent; null if there is none to read. */
  readonly parentFile: string | null;
}

/** What an adapter asks the daemon to do for one event. `slices.ts` has all actions, `plan.ts` the plan. */
export type BaseAction =
  | {
      /**
       * Register the session, or bring it up to date; `revive` lets an ended id begin again, also in a process that it had.
       * The plan has a heartbeat, too: of a session that is up to date that alone is the sign of life.
       */
      readonly do: "begin";
      readonly session: string;
      readonly cwd: string;
      readonly pid?: number;
      readonly revive: boolean;
      /** The name that its person gave the session in its client. */
      readonly title?: string;
      /** Its person cleared the conversation: `ClientLimits.clearGoesOnUnless`. */
      readonly goesOnUnless?: readonly string[];
    }
  | {
      /** A sign of life; `active` says whether a turn runs. It registers no session and no agent. */
      readonly do: "heartbeat";
      readonly session: string;
      readonly agent?: string;
      readonly active?: boolean;
      /** What waits for a person, or null if nothing does any more. */
      readonly attention?: string | null;
      /** The agent's name for people: a teammate's name, a subagent's type. Without `agent` it says which one. */
      readonly agentName?: string;
      /** The agent's own name and its team, if it is a teammate. Without `agent` the session itself is one. */
      readonly teammate?: { readonly name: string; readonly team: string };
      /** The main agent began it, perhaps through others: the main agent's locks pass to it. */
      readonly descends?: boolean;
      /** The agent has ended; `stopped`: another agent stopped it. */
      readonly ended?: boolean;
      readonly stopped?: boolean;
      /** With `active` false: the turn ended by an error of the agent's client. */
      readonly failed?: boolean;
    }
  | ({
      /** Lock the file, and those of the same edit, for the rest of the actor's turn: all of them or none; may wait. */
      readonly do: "lock";
      readonly file: string;
      /** Further files that the same edit writes. */
      readonly moreFiles?: readonly string[];
      /** Files of which a change during the wait would be lost, or could not be told: then the tool is denied, and no write begins. */
      readonly overwrites: readonly string[];
      /** Absent: the client itself refuses to write over a change that its agent has not read. */
      readonly unchecked?: UncheckedWrite;
    } & WaitingCall &
      WriteTerms)
  | {
      /** The client created a task of its own list, or calls one completed; after the gate, if one is asked. */
      readonly do: "client_task";
      readonly session: string;
      readonly agent?: string;
      readonly list: string;
      /** The list is the session's own: it ends with the session. */
      readonly isOwnList: boolean;
      readonly task: string;
      readonly subject: string;
      /** The teammate that has the task, by its name; null if the event does not say. */
      readonly owner: string | null;
      readonly state: "created" | "completed";
    }
  | {
      /** A teammate is idle, and the client has said which of its tasks are in progress. */
      readonly do: "client_idle";
      readonly session: string;
      readonly agent?: string;
      /** Its team, whose lead the client wakes; null if the event names none. */
      readonly team: string | null;
    }
  | {
      /** A call of the actor succeeded, or with `error` failed; `tool` is its name. */
      readonly do: "record_result";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly tool: string;
      readonly error: string | null;
    }
  | {
      /** The actor's model has lost what it was told, for example after a compaction. */
      readonly do: "context_lost";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
    }
  | {
      /** Check whether a step of the actor would write files that are Kite's own: only a person changes those. */
      readonly do: "check_own_files";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly cwd: string;
      readonly files: readonly string[];
    }
  | ({
      /** Check whether git commands reach other actors' uncommitted work, and lock the indexes that they write; may wait. */
      readonly do: "guard";
      readonly commands: readonly GuardedCommand[];
      /** Names that git does not have; each may stand for further commands. */
      readonly aliases: readonly AliasedCommand[];
      /** Why a part of the line could not be read, for the trail. That part passes. null: all of it was read. */
      readonly unread: string | null;
      /** For the trail: the name of the line's first command, never words of the line. */
      readonly line: string;
      /** The whole line, to recognize it when it is sent again; it is not kept. */
      readonly typed: string;
    } & WaitingCall)
  | ({
      /** Check whether plain commands wipe other actors' uncommitted work, and lock the files that they change; may wait. */
      readonly do: "plain_files";
      readonly named: NamedFiles;
      /** The whole line, to recognize it when it is sent again; it is not kept. */
      readonly typed: string;
    } & WaitingCall &
      WriteTerms)
  | ({
      /** Keep the uncommitted work that the line is about to wipe, before it runs; comes after the guards; may wait. */
      readonly do: "keep_work";
      readonly commands: readonly GuardedCommand[];
      readonly aliases: readonly AliasedCommand[];
      readonly wiped: readonly WipedPath[];
      /** The whole line, to recognize it when it is sent again; it is not kept. */
      readonly typed: string;
    } & WaitingCall)
  | {
      /** The line will not run: its files are not in flight any more. */
      readonly do: "release_line_files";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly toolUseId: string;
    }
  | {
      /** The actor makes a call that comes to the daemon through a process that several agents share. */
      readonly do: "record_tool_use";
      readonly session: string;
      readonly agent?: string;
      readonly toolUseId: string;
      readonly cwd: string;
      /** The shell line, if the call is a command in it. */
      readonly command?: string;
      /** The prompt whose turn makes the call; null if the event names none. */
      readonly promptId: string | null;
      /** The line runs on when the client reports the end of its call. */
      readonly isBackground: boolean;
    }
  | {
      /** A write ended; with `toolUseId: null`, all writes of the actor. */
      readonly do: "flight_end";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly toolUseId: string | null;
      /** The changed lines, for people: "lines 10-40". */
      readonly wrote: boolean;
      readonly file: string | null;
      readonly cwd: string;
      readonly lines: string | null;
      /** The file's text as the tool sent it; absent: the event does not have it. */
      readonly sent?: SentText;
      /** Agents of the session for which this one works; null is the main agent. */
      readonly ancestors: readonly (string | null)[];
    }
  | {
      /** A shell command ended. The daemon looks for its changes in files that are held or have uncommitted work. */
      readonly do: "shell_end";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly toolUseId: string;
      readonly cwd: string;
      /** How long it ran, in milliseconds; null if the client does not say. */
      readonly ranMs: number | null;
      /** The name of the line's first program; absent: the line begins otherwise. */
      readonly program?: string;
      readonly ancestors: readonly (string | null)[];
    }
  | {
      /** The actor's git command waits for a person, or will not run: others may write the indexes that it locked. */
      readonly do: "release_index";
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
      /** Agents that are gone have ended their turn, whether or not an event said so. */
      readonly do: "reconcile";
      readonly session: string;
      readonly pid?: number;
      readonly isGone: (agent: string) => boolean;
    }
  | {
      /** The session's process goes on under another id: its locks wait a little for that id. */
      readonly do: "suspend";
      readonly session: string;
      readonly pid?: number;
    }
  | {
      /** Release the actor's turn locks; with `keepPrompt` only those of other prompts. */
      readonly do: "turn_end";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly keepPrompt?: string;
    }
  | {
      /**
       * The actor's event is about to be answered: what it was shown before counts as read. With `take` the answer
       * shows the next unread messages. Runs after a refusal, too.
       */
      readonly do: "inbox";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly take: boolean;
    }
  | {
      /** The answer of an event that the client does not wait for may carry notices; messages stay unread. */
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
      /** A prompt came: the hook that would wake the session ends. A person's prompt resets the count of wakes. */
      readonly do: "prompt_submitted";
      readonly session: string;
      readonly pid?: number;
      readonly promptId: string | null;
      readonly byPerson: boolean;
    }
  | {
      /**
       * The session stopped. Wait, for a while, until a file that its main agent was refused in this turn is free. An
       * agent that it leads and that stalls ends the wait, too, and so does a merge of its branch that comes back.
       * Notices that others changed its work end the wait at once. `unattended`: no person expects it to go on; only if
       * Kite spawned it does it wait.
       */
      readonly do: "await_release";
      readonly session: string;
      readonly promptId: string | null;
      readonly unattended?: true;
    }
  | {
      /**
       * List who works in the session's project, and what is known there. With `agent` for an agent that starts, before
       * any other action names it: if the daemon knows the agent already, there is nothing to tell.
       */
      readonly do: "list_peers";
      readonly session: string;
      readonly agent?: string;
      /** Only what changed since the session was told last. */
      readonly changesOnly?: true;
    }
  /** Look at what the session holds and waits for, and change nothing. */
  | { readonly do: "glance"; readonly session: string };

// What each action is like, for code that treats actions differently. An action without a row does not compile.

export interface ActionTraits {
  /** It may wait: until another agent is done, or until git has answered. */
  readonly waits: boolean;
  /**
   * Whether its outcome has something to tell. `only`: the daemon runs the action for that alone. `also`: the daemon
   * runs it even if no answer can carry its outcome.
   */
  readonly tells: "nothing" | "also" | "only";
  /** The daemon runs it even if an action before it was refused. */
  readonly afterRefusal: boolean;
  /** Its verdict may hold the agent back, so that nothing after it may happen. */
  readonly holdsBack: boolean;
}

/** It waits for nothing, and has nothing to tell. */
export const plain = { waits: false, tells: "nothing", afterRefusal: false, holdsBack: false } as const;
/** It is run for what it tells alone. */
export const telling = { waits: false, tells: "only", afterRefusal: false, holdsBack: false } as const;

export const baseTraits = {
  begin: { waits: false, tells: "also", afterRefusal: false, holdsBack: false },
  heartbeat: plain,
  // An edit that has its lock is stopped where it would undo a change.
  lock: { waits: true, tells: "also", afterRefusal: false, holdsBack: true },
  client_task: plain,
  client_idle: plain,
  record_result: plain,
  context_lost: plain,
  // It waits for nothing and asks nobody, so it holds where Kite is off, too: an agent may switch off its own session.
  check_own_files: { waits: false, tells: "also", afterRefusal: true, holdsBack: true },
  // A session that cannot be registered may wipe others' work like any other.
  guard: { waits: true, tells: "also", afterRefusal: true, holdsBack: true },
  plain_files: { waits: true, tells: "also", afterRefusal: true, holdsBack: true },
  // What a line wipes is kept whether or not its session is known.
  keep_work: { waits: true, tells: "also", afterRefusal: true, holdsBack: true },
  release_line_files: plain,
  record_tool_use: plain,
  flight_end: plain,
  shell_end: plain,
  release_index: plain,
  renew: plain,
  reconcile: plain,
  suspend: plain,
  turn_end: plain,
  // A refusal is an answer, too: what the actor was shown before counts as read, and the next messages go with it.
  inbox: { waits: false, tells: "only", afterRefusal: true, holdsBack: false },
  notes: telling,
  end: plain,
  prompt_submitted: plain,
  await_release: { waits: true, tells: "only", afterRefusal: false, holdsBack: false },
  list_peers: telling,
  glance: telling,
} as const satisfies { readonly [D in BaseAction["do"]]: ActionTraits };
