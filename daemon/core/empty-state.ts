/** Makes the state before the first entry, with what the slices do at the base's points. */
import { type Limits, limits } from "../../protocol/limits.ts";
import { rulesLevel } from "./base-state.ts";
import type { Points } from "./points.ts";
import { ruleList } from "./rule-list.ts";
import { newState, type State } from "./state.ts";

const points: readonly Points<State>[] = ruleList.flatMap(rules => ("points" in rules ? [rules.points] : []));

/** Returns the state before the first entry; of a log, that has `firstRulesLevel`. Tests may give it other bounds. */
export function emptyState(rules = rulesLevel, bounds: Limits = limits): State {
  return newState(points, rules, bounds);
}
