/** Teams of an agent client: what Kite found wrong with a call, and with a team, and a team as a query shows it. */

import type { ActorRow } from "../schemas/lock.ts";

/** `warn`: the call runs, and its agent is told. `enforce`: it does not run. */
export const teamModes = ["off", "warn", "enforce"] as const;
export type TeamMode = (typeof teamModes)[number];

/** A task of the client's list, in short. */
export interface TaskBrief {
  readonly task: string;
  readonly subject: string;
  readonly owner: string | null;
  readonly status: TeamTaskRow["status"];
}

/** What is wrong with a call of a client's own tool. */
export type TeamFinding =
  | {
      /** The task is claimed or begun before the tasks that it waits for are complete. */
      readonly rule: "blocked_claim";
      readonly task: TaskBrief;
      readonly blockers: readonly TaskBrief[];
      /** Tasks that nobody owns and nothing blocks, the first few. */
      readonly ready: readonly TaskBrief[];
    }
  | {
      /** Another live agent works on the task. */
      readonly rule: "foreign_task";
      readonly task: TaskBrief;
      /** The member that works on it; null: an agent that is not in the caller's team. */
      readonly worker: string | null;
      /** How the call would end the task; null: it would take it. */
      readonly ends: "completed" | "deleted" | null;
      readonly ready: readonly TaskBrief[];
    }
  | {
      readonly rule: "unknown_owner";
      readonly task: string;
      readonly owner: string;
      /** It was a member, and its process has ended. */
      readonly isDead: boolean;
      /** The members that live, as far as they are known. */
      readonly members: readonly string[];
    }
  | {
      /** A new dependency closes a cycle. Each of `tasks` waits for the next, the last for the first. */
      readonly rule: "dependency_cycle";
      readonly tasks: readonly string[];
    }
  | {
      /** The reader's process has ended, and the client would keep the letter all the same. */
      readonly rule: "dead_letter";
      readonly to: string;
    }
  | {
      /** A teammate within its lead's process would move the whole session. */
      readonly rule: "moved_worktree";
      readonly tool: string;
    };

/** What is wrong in a team, for people: `text` is a sentence that says what, of what, and what to do. */
export interface TeamProblem {
  readonly what:
    | "blocked_work"
    | "dead_owner"
    | "unknown_owner"
    | "dependency_cycle"
    | "unread_letters"
    | "lead_gone"
    | "unread_file";
  readonly text: string;
}

/** A team, or a task list that several sessions share. */
export interface TeamRow {
  /** The name of the team, or of the list. */
  readonly team: string;
  /** `list`: sessions share the list without being a team. */
  readonly kind: "team" | "list";
  readonly project: string;
  /** The session that leads it; null: nobody. */
  readonly lead: string | null;
  readonly leadName: string | null;
  readonly members: readonly TeamMemberRow[];
  readonly tasks: readonly TeamTaskRow[];
  /** Tasks besides these. */
  readonly moreTasks: number;
  /** Notices of idle members since the daemon began; each costs the lead a turn. */
  readonly idleNotices: number;
  readonly problems: readonly TeamProblem[];
}

export interface TeamMemberRow {
  readonly name: string;
  /** Its name everywhere else in Kite; null: Kite knows no such agent. */
  readonly shownAs: string | null;
  /** `session`: it shares a list and is in no team. */
  readonly backend: "lead" | "in_process" | "pane" | "session";
  /** `unknown`: the client lists it, and Kite saw no event of it. */
  readonly state: "active" | "idle" | "waits" | "needs you" | "died" | "ended" | "unknown";
  /** What it does, in a few words; null if that is not known. */
  readonly does: string | null;
}

export interface TeamTaskRow {
  readonly task: string;
  readonly subject: string;
  /** Cut if the descriptions of the team's tasks are very long. */
  readonly description: string;
  readonly status: "pending" | "in_progress" | "completed";
  readonly owner: string | null;
  /** The tasks that it waits for and that are not complete. */
  readonly waitsFor: readonly string[];
}

export interface TeammateColumn {
  /** Its place in a team of its client; absent if it is no teammate. `lead` is the session that leads it, if known. */
  readonly teammate?: { readonly name: string; readonly team: string; readonly lead: string | null };
}

// The wire of health: in which state an agent is, and since when.

/**
 * `working`: a turn runs. `waiting`: on a person, a lock or the model's service. `idle`: no turn runs. `quiet`: a turn runs
 * and nothing is heard of it. `stalled`: it was quiet for long, or its turn failed and nothing came after. `stopped`: a
 * signal stopped its process. `dead`: its process is gone.
 */
const healthStates = ["working", "waiting", "idle", "quiet", "stalled", "stopped", "dead"] as const;

export type HealthState = (typeof healthStates)[number];

/** What an agent waits on. */
export type WaitsOn = "person" | "lock" | "service";

/** An agent's state as a row shows it. */
export interface HealthRow {
  readonly state: HealthState;
  /** For how long it has been in it, in milliseconds; of `quiet` and `stalled`: since its last sign of life. */
  readonly forMs: number;
  /** Of `waiting`: on what. */
  readonly on?: WaitsOn;
  /** What it waits for, or why it counts as stalled; absent: nothing to say. */
  readonly why?: string;
}

/** The events of agents' health. */
export type HealthEvent =
  | {
      /** An agent gives no sign of life, or a signal has stopped its process. Sent once, without a cursor. */
      readonly event: "agent_stalled";
      readonly agent: ActorRow;
      readonly project: string;
      readonly state: "stalled" | "stopped";
      /** For how long, in milliseconds. */
      readonly forMs: number;
      /** Empty if there is nothing to say. */
      readonly why: string;
      /** The ids of the tasks that it has, at most 20, and how many locks. */
      readonly tasks: readonly string[];
      readonly locks: number;
      /** Commands that show the agent, and that give back what it has. */
      readonly todo: readonly string[];
    }
  /** A sign of life came after `agent_stalled`. Without a cursor. */
  | { readonly event: "agent_recovered"; readonly agent: ActorRow; readonly project: string };

export interface HealthColumn {
  /** The agent's state; absent if no event of it came since the daemon started, or its session is lost. */
  readonly health?: HealthRow;
}

// Merges that came back and were not read of, as rows show them.

/**
 * Who has to read that a merge came back. `woken`: Kite woke it for that, and it has not begun its turn. `active`: it is in a
 * turn, and reads messages with its next step. `idle`: it reads them when somebody types to it. `gone`: author and leads have
 * ended, or had no room for a message.
 */
export type UnreadReturn =
  | {
      readonly state: "woken" | "active" | "idle";
      readonly who: { readonly id: string; readonly agent: string | null; readonly name: string };
    }
  | { readonly state: "gone" };

/** A merge that came back, in the row of an agent. Branches by their short names. */
export interface CameBackRow {
  readonly merge: string;
  readonly branch: string;
  readonly base: string;
  readonly unread: UnreadReturn;
}

export interface CameBackColumn {
  /** A merge came back, and its main agent has not read the message that says so. */
  readonly cameBack?: CameBackRow;
}
