/**
 * The points of the base at which other slices act: a slice says in its rules what it does there. All of them run in the
 * order of the list of slices, within the same entry. `S`: the tables that the slice needs.
 */
import type { Refusal } from "../../protocol/codes.ts";
import type { Risk } from "../../protocol/names.ts";
import type { JsonValue } from "../../protocol/schemas/context.ts";
import type { Actor } from "./actor.ts";
import type { Declaration } from "./declarations/table.ts";
import type { Traits } from "./nodes/commands.ts";
import type { Step } from "./outcome.ts";
import type { Session } from "./sessions/table.ts";
import type { Task } from "./tasks/table.ts";

/** A task with what its risk depends on. */
export type RiskyTask = Pick<Task, "id" | "project" | "risk">;

/** Which tasks an actor takes by their risk, and as what: `the role tester`. */
export interface Taking {
  readonly risks: readonly Risk[];
  readonly as: string;
}

/** What a slice says of an actor in a row of its own. An agent that is null is the session's main agent. */
export interface Part<S> {
  /** Yields the agents of a live session that have the part in this log. */
  agentsWith(state: S, session: string): Iterable<string | null>;
  /** In a node's own log: returns what the other nodes have to know now; null: nothing. No path of the machine is in it. */
  tell(state: S, session: string, agent: string | null): JsonValue;
  /** In a shared log: takes what the actor's node says. Null, or what has no sense: the actor has the part no more. */
  take(state: S, session: string, agent: string | null, value: JsonValue, step: Step): void;
}

/** What a slice says of a node as a whole, in a row of its own. */
export interface NodePart<S> {
  /** In a node's own log: returns what the other nodes have to know now; null: nothing. No path of the machine is in it. */
  tell(state: S): JsonValue;
  /** In a shared log: takes what the node says. Null, or what has no sense: the node has the part no more. */
  take(state: S, node: string, value: JsonValue, step: Step): void;
}

export interface Points<S> {
  /** A daemon of this node has started anew: its earlier connections are gone. */
  daemonStarts?(state: S, node: string, step: Step): void;
  /** Another agent stopped this one, which ends. */
  agentIsStopped?(state: S, session: string, agent: string): void;
  /** An agent within a session began, or its name became known. */
  agentBegins?(state: S, session: Session): void;
  /** An agent within a session ends: its inbox, freezes and declarations have. `isStopped`: another agent stopped it. */
  agentEnds?(state: S, session: string, agent: string, isStopped: boolean): void;
  /** A session began, ended in one of its terminals, got another name, branch or project, or was lost or found. */
  sessionChanges?(state: S, session: Session, step: Step): void;
  /** What `traitsOf` says of an actor may be something else now. Null: the session's main agent. */
  actorChanges?(state: S, session: string, agent: string | null): void;
  /** The value of one of `parts` may be something else now. */
  partChanges?(state: S, session: string, agent: string | null, part: string): void;
  /** A session goes on under the id `to`: it still lives, and that one has not begun. */
  sessionMoves?(state: S, from: string, to: string): void;
  /** A session ends: its locks, claims, notices and declarations have. */
  sessionEnds?(state: S, session: Session, cause: string, step: Step): void;
  /** Returns what other nodes have to know of an actor, each part under its own name. Null: the session's main agent. */
  traitsOf?(state: S, session: string, agent: string | null): Traits;
  /** In a shared log: an actor's node says what it knows of it. What `traits` does not name, the actor has no more. */
  takeTraits?(state: S, session: string, agent: string | null, traits: Traits): void;
  /**
   * What other nodes have to know of actors, too, by unique names: what is long, or changes often. Each has a row of its own in
   * the outbox, which goes when `partChanges` says so, and not at each change of the session.
   */
  readonly parts?: { readonly [name: string]: Part<S> };
  /** What other nodes have to know of this one, by unique names. */
  readonly nodeParts?: { readonly [name: string]: NodePart<S> };
  /** The value of one of `nodeParts` may be something else now. */
  nodePartChanges?(state: S, part: string): void;
  /** Returns a sentence for each thing in a declaration that the agent's client says otherwise. */
  mismatchesIn?(state: S, declaration: Declaration): readonly string[];
  /** Returns what the answer to a declaration says besides what it is. */
  declaredFields?(state: S, declaration: Declaration): object;
  /** An actor begins to work on a task, or the risk of the one that it works on rose. A person: null. */
  taskBegins?(state: S, task: Task, by: Actor | null): void;
  /** Whether `by` answers for another actor, and so may end its work on a task. */
  answersFor?(state: S, by: Actor, other: Actor): boolean;

  // Of the slices that have a rule at one of these points the first one answers.

  /** Returns the risks of the tasks that the actor takes; without an answer it takes all. */
  takes?(state: S, by: Actor): Taking;
  /** Returns why the actor may not take the task by its risk, or null. */
  mayTake?(state: S, task: RiskyTask, by: Actor): Refusal | null;
  /** Returns why the claimer of a running task may not go on with it at this risk, or null. */
  mayKeep?(state: S, task: RiskyTask, claimer: Actor): Refusal | null;
  /** Returns why an agent may not lower the risk of a task that is not critical, or null. */
  mayLower?(state: S, task: Task, next: Risk, by: Actor): Refusal | null;
  /** Returns what is missing that would stand in for a person's yes to a red task, or null. */
  missingForRed?(state: S, project: string, by: Actor | null): string | null;
  /** Returns the id of the debate that a request names for a task of the project, or a refusal; undefined: none. */
  debateNamed?(state: S, project: string, name: string | null | undefined): string | undefined | Refusal;
  /** Returns the debate that an imported task keeps; undefined: none. */
  debateKept?(state: S, task: Pick<Task, "project" | "debate">): string | undefined;
  /** Returns why `by` may not give the task another debate, or none, or null. */
  mayReplaceDebate?(state: S, task: Task, next: string | undefined, by: Actor | null): Refusal | null;
}

/** Returns the rule of the first slice that has one at this point. */
export function ruleAt<S, N extends keyof Points<S>>(
  points: readonly Points<S>[],
  name: N,
): Points<S>[N] | undefined {
  for (const rules of points) if (rules[name] !== undefined) return rules[name];
  return undefined;
}
