/** What an agent is told of its role, and a lead of the red and critical tasks of its project. */

import { heldTo, rightsOf } from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import { personName } from "../../../protocol/names.ts";
import { quote } from "../../../protocol/text.ts";
import type { RiskNote, RoleNote } from "../../seam/lead/notices.ts";
import type { Heading } from "../answers/note-lines.ts";

export const roleHeadings: readonly Heading[] = [
  ["your role has changed", "role"],
  ["a task begins that needs a lead's care", "risk"],
];

export function roleLine({ role, by, mode = "off" }: RoleNote): string {
  const gave =
    by === "person"
      ? `your user gave you the role ${role}`
      : by === "spawn"
        ? `you began with the role ${role}`
        : `your user took back the role that you were given; your role is ${role}`;
  return `- ${gave}: ${rightsOf(role)}. ${heldTo(role, mode)}.`;
}

export function riskLine({ task, number, text, risk, other }: RiskNote): string {
  const who = other === null ? personName("agent") : quote(other, limits.nameBytes);
  const [named, typed] = number === undefined ? [quote(task), quote(task)] : [`task ${number}`, `${number}`];
  return `- ${who} begins ${named}, which is ${risk}: ${quote(text)}. You lead: look after it (kite task show ${typed}).`;
}
