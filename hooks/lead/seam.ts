/** The actions of gates, and of a client's own teams. */

import type { AliasedUse, ShellUse } from "../../protocol/guard.ts";
import type { GateFinding, GateMode, Role, RoleSource } from "../../protocol/lead/roles.ts";
import type { HealthState, TeamFinding } from "../../protocol/lead/team.ts";
import type { Risk } from "../../protocol/names.ts";
import { type ActionTraits, plain, telling } from "../seam/actions.ts";
import type { Verdict } from "../seam/outcomes.ts";
import type { TeamCall } from "../seam/teams.ts";

export type LeadAction =
  | {
      /** Ask the gates before the actor writes a file; comes before the file's lock. */
      readonly do: "gate_write";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly file: string;
      readonly cwd: string;
      /** The client's own file, for example a plan of its plan mode: no gate is asked. */
      readonly isOwn: boolean;
    }
  | {
      /** Ask the gates before a shell line wipes or changes the files that it names, or a patch its files; comes before the guard. */
      readonly do: "gate_files";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly cwd: string;
      /** Absolute, or below `cwd`. */
      readonly files: readonly string[];
      /** Files that are not there yet count, too: the tool makes them. */
      readonly hasNewFiles?: true;
    }
  | {
      /** Ask the gates before the actor runs a shell line; comes before the guard. */
      readonly do: "gate_shell";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly cwd: string;
      readonly uses: readonly ShellUse[];
      /** Names that git does not have; each may stand for further uses. */
      readonly aliases: readonly AliasedUse[];
    }
  | {
      /** Ask the gates before the actor stops; comes before the end of its turn. */
      readonly do: "gate_stop";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
    }
  | {
      /** Ask the gates before a task of the client's own list counts as completed. */
      readonly do: "gate_complete";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      /** The actor's directory; null if the event does not say. */
      readonly cwd: string | null;
    }
  | {
      /** Ask the rules of the client's own teams before the actor's call. */
      readonly do: "gate_team";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      /** The agent's own name, if it is a teammate within its lead's process. */
      readonly name: string | null;
      readonly call: TeamCall;
      /** As for `lock`: a subagent and the agent that began it are one worker. */
      readonly ancestors: readonly (string | null)[];
      readonly parentFile: string | null;
    }
  | {
      /** A person is asked about a call that the rules let through (`isAsked`), or the call did not run. */
      readonly do: "team_call_open";
      readonly session: string;
      readonly agent?: string;
      readonly call: TeamCall;
      readonly isAsked: boolean;
    };

const gate = { ...telling, holdsBack: true } as const;

export const leadTraits = {
  gate_write: gate,
  gate_files: gate,
  gate_shell: gate,
  gate_stop: gate,
  gate_complete: gate,
  gate_team: gate,
  team_call_open: plain,
} as const satisfies { readonly [D in LeadAction["do"]]: ActionTraits };

// What came of asking gates, and the rules of a client's own teams.

export type LeadOutcome = GateOutcome | TeamOutcome;

/** What the gates found before a step of an agent. */
export interface GateOutcome {
  readonly did: "gate_write" | "gate_files" | "gate_shell" | "gate_stop" | "gate_complete";
  readonly ok: true;
  readonly verdict: Verdict;
  readonly findings: readonly GateFinding[];
  /** The agent was told the same findings before. */
  readonly isRepeated: boolean;
  /** The task that the agent claimed, for an example; null: it claimed none. */
  readonly task: string | null;
  /** Of several files, the one that the findings are about. */
  readonly file?: string;
}

/** What the rules of a team found before a call of the client's own tools. */
export interface TeamOutcome {
  readonly did: "gate_team";
  readonly ok: true;
  readonly verdict: Verdict;
  readonly findings: readonly TeamFinding[];
  /** The caller is a teammate, in its lead's process or in a pane, or works for one. */
  readonly isTeammate: boolean;
}

// What agents are told of roles, of tasks that they watch over, of their teams, and of health.

/** What an agent is told with its next event that waits. */
export type LeadNote = RoleNote | RiskNote | TeammateNote;

/** The agent's role was changed. */
export interface RoleNote {
  readonly what: "role";
  readonly role: Role;
  /** `declared`, `default`: the role that it was given was taken back. */
  readonly by: RoleSource;
  /** Whether the agent is held to it, looked up when the note is told. */
  readonly mode?: GateMode;
}

/** A red or critical task begins in the project of an agent that leads. */
export interface RiskNote {
  readonly what: "risk";
  readonly task: string;
  /** Its number, looked up when the note is told; absent: it was removed. */
  readonly number?: number;
  /** The beginning of its description. */
  readonly text: string;
  readonly risk: Risk;
  /** Who claimed it, by its name for people; null: a person. */
  readonly other: string | null;
}

/** A teammate that the agent leads is gone. */
export interface TeammateNote {
  readonly what: "teammate_gone";
  /** The teammate's own name. */
  readonly other: string;
  readonly team: string;
  /** `died`: its process ended without a word. `ended`: it said so itself. `stopped`: another agent stopped it. */
  readonly how: "died" | "ended" | "stopped";
  /** Its open tasks, looked up when the note is told; absent: they could not be read. */
  readonly tasks?: readonly { readonly task: string; readonly subject: string }[];
}

/**
 * What an agent is told about health. `stalled`: an agent that it leads gives no sign of life, or its process is stopped.
 * `back`: that agent gave a sign again. `ended`: it ended after its lead was told. `asked`: it was quiet itself. `released`: what it had was given back.
 */
export interface HealthNote {
  readonly what: "stalled" | "back" | "ended" | "asked" | "released";
  /** The agent, by its name for people; of `released` who gave it back, of `asked` the reader. */
  readonly name: string;
  readonly state: HealthState;
  /** For how long it gave no sign, or is stopped, in milliseconds. */
  readonly forMs: number;
  /** Ids of the tasks that it has, or had, and their numbers; at most `limits.releasedNamedMax`. */
  readonly tasks: readonly string[];
  readonly taskNumbers: readonly number[];
  /** How many locks it has, or had. */
  readonly locks: number;
  /** It is an agent of `kite spawn`, so that it can be replaced. */
  readonly spawned?: true;
}
