/** The type of a command's handler. Invariant: a handler checks first and changes after. */

import type { BaseState } from "./base-state.ts";
import type { CommandOf, CommandType } from "./commands.ts";
import type { Origin } from "./origin.ts";
import type { Step } from "./outcome.ts";

/** An entry's place in the log, and the origin that its answer goes to. */
export interface Meta {
  readonly seq: number;
  readonly origin: Origin;
}

/** Changes the state by one command. A refusal goes into `step.reply`; only a bug throws. `S`: the tables that it needs. */
export type Handler<T extends CommandType, S extends BaseState = BaseState> = (
  state: S,
  command: CommandOf<T>,
  meta: Meta,
  step: Step,
) => void;
