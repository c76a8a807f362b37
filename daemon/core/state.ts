/** The list of the state's tables: those of the base, and those that lead agents. */
import type { Limits } from "../../protocol/limits.ts";
import { type BaseState, emptyBaseState } from "./base-state.ts";
import { type CheckTable, noChecks } from "./lead/checks/table.ts";
import { type Debates, noDebates } from "./lead/debates/table.ts";
import { type Merges, noMerges } from "./lead/merges/table.ts";
import { noSpawns, type Spawns } from "./lead/spawns/table.ts";
import type { Points } from "./points.ts";

/** The whole state, one slice a feature. */
export interface State extends BaseState {
  readonly debates: Debates;
  readonly checks: CheckTable;
  readonly spawns: Spawns;
  readonly merges: Merges;
}

/** Returns the state before the first entry. */
export function newState(points: readonly Points<State>[], rules: number, bounds: Limits): State {
  return {
    ...emptyBaseState(points, rules, bounds),
    debates: noDebates(bounds),
    checks: noChecks(bounds),
    spawns: noSpawns(bounds),
    merges: noMerges(bounds),
  };
}
