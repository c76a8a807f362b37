/** What is wrong in a team as it stands. Texts are for people; the caller bounds what agents wrote in them. */

import type { TeamProblem } from "../../../../protocol/lead/team.ts";
import { limits } from "../../../../protocol/limits.ts";
import { blockersOf } from "./blocked-claim.ts";
import { cyclesIn } from "./dependency-cycle.ts";
import { bareName, type Members, type Tasks } from "./facts.ts";

export interface TeamStanding {
  readonly tasks: Tasks;
  /** null: they could not be read, or there is no team. */
  readonly members: Members | null;
  /** Unread letters of readers that are dead or do not exist, by name. */
  readonly unread: ReadonlyMap<string, number>;
  /** Files that could not be read, in a sentence each. */
  readonly unreadable: readonly string[];
  readonly isLeadGone: boolean;
}

/** The problems, those first that stop most. */
export function problemsOf(standing: TeamStanding): TeamProblem[] {
  const { unreadable, isLeadGone } = standing;
  return [
    ...(isLeadGone
      ? [
          {
            what: "lead_gone",
            text: "the lead's session has ended, and its teammates go on: nobody reads what they report; end them, or go on in their panes",
          } as const,
        ]
      : []),
    ...cycleProblems(standing),
    ...blockedWork(standing),
    ...ownerProblems(standing),
    ...letterProblems(standing),
    ...unreadable.map(text => ({ what: "unread_file", text }) as const),
  ];
}

function blockedWork({ tasks }: TeamStanding): TeamProblem[] {
  return [...tasks.values()].flatMap(task => {
    const blockers = task.status === "in_progress" ? blockersOf(task, tasks) : [];
    if (blockers.length === 0) return [];
    const by = listed(blockers.map(({ id }) => id));
    const who = task.owner ?? "somebody";
    const text = `${who} works on task ${task.id} although it waits for ${by}: complete that first, or tell ${who} to wait`;
    return [{ what: "blocked_work", text } as const];
  });
}

function ownerProblems({ tasks, members }: TeamStanding): TeamProblem[] {
  return [...tasks.values()].flatMap(({ id, owner: said, status }) => {
    if (said === null || status === "completed" || members === null) return [];
    const owner = bareName(said);
    const state = members.get(owner);
    if (state === "live" || state === "unknown") return [];
    const is = status === "in_progress" ? "in progress" : "pending";
    const text = `task ${id} is ${is} and owned by ${owner}, ${state === "dead" ? "which has ended" : "which is no member"}: give it to a member (TaskUpdate with owner)`;
    return [{ what: state === "dead" ? "dead_owner" : "unknown_owner", text } as const];
  });
}

function cycleProblems({ tasks }: TeamStanding): TeamProblem[] {
  return cyclesIn(tasks).map(cycle => {
    const text = `tasks ${listed(cycle)} wait for one another in a cycle, so none can be begun: complete or delete one of them`;
    return { what: "dependency_cycle", text };
  });
}

function letterProblems({ unread, members }: TeamStanding): TeamProblem[] {
  return [...unread].map(([name, count]) => {
    const who = members?.get(name) === "dead" ? "which has ended" : "which is no member";
    const text = `${count} ${count === 1 ? "message" : "messages"} to ${name}, ${who}: nobody will read ${count === 1 ? "it" : "them"}`;
    return { what: "unread_letters", text };
  });
}

function listed(ids: readonly string[]): string {
  const more = ids.length - limits.teamNamedMax;
  return [...ids.slice(0, limits.teamNamedMax), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
