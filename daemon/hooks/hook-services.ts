/** What the hooks' events need besides the services that everything uses. */

import type { HookAdapter } from "../../hooks/seam/plan.ts";
import type { GuardMode } from "../../protocol/guard.ts";
import type { SilenceReader } from "../config/off-switch.ts";
import type { ProjectRules } from "../config/project-rules.ts";
import type { Services } from "../services.ts";
import type { Baselines } from "../worktree/baselines.ts";
import type { Suspicions } from "../worktree/suspicions.ts";
import type { Writers } from "../worktree/writers.ts";
import type { HookLocks } from "./edit-lock.ts";
import type { GuardTold } from "./git-guard-memory.ts";
import type { HookNotes } from "./notices.ts";
import type { RiskNotes } from "./risk-notices.ts";
import type { Guarded } from "./running-git-commands.ts";
import type { ToolUses } from "./tool-uses.ts";
import type { HookWakes } from "./wake.ts";

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
