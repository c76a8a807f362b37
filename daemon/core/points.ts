/**
 * The points of the base at which other slices act: a slice says in its rules what it does there. All of them run in the
 * order of the list of slices, within the same entry. `S`: the tables that the slice needs.
 */
import type { Declaration } from "./declarations/table.ts";
import type { Step } from "./outcome.ts";
import type { Session } from "./sessions/table.ts";

export interface Points<S> {
  /** A daemon of this node has started anew: its earlier connections are gone. */
  daemonStarts?(state: S, node: string, step: Step): void;
  /** Another agent stopped this one, which ends. */
  agentIsStopped?(state: S, session: string, agent: string): void;
  /** A session goes on under the id `to`: it still lives, and that one has not begun. */
  sessionMoves?(state: S, from: string, to: string): void;
  /** A session went on as `after`: it has ended, and `after` lives. */
  sessionMoved?(state: S, before: Session, after: Session): void;
  /** A session ends: its locks, claims, notices and declarations have. */
  sessionEnds?(state: S, session: Session, cause: string, step: Step): void;
  /** Returns a sentence for each thing in a declaration that the agent's client says otherwise. */
  mismatchesIn?(state: S, declaration: Declaration): readonly string[];
  /** Returns what the answer to a declaration says besides what it is. */
  declaredFields?(state: S, declaration: Declaration): object;
}
