/** The list of slices for the seam: all actions, what they are like, what comes of them, and what agents are told. */
import { baseTraits } from "./action-traits.ts";
import type { BaseAction } from "./actions.ts";
import { type LeadAction, leadTraits } from "./lead/actions.ts";
import type { HealthNote, LeadNote } from "./lead/notices.ts";
import type { LeadOutcome } from "./lead/outcomes.ts";
import type { BaseNote } from "./notices.ts";
import type { BaseOutcome } from "./outcomes.ts";

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
