/** The rules of nodes. `relayed` stands in `apply.ts`, since it applies another command. */

import type { TimedRules } from "../tables/base-state.ts";
import { lastingAndFreeing, passing } from "../tables/entries.ts";
import type { NodeCommands, NodeDues } from "./commands.ts";
import { nodeLeave, nodeRenew, nodeSessionsAre, nodeTimers } from "./leases.ts";
import { actorPart, nodePart } from "./parts.ts";
import { sessionContinue } from "./sessions.ts";

export const nodeRules: TimedRules<Omit<NodeCommands, "relayed">, NodeDues> = {
  commands: {
    node_renew: passing(nodeRenew),
    node_leave: lastingAndFreeing(nodeLeave),
    node_sessions_are: lastingAndFreeing(nodeSessionsAre),
    session_continue: passing(sessionContinue),
    actor_part: passing(actorPart),
    node_part: passing(nodePart),
  },
  shared: ["node_leave"],
  timers: nodeTimers,
  *dues({ leases }) {
    for (const node of leases.all.keys()) yield { what: "node_silent", node };
  },
};
