/** How a client that runs in a terminal is started as an agent. */

/** An agent to start. */
export interface TerminalOrder {
  readonly name: string;
  /** What it is to do, and what Kite tells it of itself; it does not begin with `-`. */
  readonly prompt: string;
  readonly model: string | null;
}

export interface TerminalClient {
  /** Its name, as its adapter has it. */
  readonly name: string;
  readonly program: string;
  /** Returns the arguments of a session at work on its prompt, under the person's own permissions, that a person can join. */
  readonly words: (order: TerminalOrder) => string[];
}
