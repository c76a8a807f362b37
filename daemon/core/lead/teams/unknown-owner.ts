/** A task is given to a member that exists and lives: the client would write to anybody, and nobody would read it. */

import type { TeamFinding } from "../../../../protocol/lead/team.ts";
import { limits } from "../../../../protocol/limits.ts";
import { bareName, type ChangeFacts } from "./facts.ts";

export function unknownOwner({ change, members }: ChangeFacts): TeamFinding[] {
  const { owner: said, task } = change;
  if (said === null || said === "" || members === null) return [];
  const owner = bareName(said);
  const state = members.get(owner);
  if (state === "live" || state === "unknown") return [];
  const live = [...members].flatMap(([name, is]) => (is === "dead" ? [] : [name]));
  const named = live.slice(0, limits.teamNamedMax);
  return [{ rule: "unknown_owner", task, owner, isDead: state === "dead", members: named }];
}
