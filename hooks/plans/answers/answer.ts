/** What an event's answer says, whichever client asks; an adapter writes it in its client's form. */

import type { HookOutcome } from "../../seam/slices.ts";
import type { Event } from "../event.ts";

/** An answer. Nothing here grants a tool's permission: that would skip the dialog in which a person decides. */
export interface Answer {
  /** The tool does not run; its model reads why. */
  readonly denial?: string;
  /** The agent goes on instead of stopping, or the task is not completed; its model reads why. */
  readonly block?: string;
  /** The model reads this with the event, also beside a denial. */
  readonly context?: string;
  /** The person reads this, the model does not. */
  readonly forPerson?: string;
  /** The session goes on with this as its next prompt. Only the answer of a hook that may wake its session has it. */
  readonly wakes?: string;
  /** Lines for the environment of the session's shell commands. */
  readonly env?: readonly string[];
}

export const nothing: Answer = {};

/** The tool does not run; its model reads `reason`. */
export function deny(reason: string): Answer {
  return { denial: reason };
}

/** The agent goes on instead of stopping, or the task is not completed; its model reads `reason`. */
export function block(reason: string): Answer {
  return { block: reason };
}

/** `answer`, and `text` for the model beside it, also beside a denial. */
export function withContext(answer: Answer, text: string): Answer {
  const { context } = answer;
  return { ...answer, context: context === undefined ? text : `${context}\n${text}` };
}

/** `answer`, and `text` for the person, unless `answer` has a text for the person already. */
export function alsoTellPerson(answer: Answer, text: string): Answer {
  return answer.forPerson === undefined ? { ...answer, forPerson: text } : answer;
}

/** The person reads `text`, the model does not. */
export function tellPerson(text: string): Answer {
  return { forPerson: text };
}

// Finds what came of one action of an event.

type Success = Extract<HookOutcome, { readonly ok: true }>;

/** The outcome of an action that succeeded. */
type OutcomeOf<D extends Success["did"], O = Success> = O extends { readonly did: infer N }
  ? D extends N
    ? O
    : never
  : never;

type Refused = Extract<HookOutcome, { readonly ok: false }>;

/** Returns the outcome of the first such action that succeeded. */
export function outcomeOf<D extends Success["did"]>(
  outcomes: readonly HookOutcome[],
  did: D,
): OutcomeOf<D> | undefined {
  for (const outcome of outcomes) if (outcome.ok && outcome.did === did) return outcome as OutcomeOf<D>;
  return undefined;
}

/** Returns the first action that was refused. */
export function refusalOf(outcomes: readonly HookOutcome[]): Refused | undefined {
  for (const outcome of outcomes) if (!outcome.ok) return outcome;
  return undefined;
}

// Who reads an answer, and by which tools it writes to others and declares.

export interface Reader {
  /** The agent's directory. */
  readonly cwd: string;
  /** A teammate within its lead's process: the client offers it SendMessage, and none of Kite's tools. */
  readonly isTeammate: boolean;
  /** Its client asks about all calls of a message before the first of them runs. */
  readonly asksAllFirst?: true;
}

export function readerOf({ worker, client }: Event, cwd: string): Reader {
  const asks = client.limits.asksAllFirst ? ({ asksAllFirst: true } as const) : {};
  return { cwd, isTeammate: worker.isTeammate, ...asks };
}

/** How the reader writes to another agent. */
export function howToWrite({ isTeammate }: Pick<Reader, "isTeammate">): string {
  return isTeammate ? "SendMessage within your team, else kite message send" : "kite message send";
}

/** What stands between a request to declare and the command for it: the tool that does the same, if the reader has it. */
export function declareBy({ isTeammate }: Pick<Reader, "isTeammate">): string {
  return isTeammate ? ":" : " with the tool kite_declare, or:";
}
