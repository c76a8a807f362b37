/** What gates told each agent last. In memory only: after a restart an agent is told in full once more. */
import type { GateFinding } from "../../protocol/gates.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { noteKey, type Whose } from "../core/messages/notice-table.ts";

export class GateMemory {
  readonly #told = new BoundedMap<string, string>({ entriesMax: limits.gatedActorsMax });

  /** Whether these findings are the ones that the agent was told last. */
  isRepeated(whose: Whose, findings: readonly GateFinding[]): boolean {
    return this.#told.get(noteKey(whose)) === JSON.stringify(findings);
  }

  /** An answer with these findings reached the agent. */
  told(whose: Whose, findings: readonly GateFinding[]): void {
    this.#told.set(noteKey(whose), JSON.stringify(findings));
  }
}
