/** Results of checks as `query` shows them, the oldest first. */
import type { CheckRow } from "../../../protocol/lead/check.ts";
import type { State } from "../../core/state.ts";
import type { Target } from "../../requests/target.ts";
import type { Keyed } from "../../views/row.ts";

export function* checkRows({ checks }: Pick<State, "checks">): Generator<Keyed<CheckRow>, void> {
  for (const { seq, ...row } of checks.results.values()) yield { place: seq, key: "", row: () => row };
}

const checks: Target<CheckRow> = {
  open:
    ({ engine }) =>
    () =>
      checkRows(engine.state),
  ids: row => [row.by?.id],
};

export const checkTargets = { checks };
