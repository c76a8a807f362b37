import type { CommandOf, CommandType } from "./commands.ts";
import type { Origin } from "./origin.ts";
import type { Step } from "./outcome.ts";
import type { State } from "./state.ts";

/** Where an entry stands and where its answer goes. */
export interface Meta {
  readonly seq: number;
  readonly origin: Origin;
}

/** Changes the state by one command. Checks first and changes after; a refusal is `step.reply`, a bug is a throw. */
export type Handler<T extends CommandType> = (
  state: State,
  command: CommandOf<T>,
  meta: Meta,
  step: Step,
) => void;

/** One handler a command: a missing one does not compile. */
export type Handlers = { readonly [T in CommandType]: Handler<T> };
