/** What a lead may do next: at most one thing. */
import { isGrave } from "../../../protocol/names.ts";
import type { TaskRow } from "../../../protocol/schemas/task.ts";
import { standing } from "../../tasks/standing.ts";
import type { Member } from "./team.ts";

export type Suggestion =
  | { readonly what: "ask_person"; readonly member: Member }
  | { readonly what: "look"; readonly member: Member }
  | { readonly what: "give"; readonly member: Member; readonly task: TaskRow };

/** Returns an agent that waits for a person, else one that stalled, else an idle one with a ready task that fits its role. */
export function suggestionFor(members: readonly Member[], tasks: readonly TaskRow[]): Suggestion | null {
  const asking = members.find(({ attention, state }) => attention !== null && state === "waiting");
  if (asking !== undefined) return { what: "ask_person", member: asking };
  const stalled = members.find(({ state }) => state === "stalled" || state === "stopped");
  if (stalled !== undefined) return { what: "look", member: stalled };
  // A red or critical task is given by the lead's own decision.
  const ready = tasks.filter(task => standing(task) === "ready" && !isGrave(task.risk));
  for (const member of members) {
    if (member.state !== "idle" || tasks.some(task => isOf(task, member))) continue;
    const task = bestFor(member, ready);
    if (task !== undefined) return { what: "give", member, task };
  }
  return null;
}

function isOf({ assignee, assigneeAgent, status }: TaskRow, { id, agent }: Member): boolean {
  return status === "active" && assignee === id && assigneeAgent === agent;
}

/** Roles whose tasks are of a kind of their own, by the beginning of the words for them. */
const specialists = ["test", "review", "research", "explor", "doc", "design", "architect"] as const;

function bestFor({ role, takes }: Member, ready: readonly TaskRow[]): TaskRow | undefined {
  const kinds = specialists.filter(kind => beginsWord(role, kind));
  const fits = ({ labels, risk }: TaskRow) => {
    if (!takes.includes(risk)) return false;
    const asked = specialists.filter(kind => labels.some(label => beginsWord(label, kind)));
    return kinds.length === 0 ? asked.length === 0 : asked.some(kind => kinds.includes(kind));
  };
  return ready.find(fits);
}

function beginsWord(text: string, kind: string): boolean {
  return text
    .toLowerCase()
    .split(/[^a-z]+/u)
    .some(word => word.startsWith(kind));
}
