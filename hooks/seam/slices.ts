/** The list of slices for the seam: all actions, what they are like, what comes of them, and what agents are told. */

import type { HealthNote, LeadNote, LeadOutcome } from "../lead/seam.ts";
import { type LeadAction, leadTraits } from "../lead/seam.ts";
import type { BaseAction } from "./actions.ts";
import { baseTraits } from "./actions.ts";
import type { BaseNote, BaseOutcome } from "./outcomes.ts";

export type HookAction = BaseAction | LeadAction;

/** What each action is like. */
export const actionTraits = { ...baseTraits, ...leadTraits };

/** Actions whose outcomes have nothing to tell. */
export type PlainAction = {
  [D in HookAction["do"]]: (typeof actionTraits)[D]["tells"] extends "nothing" ? D : never;
}[HookAction["do"]];

/** What an agent is told with its next event that waits. */
export type FileNote = BaseNote | LeadNote;

/** What it is told besides. */
export type News = HealthNote;

export type HookOutcome =
  | BaseOutcome<{ action: HookAction["do"]; plain: PlainAction; note: FileNote; news: News }>
  | LeadOutcome;
