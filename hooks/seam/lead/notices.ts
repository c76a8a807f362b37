/** What agents are told of roles, of tasks that they watch over, of their teams, and of health. */

import type { GateMode, Role, RoleSource } from "../../../protocol/lead/roles.ts";
import type { HealthState } from "../../../protocol/lead/team.ts";
import type { Risk } from "../../../protocol/names.ts";

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
