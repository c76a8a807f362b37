/** The state as the leading half sees it: the tables of the base, and its own. */

import type { BaseState } from "../tables/base-state.ts";
import type { debateRows } from "./tables/debates.ts";
import type { mergeRows, mergeThereRows } from "./tables/merges.ts";
import type { checkRows, memberRows, roleRows, sentRoleRows, teammateRows } from "./tables/roles.ts";
import type { spawnRows } from "./tables/spawns.ts";

type TableOf<R extends { empty(limits: never): unknown }> = ReturnType<R["empty"]>;

export interface State extends BaseState {
  readonly teammates: TableOf<typeof teammateRows>;
  readonly roles: TableOf<typeof roleRows>;
  readonly rolesSent: TableOf<typeof sentRoleRows>;
  readonly members: TableOf<typeof memberRows>;
  readonly debates: TableOf<typeof debateRows>;
  readonly checks: TableOf<typeof checkRows>;
  readonly spawns: TableOf<typeof spawnRows>;
  readonly merges: TableOf<typeof mergeRows>;
  readonly mergesThere: TableOf<typeof mergeThereRows>;
}
