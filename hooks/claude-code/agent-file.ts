import { limits } from "../../protocol/limits.ts";
import { within } from "../plans/event.ts";
import type { AgentFile } from "../seam/plan.ts";

const pattern = /\/projects\/[^/]+\/[\w-]+\/subagents\/agent-[\w-]+\.meta\.json$/;

/** The client's own file on an agent of a session, beside the session's transcript. */
export const agentFile: AgentFile = {
  isOne: path => pattern.test(path) && !path.includes("/../"),
  parentIn: text => {
    try {
      const parent = within(JSON.parse(text), "parentAgentId");
      return typeof parent === "string" && parent.length <= limits.idBytes ? parent : null;
    } catch {
      // A half-written file, or one of another client: the agent counts as the main agent's own.
      return null;
    }
  },
};
