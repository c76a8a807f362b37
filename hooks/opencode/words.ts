/** What the plugin is told of an event: the form in which this client's answers are written. */
export interface Words {
  /** The call does not run; its model reads this as the call's result. */
  readonly deny?: string;
  /** The agent's model reads this beside what happened. */
  readonly context?: string;
  /** The person reads this, the model does not. */
  readonly person?: string;
  /** The session goes on with this as its next prompt. */
  readonly goOn?: string;
}
