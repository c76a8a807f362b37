/**
 * A letter goes to a member that can read it. Only a member that the client still lists is a trap: a letter to one that
 * ended in agreement resumes it, or the client itself refuses it.
 */
import type { TeamFinding } from "../../../../protocol/lead/team.ts";
import { bareName, type Members } from "./facts.ts";

/** `listed`: the members that the client lists. */
export function deadLetter(said: string, listed: ReadonlySet<string>, members: Members): TeamFinding[] {
  const to = bareName(said);
  return listed.has(to) && members.get(to) === "dead" ? [{ rule: "dead_letter", to }] : [];
}
