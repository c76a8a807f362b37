import type { Actor } from "../../actor.ts";
import type { Retry } from "../../origin.ts";

/** Gives back the tasks and the turn locks of an agent that lives, or may live. */
export interface AgentRelease {
  readonly session: string;
  readonly agent: string | null;
  /** `begun` of the session meant, so that the command does not touch a later one of the same id. */
  readonly begun: number;
  /** The agent that says so; null: a person, or the setting. */
  readonly by: Actor | null;
  /** Why, for people. */
  readonly cause: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface HealthCommands {
  agent_release: AgentRelease;
}
