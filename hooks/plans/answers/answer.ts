/** What an event's answer says, whichever client asks; an adapter writes it in its client's form. */

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
