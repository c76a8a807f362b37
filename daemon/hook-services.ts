/** What the hooks' events need besides the services that everything uses. */

import type { HookAdapter } from "../protocol/adapter.ts";
import type { GuardMode } from "../protocol/guard.ts";
import type { Baselines } from "./baselines.ts";
import type { GuardTold } from "./guard-told.ts";
import type { Guarded } from "./guarded.ts";
import type { HookLocks } from "./hook-lock.ts";
import type { HookNotes } from "./hook-notes.ts";
import type { HookWakes } from "./hook-wake.ts";
import type { ProjectRules } from "./project-rules.ts";
import type { RiskNotes } from "./risk-notes.ts";
import type { Services } from "./services.ts";
import type { SilenceReader } from "./silence.ts";
import type { Suspicions } from "./suspicions.ts";
import type { ToolUses } from "./tool-uses.ts";
import type { Writers } from "./writers.ts";

export interface HookServices extends Services {
  /** Null: this daemon knows no agent client, and answers no hook. */
  readonly adapter: HookAdapter | null;
  readonly socket: string;
  /** How often each event came since the daemon started. */
  readonly hookCounts: Map<string, number>;
  readonly silence: SilenceReader;
  readonly hookWaitMs: number;
  readonly rules: ProjectRules;
  readonly treeGuard: GuardMode;
  readonly hookLocks: HookLocks;
  readonly hookNotes: HookNotes;
  readonly hookWakes: HookWakes;
  readonly writers: Writers;
  readonly riskNotes: RiskNotes;
  readonly toolUses: ToolUses;
  readonly baselines: Baselines;
  readonly suspicions: Suspicions;
  readonly guardTold: GuardTold;
  readonly guarded: Guarded;
}
