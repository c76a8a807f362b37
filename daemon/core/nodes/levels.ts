/**
 * The level of rules of a shared log, and the programs of its nodes.
 *
 * Invariants: the level only rises. It rises only to one that the program of each node of the last `limits.nodeLevelsMs`
 * knows. A node has a lease only while its program knows the log's level.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { BaseState } from "../tables/base-state.ts";
import type { NodeRenew } from "./commands.ts";
import type { NodeLease } from "./table.ts";

type Program = Pick<NodeRenew, "levels" | "version">;

/** Returns why the log does not get this level, or null. */
export function mayRaise(state: BaseState, level: number): Refusal | null {
  const { rules } = state;
  if (level < rules)
    return refuse(
      "level_unfit",
      `the store follows rules of level ${rules}, and never goes back to ${level}`,
      { level },
    );
  const behind = recent(state).filter(lease => !knows(lease, level));
  if (behind.length === 0) return null;
  const error = `rules of level ${level} begin when every machine of the store knows them; update Kite on ${listed(behind)}`;
  return refuse("level_unfit", error, { level });
}

/** Returns why a node with this program does not take part, or null. */
export function mayTakePart(state: BaseState, node: string, program: Program): Refusal | null {
  const { rules } = state;
  if (knows(program, rules)) return null;
  const { levels, version = "of an unknown version" } = program;
  const { from, to } = levels;
  const fields = { level: rules, from, to };
  const known = from === to ? `level ${from}` : `levels ${from} to ${to}`;
  const what = `the store follows rules of level ${rules}, and this Kite (${version}) knows ${known}`;
  if (to < rules)
    return refuse(
      "level_unfit",
      `${what}; update Kite here; until then it works for this machine alone`,
      fields,
    );
  const others = recent(state).filter(lease => lease.node !== node && !knows(lease, from));
  const cure =
    others.length === 0
      ? `start Kite anew on one of ${listed(recent(state))}`
      : `update Kite on ${listed(others)}`;
  return refuse("level_unfit", `${what}; ${cure}; until then it works for this machine alone`, fields);
}

function knows({ levels }: Program, level: number): boolean {
  return levels.from <= level && level <= levels.to;
}

/** Returns the nodes that were there within the last day. */
function recent({ leases, t }: BaseState): NodeLease[] {
  return [...leases.all.values()].filter(({ renewedAtMs }) => t < renewedAtMs + limits.nodeLevelsMs);
}

function listed(leases: readonly NodeLease[]): string {
  return leases
    .map(({ machine, version }) => (version === undefined ? machine : `${machine} (${version})`))
    .join(", ");
}
