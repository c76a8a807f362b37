/** The services that only hook events need. */

import type { FileNote, MergeNote } from "../../hooks/seam/notices.ts";
import type { HookAdapter } from "../../hooks/seam/plan.ts";
import type { GuardMode } from "../../protocol/guard.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { Config } from "../config/config.ts";
import { OffSwitchReader } from "../config/off-switch.ts";
import { ProjectRules } from "../config/project-rules.ts";
import type { Whose } from "../core/messages/notice-table.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import { processWords } from "../facts/process-words.ts";
import { ProjectChecks } from "../lead/checks/project-checks.ts";
import { TrustedReader } from "../lead/checks/trusted-reader.ts";
import { CompletionTries } from "../lead/gates/completion-tries.ts";
import { GreenRuns } from "../lead/gates/green-runs.ts";
import { GateMemory } from "../lead/gates/memory.ts";
import { type HealthEvents, healthListener } from "../lead/health/listener.ts";
import { HealthNotes } from "../lead/health/notes.ts";
import { HealthWatch } from "../lead/health/watch.ts";
import { Teams } from "../lead/teams/teams.ts";
import type { Services } from "../services.ts";
import { ClientTasks } from "../sessions/client-tasks.ts";
import { Baselines } from "../worktree/baselines.ts";
import { Writers } from "../worktree/writers.ts";
import { HookLocks } from "./edit-lock.ts";
import { GuardConfirmations } from "./guard/confirmations.ts";
import { RunningGitCommands } from "./guard/running-git-commands.ts";
import { StashLines } from "./guard/stash-lines.ts";
import { fileNotes, mergeRisks, Notices, type Terminal, terminalCounts } from "./notices.ts";
import { PeerMemory } from "./peer-changes.ts";
import { SessionWorks } from "./session-work.ts";
import { ToolFailures } from "./tool-failures.ts";
import { ToolUses } from "./tool-uses.ts";
import { HookWakes } from "./wake.ts";

export interface HookServices extends Services {
  /** Null: this daemon knows no agent client, and answers no hook. */
  readonly adapter: HookAdapter | null;
  readonly socket: string;
  /** The number of events of each name since the daemon started. */
  readonly hookCounts: Map<string, number>;
  readonly offSwitches: OffSwitchReader;
  readonly hookWaitMs: number;
  readonly rules: ProjectRules;
  readonly checks: ProjectChecks;
  readonly treeGuard: GuardMode;
  readonly hookLocks: HookLocks;
  readonly hookNotes: Notices<Whose, number, FileNote>;
  readonly hookWakes: HookWakes;
  readonly writers: Writers;
  readonly riskNotes: Notices<string, string, MergeNote>;
  readonly terminalNotes: Notices<Terminal, "open", number>;
  readonly toolUses: ToolUses;
  readonly toolFailures: ToolFailures;
  readonly gateMemory: GateMemory;
  readonly peerMemory: PeerMemory;
  readonly sessionWorks: SessionWorks;
  readonly greenRuns: GreenRuns;
  readonly completionTries: CompletionTries;
  readonly clientTasks: ClientTasks;
  readonly teams: Teams;
  readonly health: HealthWatch;
  readonly healthNotes: HealthNotes;
  readonly baselines: Baselines;
  readonly guardConfirmations: GuardConfirmations;
  readonly runningGitCommands: RunningGitCommands;
  readonly stashLines: StashLines;
}

export interface HookServicesOptions {
  readonly adapter: HookAdapter | null;
  readonly paths: KitePaths;
  readonly config: Pick<Config, "values" | "yieldFollows">;
  readonly outside: BudgetedFs;
  readonly events: HealthEvents;
  readonly onTrouble: (message: string, error: unknown) => void;
  /** Called with each problem in a project's own settings. */
  readonly onProblem: (problem: string) => void;
}

/** Returns `services` with those that hooks need. */
export function hookServices(services: Services, options: HookServicesOptions): HookServices {
  const { adapter, paths, config, outside, events, onTrouble, onProblem } = options;
  const { facts } = services;
  const { repository } = facts;
  const configFile = paths.config;
  const healthNotes = new HealthNotes();
  const hookWakes = new HookWakes();
  const { health } = config.values;
  // Only the main agent of a session stops and can be woken.
  const wake = ({ session, agent }: Whose) => (agent === null ? hookWakes.alarmed(session) : undefined);
  const told = { notes: healthNotes, events, setting: health, wake, onTrouble };
  const listener = healthListener(services, told);
  const trusted = new TrustedReader(outside, paths.trusted);
  const rules = new ProjectRules({ config, configFile, trusted, outside, repository, onProblem });
  return {
    ...services,
    adapter,
    socket: paths.socket,
    hookCounts: new Map(),
    offSwitches: new OffSwitchReader(paths.home),
    hookWaitMs: config.values.lockWaitMs,
    rules,
    checks: new ProjectChecks({ rules, trusted, configFile, outside, repository }),
    treeGuard: config.values.treeGuard,
    hookLocks: new HookLocks(),
    hookNotes: new Notices(fileNotes),
    hookWakes,
    writers: new Writers(),
    riskNotes: new Notices(mergeRisks),
    terminalNotes: new Notices(terminalCounts),
    toolUses: new ToolUses(),
    toolFailures: new ToolFailures(),
    gateMemory: new GateMemory(),
    peerMemory: new PeerMemory(),
    sessionWorks: new SessionWorks(),
    greenRuns: new GreenRuns(),
    completionTries: new CompletionTries(),
    clientTasks: new ClientTasks(),
    teams: new Teams({ outside, client: adapter?.teams ?? null, words: processWords }),
    health: new HealthWatch(services, health, listener),
    healthNotes,
    baselines: new Baselines(facts),
    guardConfirmations: new GuardConfirmations(),
    runningGitCommands: new RunningGitCommands(),
    stashLines: new StashLines(),
  };
}
