/** Which sessions come first: those that need a person, then those that wait. */
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { OneAgent } from "./feature.ts";
import { features } from "./features.ts";

/** Whether a person has to do something: answer a question, or look at an agent that stands still. */
export function needsPerson(s: SessionRow): boolean {
  return s.attention !== null || hasTrouble(s);
}

/** Whether somebody has to look at the session's main agent or one of its agents. */
export function hasTrouble(s: SessionRow): boolean {
  const needsLook = (one: OneAgent) => features.some(feature => feature.needsPerson?.(one));
  return needsLook(s) || s.agents.some(needsLook);
}

/** Returns true if the session's main agent or one of its agents waits for a file. */
export function hasWait(s: SessionRow): boolean {
  return s.waitingFor !== null || s.agents.some(a => a.waitingFor !== null);
}

function urgency(s: SessionRow): number {
  if (needsPerson(s)) return 0;
  if (hasWait(s)) return 1;
  return { active: 2, idle: 3, lost: 4 }[s.status];
}

/** Those that need a person first, then those that wait, then by activity and name. */
export function compare(a: SessionRow, b: SessionRow): number {
  return urgency(a) - urgency(b) || order(a.name, b.name) || order(a.id, b.id);
}

/** Orders texts by their characters, the same everywhere. */
export function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
