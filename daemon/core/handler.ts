/** The type of a command's handler. Invariant: a handler checks first and changes after. */
import type { CommandOf, CommandType } from "./commands.ts";
import type { Origin } from "./origin.ts";
import type { Step } from "./outcome.ts";
import type { State } from "./state.ts";

/** An entry's place in the log, and the origin that its answer goes to. */
export interface Meta {
  readonly seq: number;
  readonly origin: Origin;
}

/** Changes the state by one command. A refusal goes into `step.reply`; only a bug throws. */
export type Handler<T extends CommandType> = (
  state: State,
  command: CommandOf<T>,
  meta: Meta,
  step: Step,
) => void;

/** One handler per command; a missing one does not compile. */
export type Handlers = { readonly [T in CommandType]: Handler<T> };
