/** What an agent is told of its role, and a lead of the red and critical tasks of its project. */

import { type Role, rights } from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import { quote } from "../../../protocol/text.ts";
import type { RiskNote, RoleNote } from "../../seam/lead/notices.ts";
import type { Heading } from "../answers/note-lines.ts";

export const roleHeadings: readonly Heading[] = [
  ["your role has changed", "role"],
  ["a task begins that needs a lead's care", "risk"],
];

export function roleLine({ role, by }: RoleNote): string {
  const gave =
    by === "person"
      ? `your user gave you the role ${role}`
      : by === "spawn"
        ? `you began with the role ${role}`
        : `your user took back the role that you were given; your role is ${role}`;
  return `- ${gave}: ${rightsOf(role)}.`;
}

/** What the role's agents do not do, and the tasks that they take. */
function rightsOf(role: Role): string {
  const { writes, runs, git, creates, takes } = rights[role];
  const not = [
    writes === "none" ? "change no files" : writes === "tests" ? "change tests only" : null,
    runs ? null : "run no tests or builds",
    git ? null : "run no git commands that write",
    creates ? null : "create no tasks",
  ].filter(one => one !== null);
  return [...not.map(one => `you ${one}`), `you take tasks that are ${takes.join(", ")}`].join("; ");
}

export function riskLine({ task, text, risk, other }: RiskNote): string {
  const who = other === null ? "a person" : quote(other, limits.nameBytes);
  return `- ${who} begins ${quote(task)}, which is ${risk}: ${quote(text)}. You lead: look after it (kite task show ${quote(task)}).`;
}
