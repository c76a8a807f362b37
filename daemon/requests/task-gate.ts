/** The point at which features have a say before an agent creates tasks, or calls one done. */
import type { Refusal } from "../../protocol/codes.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { HookServices } from "../hooks/hook-services.ts";

/** What the agent is about to do: to create tasks or bring them in, or to call one done. */
export type TaskStep = "create" | Completion;

export interface Completion {
  /** Null: a task that the queue does not have yet. */
  readonly task: string | null;
  /** The requester's directory, if it is known. */
  readonly cwd: string | null;
  /** The words with which a refusal begins, before what is missing. */
  readonly what: string;
}

/** What is wrong with the step. */
export interface TaskFinding {
  /** The gate lets it pass, and the reply has these sentences. */
  readonly warnings: readonly string[];
  /** Null: it passes. */
  readonly refusal: Refusal | null;
  /** What the trail says, without an agent's own text; null: nothing. */
  readonly line: { readonly rule: string; readonly why: string } | null;
}

/** `S`: the services that it needs. */
export interface TaskGate<S extends HookServices = HookServices> {
  /** Null: there is nothing to ask. */
  ask(services: S, by: Actor, step: TaskStep): Promise<TaskFinding> | null;
}
