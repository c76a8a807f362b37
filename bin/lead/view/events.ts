/** Events of the leading half as lines for a person. */

import type { EventLine } from "../../../protocol/events.ts";
import { personName } from "../../../protocol/names.ts";
import type { AgentFeature, FileName } from "../../view/feature.ts";
import { clean, duration } from "../../view/text.ts";
import { sourceText } from "./roles.ts";

export const leadEvents: AgentFeature = { sentence };

function sentence(event: EventLine, file: FileName): string | null {
  switch (event.event) {
    case "role_changed":
      return `role      ${clean(event.agent.name)} is ${event.role} (${sourceText(event.by)})`;
    case "check_recorded": {
      const who = event.by === null ? personName() : clean(event.by.name);
      return `${event.exit === 0 ? "green" : "red  "}     ${clean(event.check)} in ${file(event.worktree)}, run by ${who}`;
    }
    case "spawn_changed":
      return `agent     ${clean(event.name)}: ${event.state.replaceAll("_", " ")}`;
    case "merge_changed": {
      const [branch, base] = [event.branch, event.base].map(name =>
        clean(name.replace(/^refs\/heads\//, "")),
      );
      const why = event.reason === null ? "" : `: ${clean(event.reason)}`;
      return `merge     ${branch} into ${base} is ${event.state}${why}`;
    }
    case "merge_elsewhere_changed": {
      const { state, machine, branch, base } = event;
      const is = state === null ? "no longer waits" : `is ${state}`;
      return `merge     ${clean(branch)} into ${clean(base)} on ${clean(machine)} ${is}`;
    }
    case "agent_stalled":
      return `${event.state.padEnd(9)} ${clean(event.agent.name)} for ${duration(event.forMs)}: ${event.todo.map(clean).join(", ")}`;
    case "agent_recovered":
      return `back      ${clean(event.agent.name)} gave a sign of life`;
    case "debate_changed":
      return `debate    ${clean(event.debate)}: ${event.what} by ${event.by === null ? personName() : clean(event.by.name)}`;
    default:
      return null;
  }
}
