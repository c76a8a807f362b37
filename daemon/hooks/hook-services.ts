/** What the hooks' events need besides the services that everything uses. */

import type { HookAdapter } from "../../hooks/seam/plan.ts";
import type { GuardMode } from "../../protocol/guard.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { Config } from "../config/config.ts";
import { SilenceReader } from "../config/off-switch.ts";
import { ProjectRules } from "../config/project-rules.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import type { Services } from "../services.ts";
import { Baselines } from "../worktree/baselines.ts";
import { Suspicions } from "../worktree/suspicions.ts";
import { Writers } from "../worktree/writers.ts";
import { HookLocks } from "./edit-lock.ts";
import { GuardTold } from "./git-guard-memory.ts";
import { HookNotes } from "./notices.ts";
import { RiskNotes } from "./risk-notices.ts";
import { Guarded } from "./running-git-commands.ts";
import { ToolUses } from "./tool-uses.ts";
import { HookWakes } from "./wake.ts";

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

export interface HookServicesOptions {
  readonly adapter: HookAdapter | null;
  readonly paths: KitePaths;
  readonly config: Pick<Config, "values" | "yieldFollows">;
  readonly outside: BudgetedFs;
  /** Hears what is wrong with a project's own settings. */
  readonly onProblem: (problem: string) => void;
}

/** The services that hooks need besides `services`. */
export function hookServices(services: Services, options: HookServicesOptions): HookServices {
  const { adapter, paths, config, outside, onProblem } = options;
  const { clock, facts } = services;
  const { repository } = facts;
  return {
    ...services,
    adapter,
    socket: paths.socket,
    hookCounts: new Map(),
    silence: new SilenceReader(paths.home),
    hookWaitMs: config.values.lockWaitMs,
    rules: new ProjectRules({ config, configFile: paths.config, outside, repository, onProblem }),
    treeGuard: config.values.treeGuard,
    hookLocks: new HookLocks(),
    hookNotes: new HookNotes(),
    hookWakes: new HookWakes(),
    writers: new Writers(),
    riskNotes: new RiskNotes(),
    toolUses: new ToolUses(),
    baselines: new Baselines(facts),
    suspicions: new Suspicions(clock),
    guardTold: new GuardTold(),
    guarded: new Guarded(),
  };
}
