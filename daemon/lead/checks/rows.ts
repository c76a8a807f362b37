/** Results of checks as `query` shows them, the oldest first. */
import type { CheckRow } from "../../../protocol/lead/check.ts";
import type { State } from "../../core/state.ts";
import type { Keyed } from "../../views/sessions-and-locks.ts";

export function* checkRows({ checks }: Pick<State, "checks">): Generator<Keyed<CheckRow>, void> {
  for (const { seq, ...row } of checks.results.values()) yield { place: seq, key: "", row: () => row };
}
